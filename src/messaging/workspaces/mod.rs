//! Workspaces, which the operator makes and changes: nobody else can.
//!
//! Invariants: a slug is given once in the appliance, and stays its workspace's when that is deleted, for its addresses are
//! in other people's mail; whether a workspace is encrypted is decided when it is made, for good; what is deleted stays so.
//!
//! Reading order: the verbs `create` · `change`.

mod change;
mod create;

#[cfg(test)]
mod tests;

pub(crate) use change::{SetLimit, set_ingress, set_limits, set_status};
pub(crate) use create::{NewWorkspace, create};
