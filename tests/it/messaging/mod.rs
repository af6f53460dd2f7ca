//! Messaging from outside.

mod client;
mod crash;
mod admission;
mod contract;
mod keys;
mod refusals;
mod workspaces;
