//! Q04, plural forms: a plural has exactly the forms of its locale, and none of them is empty.

use crate::language::Categories;

use super::characters::is_blank;
use super::detail::told;
use super::model::{Outcome, Subject};

/// A form may be empty where its source is. Texts have no forms to look at (localization, Q1).
pub fn judge(subject: &Subject<'_>) -> Outcome {
    if !subject.is_plural {
        return Outcome::Skipped("plural");
    }
    let wanted = subject.target_locale.cardinal();
    let present: Categories = subject.pairs.iter().filter_map(|pair| pair.category).collect();
    let empty: Categories = subject
        .pairs
        .iter()
        .filter(|pair| pair.target.text.chars().all(is_blank) && !pair.source.text.chars().all(is_blank))
        .filter_map(|pair| pair.category)
        .collect();
    let without = |all: Categories, those: Categories| all.iter().filter(|one| !those.contains(*one)).collect();
    let (missing, extra): (Categories, Categories) = (without(wanted, present), without(present, wanted));
    if missing.is_empty() && extra.is_empty() && empty.is_empty() {
        return Outcome::Pass;
    }
    Outcome::Fail(told(&[("missing", &missing.names()), ("extra", &extra.names()), ("empty", &empty.names())]))
}
