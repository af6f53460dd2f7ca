//! What a data directory says of itself.
//!
//! Reading order: `format` (FORMAT: which version), `lock` (whose it is), `identity` (IDENTITY: whether it is a copy).

pub(crate) mod format;
pub(crate) mod identity;
pub(crate) mod lock;
