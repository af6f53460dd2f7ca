//! `quintet restore`: makes a data directory of a backup or of any copy of one, and checks it before it counts.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quintet_platform::clock::{Clock, parse_rfc3339};
use quintet_storage::backup::{self, Restoring};
use quintet_storage::follow::former_files;
use quintet_storage::{Finding, Store, StoreOptions, Tables, Timestamp, Verification, read_format, seal};
use serde_json::json;

use super::checking::{self, Against, Report};
use super::copying;
use crate::app::{MIGRATIONS, TABLES};
use crate::cli::CliError;
use crate::cli::error::FORMAT_CURE;
use crate::cli::output::{self, OutputArguments};
use crate::cli::progress::Progress;
use crate::root_key::{self, KeyPlace};
use crate::serve;
use crate::shell::quoted;

/// Make a data directory of a backup, or of any copy of a data directory
///
/// What is restored is opened and checked as `quintet verify` does it; only then it gets its name and the command
/// reports success. SRC is not changed. It may be what `quintet backup create` made, what `quintet backup follow` keeps, or
/// what cp, rsync or a volume snapshot made of a data directory, a running one included.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The backup or copy
    #[arg(value_name = "SRC")]
    source: PathBuf,
    /// The data directory to make: absent or empty
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// As of an instant (RFC 3339): what was written later stays out of it. SRC must be what `quintet backup follow` keeps
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    at: Option<Timestamp>,
    /// The root key, where SRC was made without
    #[arg(long, value_name = "FILE")]
    root_key: Option<PathBuf>,
    /// Restore without a root key: it comes from a credential of systemd, or will be put in place before the start
    #[arg(long, conflicts_with = "root_key")]
    without_key: bool,
    #[command(flatten)]
    output: OutputArguments,
}

fn instant(text: &str) -> Result<Timestamp, String> {
    parse_rfc3339(text).map_err(|error| format!("{error}; an instant looks like 2026-11-21T09:00:00Z"))
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    serve::keep_private();
    let source = &arguments.source;
    for (place, cure) in [
        (source, "a running appliance is not restored from: `quintet backup create DEST` makes a backup of it"),
        (&arguments.data, "name a directory that is absent or empty"),
    ] {
        if serve::is_in_use(place) {
            let failed = CliError::failed(format!("{} is in use by another process", place.display()));
            return Err(failed.code(CliError::IN_USE).hint(cure));
        }
    }
    let destination = copying::destination(&arguments.data, source)?;
    let if_damaged = format!(
        "nothing was restored; take another backup or copy; `quintet verify --data {0}` tells all that is wrong with this one, `quintet verify --data {0} --salvage DEST` saves what is sound",
        quoted(source)
    );
    check_key(source, arguments, &if_damaged)?;
    let mut progress = Progress::new(arguments.output.json);
    let mut tell = |what: &str, done, total| progress.bytes(what, done, total);
    let restoring = backup::begin_restore(source, &destination, arguments.at, &mut tell).map_err(|error| {
        let is_format = matches!(&error, backup::CopyError::Source(_));
        copying::failure(&error, if is_format { FORMAT_CURE } else { &if_damaged })
    })?;
    if let Some(key) = &arguments.root_key {
        put_key(key, restoring.place())?;
    }
    let report = open_and_check(&restoring, source, &if_damaged, &mut progress)?;
    let copied = restoring.copied();
    restoring.keep().map_err(|error| copying::failure(&error, &if_damaged))?;
    progress.finish();
    say(&report, copied, &destination, source, arguments.output)
}

/// Whether there will be a key, and one alone.
fn check_key(source: &Path, arguments: &Arguments, if_damaged: &str) -> Result<(), CliError> {
    let own = KeyPlace::inside(source);
    let is_there = own.backup_files().iter().any(|(path, _)| path.exists());
    if read_format(source).is_ok_and(|format| format.is_none()) {
        // That it is no data directory at all is told by reading it.
        return Ok(());
    }
    match arguments.root_key.as_deref() {
        None if !is_there && arguments.without_key => Ok(()),
        None if !is_there => Err(CliError::failed(format!("there is no root key in {}", source.display()))
            .hint("name its file with --root-key FILE: a backup made with --without-key has none, and storage.root_key may have named another place; with --without-key it is restored without (the key comes from a credential of systemd)")),
        None => own.check().map_err(|error| CliError::from(error).hint(if_damaged)),
        Some(_) if is_there => Err(CliError::failed(format!("{} has a root key of its own", source.display()))
            .hint("leave out --root-key")),
        Some(key) => KeyPlace::at(key).check().map_err(|error| {
            CliError::failed(error).hint("name the file that the configuration of the old appliance names in storage.root_key")
        }),
    }
}

