//! Placeholders, messages, markup and addresses: what the checks say of texts in many languages.

mod forms;
mod hostile;
mod links;
mod markup;
mod placeholders;
mod spans;
mod syntax;

use crate::content::Format;
use crate::language::{Category, Locale};
use crate::quality::{CheckId, Limits, Pair, QaCheck, Reading, Rules, Status, Subject, judge};

/// A text of a table: the locales, the source, the translation, and what the check says of it: `pass`, `skipped: why` or
/// `fail: what`.
type Case = (&'static str, &'static str, &'static str, &'static str, &'static str);

fn locale(tag: &str) -> Locale {
    Locale::parse(tag).unwrap()
}

/// What a check says, in one line.
fn told(checks: &[QaCheck], check: CheckId) -> String {
    let told = checks.iter().find(|told| told.check == check).unwrap();
    match (&told.status, &told.detail) {
        (Status::Pass, None) => "pass".to_owned(),
        (status, detail) => format!("{}: {}", status.name(), detail.as_ref().unwrap()),
    }
}

/// What all checks say of a text in a file of a kind.
fn judged_in(format: Format, source_locale: &str, target_locale: &str, source: &str, target: &str) -> Vec<QaCheck> {
    let pair = Pair { category: None, source: Reading::of(source, format), target: Reading::of(target, format) };
    judge(&Subject {
        source_locale: &locale(source_locale),
        target_locale: &locale(target_locale),
        format,
        is_plural: false,
        pairs: vec![pair],
        source_one: None,
        rules: &Rules::default(),
        limits: Limits::default(),
    })
}

/// What all checks say of a plural, as it is judged: each form of the target beside the source's own form, else `other`.
fn judged_forms(
    source_locale: &str,
    target_locale: &str,
    source: &[(Category, &str)],
    target: &[(Category, &str)],
) -> Vec<QaCheck> {
    let format = Format::Json;
    let of = |category: Category| source.iter().find(|(found, _)| *found == category).map(|(_, text)| *text);
    let other = of(Category::Other).unwrap();
    let pairs = target.iter().map(|(category, text)| Pair {
        category: Some(*category),
        source: Reading::of(of(*category).unwrap_or(other), format),
        target: Reading::of(text, format),
    });
    judge(&Subject {
        source_locale: &locale(source_locale),
        target_locale: &locale(target_locale),
        format,
        is_plural: true,
        pairs: pairs.collect(),
        source_one: of(Category::One).map(|text| Reading::of(text, format)),
        rules: &Rules::default(),
        limits: Limits::default(),
    })
}

/// Every case of a table as it should be, in a file of a kind.
fn assert_in(format: Format, check: CheckId, cases: &[Case]) {
    let wrong: Vec<String> = cases
        .iter()
        .map(|case| (case, told(&judged_in(format, case.0, case.1, case.2, case.3), check)))
        .filter(|(case, said)| said != case.4)
        .map(|(case, said)| format!("{case:?}\n    says {said:?}"))
        .collect();
    assert!(wrong.is_empty(), "{}\n{}", check.id(), wrong.join("\n"));
}
