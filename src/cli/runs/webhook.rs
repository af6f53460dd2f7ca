//! `quintet webhook`: the operator's view of webhooks, and sending once more what did not arrive.

use std::time::{Duration, Instant};

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;
use serde_json::{Map, Value};

use crate::admin::call::{Asked, Items};
use crate::admin::client::{CallError, Client};
use crate::admin::problem::ProblemCode;
use crate::admin::records::RecordView;
use crate::admin::webhooks::{self, DeadWish, RedeliverWish};
use crate::cli::CliError;
use crate::cli::output::{self, OutputArguments};
use crate::cli::place::PlaceArguments;
use crate::cli::progress::Progress;
use crate::cli::runs::records::cell;
use crate::measures::counted;

/// Show and mend webhooks: endpoints, deliveries, and what was given up
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// What all of these commands take.
#[derive(Debug, clap::Args)]
struct Common {
    /// The tenant's id, or its name if no other tenant has it [default: all tenants]
    #[arg(long, value_name = "T")]
    tenant: Option<String>,
    /// Whose webhooks: those of runs, or of localization
    #[arg(long, value_name = "SERVICE", default_value = "runs", value_parser = ["runs", "localization"])]
    service: String,
    #[command(flatten)]
    place: PlaceArguments,
    #[command(flatten)]
    output: OutputArguments,
}

#[derive(Debug, clap::Args)]
struct OneEndpoint {
    /// The endpoint's id
    #[arg(value_name = "ENDPOINT", value_parser = NonEmptyStringValueParser::new())]
    endpoint: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List endpoints, newest first: where they are, whether they are active, what was given up of late
    List {
        #[command(flatten)]
        common: Common,
    },
    /// Show one endpoint; its secret is never shown
    Show(OneEndpoint),
    /// Enable an endpoint that is disabled, and count its failures anew
    ///
    /// What happened while it was disabled was not enqueued for it. What waited for it then was given up:
    /// `quintet webhook redeliver --endpoint ENDPOINT --dead-since INSTANT` sends that once more.
    Enable(OneEndpoint),
    /// Send webhook.test to an endpoint, and wait for what becomes of it; exit code 1 if it does not arrive
    ///
    /// It is one attempt, and counts nowhere.
    Test(OneEndpoint),
    /// List the newest deliveries in the order in which they were enqueued, also those of inline webhooks
    Deliveries {
        /// Only those to this endpoint
        #[arg(long, value_name = "E")]
        endpoint: Option<String>,
        /// Only those in this state: pending, delivering, delivered, dead
        #[arg(long, value_name = "S")]
        state: Option<String>,
        /// The newest so many, 10000 at most
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: u32,
        #[command(flatten)]
        common: Common,
    },
    /// Send once more what has ended: deliveries by their numbers, or all that an endpoint did not take
    ///
    /// Numbers are a tenant's own: --tenant says whose. Either all of them are enqueued anew, or none.
    ///
    /// With --endpoint and --dead-since: whatever was given up at this instant or later, but for tests and for what was sent
    /// once more already. It goes in small transactions, so that nobody waits for it. If it is cut off, what has been
    /// enqueued anew stays so; run again, it goes on with the rest.
    Redeliver {
        /// Numbers of deliveries
        #[arg(value_name = "ID", required_unless_present = "endpoint", requires = "tenant", num_args = 1..=64)]
        #[arg(value_parser = clap::value_parser!(u64).range(1..))]
        ids: Vec<u64>,
        /// All that was given up to this endpoint
        #[arg(long, value_name = "E", conflicts_with = "ids", requires = "dead_since")]
        endpoint: Option<String>,
        /// Given up at this instant or later (RFC 3339, such as 2026-11-23T14:00:00Z)
        #[arg(long, value_name = "INSTANT", requires = "endpoint")]
        dead_since: Option<String>,
        #[command(flatten)]
        common: Common,
    },
}

impl Common {
    /// A call about the webhooks of this service, and of this tenant if one is named.
    fn about<Wish, View>(&self, asked: Asked<Wish, View>) -> Asked<Wish, View> {
        self.within(asked).with("tenant", self.tenant.as_deref())
    }

