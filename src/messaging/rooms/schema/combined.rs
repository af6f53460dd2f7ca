//! What is asked of a value by other schemas that are applied to it as well.

use std::borrow::Cow;

use super::budget::Stop;
use super::check::{Check, Looked, Subject};
use super::model::Rules;

/// `$ref`, `$dynamicRef`, `allOf`, `anyOf`, `oneOf`, `not`
pub(super) fn applied<'s>(
    check: &mut Check<'s>,
    rules: &'s Rules,
    subject: Subject<'_>,
    mut looked: Option<&mut Looked>,
) -> Result<bool, Stop> {
    let dynamic = match &rules.dynamic {
        Some(dynamic) => Some(check.dynamic_target(dynamic)?),
        None => None,
    };
    let mut fits = true;
    for id in rules.reference.into_iter().chain(dynamic).chain(rules.all_of.iter().copied()) {
        fits &= check.apply(id, subject, looked.as_deref_mut())?;
        if !fits && !subject.is_told {
            return Ok(false);
        }
    }
    if !rules.any_of.is_empty() {
        let mut any = false;
        for id in &rules.any_of {
            any |= check.attempt(*id, subject, looked.as_deref_mut())?;
            if any && looked.is_none() {
                break;
            }
        }
        fits &= any || check.misfit(subject, || fits_none(rules.any_of.len(), "anyOf"))?;
    }
    if !rules.one_of.is_empty() {
        let mut count = 0;
        for id in &rules.one_of {
            count += usize::from(check.attempt(*id, subject, looked.as_deref_mut())?);
        }
        fits &= match count {
            0 => check.misfit(subject, || fits_none(rules.one_of.len(), "oneOf"))?,
            1 => true,
            _ => check.misfit(subject, || format!("fits {count} of the schemas of oneOf, not one alone").into())?,
        };
    }
    if let Some(not) = rules.not
        && check.would_fit(not, subject)?
    {
        fits &= check.misfit(subject, || "fits what the schema says it must not (not)".into())?;
    }
    Ok(fits)
}

fn fits_none(count: usize, keyword: &str) -> Cow<'static, str> {
    match count {
        1 => format!("does not fit the one schema of {keyword}").into(),
        _ => format!("fits none of the {count} schemas of {keyword}").into(),
    }
}

/// `if`, `then`, `else`
pub(super) fn conditional<'s>(
    check: &mut Check<'s>,
    rules: &'s Rules,
    subject: Subject<'_>,
    mut looked: Option<&mut Looked>,
) -> Result<bool, Stop> {
    let Some(condition) = &rules.condition else { return Ok(true) };
    let is_met = check.attempt(condition.condition, subject, looked.as_deref_mut())?;
    match if is_met { condition.then } else { condition.otherwise } {
        Some(id) => check.apply(id, subject, looked),
        None => Ok(true),
    }
}
