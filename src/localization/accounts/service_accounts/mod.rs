//! Service accounts: made, and revoked.
//!
//! Reading order: `create` · `revoke` · `http`.

mod create;
pub mod http;
mod revoke;

pub use create::{Made, add_account, put_account};
pub use revoke::revoke_account;
