//! `quintet verify`: reads everything that is stored and says what is not as it was written.

use std::path::{Path, PathBuf};

use quintet_localization::AnchorFile;
use quintet_storage::{Salvaged, Tables, Verification, backup, salvage};
use serde_json::json;

use super::checking::{self, Against, Anchors, Report};
use super::copying;
use super::hold::Held;
use crate::admin::client::{CallError, Client};
use crate::admin::status;
use crate::app::TABLES;
use crate::cli::CliError;
use crate::cli::error::FORMAT_CURE;
use crate::cli::output::{self, OutputArguments};
use crate::cli::place::PlaceArguments;
use crate::cli::progress::Progress;
use crate::root_key::KeyPlace;
use crate::serve;
use crate::shell::quoted;

/// Check everything that is stored: log, checkpoints, tables, what each service knows of its rows
///
/// Works on a running appliance (which makes and holds a checkpoint for it), on a stopped directory, on a copy and on
/// a backup. Nothing is changed. Exit code 0: all is sound; 4: damage was found.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    place: PlaceArguments,
    /// Of a stopped directory: write everything that is sound into a new one, and name what is lost
    #[arg(long, value_name = "DEST")]
    salvage: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    serve::keep_private();
    let data_dir = arguments.place.data_dir()?;
    if let Some(destination) = &arguments.salvage {
        return save(&data_dir, destination, &arguments.place, arguments.output);
    }
    let mut progress = Progress::new(arguments.output.json);
    let client = Client::new(&data_dir);
    // Before the state that is checked is taken: what is anchored by then is in it.
    let anchors = anchors(&arguments.place, &client, &data_dir);
    match Held::begin(&client) {
        Ok(mut held) => {
            progress.step("checking");
            held.keep_alive()?;
            let verification = begin(&data_dir, true)?;
            let tables = Tables::Checkpoint(held.path(&data_dir));
            let root_key = arguments.place.root_key(&data_dir);
            let against = Against { root_key: None, opening: Some(&root_key), anchors: anchors.as_ref() };
            let report = checking::check_all(verification, &data_dir, &tables, &against, &mut progress);
            drop(held);
            finish(&report, &data_dir, true, None, arguments.output)
        }
        Err(CallError::NotRunning(_)) => {
            let verification = begin(&data_dir, false)?;
            let root_key = arguments.place.root_key(&data_dir);
            let against = Against { root_key: Some(&root_key), opening: Some(&root_key), anchors: anchors.as_ref() };
            let report = checking::check_all(verification, &data_dir, &Tables::Own, &against, &mut progress);
            finish(&report, &data_dir, false, Some(&root_key), arguments.output)
        }
        Err(error) => Err(error.into()),
    }
}

/// The anchors that the audit chains are held against: in the file that the running appliance says, else the configuration.
/// A backup is older than its appliance's anchors by rights.
fn anchors(place: &PlaceArguments, client: &Client, data_dir: &Path) -> Option<Anchors> {
    let path = match client.ask(&status::SHOW) {
        Ok(status) => status.audit.anchor_file.map(PathBuf::from),
        Err(_) => place.load().ok()?.audit_anchor_file,
    };
    let file = AnchorFile::at(&path?);
    let is_backup = backup::describe(data_dir).is_some();
    let known_bytes = if is_backup { 0 } else { file.bytes().unwrap_or_default() };
    Some(Anchors { file, known_bytes })
}

fn begin(data_dir: &Path, is_running: bool) -> Result<Verification, CliError> {
    Verification::begin(data_dir, is_running, TABLES).map_err(|error| begin_failure(data_dir, &error))
}

fn begin_failure(data_dir: &Path, error: &quintet_storage::OpenError) -> CliError {
    let failed = copying::source_failure(error, FORMAT_CURE);
    let is_format_gone = matches!(error, quintet_storage::OpenError::NotADataDirectory(_))
        && ["wal", "live", "checkpoints"].iter().any(|name| data_dir.join(name).is_dir());
    if is_format_gone {
        return CliError::failed(format!("damage in {}: the FORMAT file is missing", data_dir.display()))
            .code(CliError::DAMAGED)
            .hint(FORMAT_CURE);
    }
    failed
}

