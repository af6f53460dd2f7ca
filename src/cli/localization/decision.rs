//! `quintet decision`: the decision desk.

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;
use serde_json::{Map, Value};

use crate::admin::decisions::{self, DecideWish};
use crate::cli::CliError;
use crate::cli::output::{self, OutputArguments};
use crate::cli::place::PlaceArguments;
use crate::cli::runs::records::cell;

/// Take the decisions that localization's approval requests and licences wait for
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the decisions of all tenants that wait, oldest first
    List {
        /// Those that were taken, too
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        place: PlaceArguments,
        #[command(flatten)]
        output: OutputArguments,
    },
    /// Show a decision, with everything that it is to be taken from
    Show {
        /// The decision's id
        #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
        decision: String,
        #[command(flatten)]
        place: PlaceArguments,
        #[command(flatten)]
        output: OutputArguments,
    },
    /// Approve; where legal texts need several people, one of them
    Approve {
        #[command(flatten)]
        one: OneDecision,
        /// Why
        #[arg(long, value_name = "R", value_parser = NonEmptyStringValueParser::new())]
        reason: Option<String>,
    },
    /// Reject; translations go back to their translators as drafts
    Reject {
        #[command(flatten)]
        one: OneDecision,
        /// Why
        #[arg(long, value_name = "R", value_parser = NonEmptyStringValueParser::new())]
        reason: String,
    },
    /// Ask for changes; translations go back to their translators as drafts
    RequestChanges {
        #[command(flatten)]
        one: OneDecision,
        /// Why
        #[arg(long, value_name = "R", value_parser = NonEmptyStringValueParser::new())]
        reason: Option<String>,
    },
    /// Take a decision back that nobody needs any more; nothing changes
    Cancel {
        #[command(flatten)]
        one: OneDecision,
        /// Why
        #[arg(long, value_name = "R", value_parser = NonEmptyStringValueParser::new())]
        reason: Option<String>,
    },
}

#[derive(Debug, clap::Args)]
struct OneDecision {
    /// The decision's id
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    decision: String,
    /// Who takes it [default: the system user]
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    by: Option<String>,
    #[command(flatten)]
    place: PlaceArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        Command::List { all, place, output } => list(*all, place, *output),
        Command::Show { decision, place, output } => {
            show(&place.client()?.ask(decisions::SHOW.of(&[decision]))?, *output)
        }
        Command::Approve { one, reason } => decide(one, "approve", reason.clone()),
        Command::Reject { one, reason } => decide(one, "reject", Some(reason.clone())),
        Command::RequestChanges { one, reason } => decide(one, "request-changes", reason.clone()),
        Command::Cancel { one, reason } => decide(one, "cancel", reason.clone()),
    }
}

fn list(all: bool, place: &PlaceArguments, output: OutputArguments) -> Result<(), CliError> {
    let asked = decisions::LIST.of(&[]).with("all", all.then_some("true"));
    let found = place.client()?.ask(asked)?;
    if output.json {
        return output::say_json(&found);
    }
    if found.items.is_empty() {
        output::say(if all { "There are no decisions." } else { "No decision waits." });
        return Ok(());
    }
    let row = |one: &Map<String, Value>| {
        let mut row = vec![cell(one, "decision_id"), cell(one, "tenant_id")];
        row.push(inner(one, "subject", &["type"]));
        row.push(inner(one, "action", &["locale", "count"]));
        row.extend(["policy", "status", "created_at", "expires_at"].map(|name| cell(one, name)));
        row
    };
    let headings = ["decision", "tenant", "subject", "action", "policy", "status", "created", "expires"];
    output::say_table(&headings, &found.items.iter().map(row).collect::<Vec<_>>());
    Ok(())
}

/// Some members of a member, as far as there are any.
fn inner(record: &Map<String, Value>, name: &str, members: &[&str]) -> String {
    let Some(Value::Object(inner)) = record.get(name) else { return "-".to_owned() };
    let told = members.iter().filter(|member| inner.contains_key(**member)).map(|member| cell(inner, member));
    told.collect::<Vec<_>>().join(" ")
}

fn show(decision: &Map<String, Value>, output: OutputArguments) -> Result<(), CliError> {
    if output.json {
        return output::say_json(decision);
    }
    for name in [
        "decision_id",
        "tenant_id",
        "subject",
        "action",
        "policy",
        "status",
        "created_at",
        "expires_at",
        "approvals_needed",
        "approvals",
        "decided_by",
        "decided_at",
        "reason",
    ] {
        if decision.get(name).is_some_and(|value| !value.is_null()) {
            output::say(&format!("{name:17} {}", cell(decision, name)));
        }
    }
    let items = decision.get("context").and_then(|context| context.get("items")).and_then(Value::as_array);
    for item in items.into_iter().flatten() {
        let text = |name: &str| item.as_object().map_or_else(String::new, |item| cell(item, name));
        output::say("");
        output::say(&text("key"));
        output::say(&format!("  source  {}", text("source")));
        output::say(&format!("  target  {}", text("target")));
    }
    Ok(())
}

fn decide(one: &OneDecision, verdict: &str, reason: Option<String>) -> Result<(), CliError> {
    let by = one.by.clone().unwrap_or_else(system_user);
    let wish = DecideWish { verdict: verdict.to_owned(), by, reason };
    let decided = one.place.client()?.ask(decisions::DECIDE.of(&[&one.decision]).wishing(&wish))?;
    if one.output.json {
        return output::say_json(&decided);
    }
    let status = cell(&decided, "status");
    let given = decided.get("approvals").and_then(Value::as_array).map_or(0, Vec::len);
    match status.as_str() {
        "pending" => output::say(&format!(
            "Decision {} waits for others: {given} of {} names.",
            cell(&decided, "decision_id"),
            cell(&decided, "approvals_needed")
        )),
        _ => output::say(&format!("Decision {} is {status}.", cell(&decided, "decision_id"))),
    }
    Ok(())
}

/// The name of the user that runs this, as the system has it.
fn system_user() -> String {
    let own = rustix::process::getuid().as_raw().to_string();
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, uid) = (fields.next()?, fields.nth(1)?);
        (uid == own && !name.is_empty()).then(|| name.to_owned())
    });
    name.unwrap_or_else(|| format!("uid {own}"))
}
