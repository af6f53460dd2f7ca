//! The root key: where it comes from, how it follows another one, and what is said of it.
//!
//! `storage.root_key` names its source: a file (`key_file`), a credential of systemd (`sources`), a passphrase
//! (`passphrase`). `storage.root_key_previous` names the source it came from before, while a move from one source to
//! the other is under way. What the keys are for, and which of them opens a store, is `quintet_storage::seal`'s;
//! `rotation` does the work that a new key makes.
//!
//! A key that is made with the directory is made then and never again: values sealed under a lost key cannot be read.

mod key_file;
mod passphrase;
mod place;
mod rotation;
mod sources;

pub use place::{FILE, KeyPlace};
pub use rotation::{RootKeys, RotateError, Standing, State};
pub use sources::RootKeySources;
