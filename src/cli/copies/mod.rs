//! Commands that read all of a data directory: backups and the way back, checks.

pub mod backup;
mod checking;
mod copying;
mod follow;
mod hold;
pub mod restore;
pub mod verify;