fn finish(
    report: &Report,
    data_dir: &Path,
    is_running: bool,
    root_key: Option<&KeyPlace>,
    output: OutputArguments,
) -> Result<(), CliError> {
    let next = (!report.is_sound()).then(|| report.next_step(data_dir, is_running, root_key));
    if output.json {
        output::say_json(&json!({
            "data_dir": data_dir.display().to_string(),
            "state": if is_running { "running" } else { "stopped" },
            "sound": report.is_sound(),
            "last_lsn": report.verified.last_lsn,
            "parts": report.parts,
            "findings": report.findings_json(),
            "notes": report.verified.notes,
            "next": next,
        }))?;
    } else {
        report.say();
    }
    match next {
        Some(next) => Err(found(report).hint(next)),
        None => {
            if !output.json {
                output::say(&format!("Sound, up to transaction {}.", report.verified.last_lsn));
            }
            Ok(())
        }
    }
}

/// Damage was found: the first finding stands for all.
fn found(report: &Report) -> CliError {
    let first = report.verified.findings.first().map(ToString::to_string).unwrap_or_default();
    let more = match report.verified.findings.len() {
        0 | 1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    CliError::failed(output::plain(&format!("damage found: {first}{more}"))).code(CliError::DAMAGED)
}

fn save(data_dir: &Path, wanted: &Path, place: &PlaceArguments, output: OutputArguments) -> Result<(), CliError> {
    if serve::is_in_use(data_dir) {
        return Err(CliError::failed(format!("{} is in use by another process", data_dir.display()))
            .code(CliError::IN_USE)
            .hint("salvage works on a stopped directory only: stop the appliance first, or take a backup of it with `quintet backup create DEST`"));
    }
    let destination = copying::destination(wanted, data_dir)?;
    let root_key = place.root_key(data_dir);
    let extra: Vec<_> = root_key.backup_files().into_iter().filter(|(path, _)| path.is_file()).collect();
    let mut progress = Progress::new(output.json);
    let mut tell = |what: &str, rows| progress.count(&format!("salvaging: {what}"), rows);
    let salvaged = salvage(data_dir, &destination, &extra, TABLES, &mut tell).map_err(|error| match &error {
        quintet_storage::backup::CopyError::Source(source @ quintet_storage::OpenError::NotADataDirectory(_)) => {
            begin_failure(data_dir, source)
        }
        _ => copying::failure(
            &error,
            "nothing of it can be read: `quintet restore BACKUP --data DEST` goes back to a backup",
        ),
    })?;
    progress.finish();
    let flag = match quintet_storage::read_format(&destination) {
        Ok(Some(format)) if format.rehearsal => " --rehearsal-clock",
        _ => "",
    };
    let start = format!("quintet serve --data {}{flag}", quoted(&destination));
    tell_saved(&salvaged, &destination, !extra.is_empty(), &start, output)?;
    if salvaged.lost.is_empty() {
        return Ok(());
    }
    Err(CliError::failed(format!(
        "{} things were lost; {} lists them",
        salvaged.lost.len(),
        destination.join("SALVAGE").display()
    ))
    .code(CliError::DAMAGED)
    .hint(format!("compare with a backup, if there is one; start what was saved with `{start}`")))
}

fn tell_saved(
    salvaged: &Salvaged,
    destination: &Path,
    has_key: bool,
    start: &str,
    output: OutputArguments,
) -> Result<(), CliError> {
    if output.json {
        let lost = salvaged.lost.iter().map(|finding| {
            json!({ "file": finding.file.display().to_string(), "offset": finding.offset, "reason": finding.reason })
        });
        return output::say_json(&json!({
            "destination": destination.display().to_string(), "source": salvaged.source, "lsn": salvaged.lsn,
            "rows": salvaged.rows, "lost": lost.collect::<Vec<_>>(), "with_key": has_key, "start": start,
        }));
    }
    output::say(&format!(
        "Saved {} rows, up to transaction {}, from {}, to {}.",
        salvaged.rows,
        salvaged.lsn,
        salvaged.source,
        destination.display()
    ));
    for finding in &salvaged.lost {
        output::say(&output::plain(&format!("lost: {finding}")));
    }
    if !has_key {
        output::say("There was no root key to take along: put one into place before the start.");
    }
    output::say(&format!("Check it with `quintet verify --data {}`, start it with `{start}`.", quoted(destination)));
    if salvaged.lost.is_empty() {
        output::say("Nothing was lost.");
    }
    Ok(())
}
