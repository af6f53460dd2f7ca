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
        let most = ceilings.of(kind.name).map_or(kind.most, |most| most.min(kind.most));
        numbers.push((kind.name, quota(kind, most, json)?));
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

/// The value of a quota, processor time in thousandths of a core. What is too much is that however it is written, and
/// whether or not any number here could hold it.
fn quota(kind: &QuotaKind, most: u64, json: Json) -> Result<u64, Refusal> {
    let value = match json {
        Json::Number(number) if kind.is_cores => {
            let cores: f64 = number.as_str().parse().unwrap_or(-1.0);
            // Below the least stays below it, and above the most above it: a float becomes the nearest number there is.
            Some((cores * 1000.0).round() as u64)
        }
        Json::Number(number) if number.is_integer() => {
            number.as_u64().or_else(|| (!number.as_str().starts_with('-')).then_some(u64::MAX))
        }
        Json::Number(number) => {
            let value: f64 = number.as_str().parse().unwrap_or(-1.0);
            let is_whole = value.is_infinite() || value.fract() == 0.0;
            (is_whole && value > most as f64).then_some(u64::MAX)
        }
        _ => None,
    };
    match value {
        Some(value) if value > most => Err(Refusal::AboveCeiling(kind.name, shown(kind, most))),
        Some(value) if value >= kind.least => Ok(value),
        _ => {
            let what = if kind.is_cores { "number of cores" } else { "whole number" };
            let (least, most) = (shown(kind, kind.least), shown(kind, most));
            Err(Refusal::field(kind.name, format!("must be a {what} from {least} to {most}")))
        }
    }
}

/// The value of a quota as callers write it.
fn shown(kind: &QuotaKind, value: u64) -> String {
    if kind.is_cores { (value as f64 / 1000.0).to_string() } else { value.to_string() }
}

#[cfg(test)]
mod tests {
    use quintet_platform::json::{Limits, parse};

    use super::*;

    fn read(name: &str, value: &str, ceilings: &Ceilings) -> Result<SetQuotas, Refusal> {
        let body = parse(format!("{{\"{name}\": {value}}}").as_bytes(), Limits::default()).unwrap();
        read_quotas(body, ceilings)
    }

    fn is_above(name: &'static str, value: &str, ceilings: &Ceilings) -> bool {
        matches!(read(name, value, ceilings), Err(Refusal::AboveCeiling(of, _)) if of == name)
    }

    #[test]
    fn above_a_ceiling_is_above_it_however_large() {
        let ceilings = Ceilings::on_machine(Vec::new(), 8, 16_000);
        for (name, most) in [
            ("max_concurrent_runs", "1000"),
            ("max_daily_runs", "1000000"),
            ("max_timeout_seconds", "604800"),
            ("default_timeout_seconds", "604800"),
            ("max_queue_seconds", "604800"),
            ("max_nodes_per_workflow", "1000"),
            ("max_concurrent_workflows", "1000"),
            ("max_webhook_payload_bytes", "262144"),
            ("max_cpu", "8"),
            ("default_cpu", "8"),
            ("max_memory_mb", "16000"),
            ("default_memory_mb", "16000"),
            ("max_image_mb", "1048576"),
            ("retention_days", "3650"),
            ("stop_grace_seconds", "300"),
            ("max_webhook_endpoints", "100"),
        ] {
            assert!(read(name, most, &ceilings).is_ok_and(|set| set.numbers.len() == 1), "{name}");
            let one_more = format!("{}", most.parse::<u64>().unwrap() + 1);
            for value in [&one_more, "1000000001", "1e10", "18446744073709551616", "1e300", "1e999"] {
                assert!(is_above(name, value, &ceilings), "{name} {value}: {:?}", read(name, value, &ceilings));
            }
            for value in ["-1", "-1e300", "-1e999", "-18446744073709551616", "\"9\"", "true"] {
                assert!(matches!(read(name, value, &ceilings), Err(Refusal::Fault(_))), "{name} {value}");
            }
        }
        assert!(matches!(read("max_daily_runs", "1.5", &ceilings), Err(Refusal::Fault(_))));
    }

    #[test]
    fn ceilings_are_what_was_said_or_the_usual_ones() {
        let small = Ceilings::on_machine(vec![("max_daily_runs".to_owned(), 2_000_000)], 1, 512);
        assert_eq!((small.of("max_cpu"), small.of("max_memory_mb")), (Some(2000), Some(2048)), "no less than is given");
        assert_eq!(small.of("max_daily_runs"), Some(2_000_000), "also more than usual");
        assert!(is_above("max_daily_runs", "2000001", &small));
        // Without any there is still a most.
        assert!(is_above("max_daily_runs", "1000000001", &Ceilings::default()));
    }
}