fn put_key(key: &Path, place: &Path) -> Result<(), CliError> {
    let to = place.join(root_key::FILE);
    let text = std::fs::read(key).map_err(|error| CliError::failed(format!("reading {}: {error}", key.display())))?;
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&to)?;
        file.write_all(&text)?;
        file.sync_all()
    };
    write().map_err(|error| CliError::failed(format!("writing {}: {error}", to.display())))
}

/// Where the root key that was copied is a later one than the data are under, takes the one of then.
fn take_key_of_then(store: &Store, source: &Path, place: &Path) -> Result<(), CliError> {
    let read = store.read();
    let fits = |path: &Path| {
        let ring = KeyPlace::at(path).ring().ok().flatten();
        ring.is_some_and(|ring| seal::rotation::check(&read, &ring).is_ok_and(|findings| findings.is_empty()))
    };
    let own = place.join(root_key::FILE);
    if !own.exists() || fits(&own) {
        return Ok(());
    }
    // If none fits, the check tells so.
    let Some(former) = former_files(source, root_key::FILE).into_iter().find(|path| fits(path)) else { return Ok(()) };
    std::fs::remove_file(&own)
        .map_err(|error| CliError::failed(format!("replacing {}: {error}", own.display())))
        .and_then(|()| put_key(&former, place))
}

/// Opens what was copied, as a start would, closes it, and checks all of it.
fn open_and_check(
    restoring: &Restoring,
    source: &Path,
    if_damaged: &str,
    progress: &mut Progress,
) -> Result<Report, CliError> {
    let place = restoring.place();
    // Findings name the source, which stays, and not the place, which goes.
    let at_source = |path: &Path| path.strip_prefix(place).map_or(path.to_path_buf(), |below| source.join(below));
    let failed = |error: &quintet_storage::OpenError| {
        let mut failed = copying::source_failure(error, if_damaged);
        failed.reason = failed.reason.replace(&place.display().to_string(), &source.display().to_string());
        failed
    };
    progress.step("opening what was restored");
    let format = read_format(place).map_err(|error| failed(&error))?.unwrap_or_default();
    let options = StoreOptions {
        rehearsal: format.rehearsal,
        disk_reserve_bytes: 0,
        ..StoreOptions::new(place, Arc::new(Clock::system()))
    };
    let store = Store::open_with(options, TABLES, MIGRATIONS).map_err(|error| failed(&error))?;
    let taken = take_key_of_then(&store, source, place);
    let stopped = store.stop_reason();
    store.shutdown();
    drop(store);
    taken?;
    if let Some(reason) = stopped {
        return Err(CliError::failed(format!("what was restored cannot be written to: {reason}")));
    }
    let verification = Verification::begin(place, false, TABLES).map_err(|error| failed(&error))?;
    let key = KeyPlace::inside(place);
    let against = Against { root_key: Some(&key), opening: Some(&key), anchors: None };
    let mut report = checking::check_all(verification, place, &Tables::Own, &against, progress);
    for finding in &mut report.verified.findings {
        *finding = Finding { file: at_source(&finding.file), ..finding.clone() };
    }
    match report.verified.findings.first() {
        None => Ok(report),
        Some(first) => Err(CliError::failed(format!("damage found: {first}")).code(CliError::DAMAGED).hint(if_damaged)),
    }
}

fn say(
    report: &Report,
    copied: backup::Copied,
    destination: &Path,
    source: &Path,
    output: OutputArguments,
) -> Result<(), CliError> {
    let is_rehearsal = matches!(read_format(destination), Ok(Some(format)) if format.rehearsal);
    let flag = if is_rehearsal { " --rehearsal-clock" } else { "" };
    let start = format!("quintet serve --data {}{flag}", quoted(destination));
    let lsn = report.verified.last_lsn;
    if output.json {
        return output::say_json(&json!({
            "data_dir": destination.display().to_string(), "source": source.display().to_string(), "lsn": lsn,
            "files": copied.files, "bytes": copied.bytes, "rows": report.verified.rows,
            "clock": if is_rehearsal { "rehearsal" } else { "system" }, "start": start,
        }));
    }
    report.say();
    output::say("");
    output::say(&format!(
        "Restored {}: everything up to transaction {lsn}, {} files, {}. It was opened and checked.",
        destination.display(),
        copied.files,
        output::size(copied.bytes)
    ));
    output::say(&format!("Start it with `{start}`."));
    let owner = |path: &Path| std::fs::metadata(path).map(|found| found.uid()).ok();
    if let (Some(own), Some(theirs)) = (owner(destination), owner(&source.join("FORMAT")))
        && own != theirs
    {
        let place = quoted(destination);
        output::say(&format!(
            "It belongs to the user {own}, {} to {theirs}: `chown -R {theirs} {place}` if the appliance runs as that one.",
            source.display()
        ));
    }
    output::say(
        "If it takes the place of another appliance, that one must not go on running: both would go on from the same point, and neither would know what the other did.",
    );
    Ok(())
}
