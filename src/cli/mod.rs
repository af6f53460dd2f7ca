//! The command line: a file for each command, a folder for those of a room. Every command ends in `Ok` or a
//! [`CliError`], which knows its exit code.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

mod clock;
mod config;
mod console;
mod copies;
mod demo;
mod diagrams;
pub mod docs;
mod doctor;
mod error;
mod init;
mod key;
mod ledger;
mod localization;
mod manual;
mod member;
mod messaging;
pub(crate) mod output;
mod place;
mod progress;
mod root_key;
mod runs;
mod serve;
mod status;
mod tenant;

use copies::{backup, restore, verify};
use diagrams::render;
pub use error::CliError;
use localization::{audit, core, decision, l10n};
use runs::{image, runner, schedule, webhook, workflow};

/// Five HTTP services in one binary, with no external database.
#[derive(Debug, Parser)]
#[command(
    name = "quintet",
    version,
    arg_required_else_help = true,
    subcommand_required = true,
    disable_help_subcommand = true,
    after_help = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 the data directory is in use by another process, 4 damage found; l10n: 5 something would be changed.\n\nTry `quintet demo` first; `quintet manual` explains everything."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::Arguments),
    Serve(serve::Arguments),
    Demo(demo::Arguments),
    Status(status::Arguments),
    Doctor(doctor::Arguments),
    Tenant(tenant::Arguments),
    Key(key::Arguments),
    Member(member::Arguments),
    Console(console::Arguments),
    RootKey(root_key::Arguments),
    Image(image::Arguments),
    Runner(runner::Arguments),
    Webhook(webhook::Arguments),
    Schedule(schedule::Arguments),
    Workflow(workflow::Arguments),
    Messaging(messaging::Arguments),
    #[command(hide = true)]
    Supervise(runner::SuperviseArguments),
    #[command(hide = true)]
    HoldGroups(runner::HoldGroupsArguments),
    Ledger(ledger::Arguments),
    Core(core::Arguments),
    Decision(decision::Arguments),
    Audit(audit::Arguments),
    L10n(l10n::Arguments),
    Backup(backup::Arguments),
    Restore(restore::Arguments),
    Verify(verify::Arguments),
    Render(render::Arguments),
    Clock(clock::Arguments),
    Config(config::Arguments),
    Manual(manual::Arguments),
    #[command(hide = true)]
    Docs(docs::Arguments),
}

/// Runs one command line to its end.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are not mistakes; clap knows where each of its texts belongs.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { CliError::USAGE } else { 0 });
        }
    };
    let outcome = match cli.command {
        Command::Init(arguments) => init::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Status(arguments) => status::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Tenant(arguments) => tenant::run(&arguments),
        Command::Key(arguments) => key::run(&arguments),
        Command::Member(arguments) => member::run(&arguments),
        Command::Console(arguments) => console::run(&arguments),
        Command::RootKey(arguments) => root_key::run(&arguments),
        Command::Image(arguments) => image::run(&arguments),
        Command::Runner(arguments) => runner::run(&arguments),
        Command::Webhook(arguments) => webhook::run(&arguments),
        Command::Schedule(arguments) => schedule::run(&arguments),
        Command::Workflow(arguments) => workflow::run(&arguments),
        Command::Messaging(arguments) => messaging::run(&arguments),
        Command::Supervise(arguments) => runner::run_supervisor(&arguments),
        Command::HoldGroups(arguments) => runner::hold_groups(&arguments),
        Command::Ledger(arguments) => ledger::run(&arguments),
        Command::Core(arguments) => core::run(&arguments),
        Command::Decision(arguments) => decision::run(&arguments),
        Command::Audit(arguments) => audit::run(&arguments),
        Command::L10n(arguments) => l10n::run(&arguments),
        Command::Backup(arguments) => backup::run(&arguments),
        Command::Restore(arguments) => restore::run(&arguments),
        Command::Verify(arguments) => verify::run(&arguments),
        Command::Render(arguments) => render::run(&arguments),
        Command::Clock(arguments) => clock::run(&arguments),
        Command::Config(arguments) => config::run(&arguments),
        Command::Manual(arguments) => manual::run(&arguments),
        Command::Docs(arguments) => docs::run(&arguments, &Cli::command()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::complain(&error);
            ExitCode::from(error.code)
        }
    }
}
