//! The disk as the log sees it: a narrow trait with the real one and, for crash tests, a simulated one; and what else
//! only the kernel knows.
//!
//! Only what the log's safety rests on goes through the trait: files opened, written at offsets, synced, renamed and
//! removed inside one directory. RocksDB does its own input and output behind the projection trait.
//!
//! Reading order: `disk`, `real`, `sim` · `handle` (what tells a file from its copy) · `kernel_clock`.

mod disk;
pub(crate) mod handle;
pub(crate) mod kernel_clock;
pub(crate) mod real;
#[cfg(test)]
pub(crate) mod sim;

pub(crate) use disk::{Disk, DiskFile};
