//! Q09, terms of the glossary: what a term of the source becomes is in the translation.

use super::detail::{borrowed, told};
use super::model::{Outcome, Pair, Subject};

/// One of several targets is enough, in any form that begins with it (localization, Q8).
pub fn judge(subject: &Subject<'_>, pair: &Pair<'_>) -> Outcome {
    let terms = subject.rules.terms_in(&pair.source);
    if terms.is_empty() {
        return Outcome::Skipped("term");
    }
    let missing = subject.rules.without_target(terms, pair.target.text);
    if missing.is_empty() {
        return Outcome::Pass;
    }
    let named: Vec<String> = missing.iter().map(|term| term.targets.join(" or ")).collect();
    Outcome::Fail(told(&[("missing", &borrowed(&named))]))
}
