//! Column families: the parts that the tables consist of on disk.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// A column family: a part of the tables that is flushed and compacted by itself. Every room declares one for its rows,
/// as a constant; its name on disk stays for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Family(&'static str);

impl Family {
    /// The appliance's own rows: what all services share, storage's keys among it.
    pub const APPLIANCE: Family = Family::named("platform");
    /// Chunks of large values, whoever they belong to.
    pub const LARGE: Family = Family::named("large");

    /// Names a family, by lower-case letters, digits and `_`.
    ///
    /// # Panics
    /// On any other name, at compile time where it stands in a constant.
    #[must_use]
    pub const fn named(name: &'static str) -> Family {
        assert!(is_family_name(name), "a family's name is of lower-case letters, digits and _, and not RocksDB's own");
        Family(name)
    }

    /// A family that a directory holds; perhaps none of this binary's rooms knows it. Names that were met stay in
    /// memory: they are few.
    pub(crate) fn found(name: &str) -> Family {
        static FOUND: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = found.get(name) {
            return Family(known);
        }
        let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
        found.insert(name);
        Family(name)
    }

    /// The column family's name on disk.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0
    }
}

const fn is_family_name(name: &str) -> bool {
    let mut rest = name.as_bytes();
    while let [first, others @ ..] = rest {
        if !(first.is_ascii_lowercase() || first.is_ascii_digit() || *first == b'_') {
            return false;
        }
        rest = others;
    }
    !name.is_empty() && !matches!(name.as_bytes(), b"default")
}
