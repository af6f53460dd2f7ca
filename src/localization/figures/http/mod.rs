//! Lists and figures of translations over HTTP.
//!
//! Reading order: `settled` (the state that they are told of) · `translations`, `stats`.

mod settled;
pub mod stats;
pub mod translations;
