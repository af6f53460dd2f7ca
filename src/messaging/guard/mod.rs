//! The tool guard: which tools the agents of a workspace may use, asked before each use (6-messaging.md, U).
//!
//! Nouns: a *rule* says of which tool, input and agents it is, and what then: *allow*, *deny* or *approval*. The first rule
//! that fits counts. Under an approval rule, a *use* of a tool is what an approval is raised for: an agent, a tool and its
//! whole input, by the digest of their canonical form. It is *used up* by the one check that allows it.
//!
//! Invariants:
//! - a check that allows a use for an approval, and the using up of that approval, are one transaction: no approval allows
//!   twice;
//! - where there are rules, what cannot be told is denied: whoever asks goes on without an answer.
//!
//! Reading order: `glob`, `model` (rules, and which fits) · `file` (rules as the operator writes them) · `tables` · `rows` ·
//! the verb `check` · `verify` · `http`.

mod check;
pub(crate) mod file;
mod glob;
mod http;
pub(crate) mod model;
pub(crate) mod rows;
mod tables;
#[cfg(test)]
mod tests;
mod verify;

#[cfg(test)]
pub(crate) use check::{Asked, check};
pub(crate) use http::ENDPOINTS;
pub(crate) use tables::TABLES;
pub(crate) use verify::verify;
