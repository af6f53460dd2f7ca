//! `quintet root-key`: shows which root key is in force, puts a new one in its place.

use clap::Subcommand;

use super::CliError;
use super::output::{self, OutputArguments};
use super::place::PlaceArguments;
use crate::admin::root_key::{self, RootKeyView};

/// Show which root key is in force; put a new one in its place
///
/// The root key wraps the keys that values are sealed under. It is told by its name, a digest; the key itself is
/// never shown.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the root key's name, its source, when it was rotated, and whether a previous one is still needed
    Show {
        #[command(flatten)]
        place: PlaceArguments,
        #[command(flatten)]
        output: OutputArguments,
    },
    /// Make a new root key and put everything under it, while the appliance runs
    ///
    /// For a key in a file. The file then holds both keys, the new one first; the previous one leaves it by itself
    /// once storage.copy_window_minutes have passed. For a credential or a passphrase, name the new source in
    /// storage.root_key and the old one in storage.root_key_previous, and restart.
    Rotate {
        #[command(flatten)]
        place: PlaceArguments,
        #[command(flatten)]
        output: OutputArguments,
    },
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        Command::Show { place, output } => show(&place.client()?.ask(&root_key::SHOW)?, *output),
        Command::Rotate { place, output } => {
            show(&place.client()?.without_hurry().ask(root_key::ROTATE.of(&[]))?, *output)
        }
    }
}

fn show(view: &RootKeyView, output: OutputArguments) -> Result<(), CliError> {
    if output.json {
        return output::say_json(view);
    }
    let or_never = |text: &Option<String>| text.clone().unwrap_or_else(|| "never".into());
    let mut rows = vec![
        ("root key", view.key_id.clone()),
        ("source", view.source.clone()),
        ("in force", view.in_force_since.as_ref().map_or("not yet".into(), |since| format!("since {since}"))),
        ("rotated", or_never(&view.rotated_at)),
        ("state", view.explanation.clone()),
    ];
    if let Some(previous) = &view.previous_key_id {
        rows.push(("previous", previous.clone()));
    }
    for (name, value) in rows {
        output::say(&format!("{name:10} {}", output::plain(&value)));
    }
    Ok(())
}
