//! `quintet messaging thread`: threads that were paused.

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;

use super::terms::Common;
use crate::admin::messaging;
use crate::cli::CliError;
use crate::cli::output;

/// Have a paused thread go on
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Have a thread go on that was paused for having more than 60 messages in an hour
    Resume {
        /// The thread's id
        #[arg(value_name = "THREAD_ID", value_parser = NonEmptyStringValueParser::new())]
        thread_id: String,
        #[command(flatten)]
        common: Common,
    },
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let Command::Resume { thread_id, common } = &arguments.command;
    let thread = common.place.client()?.ask(messaging::RESUME.of(&[thread_id]))?;
    if common.output.json {
        return output::say_json(&thread);
    }
    output::say(&match thread.resumed {
        true => format!("Thread {} of {} goes on; what it held is delivered.", thread.thread_id, thread.workspace),
        false => format!("Thread {} of {} is not paused.", thread.thread_id, thread.workspace),
    });
    Ok(())
}
