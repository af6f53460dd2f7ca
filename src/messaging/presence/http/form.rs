//! Reading what agents declare.

use quintet_platform::json::Fields;

use super::super::declare::Declared;
use crate::form::{line, optional, required};
use crate::identity::{Availability, HoldBelow, Priority};
use crate::refusal::Refusal;

/// The longest reason, in characters.
const REASON_CHARS_MAX: usize = 500;

/// PUT /v1/agents/{name}/availability
pub(super) fn read_declared(fields: &mut Fields) -> Result<Declared, Refusal> {
    let state: String = required(fields, "state")?;
    let availability = Availability::named(&state)
        .ok_or_else(|| Refusal::field("state", names(Availability::ALL.map(Availability::name))))?;
    let seconds = optional::<u64>(fields, "seconds")?;
    if seconds == Some(0) {
        return Err(Refusal::field("seconds", "must be at least 1"));
    }
    let reason = reason(fields)?;
    let hold_below = optional::<String>(fields, "hold_below")?.map(|name| hold_below(&name)).transpose()?;
    Ok(Declared { availability, seconds, reason, hold_below })
}

fn hold_below(name: &str) -> Result<HoldBelow, Refusal> {
    let of_name = Priority::named(name);
    of_name.ok_or_else(|| Refusal::field("hold_below", names(Priority::ALL.map(Priority::name))))
}

/// Why, in the agent's words; none at all are no reason.
pub(super) fn reason(fields: &mut Fields) -> Result<Option<String>, Refusal> {
    let reason = optional::<String>(fields, "reason")?.filter(|reason| !reason.is_empty());
    reason.map(|reason| line("reason", reason, REASON_CHARS_MAX)).transpose()
}

fn names<const COUNT: usize>(names: [&str; COUNT]) -> String {
    format!("must be one of {}", names.join(", "))
}
