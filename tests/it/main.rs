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
mod contract;
mod copies;
mod crash;
mod diagrams;
mod doctor;
mod faults;
mod hardening;
mod ledger;
mod ledger_access;
mod ledger_as_of;
mod ledger_authorization;
mod ledger_bulk;
mod ledger_contract;
mod ledger_idempotency;
mod ledger_input;
mod ledger_linear;
mod ledger_operator;
mod ledger_partner;
#[allow(dead_code, reason = "shared with tests/privileged")]
mod load;
mod localization;
mod localization_access;
mod localization_contract;
mod localization_crash;
mod localization_files;
mod manual;
mod operations;
mod packaging;
mod proxies;
mod render;
mod root_key;
mod root_key_rotation;
mod running;
mod runs;
mod runs_contract;
mod runs_keys;
mod runs_quotas;
mod tidy;
mod tls;
mod verify;
