//! A bound of one drawing that it went past: of what it may ask for, or of what it may cost.

use std::fmt;

use crate::limits::TooMuch;
use crate::work::Exhausted;

/// Why a drawing goes no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// It is too large.
    TooMuch(TooMuch),
    /// It is too much work.
    Exhausted(Exhausted),
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::TooMuch(error) => error.fmt(f),
            Bound::Exhausted(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Bound {}

impl From<TooMuch> for Bound {
    fn from(error: TooMuch) -> Bound {
        Bound::TooMuch(error)
    }
}

impl From<Exhausted> for Bound {
    fn from(error: Exhausted) -> Bound {
        Bound::Exhausted(error)
    }
}
