//! `quintet backup`: makes backups of a running appliance and lists those that were made.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Subcommand;
use quintet_platform::backups::MadeBackup;
use quintet_storage::HeldCheckpoint;
use quintet_storage::backup::{self, Copied};
use serde_json::json;

use super::copying;
use super::follow;
use super::hold::Held;
use crate::admin::backups::{self, BackupView, HoldView};
use crate::admin::call::Items;
use crate::admin::client::Client;
use crate::cli::CliError;
use crate::cli::output::{self, OutputArguments};
use crate::cli::place::PlaceArguments;
use crate::cli::progress::Progress;
use crate::serve;
use crate::shell::quoted;

/// Make backups of a running appliance, list those that were made
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a backup: everything that was acknowledged before, while the appliance runs on
    ///
    /// The backup is read back and compared before it gets its name. It is a data directory by itself;
    /// `quintet restore` makes one of it that is checked, `quintet verify --data DEST` checks it where it lies.
    Create {
        /// Where to put it: a directory that is absent or empty, outside of the data directory
        #[arg(value_name = "DEST")]
        destination: PathBuf,
        /// Leave the root key out: who finds the backup cannot read what is sealed, and a restore needs the key
        #[arg(long)]
        without_key: bool,
        #[command(flatten)]
        place: PlaceArguments,
        #[command(flatten)]
        output: OutputArguments,
    },
    Follow(follow::Arguments),
    /// List the backups that were made, newest first, and whether they are still there
    List {
        #[command(flatten)]
        place: PlaceArguments,
        #[command(flatten)]
        output: OutputArguments,
    },
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.command {
        Command::Create { destination, without_key, place, output } => {
            create(destination, *without_key, place, *output)
        }
        Command::Follow(arguments) => follow::run(arguments),
        Command::List { place, output } => list(&place.client()?.ask(&backups::LIST)?, *output),
    }
}

fn create(wanted: &Path, without_key: bool, place: &PlaceArguments, output: OutputArguments) -> Result<(), CliError> {
    serve::keep_private();
    let data_dir = place.data_dir()?;
    let client = Client::new(&data_dir);
    let destination = copying::destination(wanted, &data_dir)?;
    let mut progress = Progress::new(output.json);
    let begun = Instant::now();
    progress.step("making a checkpoint");
    let mut held = Held::begin(&client)?;
    held.keep_alive()?;
    let copied = copy(&data_dir, &held, &destination, without_key, &mut progress);
    let key_files = held.view().key_files.clone();
    drop(held);
    let copied = copied?;
    let made = MadeBackup {
        lsn: copied.lsn,
        destination: destination.display().to_string(),
        files: copied.files,
        bytes: copied.bytes,
        with_key: !without_key,
        duration_millis: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
    };
    let recorded = client.ask(backups::RECORD.wishing(&made));
    progress.finish();
    let mut restore = format!("quintet restore {} --data DIR", quoted(&destination));
    if without_key {
        restore.push_str(" --root-key FILE");
    }
    if output.json {
        return output::say_json(&json!({
            "destination": made.destination, "lsn": made.lsn, "files": made.files, "bytes": made.bytes,
            "with_key": made.with_key, "duration_millis": made.duration_millis, "restore": restore,
            "recorded_at": recorded.as_ref().ok().map(|view| view.finished_at.clone()),
        }));
    }
    let (size, seconds) = (output::size(copied.bytes), begun.elapsed().as_secs_f64());
    output::say(&format!(
        "Made {}: everything up to transaction {}, {} files, {size}, in {seconds:.1} s. It was read back and compared.",
        destination.display(),
        copied.lsn,
        copied.files,
    ));
    output::say(&format!("Restore it with `{restore}`."));
    if without_key {
        let paths: Vec<_> = key_files.iter().map(|file| file.path.as_str()).collect();
        output::say(&format!(
            "The root key is not in it, and without it a restore is not possible: keep {} in another safe place.",
            paths.join(" and ")
        ));
    } else {
        output::say("The root key is in it: keep it where only you can read it.");
    }
    if let Err(error) = recorded {
        let reason = CliError::from(error).reason;
        output::progress(&format!("The backup is good, but the appliance could not note that it was made: {reason}"));
    }
    Ok(())
}

fn copy(
    data_dir: &Path,
    held: &Held,
    destination: &Path,
    without_key: bool,
    progress: &mut Progress,
) -> Result<Copied, CliError> {
    let extra = if without_key { Vec::new() } else { key_files(held.view())? };
    let checkpoint = HeldCheckpoint { lsn: held.view().lsn, path: held.path(data_dir) };
    let mut tell = |what: &str, done, total| progress.bytes(what, done, total);
    let copied = backup::create_backup(data_dir, &checkpoint, destination, &extra, &mut tell);
    copied.map_err(|error| {
        let data = quoted(data_dir);
        let if_damaged = format!(
            "no backup was made; `quintet verify --data {data}` tells what else is damaged and what to do about it"
        );
        copying::failure(&error, &if_damaged)
    })
}

/// The root key's files, which must be readable: a backup that cannot be restored is none.
fn key_files(held: &HoldView) -> Result<Vec<(PathBuf, String)>, CliError> {
    let mut files = Vec::new();
    for file in &held.key_files {
        std::fs::File::open(&file.path).map_err(|error| {
            CliError::failed(format!("the root key {} cannot be read: {error}", file.path)).hint(
                "run the command as the user that runs the appliance, or leave the key out with --without-key and keep it elsewhere",
            )
        })?;
        files.push((PathBuf::from(&file.path), file.name.clone()));
    }
    Ok(files)
}

/// What lies where a backup was put.
fn state(backup: &BackupView) -> &'static str {
    match backup::describe(Path::new(&backup.made.destination)) {
        Some(found) if found.lsn == backup.made.lsn => "there",
        Some(_) => "replaced",
        None => "gone",
    }
}

fn list(backups: &Items<BackupView>, output: OutputArguments) -> Result<(), CliError> {
    if output.json {
        let items = backups.items.iter().map(|backup| {
            let mut item = json!(backup);
            if let Some(members) = item.as_object_mut() {
                members.insert("state".into(), state(backup).into());
            }
            item
        });
        return output::say_json(&json!({ "items": items.collect::<Vec<_>>() }));
    }
    if backups.items.is_empty() {
        output::say("No backups yet. Make one with `quintet backup create DEST`.");
        return Ok(());
    }
    let rows = backups.items.iter().map(|backup| {
        vec![
            backup.finished_at.clone(),
            state(backup).to_string(),
            backup.made.lsn.to_string(),
            output::size(backup.made.bytes),
            if backup.made.with_key { "yes" } else { "no" }.to_string(),
            output::plain(&backup.made.destination),
        ]
    });
    let headings = ["finished", "state", "transaction", "size", "key", "destination"];
    output::say_table(&headings, &rows.collect::<Vec<_>>());
    Ok(())
}
