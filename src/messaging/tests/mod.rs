//! What goes through all folders: mail that is sent, held, released, paused and read over days, held against a model that
//! knows no short cut; and that `verify` sees what is wrong.
//!
//! `QUINTET_MESSAGING_SEED=N` runs the case of a failure again, `QUINTET_MESSAGING_CASES=N` more of them.

mod approvals;
mod days;
mod ends;
mod many;
mod model;
mod tags;
mod wrong;
