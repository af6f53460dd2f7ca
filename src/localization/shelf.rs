//! What was worked out from stored rows, kept to be used again: so many bytes of it, and what was used longest ago goes
//! first.
//!
//! A thing is kept under a name that stands for one content for good, such as the digest of stored bytes or a number that
//! every change draws anew. So nothing is ever out of date, whichever state of the store it was read from, and nothing
//! needs to be taken off: what nobody asks for any more is pushed out by what is.
//!
//! Pages of what is stored have a part of the shelf to themselves: they are many, and read again in no time. Whoever goes
//! through a large file would push out with them what others had to work long for.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a thing is kept under.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    /// What it was made from: for one content for good.
    pub content: u128,
    /// Which part or view of that it is.
    pub part: String,
}

/// Things of any type.
pub struct Shelf {
    made: Tier,
    pages: Tier,
}

/// A part of a shelf.
struct Tier {
    bytes_max: usize,
    kept: Mutex<Kept>,
}

type Place = (TypeId, Name);

#[derive(Default)]
struct Kept {
    things: HashMap<Place, Thing>,
    /// The places by when they were used last.
    by_use: BTreeMap<u64, Place>,
    uses: u64,
    bytes: usize,
}

struct Thing {
    thing: Arc<dyn Any + Send + Sync>,
    bytes: usize,
    used: u64,
}

impl Shelf {
    /// An empty one, which keeps things of about so many bytes together, a quarter of them pages. What takes more than half
    /// of its part is not kept: it would push out most of what is there.
    #[must_use]
    pub fn new(bytes_max: usize) -> Shelf {
        let tier = |bytes_max| Tier { bytes_max, kept: Mutex::default() };
        Shelf { made: tier(bytes_max - bytes_max / 4), pages: tier(bytes_max / 4) }
    }

    /// The thing of a name, if it is still there.
    #[must_use]
    pub fn get<T: Any + Send + Sync>(&self, name: &Name) -> Option<Arc<T>> {
        self.made.get(name)
    }

    /// Keeps a thing that takes about so many bytes.
    pub fn put<T: Any + Send + Sync>(&self, name: Name, thing: &Arc<T>, bytes: usize) {
        self.made.put(name, thing, bytes);
    }

    /// The page of a name, if it is still there.
    #[must_use]
    pub fn get_page<T: Any + Send + Sync>(&self, name: &Name) -> Option<Arc<T>> {
        self.pages.get(name)
    }

    /// Keeps a page that takes about so many bytes.
    pub fn put_page<T: Any + Send + Sync>(&self, name: Name, page: &Arc<T>, bytes: usize) {
        self.pages.put(name, page, bytes);
    }
}

impl Tier {
    /// Nothing panics while it is locked, and a half-done change would only be one thing too many or too few.
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get<T: Any + Send + Sync>(&self, name: &Name) -> Option<Arc<T>> {
        let place = (TypeId::of::<T>(), name.clone());
        let mut kept = self.lock();
        let kept = &mut *kept;
        let thing = kept.things.get_mut(&place)?;
        kept.uses += 1;
        kept.by_use.remove(&thing.used);
        thing.used = kept.uses;
        kept.by_use.insert(kept.uses, place);
        Arc::clone(&thing.thing).downcast().ok()
    }

    fn put<T: Any + Send + Sync>(&self, name: Name, thing: &Arc<T>, bytes: usize) {
        if bytes > self.bytes_max / 2 {
            return;
        }
        let place = (TypeId::of::<T>(), name);
        let mut kept = self.lock();
        kept.take_off(&place);
        kept.uses += 1;
        let used = kept.uses;
        kept.bytes += bytes;
        kept.by_use.insert(used, place.clone());
        kept.things.insert(place, Thing { thing: Arc::<T>::clone(thing), bytes, used });
        while kept.bytes > self.bytes_max {
            let Some((_, oldest)) = kept.by_use.pop_first() else { return };
            kept.take_off(&oldest);
        }
    }
}

impl Kept {
    fn take_off(&mut self, place: &Place) {
        if let Some(thing) = self.things.remove(place) {
            self.by_use.remove(&thing.used);
            self.bytes -= thing.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(content: u128) -> Name {
        Name { content, part: "de".into() }
    }

    fn tier(bytes_max: usize) -> Tier {
        Tier { bytes_max, kept: Mutex::default() }
    }

    fn put(shelf: &Tier, content: u128, bytes: usize) {
        shelf.put(name(content), &Arc::new(content), bytes);
    }

    fn held(shelf: &Tier) -> Vec<u128> {
        let kept = shelf.lock();
        assert_eq!(kept.things.len(), kept.by_use.len());
        assert_eq!(kept.things.values().map(|thing| thing.bytes).sum::<usize>(), kept.bytes);
        assert!(kept.bytes <= shelf.bytes_max);
        let mut all: Vec<u128> = kept.things.keys().map(|(_, name)| name.content).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn what_was_used_longest_ago_goes_first() {
        let shelf = tier(100);
        for content in 1..=4 {
            put(&shelf, content, 25);
        }
        assert_eq!(shelf.get::<u128>(&name(1)).as_deref(), Some(&1));
        put(&shelf, 5, 10);
        assert_eq!(held(&shelf), [1, 3, 4, 5]);
        put(&shelf, 6, 25);
        assert_eq!(held(&shelf), [1, 4, 5, 6]);
        assert_eq!(shelf.get::<u128>(&name(3)), None);
    }

    #[test]
    fn a_thing_is_found_by_its_name_and_its_type() {
        let shelf = tier(100);
        put(&shelf, 1, 10);
        assert_eq!(shelf.get::<String>(&name(1)), None);
        assert_eq!(shelf.get::<u128>(&Name { content: 1, part: "fr".into() }), None);
        shelf.put(name(1), &Arc::new("other".to_owned()), 10);
        assert_eq!(shelf.get::<u128>(&name(1)).as_deref(), Some(&1));
        shelf.put(name(1), &Arc::new(7_u128), 20);
        assert_eq!(shelf.get::<u128>(&name(1)).as_deref(), Some(&7));
        assert_eq!(shelf.lock().bytes, 30);
    }

    #[test]
    fn what_is_too_large_is_not_kept() {
        let shelf = tier(100);
        put(&shelf, 1, 50);
        put(&shelf, 2, 51);
        assert_eq!(held(&shelf), [1]);
    }

    #[test]
    fn it_keeps_within_its_bounds_whatever_comes() {
        let shelf = tier(1_000);
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..5_000 {
            let content = random.u128(..60);
            match random.bool() {
                true => put(&shelf, content, random.usize(..600)),
                false => drop(shelf.get::<u128>(&name(content))),
            }
            held(&shelf);
        }
    }

    #[test]
    fn pages_push_out_nothing_but_pages() {
        let shelf = Shelf::new(400);
        let made = Arc::new("a rule".to_owned());
        shelf.put(name(0), &made, 100);
        for content in 1..1_000 {
            shelf.put_page(name(content), &Arc::new(content), 20);
        }
        assert_eq!(shelf.get::<String>(&name(0)), Some(made));
        assert_eq!(shelf.get_page::<u128>(&name(999)).as_deref(), Some(&999));
        assert_eq!((shelf.get_page::<u128>(&name(1)), shelf.get::<u128>(&name(999))), (None, None));
        assert_eq!(held(&shelf.pages).len(), 5);
    }
}
