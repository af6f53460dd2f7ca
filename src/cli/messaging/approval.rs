//! `quintet messaging approval`: what agents want to do, and what people say to it.

use clap::builder::NonEmptyStringValueParser;
use clap::{Subcommand, ValueEnum};
use quintet_messaging::approval_operator::{ApprovalView, DecideWish, KindView, KindWish, LinkWish};

use super::terms::{Common, OfWorkspace};
use crate::admin::approvals;
use crate::admin::call::Items;
use crate::cli::CliError;
use crate::cli::output::{self, OutputArguments};
use crate::cli::runs::records::cell;

/// Decide what agents ask a person for
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List approvals, the newest first; at most 200 of each workspace
    List {
        /// Only those of this workspace
        #[arg(long, value_name = "SLUG", value_parser = NonEmptyStringValueParser::new())]
        workspace: Option<String>,
        /// Only those that stand so: pending, approved, rejected, timed_out or cancelled
        #[arg(long, value_name = "S", value_parser = NonEmptyStringValueParser::new())]
        status: Option<String>,
        #[command(flatten)]
        common: Common,
    },
    /// Show an approval, with the action that is proposed
    Show(One),
    /// Decide an approval; the first decision counts
    Decide {
        #[command(flatten)]
        one: One,
        /// What is decided
        #[arg(long, value_enum)]
        verdict: Verdict,
        /// Why, for the agent; needed to reject
        #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
        reason: Option<String>,
        /// Who decides [default: the login of whoever runs this]
        #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
        by: Option<String>,
    },
    /// Print the address of a page on which one person can decide an approval
    ///
    /// Whoever has the address decides in that person's name, once. It ends with the approval's verdict.
    Link {
        #[command(flatten)]
        one: One,
        /// For which approver of the kind [default: the only one; of a kind without approvers, whoever runs this]
        #[arg(long, value_name = "ADDRESS", value_parser = NonEmptyStringValueParser::new())]
        approver: Option<String>,
    },
    /// Set, list and remove kinds of approvals
    Kind(Kinds),
}

#[derive(Debug, clap::Args)]
struct One {
    /// The approval's id
    #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    id: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Verdict {
    /// The agent may go ahead
    Approved,
    /// The agent may not
    Rejected,
}

#[derive(Debug, clap::Args)]
struct Kinds {
    #[command(subcommand)]
    command: KindCommand,
}

#[derive(Debug, Subcommand)]
enum KindCommand {
    /// Make a kind of approvals, or replace what was said of it
    Set {
        /// The kind's name
        #[arg(value_name = "KIND", value_parser = NonEmptyStringValueParser::new())]
        kind: String,
        /// Somebody who approves, by his address of mail; may be given several times [default: nobody but the operator]
        #[arg(long = "approver", value_name = "ADDRESS", value_parser = NonEmptyStringValueParser::new())]
        approvers: Vec<String>,
        /// How long is waited for a verdict if the request does not say, in minutes [default: 1440]
        #[arg(long, value_name = "N")]
        expires_minutes: Option<i64>,
        #[command(flatten)]
        of: OfWorkspace,
    },
    /// List the kinds of a workspace
    List(OfWorkspace),
    /// Remove a kind: nothing is raised of it any more, and its approvers' links end
    Remove {
        /// The kind's name
        #[arg(value_name = "KIND", value_parser = NonEmptyStringValueParser::new())]
        kind: String,
        #[command(flatten)]
        of: OfWorkspace,
    },
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        Command::List { workspace, status, common } => {
            let asked = approvals::LIST.of(&[]).with("workspace", workspace.as_deref());
            list(&common.place.client()?.ask(asked.with("status", status.as_deref()))?, common.output)
        }
        Command::Show(one) => show(&one.common.place.client()?.ask(approvals::SHOW.of(&[&one.id]))?, one.common.output),
        Command::Decide { one, verdict, reason, by } => {
            let verdict = if *verdict == Verdict::Approved { "approved" } else { "rejected" };
            let wish = DecideWish { verdict: verdict.to_owned(), reason: reason.clone(), by: by.clone() };
            let decided = one.common.place.client()?.ask(approvals::DECIDE.of(&[&one.id]).wishing(&wish))?;
            if one.common.output.json {
                return output::say_json(&decided);
            }
            let by = cell(&decided, "decided_by");
            output::say(&format!("Approval {} is {verdict}, by {by}.", cell(&decided, "id")));
            Ok(())
        }
        Command::Link { one, approver } => {
            let wish = LinkWish { approver: approver.clone() };
            let link = one.common.place.client()?.ask(approvals::LINK.of(&[&one.id]).wishing(&wish))?;
            if one.common.output.json {
                return output::say_json(&link);
            }
            output::say(&link.url);
            Ok(())
        }
        Command::Kind(kinds) => run_kind(&kinds.command),
    }
}

