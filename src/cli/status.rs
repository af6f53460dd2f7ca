//! `quintet status`: what runs, at a glance: what needs attention first, then where and how it runs.

use quintet_messaging::operator::StandingView as MessagingView;

use super::CliError;
use super::output::{self, OutputArguments};
use super::place::PlaceArguments;
use crate::admin::runs::WorkersView;
use crate::admin::status::{self, ServiceView, StatusView, StorageView, TlsView};
use crate::admin::webhooks::WebhooksView;
use crate::admin::workflows::StandingView;
use crate::followers::FollowerView;
use crate::measures::counted;

/// The width it is written for, in columns.
const WIDTH: usize = 80;

/// How far the values are indented.
const INDENT: usize = 13;

/// Show what runs: warnings, version, listeners, storage, backups
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    place: PlaceArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let status = arguments.place.client()?.ask(&status::SHOW)?;
    if arguments.output.json {
        return output::say_json(&status);
    }
    text(&status).iter().for_each(|line| output::say(line));
    Ok(())
}

/// What is shown to people, in lines of [`WIDTH`] at most; only what cannot be broken is longer.
fn text(status: &StatusView) -> Vec<String> {
    let mut lines = Vec::new();
    for warning in &status.warnings {
        lines.extend(output::wrapped("! ", &output::plain(warning), 2, WIDTH));
    }
    if !status.warnings.is_empty() {
        lines.push(String::new());
    }
    let mut field = |name: &str, value: &str| {
        lines.extend(output::wrapped(&format!("{name:INDENT$}"), &output::plain(value), INDENT, WIDTH));
    };
    let StatusView { storage, workers, .. } = status;
    let commit: String = status.commit.chars().take(12).collect();
    field("version", &format!("{} (commit {commit})", status.version));
    field("running", &running(status));
    field("data", &status.data_dir);
    field("clock", &format!("{} ({})", status.now, clock(status)));
    field("tenants", &status.tenants.to_string());
    field("workers", &busy(workers));
    field("workflows", &of_workflows(&status.workflows));
    field("webhooks", &told_of(&status.webhooks));
    field("messaging", &of_messaging(&status.messaging));
    if let Some(file) = &status.audit.anchor_file {
        let waiting = counted(status.audit.anchors_waiting, "checkpoint waits", "checkpoints wait");
        field("audit", &format!("anchored in {file}; {waiting}"));
    }
    field("memory", &output::size(status.memory_bytes));
    field("storage", &writing(storage));
    field("on disk", &on_disk(storage));
    field("free disk", &free_disk(storage));
    field("copies", &copying(storage));
    field("checkpoints", &checkpoints(storage));
    field("last backup", &last_backup(status));
    for follower in &status.followers {
        field("followed by", &followed_by(follower));
    }
    if let Some(root_key) = &status.root_key {
        field("root key", &format!("{} from {}; {}", root_key.key_id, root_key.source, root_key.explanation));
    }
    if let Some(tls) = &status.tls {
        field("certificate", &certificate(tls));
    }
    lines.push(String::new());
    let row = |service: &ServiceView| {
        let scheme = if service.tls { "https" } else { "http" };
        vec![service.name.clone(), service.address.clone(), scheme.to_string()]
    };
    let rows: Vec<Vec<String>> = status.services.iter().map(row).collect();
    lines.extend(output::table(&["service", "address", "speaks"], &rows));
    lines
}

fn running(status: &StatusView) -> String {
    let since =
        if status.started_at.is_empty() { String::new() } else { format!(" since {}", to_seconds(&status.started_at)) };
    format!("process {}{since}, for {}", status.pid, output::duration(status.uptime_seconds))
}

/// An instant without fractions of its second.
fn to_seconds(instant: &str) -> String {
    match instant.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => instant.to_string(),
    }
}

fn clock(status: &StatusView) -> &'static str {
    if status.clock == "rehearsal" { "rehearsal: it moves only when told" } else { "the system's" }
}

