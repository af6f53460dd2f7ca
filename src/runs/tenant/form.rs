//! Reading a change of quotas.

use quintet_platform::json::{Fields, Given, Json};

use crate::allowances::Ceilings;
use crate::allowances::calendar::{Calendar, ShiftError};
use crate::allowances::model::{QUOTA_KINDS, QuotaKind, SetQuotas};
use crate::form::{field, first};
use crate::refusal::{Refusal, ShiftFault};

/// Reads a change of quotas. A calendar is read here, before there is a transaction.
pub(crate) fn read_quotas(body: Json, ceilings: &Ceilings) -> Result<SetQuotas, Refusal> {
    let mut fields = Fields::new(body).map_err(field)?;
    let mut numbers = Vec::new();
    for kind in QUOTA_KINDS {
        let Some(json) = fields.take(kind.name) else { continue };
        let value = quota(kind, json)?;
        match ceilings.of(kind.name) {
            Some(most) if value > most => return Err(Refusal::AboveCeiling(kind.name, shown(kind, most))),
            _ => numbers.push((kind.name, value)),
        }
    }
    let working_hours_tjp = match fields.nullable::<String>("working_hours_tjp").map_err(field)? {
        Given::Absent => None,
        Given::Null => Some(None),
        Given::Value(text) => {
            Calendar::parse(&text).map_err(no_calendar)?;
            Some(Some(text))
        }
    };
    fields.finish().map_err(|unknown| first(unknown, field))?;
    Ok(SetQuotas { numbers, working_hours_tjp })
}

fn no_calendar(error: ShiftError) -> Refusal {
    let detail = error.to_string();
    let ShiftError { line, column, found, expected } = error;
    Refusal::InvalidWorkingHours(ShiftFault { line, column, found, expected, detail })
}

/// The value of a quota, processor time in thousandths of a core.
fn quota(kind: &QuotaKind, json: Json) -> Result<u64, Refusal> {
    let value = match json {
        Json::Number(number) if kind.is_cores => {
            let cores: f64 = number.as_str().parse().unwrap_or(-1.0);
            // Below the least stays below it: a float becomes the nearest number there is.
            Some((cores * 1000.0).round() as u64)
        }
        Json::Number(number) if number.is_integer() => number.as_u64(),
        _ => None,
    };
    value.filter(|value| (kind.least..=kind.most).contains(value)).ok_or_else(|| {
        let what = if kind.is_cores { "number of cores" } else { "whole number" };
        let (least, most) = (shown(kind, kind.least), shown(kind, kind.most));
        Refusal::field(kind.name, format!("must be a {what} from {least} to {most}"))
    })
}

/// The value of a quota as callers write it.
fn shown(kind: &QuotaKind, value: u64) -> String {
    if kind.is_cores { (value as f64 / 1000.0).to_string() } else { value.to_string() }
}