    /// What names the service in a command, where that is not runs.
    fn flag(&self) -> &'static str {
        if self.service == "localization" { " --service localization" } else { "" }
    }

    /// A call about the webhooks of this service.
    fn within<Wish, View>(&self, asked: Asked<Wish, View>) -> Asked<Wish, View> {
        asked.with("service", Some(&self.service))
    }
}

/// How long the outcome of a test is waited for: an attempt takes 15 seconds at most.
const TEST_PATIENCE: Duration = Duration::from_secs(25);
/// Between two looks.
const LOOK_PAUSE: Duration = Duration::from_millis(100);

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        Command::List { common } => list(common),
        Command::Show(one) => show(one),
        Command::Enable(one) => enable(one),
        Command::Test(one) => test(one),
        Command::Deliveries { endpoint, state, limit, common } => {
            deliveries(endpoint.as_deref(), state.as_deref(), *limit, common)
        }
        Command::Redeliver { ids, endpoint, dead_since, common } => match (endpoint, dead_since) {
            (Some(endpoint), Some(since)) => redeliver_dead(endpoint, since, common),
            _ => redeliver(ids, common),
        },
    }
}

/// Why a call failed, with what to do about it here.
fn told(error: CallError) -> CliError {
    let code = if let CallError::Refused(_, problem) = &error { Some(problem.code) } else { None };
    let error = CliError::from(error);
    match code {
        Some(ProblemCode::NotFound) if !error.reason.starts_with("no tenant") => error.hint(
            "`quintet webhook list` shows all endpoints, `quintet webhook deliveries` the newest deliveries of all tenants",
        ),
        Some(ProblemCode::Conflict) if error.reason.contains("inactive") => {
            error.hint("`quintet webhook enable ENDPOINT` makes it active again")
        }
        Some(ProblemCode::Conflict) if error.reason.contains("has not ended") => {
            error.hint("leave it out: it is still being tried, as `quintet webhook deliveries --state pending` shows")
        }
        _ => error,
    }
}

fn list(common: &Common) -> Result<(), CliError> {
    let asked = common.about(webhooks::LIST.of(&[]));
    let listed: Items<RecordView> = common.place.client()?.without_hurry().ask(asked).map_err(told)?;
    if common.output.json {
        return output::say_json(&listed);
    }
    if listed.items.is_empty() {
        let (path, page) = match common.service.as_str() {
            "localization" => ("/v1/webhooks", "localization"),
            _ => ("/api/v1/webhooks", "webhooks"),
        };
        output::say(&format!("There are no endpoints. POST {path} makes one: see `quintet manual {page}`."));
        return Ok(());
    }
    let row = |one: &RecordView| {
        let record = &one.record;
        vec![
            output::plain(&one.tenant_name),
            cell(record, "endpoint_id"),
            standing(record),
            format!("{} today, {} in all", cell(record, "dead_deliveries_24h"), cell(record, "dead_deliveries_total")),
            cell(record, "url"),
        ]
    };
    let headings = ["tenant", "endpoint", "state", "given up", "url"];
    output::say_table(&headings, &listed.items.iter().map(row).collect::<Vec<_>>());
    Ok(())
}

fn is(record: &Map<String, Value>, name: &str) -> bool {
    record.get(name).and_then(Value::as_bool).unwrap_or(false)
}

fn standing(record: &Map<String, Value>) -> String {
    if is(record, "active") { "active".to_owned() } else { format!("disabled: {}", cell(record, "disabled_reason")) }
}

fn show(one: &OneEndpoint) -> Result<(), CliError> {
    let asked = one.common.about(webhooks::SHOW.of(&[&one.endpoint]));
    let shown = one.common.place.client()?.ask(asked).map_err(told)?;
    if one.common.output.json {
        return output::say_json(&shown);
    }
    let text = |name: &str| cell(&shown.record, name);
    let given_up = format!(
        "{} within a day, {} in all; the last at {}",
        text("dead_deliveries_24h"),
        text("dead_deliveries_total"),
        text("last_dead_delivery_at")
    );
    for (name, value) in [
        ("endpoint", text("endpoint_id")),
        ("tenant", format!("{} ({})", output::plain(&shown.tenant_name), shown.tenant_id)),
        ("url", text("url")),
        ("events", text("events")),
        ("description", text("description")),
        ("state", standing(&shown.record)),
        ("secret", format!("{}; it is not shown", text("secret_origin"))),
        ("last taken", text("last_delivered_at")),
        ("failures", format!("{} attempts since then", text("consecutive_failures"))),
        ("given up", given_up),
        ("created", text("created_at")),
        ("updated", text("updated_at")),
    ] {
        output::say(&format!("{name:13}{value}"));
    }
    Ok(())
}

