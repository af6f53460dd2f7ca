//! A real store under a clock that tests set.

use crate::refusal::Refusal;

/// A store under a clock that tests set.
pub(crate) type Bench = quintet_support::Bench<Refusal>;

/// A new store.
pub(crate) fn bench() -> Bench {
    Bench::new(crate::TABLES, 1_700_000_000_000_000)
}
