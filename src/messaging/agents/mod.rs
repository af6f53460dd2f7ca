//! Agents: how one registers, is found, and retires.
//!
//! Nouns: a *registration* says who somebody is by name, or by role and checkout; the same one always leads to the same
//! agent. The *phonebook* shows agents that are active and listed. An agent *retires* when it says so, or after nobody has
//! heard of it for long; registering *revives* it, with its address, inbox and rooms.
//!
//! Invariants:
//! - an agent keeps its name for good, and its role once it has one;
//! - a session in a role is one agent's, and stays that agent's until it tells of another;
//! - an active agent has one look ahead at whether it has been idle, a retired one none;
//! - an agent that has unread mail, or mail that is held, does not retire by itself.
//!
//! Reading order: `model` (a registration, and the pure rules) · the verbs `register`, `join`, `relabel`, `retire`, `idle` ·
//! `phonebook` (finding) · `http`.

pub(crate) mod http;
pub(crate) mod idle;
mod join;
mod model;
pub(crate) mod phonebook;
mod register;
mod relabel;
mod retire;
#[cfg(test)]
mod tests;

use join::join;
#[cfg(test)]
pub(crate) use model::Registration;
pub(crate) use register::register;
pub(crate) use relabel::relabel;
pub(crate) use retire::retire;
