//! `quintet messaging key`: keys of workspaces.

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;
use quintet_messaging::operator::{IssuedKeyView, KeyView, KeyWish};

use super::terms::{Common, OfWorkspace};
use crate::admin::call::Items;
use crate::admin::messaging;
use crate::cli::CliError;
use crate::cli::output::{self, OutputArguments};

/// Issue, list and revoke keys of a workspace
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Issue a key
    ///
    /// The key is shown this once; only a digest of it is kept. Whoever runs a workspace wants one of scope admin and
    /// without agents: `quintet messaging key issue --workspace SLUG --scope admin`.
    Issue {
        /// What it allows: read; send (what an agent does for itself), which must be bound to agents; full (agents, keys,
        /// invites); admin (everything in the workspace)
        #[arg(long, value_name = "S", default_value = "send")]
        scope: String,
        /// An agent that it is bound to; may be given several times [default: none, it acts as any]
        #[arg(long = "agent", value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
        agents: Vec<String>,
        /// What the key is for
        #[arg(long, value_name = "L")]
        label: Option<String>,
        /// Print the key alone
        #[arg(long, conflicts_with = "json")]
        quiet: bool,
        #[command(flatten)]
        of: OfWorkspace,
    },
    /// List the keys of a workspace, without their secrets
    List(OfWorkspace),
    /// Revoke a key; the next request with it is refused, and its streams end
    Revoke {
        /// The key's id (not the key itself)
        #[arg(value_name = "KEY_ID", value_parser = NonEmptyStringValueParser::new())]
        key_id: String,
        #[command(flatten)]
        common: Common,
    },
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        Command::Issue { scope, agents, label, quiet, of } => {
            let (workspace, scope, agents) = (of.workspace.clone(), scope.clone(), agents.clone());
            let wish = KeyWish { workspace, scope, agents, label: label.clone() };
            let issued = of.common.place.client()?.ask(messaging::ISSUE_KEY.wishing(&wish))?;
            tell_issued(&issued, *quiet, of.common.output)
        }
        Command::List(of) => {
            list(&of.common.place.client()?.ask(messaging::KEYS.of(&[&of.workspace]))?, of.common.output)
        }
        Command::Revoke { key_id, common } => {
            let revoked = common.place.client()?.ask(messaging::REVOKE_KEY.of(&[key_id]))?;
            if common.output.json {
                return output::say_json(&revoked);
            }
            output::say(&format!("Revoked {}. The next request with it is refused.", revoked.key_id));
            Ok(())
        }
    }
}

fn tell_issued(issued: &IssuedKeyView, quiet: bool, output: OutputArguments) -> Result<(), CliError> {
    if output.json {
        return output::say_json(issued);
    }
    if quiet {
        output::say(&issued.api_key);
        return Ok(());
    }
    output::say(&format!("key        {}", issued.api_key));
    output::say(&format!("key id     {}", issued.key.key_id));
    output::say(&format!("workspace  {}", issued.key.workspace));
    output::say(&format!("scope      {}", issued.key.scope));
    output::say(&format!("agents     {}", agents_of(&issued.key)));
    if !issued.key.label.is_empty() {
        output::say(&format!("label      {}", output::plain(&issued.key.label)));
    }
    output::say("");
    output::say("Keep the key now: it cannot be shown again.");
    Ok(())
}

fn agents_of(key: &KeyView) -> String {
    if key.agents.is_empty() { "any".to_owned() } else { key.agents.join(", ") }
}

fn list(keys: &Items<KeyView>, output: OutputArguments) -> Result<(), CliError> {
    if output.json {
        return output::say_json(keys);
    }
    if keys.items.is_empty() {
        output::say("No keys. Issue one with `quintet messaging key issue --workspace SLUG`.");
        return Ok(());
    }
    let rows = keys.items.iter().map(|key| {
        let state = key.revoked_at.as_ref().map_or_else(|| "in use".to_owned(), |at| format!("revoked {at}"));
        let label = if key.label.is_empty() { "-".to_owned() } else { output::plain(&key.label) };
        vec![key.key_id.clone(), key.scope.clone(), agents_of(key), label, state]
    });
    output::say_table(&["key id", "scope", "agents", "label", "state"], &rows.collect::<Vec<_>>());
    Ok(())
}