fn run_kind(command: &KindCommand) -> Result<(), CliError> {
    match command {
        KindCommand::Set { kind, approvers, expires_minutes, of } => {
            let wish = KindWish { approvers: approvers.clone(), expires_minutes: *expires_minutes };
            let asked = approvals::SET_KIND.of(&[&of.workspace, kind]).wishing(&wish);
            tell_kind("Set", &of.common.place.client()?.ask(asked)?, of.common.output)
        }
        KindCommand::List(of) => {
            let found = of.common.place.client()?.ask(approvals::KINDS.of(&[&of.workspace]))?;
            list_kinds(&found, of.common.output)
        }
        KindCommand::Remove { kind, of } => {
            let asked = approvals::REMOVE_KIND.of(&[&of.workspace, kind]);
            tell_kind("Removed", &of.common.place.client()?.ask(asked)?, of.common.output)
        }
    }
}

fn list(found: &Items<ApprovalView>, output: OutputArguments) -> Result<(), CliError> {
    if output.json {
        return output::say_json(found);
    }
    if found.items.is_empty() {
        output::say("No approvals.");
        return Ok(());
    }
    let row = |one: &ApprovalView| {
        let cells = ["id", "workspace", "status", "kind", "requested_by", "expires_at", "title"];
        cells.map(|name| cell(one, name)).to_vec()
    };
    let headings = ["approval", "workspace", "status", "kind", "by", "expires", "title"];
    output::say_table(&headings, &found.items.iter().map(row).collect::<Vec<_>>());
    Ok(())
}

fn show(approval: &ApprovalView, output: OutputArguments) -> Result<(), CliError> {
    if output.json {
        return output::say_json(approval);
    }
    for (heading, name) in [
        ("approval", "id"),
        ("workspace", "workspace"),
        ("status", "status"),
        ("kind", "kind"),
        ("title", "title"),
        ("by", "requested_by"),
        ("known", "attestation"),
        ("created", "created_at"),
        ("expires", "expires_at"),
        ("decided", "decided_at"),
        ("decided by", "decided_by"),
        ("how", "decided_how"),
        ("from", "decided_from"),
        ("summary", "summary"),
        ("context", "context"),
        ("sha256", "action_sha256"),
        ("action", "canonical_action"),
    ] {
        if approval.get(name).is_some_and(|value| !value.is_null()) {
            output::say(&format!("{heading:11}{}", cell(approval, name)));
        }
    }
    if let Some(message) = approval.get("outcome").and_then(|outcome| outcome.pointer("/feedback_for_agent/message")) {
        output::say(&format!("{:11}{}", "feedback", output::plain(message.as_str().unwrap_or_default())));
    }
    Ok(())
}

fn approvers(kind: &KindView) -> String {
    if kind.approvers.is_empty() { "-".to_owned() } else { kind.approvers.join(", ") }
}

fn tell_kind(done: &str, kind: &KindView, output: OutputArguments) -> Result<(), CliError> {
    if output.json {
        return output::say_json(kind);
    }
    output::say(&format!("{done} kind {}; approvers: {}.", kind.kind, approvers(kind)));
    Ok(())
}

fn list_kinds(found: &Items<KindView>, output: OutputArguments) -> Result<(), CliError> {
    if output.json {
        return output::say_json(found);
    }
    let rows = found.items.iter().map(|kind| {
        let minutes = kind.expires_minutes.map_or_else(|| "1440".to_owned(), |minutes| minutes.to_string());
        vec![kind.kind.clone(), approvers(kind), minutes]
    });
    output::say_table(&["kind", "approvers", "minutes"], &rows.collect::<Vec<_>>());
    Ok(())
}