fn busy(workers: &WorkersView) -> String {
    let runner = match workers.runner.as_str() {
        "off" => "; there is to be no runner (runs.runner_socket)",
        "down" => "; the runner does not answer",
        _ => "",
    };
    format!("{} of {} busy{runner}", workers.busy, workers.total)
}

fn of_workflows(workflows: &StandingView) -> String {
    let gates = counted(workflows.open_gates, "gate is open", "gates are open");
    let oldest = workflows.oldest_gate_seconds.map(|seconds| format!(", the oldest for {}", output::duration(seconds)));
    format!("{} active; {gates}{}", workflows.active, oldest.unwrap_or_default())
}

fn told_of(webhooks: &WebhooksView) -> String {
    let endpoints = counted(webhooks.endpoints, "endpoint", "endpoints");
    let waiting = counted(webhooks.pending_deliveries, "delivery waits", "deliveries wait");
    let oldest = webhooks.oldest_due_seconds.map(|seconds| format!(", the oldest for {}", output::duration(seconds)));
    format!("{endpoints}, {} disabled; {waiting}{}", webhooks.endpoints_disabled, oldest.unwrap_or_default())
}

fn of_messaging(messaging: &MessagingView) -> String {
    let workspaces = counted(messaging.workspaces, "workspace", "workspaces");
    let agents = counted(messaging.active_agents, "agent", "agents");
    let streams = counted(messaging.open_streams, "stream is open", "streams are open");
    let messages = counted(messaging.messages_today, "message", "messages");
    let approvals = match messaging.pending_approvals {
        0 => String::new(),
        count => format!("; {}", counted(count, "approval waits", "approvals wait")),
    };
    let mail = match messaging.mail.waiting {
        0 => String::new(),
        waiting => format!("; {} for the relay", counted(waiting, "mail waits", "mails wait")),
    };
    format!("{workspaces}, {agents}; {streams}; {messages} today{approvals}{mail}")
}

fn writing(storage: &StorageView) -> String {
    let last = storage.last_transaction_at.as_deref().map(|at| format!(" at {}", to_seconds(at))).unwrap_or_default();
    let state = match storage.state.as_str() {
        "writing" => "writes are taken",
        "full" => "writes are refused until there is room",
        _ => "writing has stopped until a restart",
    };
    let waiting = match (storage.queue_depth, storage.unpublished_transactions) {
        (0, 0) => "nothing waits".to_string(),
        (queued, unpublished) => format!("{queued} requests and {unpublished} transactions wait"),
    };
    format!("{state}; last transaction {}{last}; {waiting}", storage.lsn)
}

fn on_disk(storage: &StorageView) -> String {
    format!(
        "log {}, tables {}; a start reads {} transactions again",
        output::size(storage.log_bytes),
        output::size(storage.tables_bytes),
        storage.unflushed_transactions
    )
}

fn free_disk(storage: &StorageView) -> String {
    let of = if storage.disk_bytes > 0 { format!(" of {}", output::size(storage.disk_bytes)) } else { String::new() };
    let (free, reserve) = (output::size(storage.disk_free_bytes), output::size(storage.disk_reserve_bytes));
    format!("{free}{of}; {reserve} are kept in reserve")
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
        Some(last) => format!("{} ago, {}", output::duration(last.age_seconds), last.backup.made.destination),
    }
}

fn followed_by(follower: &FollowerView) -> String {
    let FollowerView { destination, lsn, lag_seconds } = follower;
    match lag_seconds {
        0 | 1 => format!("{destination}, transaction {lsn}"),
        _ => format!("{destination}, transaction {lsn}, {} behind", output::duration(*lag_seconds)),
    }
}

