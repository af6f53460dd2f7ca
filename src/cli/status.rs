//! `quintet status`: what runs.

use super::CliError;
use super::output::{self, OutputArguments};
use super::place::PlaceArguments;
use crate::admin::protocol::StatusView;

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
        ("process", format!("{}, up {}", status.pid, duration(status.uptime_seconds))),
        ("data", status.data_dir.clone()),
        ("clock", format!("{} ({})", status.now, status.clock)),
        ("tenants", status.tenants.to_string()),
        ("memory", output::size(status.memory_bytes)),
        ("storage", format!("{}, last transaction {}", storage.state, storage.lsn)),
        ("queue", format!("{} requests wait for the writer", storage.queue_depth)),
        ("log", output::size(storage.log_bytes)),
        ("tables", output::size(storage.tables_bytes)),
        ("free disk", free),
        ("copying", format!("copy window {}", storage.copy_window)),
    ];
    if let Some(root_key) = &status.root_key {
        rows.push(("root key", format!("{} from {}; {}", root_key.key_id, root_key.source, root_key.explanation)));
    }
    if let Some(reason) = &storage.reason {
        rows.push(("stopped", format!("{reason}; restart to clear it")));
    }
    for (name, value) in rows {
        output::say(&format!("{name:10} {}", output::plain(&value)));
    }
    output::say("");
    let services = status.services.iter().map(|service| vec![service.name.clone(), service.address.clone()]);
    output::say_table(&["service", "address"], &services.collect::<Vec<_>>());
    Ok(())
}

/// A duration for people.
fn duration(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, _, _) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}
