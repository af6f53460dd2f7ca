//! What keeps an appliance from working well, and how to mend it: for `quintet doctor`, and for the operator's page.
//!
//! Reading order: [`subject`] (what is looked at, and what is found) · a file for each kind of check · [`examination`] (all of
//! them, each with its time).

mod appliance;
mod audit;
mod authorization;
mod decisions;
mod directory;
pub mod examination;
mod identity;
mod kernel;
mod listeners;
mod machine;
mod messaging;
mod runner;
mod secrets;
pub mod subject;
mod trial;
mod webhooks;
