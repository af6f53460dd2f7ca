//! Messaging from outside.

mod admission;
mod contract;
mod keys;
mod refusals;
mod workspaces;
