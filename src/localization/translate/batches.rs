//! Which items the engine is asked for together (localization, A2 and A3): texts and plurals apart, legal texts and others
//! apart, at most 25 and about 32 KiB of sources.

use super::model::Item;

/// The most items of a batch.
const ITEMS_MAX: usize = 25;
/// About the most bytes of sources: an item that is longer has a batch of its own.
const BYTES_MAX: usize = 32 << 10;

/// The items of one request to the engine: at least one.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Whether they are plurals.
    pub is_plural: bool,
    /// Whether they are legal texts.
    pub is_legal: bool,
    /// In the order in which they came.
    pub items: Vec<Item>,
}

/// Items in batches.
#[must_use]
pub fn batches(items: Vec<Item>) -> Vec<Batch> {
    let mut kinds: [Vec<Item>; 4] = Default::default();
    for item in items {
        let (is_plural, is_legal) = (item.candidate.key.entry.source.is_plural(), item.candidate.is_legal);
        if let Some(kind) = kinds.get_mut(usize::from(is_plural) + 2 * usize::from(is_legal)) {
            kind.push(item);
        }
    }
    let mut batches: Vec<Batch> = Vec::new();
    for kind in kinds {
        let mut bytes = BYTES_MAX;
        for (place, item) in kind.into_iter().enumerate() {
            let (is_plural, is_legal) = (item.candidate.key.entry.source.is_plural(), item.candidate.is_legal);
            let own = item.candidate.key.entry.source.bytes();
            match batches
                .last_mut()
                .filter(|last| place > 0 && last.items.len() < ITEMS_MAX && bytes + own <= BYTES_MAX)
            {
                Some(last) => last.items.push(item),
                None => {
                    bytes = 0;
                    batches.push(Batch { is_plural, is_legal, items: vec![item] });
                }
            }
            bytes += own;
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::translate::tests::item;

    fn shapes(items: Vec<Item>) -> Vec<(bool, bool, Vec<u64>)> {
        let numbers = |batch: &Batch| batch.items.iter().map(|item| item.candidate.key.entry.number).collect();
        batches(items).iter().map(|batch| (batch.is_plural, batch.is_legal, numbers(batch))).collect()
    }

    #[test]
    fn kinds_lie_apart_and_in_order() {
        let items = vec![
            item(1, "a", false),
            item(2, "legal.b", false),
            item(3, "c", true),
            item(4, "d", false),
            item(5, "legal.e", true),
            item(6, "legal.f", false),
        ];
        let expected =
            [(false, false, vec![1, 4]), (true, false, vec![3]), (false, true, vec![2, 6]), (true, true, vec![5])];
        assert_eq!(shapes(items), expected);
        assert_eq!(shapes(Vec::new()), []);
    }

    #[test]
    fn no_batch_is_longer_than_an_engine_can_take() {
        let many = batches((0..200).map(|number| item(number, "k", false)).collect());
        assert_eq!(many.iter().map(|batch| batch.items.len()).collect::<Vec<_>>(), [25; 8]);
        let long = |number: u64, bytes: usize| {
            let mut item = item(number, "k", false);
            item.candidate.key.entry.source = crate::content::Source::Text("x".repeat(bytes));
            item
        };
        let items = vec![long(1, 20_000), long(2, 12_000), long(3, 800), long(4, 60_000), long(5, 10), long(6, 10)];
        let expected =
            [(false, false, vec![1, 2]), (false, false, vec![3]), (false, false, vec![4]), (false, false, vec![5, 6])];
        assert_eq!(shapes(items), expected);
    }
}