fn certificate(tls: &TlsView) -> String {
    let names = if tls.names.is_empty() { "no names".to_string() } else { tls.names.join(", ") };
    let (until, since) = (to_seconds(&tls.not_after), to_seconds(&tls.loaded_at));
    format!("for {names}; until {until}; in use since {since}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> StatusView {
        let value = serde_json::json!({
            "warnings": ["No backup was ever made: `quintet backup create DEST`.",
                "Writes are refused: 1.0 MiB are free, 1.0 GiB are kept in reserve. Free disk space; writing resumes."],
            "version": "0.1.0", "commit": "0123456789abcdef0123", "pid": 4711, "uptime_seconds": 7_500,
            "started_at": "2026-11-21T09:00:00.123456Z", "data_dir": "/var/lib/quintet", "clock": "system",
            "now": "2026-11-21T11:05:00.5Z", "tenants": 3, "memory_bytes": 300_u64 << 20,
            "services": [{ "name": "ledger", "address": "192.0.2.1:7430", "tls": true },
                { "name": "operations", "address": "127.0.0.1:7400", "tls": false }],
            "tls": { "cert": "/c.pem", "names": ["a.example", "b.example"], "not_before": "2026-01-01T00:00:00Z",
                "not_after": "2027-01-01T00:00:00Z", "loaded_at": "2026-11-21T09:00:00.2Z" },
            "workers": { "busy": 2, "total": 8, "runner": "up" },
            "workflows": { "active": 7, "open_gates": 2, "oldest_gate_seconds": 3_700 },
            "webhooks": { "endpoints": 3, "endpoints_disabled": 1, "endpoints_given_up": 0, "pending_deliveries": 12,
                "oldest_due_seconds": 90 },
            "messaging": { "workspaces": 2, "active_agents": 1, "open_streams": 3, "messages_today": 1 },
            "storage": { "state": "full", "lsn": 12_345, "disk_free_bytes": 1 << 20, "disk_bytes": 100_u64 << 30,
                "disk_reserve_bytes": 1 << 30, "copy_window_seconds": 60, "copy_window_wanted_seconds": 900,
                "last_transaction_at": "2026-11-21T11:04:59.9Z", "unflushed_transactions": 17, "queue_depth": 4 },
        });
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn it_is_read_at_a_glance() {
        let text = text(&status());
        let shown = text.join("\n");
        assert!(text.iter().all(|line| line.chars().count() <= WIDTH), "{shown}");
        let expected = "\
! No backup was ever made: `quintet backup create DEST`.
! Writes are refused: 1.0 MiB are free, 1.0 GiB are kept in reserve. Free disk
  space; writing resumes.

version      0.1.0 (commit 0123456789ab)
running      process 4711 since 2026-11-21T09:00:00Z, for 2 h 5 min
data         /var/lib/quintet
clock        2026-11-21T11:05:00.5Z (the system's)
tenants      3
workers      2 of 8 busy
workflows    7 active; 2 gates are open, the oldest for 1 h 1 min
webhooks     3 endpoints, 1 disabled; 12 deliveries wait, the oldest for 1 min
messaging    2 workspaces, 1 agent; 3 streams are open; 1 message today
memory       300.0 MiB
storage      writes are refused until there is room; last transaction 12345 at
             2026-11-21T11:04:59Z; 4 requests and 0 transactions wait
on disk      log 0 B, tables 0 B; a start reads 17 transactions again
free disk    1.0 MiB of 100.0 GiB; 1.0 GiB are kept in reserve
copies       a plain copy may take 1 min (shortened from 15 min: see
             storage.copy_keep_mb); 0 B are kept for copies
checkpoints  none yet
last backup  none yet; `quintet backup create DEST` makes one
certificate  for a.example, b.example; until 2027-01-01T00:00:00Z; in use since
             2026-11-21T09:00:00Z

SERVICE     ADDRESS         SPEAKS
ledger      192.0.2.1:7430  https
operations  127.0.0.1:7400  http";
        assert_eq!(shown, expected);
    }
}
