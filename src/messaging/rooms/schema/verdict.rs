//! Whether a value fits a schema.

use quintet_platform::json::Json;

use super::budget::Stop;
use super::check::{At, Check, MISFITS_MAX, Rule, Subject};
use super::fault::Misfit;
use super::model::Compiled;
use super::{children, combined, scalars};

/// All that a schema may ask for. What asks for what is left over comes last.
const RULES: &[Rule] = &[
    scalars::types,
    scalars::choices,
    scalars::numbers,
    scalars::texts,
    combined::applied,
    combined::conditional,
    children::arrays,
    children::objects,
    children::leftover_items,
    children::leftover_members,
];

/// Checks a value.
///
/// # Errors
/// What does not fit, at most 20 things; or that the check would take too long.
pub(super) fn check(compiled: &Compiled, value: &Json) -> Result<(), Vec<Misfit>> {
    let mut check = Check::new(compiled, RULES);
    let subject = Subject { value, at: &At::Whole, is_told: true };
    let message = match check.apply(Compiled::ROOT, subject, None) {
        Ok(true) => return Ok(()),
        Ok(false) | Err(Stop::Enough) => return Err(check.into_misfits()),
        Err(Stop::Steps) => "takes too many steps to check: the schema tries too much, or there is too much to check",
        Err(Stop::Depth) => "takes too much to check: the schema goes too deep with it",
    };
    // Never taken as a fit: what could not be checked to its end is refused.
    let mut misfits = check.into_misfits();
    misfits.truncate(MISFITS_MAX - 1);
    misfits.push(Misfit { path: String::new(), message: message.to_owned() });
    Err(misfits)
}
