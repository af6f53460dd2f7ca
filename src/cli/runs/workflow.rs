//! `quintet workflow`: the operator's view of workflows, and ending one.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;
use serde_json::{Map, Value};

use crate::admin::client::CallError;
use crate::admin::problem::ProblemCode;
use crate::admin::records::RecordView;
use crate::admin::workflows;
use crate::cli::CliError;
use crate::cli::output::{self, OutputArguments};
use crate::cli::place::PlaceArguments;
use crate::cli::runs::records::cell;

/// Show workflows and their pictures, and cancel one
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
    #[command(flatten)]
    place: PlaceArguments,
    #[command(flatten)]
    output: OutputArguments,
}

#[derive(Debug, clap::Args)]
struct OneWorkflow {
    /// The workflow's id
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    id: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List workflows, newest first: their states, how many of their nodes have ended, which have failed
    List {
        /// Only those in this state: pending, running, paused, succeeded, failed, cancelled
        #[arg(long, value_name = "S")]
        state: Option<String>,
        /// The newest so many, 10000 at most
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: u32,
        #[command(flatten)]
        common: Common,
    },
    /// Show a workflow and its nodes
    Show {
        #[command(flatten)]
        one: OneWorkflow,
        /// Write its picture, as SVG, into this file instead
        #[arg(long, value_name = "FILE")]
        svg: Option<PathBuf>,
    },
    /// Cancel an active workflow: its runs are killed, whatever has not ended is cancelled
    Cancel(OneWorkflow),
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        Command::List { state, limit, common } => list(state.as_deref(), *limit, common),
        Command::Show { one, svg: None } => show(one),
        Command::Show { one, svg: Some(path) } => picture(one, path),
        Command::Cancel(one) => cancel(one),
    }
}

/// Why a call failed, with what to do about it here.
fn told(error: CallError) -> CliError {
    let code = if let CallError::Refused(_, problem) = &error { Some(problem.code) } else { None };
    let error = CliError::from(error);
    match code {
        Some(ProblemCode::NotFound) if error.reason.starts_with("there is no workflow") => {
            error.hint("`quintet workflow list` shows the newest workflows of all tenants")
        }
        _ => error,
    }
}

fn list(state: Option<&str>, limit: u32, common: &Common) -> Result<(), CliError> {
    let asked = workflows::LIST.of(&[]).with("tenant", common.tenant.as_deref()).with("state", state);
    let asked = asked.with("limit", Some(&limit.to_string()));
    let found = common.place.client()?.without_hurry().ask(asked).map_err(told)?;
    if common.output.json {
        return output::say_json(&found);
    }
    if found.items.is_empty() {
        output::say("There are no such workflows. POST /api/v1/workflows makes one: see `quintet manual workflows`.");
        return Ok(());
    }
    let row = |one: &RecordView| {
        let record = &one.record;
        vec![
            output::plain(&one.tenant_name),
            cell(record, "workflow_id"),
            cell(record, "state"),
            nodes_ended(record),
            cell(record, "submitted_at"),
            cell(record, "finished_at"),
            cell(record, "name"),
        ]
    };
    let headings = ["tenant", "workflow", "state", "nodes", "submitted", "finished", "name"];
    output::say_table(&headings, &found.items.iter().map(row).collect::<Vec<_>>());
    if found.truncated {
        output::say("There are older ones: --limit shows more.");
    }
    Ok(())
}

/// How many nodes have ended and how, for people.
fn nodes_ended(record: &Map<String, Value>) -> String {
    let of = |names: &[&str]| {
        let counts = record.get("node_counts").and_then(Value::as_object);
        let named = |name: &&str| counts.and_then(|counts| counts.get(*name)).and_then(Value::as_u64).unwrap_or(0);
        names.iter().map(named).sum::<u64>()
    };
    let ended = of(&["succeeded", "failed", "skipped", "cancelled"]);
    let all = ended + of(&["pending", "running", "retrying", "waiting_approval"]);
    let mut text = format!("{ended} of {all} ended");
    for (count, what) in [(of(&["failed"]), "failed"), (of(&["waiting_approval"]), "at a gate")] {
        if count > 0 {
            text.push_str(&format!(", {count} {what}"));
        }
    }
    text
}

fn show(one: &OneWorkflow) -> Result<(), CliError> {
    let asked = workflows::SHOW.of(&[&one.id]).with("tenant", one.common.tenant.as_deref());
    let shown = one.common.place.client()?.ask(asked).map_err(told)?;
    if one.common.output.json {
        return output::say_json(&shown);
    }
    let text = |name: &str| cell(&shown.record, name);
    for (name, value) in [
        ("workflow", text("workflow_id")),
        ("tenant", format!("{} ({})", output::plain(&shown.tenant_name), shown.tenant_id)),
        ("name", text("name")),
        ("state", text("state")),
        ("policy", text("failure_policy")),
        ("tags", text("tags")),
        ("submitted", text("submitted_at")),
        ("started", text("started_at")),
        ("finished", text("finished_at")),
    ] {
        output::say(&format!("{name:13}{value}"));
    }
    output::say("");
    let nodes = shown.record.get("nodes").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let row = |node: &Map<String, Value>| {
        ["ref", "type", "state", "attempt", "exit_code", "reason", "current_track_id"]
            .map(|name| cell(node, name))
            .into()
    };
    let rows: Vec<Vec<String>> = nodes.iter().filter_map(Value::as_object).map(row).collect();
    output::say_table(&["node", "type", "state", "attempt", "exit code", "reason", "run"], &rows);
    Ok(())
}

fn picture(one: &OneWorkflow, path: &Path) -> Result<(), CliError> {
    let asked = workflows::PICTURE.of(&[&one.id]).with("tenant", one.common.tenant.as_deref());
    let picture = one.common.place.client()?.ask(asked).map_err(told)?;
    std::fs::write(path, &picture.svg).map_err(|error| {
        CliError::failed(format!("the picture cannot be written to {}: {error}", path.display()))
            .hint("name another place with --svg")
    })?;
    if one.common.output.json {
        return output::say_json(&serde_json::json!({ "svg": path, "bytes": picture.svg.len() }));
    }
    output::say(&format!("the picture is in {}; browsers show it", path.display()));
    Ok(())
}

fn cancel(one: &OneWorkflow) -> Result<(), CliError> {
    let asked = workflows::CANCEL.of(&[&one.id]).with("tenant", one.common.tenant.as_deref());
    let cancelled = one.common.place.client()?.ask(asked).map_err(told)?;
    if one.common.output.json {
        return output::say_json(&cancelled);
    }
    output::say(&format!("workflow {} is cancelled: {}", one.id, nodes_ended(&cancelled.record)));
    Ok(())
}