fn enable(one: &OneEndpoint) -> Result<(), CliError> {
    let (endpoint, common) = (&one.endpoint, &one.common);
    let client = one.common.place.client()?;
    let before = client.ask(common.about(webhooks::SHOW.of(&[endpoint]))).map_err(told)?;
    let enabled = client.ask(common.about(webhooks::ENABLE.of(&[endpoint]))).map_err(told)?;
    if one.common.output.json {
        return output::say_json(&enabled);
    }
    if is(&before.record, "active") {
        output::say(&format!("endpoint {endpoint} was active already; nothing was changed"));
        return Ok(());
    }
    output::say(&format!("endpoint {endpoint} is active"));
    let flag = common.flag();
    output::say(&format!("try it: `quintet webhook test {endpoint}{flag}`"));
    let since = before.record.get("last_dead_delivery_at").and_then(Value::as_str).unwrap_or("no time");
    output::say(&format!("the last delivery was given up at {since}; send once more what was, from an instant on:"));
    output::say(&format!("`quintet webhook redeliver --endpoint {endpoint} --dead-since INSTANT{flag}`"));
    Ok(())
}

fn test(one: &OneEndpoint) -> Result<(), CliError> {
    let client = one.common.place.client()?;
    let asked = one.common.about(webhooks::TEST.of(&[&one.endpoint]));
    let mut delivery = client.ask(asked).map_err(told)?;
    let mut progress = Progress::new(one.common.output.json);
    progress.step("waiting for an answer");
    let begun = Instant::now();
    while is_waiting(&delivery.record) && begun.elapsed() < TEST_PATIENCE {
        std::thread::sleep(LOOK_PAUSE);
        let id = cell(&delivery.record, "delivery_id");
        delivery = client.ask(one.common.within(webhooks::DELIVERY.of(&[&delivery.tenant_id, &id]))).map_err(told)?;
    }
    progress.finish();
    let record = &delivery.record;
    let status = cell(record, "last_status_code");
    if one.common.output.json {
        output::say_json(&delivery)?;
    } else if !is_waiting(record) && status != "-" {
        output::say(&format!("{} answered {status}", cell(record, "url")));
    }
    match record.get("state").and_then(Value::as_str) {
        Some("delivered") => Ok(()),
        Some("dead") => Err(CliError::failed(format!("the test did not arrive: {}", cell(record, "last_error")))
            .hint(cure(&cell(record, "last_error")))),
        _ => Err(CliError::failed("the test is still under way").hint(format!(
            "other attempts may go first: `quintet webhook deliveries --tenant {} --endpoint {}{}` shows what becomes of it",
            delivery.tenant_id,
            one.endpoint,
            one.common.flag()
        ))),
    }
}

fn is_waiting(record: &Map<String, Value>) -> bool {
    matches!(record.get("state").and_then(Value::as_str), Some("pending" | "delivering"))
}

/// What to do about the end of an attempt.
fn cure(last_error: &str) -> &'static str {
    match last_error {
        "bad_status" => "see the receiver's log: it must answer with a status from 200 to 299",
        "redirect" => "redirects are not followed: have the tenant change the endpoint's url to where it leads",
        "timed_out" => "the receiver must take a connection within 5 s and answer within 15 s",
        "connection_failed" => "see whether the receiver runs, and whether a firewall is between",
        "tls_failed" => {
            "see the receiver's certificate: whom it is for, until when, by whom; tls.extra_ca adds an authority"
        }
        "name_not_resolved" => "see the name, and the name servers of this machine",
        "url_not_allowed" => {
            "the address is not of the public internet: egress.allow_private lists what may be called besides"
        }
        _ => "`quintet webhook show ENDPOINT` shows how it stands",
    }
}

