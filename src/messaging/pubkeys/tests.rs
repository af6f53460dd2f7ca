//! Public keys.
