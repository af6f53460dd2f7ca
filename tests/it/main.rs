//! Black-box tests over the real binary: one test binary, a folder for each service and each side of the appliance.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests say what they mean by failing loudly"
)]

mod appliance;
mod console;
mod diagrams;
mod ledger;
mod localization;
mod messaging;
mod runs;
#[allow(dead_code, reason = "shared with tests/privileged")]
mod support;
mod tidy;
