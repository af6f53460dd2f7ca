//! The indexes of all language pairs, within a bound of bytes: those that were not asked for the longest go first.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use super::index::Index;
use crate::model::TenantId;

/// From which locale into which, of a tenant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LanguagePair {
    /// Whose.
    pub tenant_id: TenantId,
    /// The content form of the source locale.
    pub source: String,
    /// The canonical tag of the target locale.
    pub target: String,
}

/// The indexes of all language pairs.
pub struct Indexes {
    bytes_max: usize,
    shelf: Mutex<Shelf>,
}

#[derive(Default)]
struct Shelf {
    held: HashMap<LanguagePair, Held>,
    /// How often anything was asked for.
    asked: u64,
}

struct Held {
    index: Arc<RwLock<Index>>,
    bytes: usize,
    /// When it was asked for last.
    asked: u64,
}

impl Indexes {
    /// None yet; together they may take so many bytes.
    #[must_use]
    pub fn new(bytes_max: usize) -> Indexes {
        Indexes { bytes_max, shelf: Mutex::default() }
    }

    /// How many bytes one index may take.
    #[must_use]
    pub const fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The index of a language pair; an empty one, if it is not held.
    pub fn take(&self, pair: &LanguagePair) -> Arc<RwLock<Index>> {
        let mut shelf = self.shelf();
        shelf.asked += 1;
        let asked = shelf.asked;
        if let Some(held) = shelf.held.get_mut(pair) {
            held.asked = asked;
            return Arc::clone(&held.index);
        }
        let index = Arc::default();
        shelf.held.insert(pair.clone(), Held { index: Arc::clone(&index), bytes: 0, asked });
        index
    }

    /// Up to which change the index of a language pair has been brought; `None` if it is not held, or is being changed.
    #[must_use]
    pub fn upto(&self, pair: &LanguagePair) -> Option<u64> {
        let index = self.shelf().held.get(pair).map(|held| Arc::clone(&held.index))?;
        index.try_read().ok().map(|index| index.upto)
    }

    /// Notes how many bytes an index takes now. Others are let go until all of them fit.
    pub fn note(&self, pair: &LanguagePair, bytes: usize) {
        let mut shelf = self.shelf();
        if let Some(held) = shelf.held.get_mut(pair) {
            held.bytes = bytes;
        }
        let mut total: usize = shelf.held.values().map(|held| held.bytes).sum();
        if total <= self.bytes_max {
            return;
        }
        let others = shelf.held.iter().filter(|(other, _)| *other != pair);
        let mut others: Vec<(u64, LanguagePair)> = others.map(|(other, held)| (held.asked, other.clone())).collect();
        others.sort_unstable_by_key(|(asked, _)| *asked);
        for (_, oldest) in others {
            if total <= self.bytes_max {
                return;
            }
            total -= shelf.held.remove(&oldest).map_or(0, |held| held.bytes);
        }
    }

    /// How many indexes are held, and how many bytes they take.
    #[must_use]
    pub fn held(&self) -> (usize, usize) {
        let shelf = self.shelf();
        (shelf.held.len(), shelf.held.values().map(|held| held.bytes).sum())
    }
}
