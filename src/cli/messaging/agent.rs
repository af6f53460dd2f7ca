//! `quintet messaging agent`: agents of a workspace.

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;
use quintet_messaging::operator::AgentView;

use super::terms::OfWorkspace;
use crate::admin::call::Items;
use crate::admin::messaging;
use crate::cli::CliError;
use crate::cli::output::{self, OutputArguments};

/// List agents, and retire one
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the agents of a workspace, retired ones too
    List(OfWorkspace),
    /// Retire an agent: it leaves the phonebook and gets no more mail; registering revives it
    Retire {
        /// Its name
        #[arg(value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
        name: String,
        #[command(flatten)]
        of: OfWorkspace,
    },
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        Command::List(of) => {
            list(&of.common.place.client()?.ask(messaging::AGENTS.of(&[&of.workspace]))?, of.common.output)
        }
        Command::Retire { name, of } => {
            let retired = of.common.place.client()?.ask(messaging::RETIRE.of(&[&of.workspace, name]))?;
            if of.common.output.json {
                return output::say_json(&retired);
            }
            let at = retired.retired_at.as_deref().unwrap_or("now");
            output::say(&format!("{} is retired since {at}; {} messages are unread.", retired.name, retired.unread));
            Ok(())
        }
    }
}

fn list(agents: &Items<AgentView>, output: OutputArguments) -> Result<(), CliError> {
    if output.json {
        return output::say_json(agents);
    }
    if agents.items.is_empty() {
        output::say(
            "No agents. They register by themselves, with a key of the workspace: see `quintet manual messaging`.",
        );
        return Ok(());
    }
    let rows = agents.items.iter().map(|agent| {
        let state = match (&agent.retired_at, agent.ephemeral) {
            (Some(at), _) => format!("retired {at}"),
            (None, true) => "active, for a while".to_owned(),
            (None, false) => "active".to_owned(),
        };
        vec![
            agent.name.clone(),
            agent.role.clone().unwrap_or_else(|| "-".to_owned()),
            agent.unread.to_string(),
            agent.held.to_string(),
            state,
        ]
    });
    output::say_table(&["agent", "role", "unread", "held", "state"], &rows.collect::<Vec<_>>());
    Ok(())
}
