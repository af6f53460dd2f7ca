//! Messaging from outside.

mod admission;
mod approvals;
mod client;
pub mod contract;
mod crash;
mod encrypted;
mod hooks;
mod keys;
mod mail;
mod mcp;
mod refusals;
mod wire;
mod workspaces;
