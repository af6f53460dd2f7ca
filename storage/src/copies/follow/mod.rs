//! Continuous backup: a directory elsewhere that is kept as a copy of a data directory, transaction by transaction.
//!
//! What is there is always a copy such as `cp` makes of a data directory (FORMAT, keys, one or more checkpoints, the log
//! above the oldest of them), so that the restore of copies takes it as it is. A *follower* reads the appliance's files
//! and asks it for nothing, so that the appliance waits for nobody. Only what is known to be synced is shipped: what the
//! follower holds, the appliance will have after any crash.
//!
//! Reading order: `former` (keys of before), `place` (the directory, its note) · `ship` (the log) · `checkpoints` (made there, pruned) · `window` (the
//! instants that a restore can go back to).

mod checkpoints;
mod former;
mod place;
mod ship;
mod window;

pub use checkpoints::{Checkpoints, Taken};
pub use former::former_files;
pub use place::{Follower, is_followed};
pub(crate) use place::{LOCK_FILE, NOTE_FILE};
pub use ship::Shipped;
pub(crate) use window::{Cut, check_whole, cut_at, cut_log};
