//! Quintet: five HTTP services in one binary, with no external database.
//!
//! Floors; imports point down only:
//!
//! 0. `storage` (the log, the one writer, tables) and `runtime` (containers) know neither each other, nor HTTP,
//!    nor a service.
//! 1. `platform`: what the services share: the clock, tenants and keys, idempotency, pieces of HTTP.
//! 2. rooms, one a service (`ledger`, …): a room never imports a room.
//! 3. this package, which ties them together and owns the process: listeners, configuration, the command line.
//!
//! Reading order: [`config`] (what the operator says), [`sites`] (the listeners' names) · [`outside`] (ties to other systems) · [`app`] (everything that is
//! open) · [`router`] (which
//! routes hang on which listener) · [`listener`], [`tls`], [`open_files`], [`operations`], [`metrics`], [`measures`], [`manual`] ·
//! [`admin`] (the unix socket) · [`doctor`] (what is wrong, and the cure) · [`console`] (the pages) · [`serve`], [`own_runner`], [`signals`] (start, drain, stop) · [`cli`] (the commands), [`shell`].

pub mod admin;
pub mod app;
pub mod cli;
pub mod config;
pub mod console;
pub mod doctor;
pub mod followers;
pub mod listener;
pub mod logging;
pub mod manual;
pub mod measures;
pub mod metrics;
pub mod open_files;
pub mod operations;
pub mod outside;
pub mod own_listener;
pub mod own_runner;
mod pictures;
pub mod root_key;
pub mod router;
pub mod serve;
pub mod shell;
pub mod signals;
pub mod sites;
pub mod start_error;
pub mod tls;

#[cfg(test)]
mod testing;
