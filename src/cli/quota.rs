//! `quintet tenant quota`: what a tenant may use of a service, and what it has used.

use clap::builder::NonEmptyStringValueParser;

use super::CliError;
use super::output::{self, OutputArguments};
use super::place::PlaceArguments;
use super::tenant::path_segment;
use crate::admin::ledger::{QuotaView, QuotaWish};

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
    /// The service
    #[arg(long, value_name = "SERVICE")]
    service: String,
    /// Calls in a calendar month (UTC), or "unlimited"
    #[arg(long, value_name = "N")]
    monthly_calls: Option<Allowance<u64>>,
    /// Calls a second, and as many at once, or "unlimited"
    #[arg(long, value_name = "R")]
    burst_per_second: Option<Allowance<u32>>,
    #[command(flatten)]
    place: PlaceArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let client = arguments.place.client()?;
    let path = format!("/ledger/quota/{}", path_segment(&arguments.tenant));
    let quota: QuotaView = if arguments.monthly_calls.is_some() || arguments.burst_per_second.is_some() {
        let wish = QuotaWish {
            service: arguments.service.clone(),
            monthly_calls: arguments.monthly_calls.map(Allowance::most),
            burst_per_second: arguments.burst_per_second.map(Allowance::most),
        };
        client.post(&path, &wish)?
    } else {
        client.get(&format!("{path}?service={}", path_segment(&arguments.service)))?
    };
    if arguments.output.json {
        return output::say_json(&quota);
    }
    let shown = |most: Option<String>| most.unwrap_or_else(|| "unlimited".to_owned());
    let row = vec![
        quota.tenant_id,
        quota.service,
        shown(quota.monthly_calls.map(|most| most.to_string())),
        shown(quota.burst_per_second.map(|most| most.to_string())),
        quota.period,
        quota.calls.to_string(),
    ];
    output::say_table(&["tenant", "service", "calls a month", "calls a second", "month", "calls so far"], &[row]);
    Ok(())
}
