//! What the checks say of texts in many languages.

mod cases;
mod characters;
mod corpora;
mod dialects;
mod glossary;
mod languages;
mod plurals;
mod prose;
mod random;
mod translated;

use super::{CheckId, Limits, Pair, QaCheck, Reading, Rules, Status, Subject, judge};
use crate::content::Format;
use crate::language::{Category, Locale};
use crate::{formats, language};

/// A text of a table: the locales, the source, the translation, and what the check says of it: `pass`, `skipped: why` or
/// `fail: what`.
type Case<'c> = (&'c str, &'c str, &'c str, &'c str, &'c str);

fn locale(tag: &str) -> Locale {
    Locale::parse(tag).unwrap()
}

/// What all checks say of a text in a JSON file.
fn judged(case: &Case<'_>, rules: &Rules, limits: Limits) -> Vec<QaCheck> {
    let (source_locale, target_locale, source, target, _) = *case;
    let format = Format::Json;
    let pair = Pair { category: None, source: Reading::of(source, format), target: Reading::of(target, format) };
    judge(&Subject {
        source_locale: &locale(source_locale),
        target_locale: &locale(target_locale),
        format,
        is_plural: false,
        pairs: vec![pair],
        source_one: None,
        rules,
        limits,
    })
}

/// What all checks say of a plural; the forms are those of the target with the source of each.
fn judged_plural(target_locale: &str, forms: &[(Category, &str, &str)]) -> Vec<QaCheck> {
    let format = Format::Json;
    let reading = |text| Reading::of(text, format);
    let pairs = forms.iter().map(|(category, source, target)| Pair {
        category: Some(*category),
        source: reading(source),
        target: reading(target),
    });
    judge(&Subject {
        source_locale: &locale("en"),
        target_locale: &locale(target_locale),
        format,
        is_plural: true,
        pairs: pairs.collect(),
        source_one: None,
        rules: &Rules::default(),
        limits: Limits::default(),
    })
}

/// What a check says, in one line.
fn told(checks: &[QaCheck], check: CheckId) -> String {
    let told = checks.iter().find(|told| told.check == check).unwrap();
    match (&told.status, &told.detail) {
        (Status::Pass, None) => "pass".to_owned(),
        (status, detail) => format!("{}: {}", status.name(), detail.as_ref().unwrap()),
    }
}

/// Every case of a table as it should be.
fn assert_cases(check: CheckId, rules: &Rules, limits: Limits, cases: &[Case<'_>]) {
    let wrong: Vec<String> = cases
        .iter()
        .map(|case| (case, told(&judged(case, rules, limits), check)))
        .filter(|(case, said)| said != case.4)
        .map(|(case, said)| format!("{case:?}\n    says {said:?}"))
        .collect();
    assert!(wrong.is_empty(), "{}\n{}", check.id(), wrong.join("\n"));
}
