//! Black-box tests over the real binary: one test binary, a module for each service and each side of the appliance.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests say what they mean by failing loudly"
)]

mod appliance;
mod backup;
mod cli;
mod config;
mod crash;
mod doctor;
mod faults;
mod hardening;
mod ledger;
mod ledger_access;
mod ledger_idempotency;
mod ledger_input;
mod operations;
mod running;
mod tidy;
mod verify;
