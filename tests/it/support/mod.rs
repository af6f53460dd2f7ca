//! What the tests share: a real appliance, load on it, and what holds for the contract of every service.

pub mod appliance;
pub mod contract;
pub mod late;
pub mod load;
pub mod mcp;
pub mod messaging;
pub mod receiver;
pub mod verifiers;
