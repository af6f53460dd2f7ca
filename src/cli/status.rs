//! `quintet status`: what runs.

use super::CliError;
use super::output::{self, OutputArguments};
use super::place::PlaceArguments;
use crate::admin::protocol::{StatusView, StorageView};

/// Show what runs: version, services, storage, free disk
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    place: PlaceArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let status: StatusView = arguments.place.client()?.get("/status")?;
    if arguments.output.json {
        return output::say_json(&status);
    }
    let storage = &status.storage;
    let free = format!(
        "{} ({} are kept in reserve)",
        output::size(storage.disk_free_bytes),
        output::size(storage.disk_reserve_bytes)
    );
    let mut rows = vec![
        ("version", format!("{} (commit {})", status.version, status.commit)),
        ("process", format!("{}, up {}", status.pid, output::duration(status.uptime_seconds))),
        ("data", status.data_dir.clone()),
        ("clock", format!("{} ({})", status.now, status.clock)),
        ("tenants", status.tenants.to_string()),
        ("memory", output::size(status.memory_bytes)),
        ("storage", format!("{}, last transaction {}", storage.state, storage.lsn)),
        ("queue", format!("{} requests wait for the writer", storage.queue_depth)),
        ("log", output::size(storage.log_bytes)),
        ("tables", output::size(storage.tables_bytes)),
        ("free disk", free),
        ("copying", copying(storage)),
        ("checkpoints", checkpoints(storage)),
        ("last backup", last_backup(&status)),
    ];
    if let Some(root_key) = &status.root_key {
        rows.push(("root key", format!("{} from {}; {}", root_key.key_id, root_key.source, root_key.explanation)));
    }
    if let Some(reason) = &storage.reason {
        rows.push(("stopped", format!("{reason}; restart to clear it")));
    }
    for (name, value) in rows {
        output::say(&format!("{name:11} {}", output::plain(&value)));
    }
    output::say("");
    let services = status.services.iter().map(|service| vec![service.name.clone(), service.address.clone()]);
    output::say_table(&["service", "address"], &services.collect::<Vec<_>>());
    Ok(())
}

fn copying(storage: &StorageView) -> String {
    let (in_force, wanted) = (storage.copy_window_seconds, storage.copy_window_wanted_seconds);
    let kept = output::size(storage.kept_for_copies_bytes);
    let shortened = if in_force < wanted {
        format!(" (shortened from {}: see storage.copy_keep_mb)", output::duration(wanted))
    } else {
        String::new()
    };
    format!("a plain copy may take {}{shortened}; {kept} are kept for copies", output::duration(in_force))
}

fn checkpoints(storage: &StorageView) -> String {
    match (storage.checkpoints, storage.newest_checkpoint_age_seconds) {
        (0, _) | (_, None) => "none yet".to_string(),
        (count, Some(age)) => {
            let (lsn, age) = (storage.newest_checkpoint_lsn, output::duration(age));
            format!("{count}, the newest at transaction {lsn}, {age} ago")
        }
    }
}

fn last_backup(status: &StatusView) -> String {
    match &status.last_backup {
        None => "none yet; `quintet backup create DEST` makes one".to_string(),
        Some(last) => format!("{} ago, {}", output::duration(last.age_seconds), last.backup.destination),
    }
}
