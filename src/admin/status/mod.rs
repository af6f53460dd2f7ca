//! What runs, and what of it needs somebody's attention.

mod view;
mod warnings;

use axum::Router;
use axum::extract::State;
use quintet_platform::clock::{Clock, rfc3339};
use quintet_storage::Room;

use super::call::Call;
use super::task::TaskError;
use super::{backups, clock, localization, messaging, root_key, runs, tenants, webhooks, workflows};
use crate::app::App;
use crate::measures;
use crate::sites::Bound;
use crate::tls::Tls;
pub use view::{ServiceView, StatusView, StorageView, TlsView};
use warnings::warnings;
pub use warnings::{BACKUP_AGE_SECONDS_MAX, CLOCK_JUMP_MILLIS_MAX, behind, clock_jump, disabled, unanchored};

/// What runs.
pub const SHOW: Call<(), StatusView> = Call::look("/status");

pub(super) fn routes(app: App) -> Router {
    let show = async |State(app): State<App>| SHOW.answer(&show(&app)?);
    SHOW.served_by(show).with_state(app)
}

/// What runs, now.
///
/// # Errors
/// The store cannot be read.
pub fn show(app: &App) -> Result<StatusView, TaskError> {
    let read = app.store.read();
    let data_dir = app.store.directory();
    let clock = clock::show(app);
    let mut status = StatusView {
        warnings: Vec::new(),
        version: env!("CARGO_PKG_VERSION").into(),
        commit: env!("BUILD_COMMIT").into(),
        pid: std::process::id(),
        uptime_seconds: app.metrics.uptime_seconds(),
        started_at: rfc3339(app.metrics.started_at()),
        clock_jump_millis: app.metrics.clock_jump_micros() / 1_000,
        data_dir: std::path::absolute(data_dir).unwrap_or_else(|_| data_dir.into()).display().to_string(),
        clock: clock.mode,
        now: clock.now,
        services: services(app),
        tls: app.tls.as_ref().map(tls_view),
        tenants: tenants::all(&read)?.len() as u64,
        workers: runs::workers(app)?,
        workflows: workflows::standing(app)?,
        webhooks: webhooks::standing(app)?,
        messaging: messaging::standing(app)?,
        audit: localization::audit(app)?,
        memory_bytes: measures::memory_bytes().unwrap_or(0),
        storage: storage(app),
        root_key: Some(root_key::show(app)?),
        last_backup: backups::last(app, &read)?,
        followers: app.metrics.followers().show(),
    };
    let failing = localization::checks(app).items.into_iter().filter(|check| !check.ok).map(|check| check.name);
    status.warnings = warnings(&status, &failing.collect::<Vec<_>>());
    Ok(status)
}

/// The listeners, by name.
fn services(app: &App) -> Vec<ServiceView> {
    let view = |bound: &Bound| ServiceView {
        name: bound.name.into(),
        address: bound.address.to_string(),
        tls: bound.is_encrypted,
    };
    let mut services: Vec<ServiceView> = app.places.all().iter().map(view).collect();
    services.sort_by(|a, b| a.name.cmp(&b.name));
    services
}

fn storage(app: &App) -> StorageView {
    let (reason, stats, window) = (app.store.stop_reason(), app.store.stats(), app.store.copy_window());
    let (data_dir, read) = (app.store.directory(), app.store.read());
    StorageView {
        state: match (&reason, app.store.room()) {
            (Some(_), _) => "stopped",
            (None, Room::Ample) => "writing",
            (None, Room::Low | Room::Exhausted) => "full",
        }
        .into(),
        reason,
        lsn: stats.published_lsn,
        queue_depth: stats.queue_depth,
        unpublished_transactions: stats.executed_lsn.saturating_sub(stats.published_lsn),
        unflushed_transactions: stats.published_lsn.saturating_sub(stats.flushed_lsn),
        log_bytes: measures::size_of_files(&data_dir.join("wal")),
        tables_bytes: measures::size_of_files(&data_dir.join("live")),
        last_transaction_at: (read.lsn() > 0).then(|| rfc3339(read.time())),
        copy_window_seconds: window.in_force.as_secs(),
        copy_window_wanted_seconds: window.wanted.as_secs(),
        checkpoints: window.checkpoints as u64,
        newest_checkpoint_lsn: window.newest_lsn,
        newest_checkpoint_age_seconds: window.newest_since.map(|since| since.elapsed().as_secs()),
        kept_for_copies_bytes: window.kept_bytes,
        disk_free_bytes: measures::disk_free_bytes(data_dir).unwrap_or(0),
        disk_bytes: measures::disk_bytes(data_dir).unwrap_or(0),
        disk_reserve_bytes: app.config.disk_reserve_mb << 20,
    }
}

fn tls_view(tls: &Tls) -> TlsView {
    let standing = tls.standing();
    TlsView {
        cert: tls.files().cert.display().to_string(),
        names: standing.facts.names.clone(),
        not_before: rfc3339(standing.facts.not_before),
        not_after: rfc3339(standing.facts.not_after),
        loaded_at: rfc3339(standing.loaded_at),
        complaint: standing.facts.complaint(Clock::system().now()),
        refused: standing.refused.as_ref().map(|(_, error)| error.to_string()),
        refused_at: standing.refused.as_ref().map(|(at, _)| rfc3339(*at)),
    }
}
