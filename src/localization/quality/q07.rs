//! Q07, punctuation at the end: a question stays a question, and a label keeps its colon.

use super::detail::told;
use super::model::{Outcome, Pair, Subject};
use super::punctuation::{ending, is_customary};

/// Of shorter sources the end says little (localization, Q4).
const CHARACTERS_MIN: usize = 5;

/// Signs are compared by what they mean in their language.
pub fn judge(subject: &Subject<'_>, pair: &Pair<'_>) -> Outcome {
    if pair.source.text.chars().nth(CHARACTERS_MIN - 1).is_none() {
        return Outcome::Skipped("short");
    }
    let (source, missing) = ending(&pair.source, subject.source_locale.language());
    let language = subject.target_locale.language();
    let (target, extra) = ending(&pair.target, language);
    if source == target || is_customary(language, (source, pair.source.text), (target, pair.target.text)) {
        return Outcome::Pass;
    }
    let items = |sign| if str::is_empty(sign) { Vec::new() } else { vec![sign] };
    Outcome::Fail(told(&[("missing", &items(missing)), ("extra", &items(extra))]))
}
