//! Q10, what is not translated: what the project keeps is in the translation as it is in the source.

use super::detail::told;
use super::model::{Outcome, Pair, Subject};

/// Once at least, verbatim (QA results; localization, Q8).
pub fn judge(subject: &Subject<'_>, pair: &Pair<'_>) -> Outcome {
    let Some(missing) = subject.rules.not_kept(pair.source.text, pair.target.text) else {
        return Outcome::Skipped("term");
    };
    if missing.is_empty() { Outcome::Pass } else { Outcome::Fail(told(&[("missing", &missing)])) }
}
