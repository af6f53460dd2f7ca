//! Large changes in small steps: nobody else waits long for the one writer.
//!
//! A hundred thousand keys of an import are prepared outside, written in steps under a version that nobody sees, and
//! made visible by a last, small transaction, which checks that the version is still right. What an abandoned change
//! has written is the room's to collect, as it is for large values.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::Abort;
use crate::open::store::Store;
use crate::time::Timestamp;
use crate::write::tx::WriteTx;

/// The most items one step takes.
pub const ITEMS_PER_STEP: usize = 500;

/// The most of a step's own bytes, as its items say; a step of large items is shorter.
const BYTES_PER_STEP: usize = 256 << 10;

/// Something that is staged.
pub trait Staged: Send + Sync + 'static {
    /// About how many bytes it writes.
    fn bytes(&self) -> usize;
}

/// Runs `verb` over all items, in transactions of at most [`ITEMS_PER_STEP`] of them, each durable before the next is
/// asked for; others get their turn in between. Each step waits at most `patience` for the writer.
///
/// # Errors
/// The first step that does not succeed ends it; earlier ones stay.
pub async fn stage<T, R, F>(store: &Store, patience: Duration, items: Vec<T>, verb: F) -> Result<(), Abort<R>>
where
    T: Staged,
    R: Send + 'static,
    F: Fn(&mut WriteTx<'_>, Timestamp, &[T]) -> Result<(), Abort<R>> + Send + Sync + 'static,
{
    let (items, verb) = (Arc::new(items), Arc::new(verb));
    let mut from = 0;
    while from < items.len() {
        let until = end_of_step(&items, from);
        let (step_items, step_verb) = (Arc::clone(&items), Arc::clone(&verb));
        store
            .write(Instant::now() + patience, move |tx, now| {
                step_verb(tx, now, step_items.get(from..until).unwrap_or_default())
            })
            .await?;
        from = until;
    }
    Ok(())
}

fn end_of_step<T: Staged>(items: &[T], from: usize) -> usize {
    let mut bytes = 0;
    let mut until = from;
    for item in items.iter().skip(from).take(ITEMS_PER_STEP) {
        bytes += item.bytes();
        if until > from && bytes > BYTES_PER_STEP {
            break;
        }
        until += 1;
    }
    until
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Staged for usize {
        fn bytes(&self) -> usize {
            *self
        }
    }

    #[test]
    fn steps_are_bounded_in_items_and_bytes_and_always_go_on() {
        assert_eq!(end_of_step(&[1; 2000], 0), ITEMS_PER_STEP);
        assert_eq!(end_of_step(&[1; 2000], 1900), 2000);
        assert_eq!(end_of_step(&[100 << 10; 10], 4), 6);
        assert_eq!(end_of_step(&[10 << 20; 3], 1), 2, "an item larger than a step is one of its own");
    }
}
