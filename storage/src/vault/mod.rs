//! The vault: keys in the clear, and what they open. Root keys wrap data keys, data keys seal values.
//!
//! What services use is [`seal`](crate::seal); here is what reading needs of it, below all that reads and writes.
//!
//! Reading order: `owner`, `cipher`, `root_key`, `data_keys` (their rows, and the few that are kept in memory).

pub(crate) mod cipher;
pub(crate) mod data_keys;
mod owner;
mod root_key;

pub(crate) use data_keys::{DATA_KEYS, Vault};

pub use cipher::OVERHEAD_BYTES;
pub use data_keys::DataKey;
pub use owner::{Erased, KeyOwner};
pub use root_key::{KeyId, KeyRing, RootKey};
