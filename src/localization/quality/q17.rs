//! Q17, links: the target has the addresses of its source, and no others.

use super::addresses::Addresses;
use super::compared::compare;
use super::detail::{borrowed, told};
use super::model::{Outcome, Pair, Subject};

/// Judges a text.
pub fn judge(subject: &Subject<'_>, pair: &Pair<'_>) -> Outcome {
    if pair.source.links.is_empty() && pair.target.links.is_empty() {
        return Outcome::Skipped("link");
    }
    let addresses = Addresses::of(subject, pair, |reading| reading.links.iter().map(|link| link.text).collect());
    let difference = compare(subject, pair, |reading| {
        reading.links.iter().map(|link| (link.range.start, addresses.key_of(link.text))).collect()
    });
    if difference.missing.is_empty() && difference.extra.is_empty() {
        return Outcome::Pass;
    }
    Outcome::Fail(told(&[("missing", &borrowed(&difference.missing)), ("extra", &borrowed(&difference.extra))]))
}
