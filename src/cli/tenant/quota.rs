//! `quintet tenant quota`: what a tenant may use of a service, and what it has used.

use clap::builder::NonEmptyStringValueParser;
use serde_json::Value;

use crate::admin::call::Items;
use crate::admin::quotas::{self, QuotaView, QuotaWish};
use crate::cli::CliError;
use crate::cli::output::{self, OutputArguments};
use crate::cli::place::PlaceArguments;
use crate::cli::runs::quotas::{RunQuotas, hours_shown};

/// An allowance: a number, or none.
#[derive(Clone, Copy, Debug)]
enum Allowance<T> {
    Unlimited,
    Most(T),
}

impl<T: std::str::FromStr> std::str::FromStr for Allowance<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "unlimited" => Ok(Allowance::Unlimited),
            number => number.parse().map(Allowance::Most).map_err(|_| "a number, or \"unlimited\"".to_owned()),
        }
    }
}

impl<T> Allowance<T> {
    fn most(self) -> Option<T> {
        match self {
            Allowance::Unlimited => None,
            Allowance::Most(number) => Some(number),
        }
    }
}

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The tenant's id, or its name if no other tenant has it
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    tenant: String,
    /// The service [default: all of the tenant's; runs if one of its quotas is set]
    #[arg(long, value_name = "SERVICE")]
    service: Option<String>,
    /// Calls in a calendar month (UTC), or "unlimited"
    #[arg(long, value_name = "N", requires = "service")]
    monthly_calls: Option<Allowance<u64>>,
    /// Calls a second, and as many at once, or "unlimited"
    #[arg(long, value_name = "R", requires = "service")]
    burst_per_second: Option<Allowance<u32>>,
    #[command(flatten)]
    place: PlaceArguments,
    #[command(flatten)]
    output: OutputArguments,
    // Its heading holds for all that follows.
    #[command(flatten)]
    runs: RunQuotas,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let client = arguments.place.client()?;
    let of_runs = arguments.runs.wish()?;
    let is_one = arguments.service.is_some() || of_runs.is_some();
    let views = if of_runs.is_some() || arguments.monthly_calls.is_some() || arguments.burst_per_second.is_some() {
        let wish = QuotaWish {
            service: arguments.service.clone().unwrap_or_else(|| "runs".to_owned()),
            monthly_calls: arguments.monthly_calls.map(Allowance::most),
            burst_per_second: arguments.burst_per_second.map(Allowance::most),
            quotas: of_runs,
        };
        vec![client.ask(quotas::CHANGE.of(&[&arguments.tenant]).wishing(&wish))?]
    } else {
        let asked = quotas::SHOW.of(&[&arguments.tenant]).with("service", arguments.service.as_deref());
        client.ask(asked)?.items
    };
    if arguments.output.json {
        return match views.first().filter(|_| is_one) {
            Some(view) => output::say_json(view),
            None => output::say_json(&Items { items: views }),
        };
    }
    tell(&views);
    Ok(())
}

/// Tables for people: calls of each service, then the quotas of runs.
fn tell(views: &[QuotaView]) {
    let shown = |most: Option<String>| most.unwrap_or_else(|| "unlimited".to_owned());
    let rows = views.iter().map(|quota| {
        vec![
            quota.tenant_id.clone(),
            quota.service.clone(),
            shown(quota.monthly_calls.map(|most| most.to_string())),
            shown(quota.burst_per_second.map(|most| most.to_string())),
            quota.period.clone(),
            quota.calls.to_string(),
        ]
    });
    let headings = ["tenant", "service", "calls a month", "calls a second", "month", "calls so far"];
    output::say_table(&headings, &rows.collect::<Vec<_>>());
    for view in views {
        let (Some(Value::Object(quotas)), ceilings) = (&view.quotas, view.ceilings.as_ref()) else { continue };
        let rows = quotas.iter().filter(|(_, value)| value.is_number()).map(|(name, value)| {
            let ceiling = ceilings.and_then(|ceilings| ceilings.get(name));
            vec![name.clone(), value.to_string(), ceiling.map_or_else(|| "-".to_owned(), Value::to_string)]
        });
        output::say("");
        output::say_table(&["quota of runs", "in force", "ceiling"], &rows.collect::<Vec<_>>());
        output::say(&format!("working hours: {}", hours_shown(quotas.get("working_hours_effective"))));
    }
}
