//! Tests of the real binary on a disk of its own, which loses power or runs full. They need root, for loop devices and
//! mounts; each says why when it skips.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests say what they mean by failing loudly"
)]

#[path = "../it/appliance.rs"]
#[allow(dead_code, reason = "shared with tests/it, which uses all of it")]
mod appliance;
mod disk_full;
#[path = "../it/load.rs"]
#[allow(dead_code, reason = "shared with tests/it")]
mod load;
mod loop_disk;
mod power_cuts;
