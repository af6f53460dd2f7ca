//! What is asked of a value by itself: its type, that it is one of some, and the bounds of numbers and texts.

use std::cmp::Ordering;

use quintet_platform::json::{Json, Number};

use super::budget::Stop;
use super::check::{Check, Looked, Subject};
use super::decimal::Decimal;
use super::model::{Numbers, Rules};
use super::same::text_within;

/// `type`
pub(super) fn types<'s>(
    check: &mut Check<'s>,
    rules: &'s Rules,
    subject: Subject<'_>,
    _: Option<&mut Looked>,
) -> Result<bool, Stop> {
    let Some(types) = &rules.types else { return Ok(true) };
    let fits = match subject.value {
        Json::Null => types.null,
        Json::Bool(_) => types.boolean,
        Json::Number(number) => types.number || (types.integer && is_integer(check, number)?),
        Json::String(_) => types.string,
        Json::Array(_) => types.array,
        Json::Object(_) => types.object,
    };
    if fits { Ok(true) } else { check.misfit(subject, || format!("must be {}", types.shown).into()) }
}

/// `7.0` is a whole number as well.
fn is_integer(check: &mut Check<'_>, number: &Number) -> Result<bool, Stop> {
    if number.is_integer() {
        return Ok(true);
    }
    check.budget.spend_for_bytes(number.as_str().len())?;
    Ok(Decimal::read(number.as_str()).is_some_and(|number| number.is_integer()))
}

/// `enum` and `const`
pub(super) fn choices<'s>(
    check: &mut Check<'s>,
    rules: &'s Rules,
    subject: Subject<'_>,
    _: Option<&mut Looked>,
) -> Result<bool, Stop> {
    let mut fits = true;
    for choice in &rules.choices {
        let text = text_within(subject.value, choice.longest_bytes, &mut check.budget)?;
        if text.is_none_or(|text| choice.texts.binary_search(&text).is_err()) {
            fits = check.misfit(subject, || format!("must be {}", choice.shown).into())?;
        }
    }
    Ok(fits)
}

/// `multipleOf`, `minimum`, `exclusiveMinimum`, `maximum`, `exclusiveMaximum`
pub(super) fn numbers<'s>(
    check: &mut Check<'s>,
    rules: &'s Rules,
    subject: Subject<'_>,
    _: Option<&mut Looked>,
) -> Result<bool, Stop> {
    let (Some(numbers), Json::Number(number)) = (&rules.numbers, subject.value) else { return Ok(true) };
    check.budget.spend_for_bytes(number.as_str().len())?;
    let Some(number) = Decimal::read(number.as_str()) else {
        return check.misfit(subject, || "has an exponent beyond all that is counted with".into());
    };
    let mut fits = true;
    for (holds, what, shown) in bounds(numbers, &number) {
        if !holds {
            fits = check.misfit(subject, || format!("must be {what} {shown}").into())?;
        }
    }
    Ok(fits)
}

/// Every bound that there is: whether it holds, and how it is said.
fn bounds<'n>(numbers: &'n Numbers, number: &Decimal) -> impl Iterator<Item = (bool, &'static str, &'n str)> {
    let order = |bound: &Decimal| number.cmp(bound);
    let bounds = [
        (numbers.minimum.as_ref().map(|it| (order(&it.value) != Ordering::Less, "at least", &it.shown))),
        (numbers.exclusive_minimum.as_ref().map(|it| (order(&it.value) == Ordering::Greater, "more than", &it.shown))),
        (numbers.maximum.as_ref().map(|it| (order(&it.value) != Ordering::Greater, "at most", &it.shown))),
        (numbers.exclusive_maximum.as_ref().map(|it| (order(&it.value) == Ordering::Less, "less than", &it.shown))),
        (numbers.multiple_of.as_ref().map(|it| (number.is_multiple_of(&it.value), "a multiple of", &it.shown))),
    ];
    bounds.into_iter().flatten().map(|(holds, what, shown)| (holds, what, shown.as_str()))
}

/// `minLength`, `maxLength`, `pattern`
pub(super) fn texts<'s>(
    check: &mut Check<'s>,
    rules: &'s Rules,
    subject: Subject<'_>,
    _: Option<&mut Looked>,
) -> Result<bool, Stop> {
    let (Some(texts), Json::String(text)) = (&rules.texts, subject.value) else { return Ok(true) };
    let mut fits = true;
    if texts.chars_min.is_some() || texts.chars_max.is_some() {
        check.budget.spend_for_bytes(text.len())?;
        let chars = text.chars().count() as u64;
        if let Some(least) = texts.chars_min.filter(|least| chars < *least) {
            fits = check.misfit(subject, || format!("must have at least {}", many(least, "character")).into())?;
        }
        if let Some(most) = texts.chars_max.filter(|most| chars > *most) {
            fits = check.misfit(subject, || format!("must have at most {}", many(most, "character")).into())?;
        }
    }
    if let Some(pattern) = &texts.pattern
        && !pattern.is_found_in(text, &mut check.budget)?
    {
        fits = check.misfit(subject, || format!("must match the pattern {}", pattern.shown()).into())?;
    }
    Ok(fits)
}

/// `1 item`, `2 items`
pub(super) fn many(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
