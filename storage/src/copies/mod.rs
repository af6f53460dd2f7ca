//! Copies: checkpoints, backups, and what is made of a directory that is a copy or harmed.
//!
//! Reading order: `manifest` (files and their digests), `checkpoint` (made, kept, let go) · `rebuild` (tables from a
//! checkpoint) · `making`, `follow` (continuous backups), `backup` (backups, restores) · `verify`, `salvage` (damage).

pub mod backup;
pub(crate) mod checkpoint;
pub mod follow;
pub(crate) mod making;
pub(crate) mod manifest;
pub(crate) mod rebuild;
pub(crate) mod salvage;
pub(crate) mod verify;
