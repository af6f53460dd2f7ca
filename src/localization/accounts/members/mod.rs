//! Members: invited, signed in, removed, erased.
//!
//! Reading order: `create` · `activate` (the first sign-in) · `remove` · `erase` · `http`.

mod activate;
mod create;
mod erase;
pub mod http;
mod remove;

pub use activate::activate_member;
pub use create::{CreateMember, create_member};
#[cfg(test)]
pub use erase::erase_member;
pub use remove::remove_member;