fn deliveries(endpoint: Option<&str>, state: Option<&str>, limit: u32, common: &Common) -> Result<(), CliError> {
    let asked = common.about(webhooks::DELIVERIES.of(&[])).with("endpoint", endpoint);
    let asked = asked.with("state", state).with("limit", Some(&limit.to_string()));
    let found = common.place.client()?.without_hurry().ask(asked).map_err(told)?;
    if common.output.json {
        return output::say_json(&found);
    }
    if found.items.is_empty() {
        output::say("There are no such deliveries.");
        return Ok(());
    }
    say_deliveries(&found.items);
    if found.truncated {
        output::say("There are older ones: --limit shows more.");
    }
    Ok(())
}

fn say_deliveries(items: &[RecordView]) {
    let row = |one: &RecordView| {
        let record = &one.record;
        let faults = ["last_status_code", "last_error"].map(|name| cell(record, name));
        let faults: Vec<String> = faults.into_iter().filter(|text| text != "-").collect();
        vec![
            output::plain(&one.tenant_name),
            cell(record, "delivery_id"),
            cell(record, "event_type"),
            cell(record, "state"),
            format!("{} of {}", cell(record, "attempt"), cell(record, "max_attempts")),
            if faults.is_empty() { "-".to_owned() } else { faults.join(" ") },
            cell(record, "created_at"),
            cell(record, "url"),
        ]
    };
    let headings = ["tenant", "id", "event", "state", "attempt", "last", "enqueued", "url"];
    output::say_table(&headings, &items.iter().map(row).collect::<Vec<_>>());
}

fn redeliver(ids: &[u64], common: &Common) -> Result<(), CliError> {
    let wish = RedeliverWish { tenant: common.tenant.clone().unwrap_or_default(), delivery_ids: ids.to_vec() };
    let made = common.place.client()?.ask(common.within(webhooks::REDELIVER.of(&[])).wishing(&wish)).map_err(told)?;
    if common.output.json {
        return output::say_json(&made);
    }
    say_deliveries(&made.items);
    Ok(())
}

/// What was given up, part by part: each is one short transaction.
fn redeliver_dead(endpoint: &str, since: &str, common: &Common) -> Result<(), CliError> {
    let client = common.place.client()?;
    // Whose it is is looked up once.
    let asked = common.about(webhooks::SHOW.of(&[endpoint]));
    let tenant_id = client.ask(asked).map_err(told)?.tenant_id;
    let mut progress = Progress::new(common.output.json);
    let mut wish = DeadWish { since: since.to_owned(), from: 0, until: None };
    let (mut redelivered, mut looked_at) = (0_u64, 0_u64);
    loop {
        progress.count("enqueued once more:", redelivered);
        let part = part(&client, common, (endpoint, &tenant_id), &wish).map_err(|error| {
            let error = told(error);
            let reason = format!("{} ({redelivered} deliveries were enqueued before that)", error.reason);
            CliError { reason, ..error }
        })?;
        redelivered += part.redelivered;
        looked_at += part.looked_at;
        let Some(next) = part.next else { break };
        wish.from = next;
        wish.until = Some(part.until);
    }
    progress.finish();
    if common.output.json {
        return output::say_json(&serde_json::json!({
            "tenant_id": tenant_id, "endpoint_id": endpoint, "dead_since": since,
            "redelivered": redelivered, "looked_at": looked_at,
        }));
    }
    let enqueued = counted(redelivered, "delivery is enqueued once more", "deliveries are enqueued once more");
    output::say(&format!("{enqueued}, of {looked_at} that were looked at"));
    if redelivered > 0 {
        let flag = common.flag();
        output::say(&format!("what becomes of them: `quintet webhook deliveries --endpoint {endpoint}{flag}`"));
    }
    Ok(())
}

fn part(
    client: &Client,
    common: &Common,
    (endpoint, tenant_id): (&str, &str),
    wish: &DeadWish,
) -> Result<webhooks::RedeliveredView, CallError> {
    client.ask(common.within(webhooks::REDELIVER_DEAD.of(&[endpoint])).with("tenant", Some(tenant_id)).wishing(wish))
}
