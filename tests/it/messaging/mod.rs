//! Messaging from outside.

mod admission;
mod approvals;
mod client;
mod contract;
mod crash;
mod keys;
mod mcp;
mod refusals;
mod wire;
mod workspaces;
