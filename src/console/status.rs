//! What runs, and what of it needs somebody's attention: what `quintet status` shows.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;

use super::door::Console;
use super::notice::Notice;
use super::pages::{Chapter, Figure, ListenerLine, StatusPage, answer, to_seconds};
use super::visitor::Operator;
use crate::admin::status::{self, ServiceView, StatusView};
use crate::measures::{duration, size};

/// The page.
pub async fn show(State(console): State<Console>, operator: Operator) -> Result<Response, Notice> {
    // It looks at files' sizes.
    let app = console.app.clone();
    let found = tokio::task::spawn_blocking(move || status::show(&app)).await.map_err(|_| Notice::Unavailable)??;
    let line = |service: &ServiceView| ListenerLine {
        name: service.name.clone(),
        address: service.address.clone(),
        scheme: if service.tls { "https" } else { "http" },
    };
    let listeners = found.services.iter().map(line).collect();
    let chapters = vec![appliance(&found), storage(&found), work(&found), safety(&found)];
    let page = StatusPage { frame: operator.frame, warnings: found.warnings, chapters, listeners };
    Ok(answer(StatusCode::OK, &page))
}

fn figure(key: &'static str, value: impl ToString) -> Figure {
    Figure { key, value: value.to_string(), state: "" }
}

/// A figure that is a word, by its key.
fn state(key: &'static str, word: &str, state: &'static str) -> Figure {
    Figure { key, value: word.to_owned(), state }
}

fn appliance(found: &StatusView) -> Chapter {
    let commit: String = found.commit.chars().take(12).collect();
    let figures = vec![
        figure("status.version", format!("{} ({commit})", found.version)),
        figure("status.process", found.pid),
        figure("status.started", to_seconds(&found.started_at)),
        figure("status.uptime", duration(found.uptime_seconds)),
        figure("status.now", to_seconds(&found.now)),
        figure("status.data", &found.data_dir),
        figure("status.memory", size(found.memory_bytes)),
        figure("status.tenants", found.tenants),
    ];
    Chapter { key: "status.appliance", figures }
}

fn storage(found: &StatusView) -> Chapter {
    let storage = &found.storage;
    let is_writing = match storage.state.as_str() {
        "writing" => state("status.writing", "status.writing.writing", "good"),
        "full" => state("status.writing", "status.writing.full", "bad"),
        _ => state("status.writing", "status.writing.stopped", "bad"),
    };
    let figures = vec![
        is_writing,
        figure("status.lsn", storage.lsn),
        figure("status.queue", storage.queue_depth),
        figure("status.log", size(storage.log_bytes)),
        figure("status.tables", size(storage.tables_bytes)),
        figure("status.free", format!("{} / {}", size(storage.disk_free_bytes), size(storage.disk_bytes))),
        figure("status.reserve", size(storage.disk_reserve_bytes)),
        figure("status.copies", duration(storage.copy_window_seconds)),
        figure("status.checkpoints", storage.checkpoints),
    ];
    Chapter { key: "status.storage", figures }
}

fn work(found: &StatusView) -> Chapter {
    let runner = match found.workers.runner.as_str() {
        "up" => state("status.runner", "status.runner.up", "good"),
        "down" => state("status.runner", "status.runner.down", "bad"),
        _ => state("status.runner", "status.runner.off", "soft"),
    };
    let (webhooks, messaging) = (&found.webhooks, &found.messaging);
    let figures = vec![
        figure("status.workers", format!("{} / {}", found.workers.busy, found.workers.total)),
        runner,
        figure("status.workflows", found.workflows.active),
        figure("status.gates", found.workflows.open_gates),
        figure("status.endpoints", webhooks.endpoints),
        figure("status.endpoints_disabled", webhooks.endpoints_disabled),
        figure("status.deliveries", webhooks.pending_deliveries),
        figure("status.workspaces", messaging.workspaces),
        figure("status.agents", messaging.active_agents),
        figure("status.messages", messaging.messages_today),
        figure("status.approvals", messaging.pending_approvals),
        figure("status.mails", messaging.mail.waiting),
    ];
    Chapter { key: "status.work", figures }
}

fn safety(found: &StatusView) -> Chapter {
    let mut figures = vec![match &found.last_backup {
        None => state("status.backup", "status.backup.none", "fair"),
        Some(last) => figure("status.backup", duration(last.age_seconds)),
    }];
    if let Some(key) = &found.root_key {
        figures.push(figure("status.root_key", format!("{} ({})", key.key_id, key.source)));
    }
    if let Some(file) = &found.audit.anchor_file {
        figures.push(figure("status.anchors", file));
        figures.push(figure("status.anchors_waiting", found.audit.anchors_waiting));
    }
    if let Some(tls) = &found.tls {
        figures.push(figure("status.certificate", &tls.not_after));
    }
    Chapter { key: "status.safety", figures }
}
