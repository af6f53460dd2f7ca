//! Members: invited, signed in, removed, erased.
//!
//! Reading order: `create` · `activate` (the first sign-in) · `remove` · `erase` · `http`.

mod activate;
mod create;
mod erase;
pub mod http;
mod remove;

pub use activate::activate_member;
#[cfg(test)]
pub use {
    create::{CreateMember, create_member},
    erase::erase_member,
    remove::remove_member,
};
