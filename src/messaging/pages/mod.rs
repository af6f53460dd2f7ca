//! Pages that people use without an account: what they look like, what browsers may do with them, and text of others on them.
//!
//! Invariants: a page needs no scripts and brings nothing from elsewhere; nobody keeps, frames or is told the address of one;
//! what others wrote is no markup, and what is invisible in it can be seen; a form counts only from the page itself.
//!
//! Reading order: `paper`.

mod paper;

pub(crate) use paper::{answer, begin, end, is_from_here, network, notice, source};
pub(crate) use quintet_platform::http::visible::visible;
