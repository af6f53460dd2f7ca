//! What a target lacks of its source, and what it has beyond it, of things that have names.

use super::model::{Pair, Subject};
use super::occurrences::{At, Difference, Occurrences};
use super::reading::Reading;

/// Compares the things of both texts, by where they begin and their names. Of a plural, a form of the target may have
/// what the source's `other` has: a form that its language uses for many numbers must say what the source's `one` leaves
/// unsaid.
pub fn compare(
    subject: &Subject<'_>,
    pair: &Pair<'_>,
    things: impl Fn(&Reading<'_>) -> Vec<At<String>>,
) -> Difference<String> {
    let [source, target] = [things(&pair.source), things(&pair.target)];
    let other = subject.source_of_other(pair).map(|other| (other, things(other)));
    let mut expected = Occurrences::of(names(&source), pair.source.parts(), subject.source_locale);
    if let Some((reading, things)) = &other {
        expected.allow(&Occurrences::of(names(things), reading.parts(), subject.source_locale));
    }
    let found = Occurrences::of(names(&target), pair.target.parts(), subject.target_locale);
    let difference = expected.difference(&found);
    let owned = |items: Vec<&str>| items.into_iter().map(str::to_owned).collect();
    Difference { missing: owned(difference.missing), extra: owned(difference.extra) }
}

fn names(things: &[At<String>]) -> impl Iterator<Item = At<&str>> {
    things.iter().map(|(at, name)| (*at, name.as_str()))
}
