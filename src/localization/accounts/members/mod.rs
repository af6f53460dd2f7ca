//! Members: invited, signed in, removed, erased.
//!
//! Reading order: `create` · `activate` (the first sign-in) · `remove` · `erase`.

mod activate;
mod create;
mod erase;
mod remove;

pub use activate::activate_member;
pub use create::{CreateMember, create_member};
pub use erase::erase_member;
pub use remove::remove_member;
