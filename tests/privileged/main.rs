//! Tests of the real binary that need root: on a disk of its own, which loses power or runs full; and with real
//! containers. Each says why when it skips.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests say what they mean by failing loudly"
)]

mod containers;
mod deliveries_disk;
mod disk_full;
mod isolation;
mod loop_disk;
mod mail;
mod manual;
mod power_cuts;
mod pulls;
mod runs;
#[path = "../it/support/mod.rs"]
#[allow(dead_code, reason = "shared with tests/it, which uses all of it")]
mod support;
#[path = "../../runtime/src/image/tests/tarball.rs"]
#[allow(dead_code, reason = "shared with the runtime's own tests")]
mod tarball;
mod workflows;
