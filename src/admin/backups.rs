//! Backups and checks, for the operator: a checkpoint is held while the command line reads it, and the records of
//! finished backups are kept.
//!
//! Reading and copying is the command's own work, so that whatever the server may not reach does not matter. A hold
//! ends by itself when the command stops extending it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use quintet_platform::backups::{self, Backup, MadeBackup};
use quintet_platform::clock::rfc3339;
use quintet_storage::{Abort, Failure, Lsn, Snapshot};
use serde::{Deserialize, Serialize};

use super::call::{Call, Items};
use super::task::{TaskError, WRITE_DEADLINE, blocking};
use crate::app::App;
use crate::followers::Followed;
use crate::measures::seconds_between;
use crate::root_key::KeyPlace;

/// Makes a checkpoint of everything that has been acknowledged, and holds it.
pub const HOLD: Call<(), HoldView> = Call::change("/checkpoints");
/// Makes a hold last longer.
pub const EXTEND: Call<(), ()> = Call::change("/checkpoints/{hold}/extend");
/// Ends a hold; one that has ended already is none to complain about.
pub const RELEASE: Call<(), ()> = Call::change("/checkpoints/{hold}/release");
/// All records, newest first.
pub const LIST: Call<(), Items<BackupView>> = Call::look("/backups");
/// Tells how far a continuous backup is.
pub const FOLLOWED: Call<Followed, ()> = Call::change("/backups/followed");
/// Records a backup that was made.
pub const RECORD: Call<MadeBackup, BackupView> = Call::change("/backups");

/// How long a hold lasts unless it is extended.
const HOLD_SECONDS: u64 = 120;

/// Holds at a time; each keeps files from being removed.
const HOLDS_MAX: usize = 32;

/// A checkpoint that is held for a while.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HoldView {
    /// By what it is extended and ended.
    pub hold_id: u64,
    /// Everything up to this transaction is in it.
    pub lsn: u64,
    /// Where it lies, relative to the data directory.
    pub checkpoint: String,
    /// How long it is held unless that is extended.
    pub hold_seconds: u64,
    /// The files without which what a backup restores cannot be read.
    pub key_files: Vec<KeyFileView>,
}

/// A file of the root key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeyFileView {
    /// Where it lies; an absolute path.
    pub path: String,
    /// What it is called in a backup.
    pub name: String,
}

/// A backup that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupView {
    /// When it was finished; RFC 3339.
    pub finished_at: String,
    /// What it is.
    #[serde(flatten)]
    pub made: MadeBackup,
}

/// The last backup and its age.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastBackupView {
    /// The backup.
    #[serde(flatten)]
    pub backup: BackupView,
    /// How long ago it was finished.
    pub age_seconds: u64,
}

/// What the handlers work with.
#[derive(Clone)]
struct Desk {
    app: App,
    holds: Holds,
}

pub(super) fn routes(app: App) -> Router {
    Router::new()
        .merge(HOLD.served_by(hold))
        .merge(EXTEND.served_by(extend))
        .merge(RELEASE.served_by(release))
        .merge(LIST.served_by(list))
        .merge(RECORD.served_by(record))
        .merge(FOLLOWED.served_by(followed))
        .with_state(Desk { app, holds: Holds::default() })
}

/// Who holds which checkpoint. Several may hold the same one; it is given back with the last.
#[derive(Clone, Debug, Default)]
struct Holds(Arc<Mutex<HoldList>>);

#[derive(Debug, Default)]
struct HoldList {
    last_id: u64,
    holds: Vec<Hold>,
}

#[derive(Clone, Copy, Debug)]
struct Hold {
    id: u64,
    lsn: Lsn,
    until: Instant,
}

impl Holds {
    fn lock(&self) -> MutexGuard<'_, HoldList> {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        list.holds.retain(|hold| hold.until > now);
        list
    }

    /// Notes a hold; its id, or `None` if there are too many.
    fn begin(&self, lsn: Lsn) -> Option<u64> {
        let mut list = self.lock();
        if list.holds.len() >= HOLDS_MAX {
            return None;
        }
        list.last_id += 1;
        let id = list.last_id;
        list.holds.push(Hold { id, lsn, until: hold_end() });
        Some(id)
    }

    /// The checkpoint of a hold that is now to last longer.
    fn extend(&self, id: u64) -> Option<Lsn> {
        let mut list = self.lock();
        let hold = list.holds.iter_mut().find(|hold| hold.id == id)?;
        hold.until = hold_end();
        Some(hold.lsn)
    }

    /// Ends a hold. `release` is called with its checkpoint if nobody else holds that; a hold that begins meanwhile
    /// waits, so that it is not released as well.
    fn end(&self, id: u64, release: impl FnOnce(Lsn)) {
        let mut list = self.lock();
        let Some(index) = list.holds.iter().position(|hold| hold.id == id) else { return };
        let ended = list.holds.swap_remove(index);
        if list.holds.iter().all(|hold| hold.lsn != ended.lsn) {
            release(ended.lsn);
        }
    }
}

fn hold_end() -> Instant {
    Instant::now() + Duration::from_secs(HOLD_SECONDS)
}

async fn hold(State(desk): State<Desk>) -> Result<Response, TaskError> {
    let (store, holds) = (desk.app.store.clone(), desk.holds);
    let held = blocking(move || {
        let held = store.hold_checkpoint(HOLD_SECONDS)?;
        let Some(id) = holds.begin(held.lsn) else {
            return Err(format!("{HOLDS_MAX} checkpoints are held already; try again when a backup has ended"));
        };
        // Somebody who ended a hold of the same checkpoint a moment ago may have released it.
        store.extend_checkpoint(held.lsn, HOLD_SECONDS).map(|held| (id, held))
    });
    let (hold_id, held) = held.await?.map_err(TaskError::Failed)?;
    let app = desk.app;
    let checkpoint = held.path.strip_prefix(app.store.directory()).unwrap_or(&held.path).display().to_string();
    let root_key = KeyPlace::of(&app.config);
    let absolute = |path: &std::path::Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let key_files = root_key.backup_files().into_iter();
    let key_files = key_files.map(|(path, name)| KeyFileView { path: absolute(&path).display().to_string(), name });
    HOLD.answer(&HoldView {
        hold_id,
        lsn: held.lsn,
        checkpoint,
        hold_seconds: HOLD_SECONDS,
        key_files: key_files.collect(),
    })
}

async fn extend(State(desk): State<Desk>, Path(hold_id): Path<u64>) -> Result<Response, TaskError> {
    let lsn =
        desk.holds.extend(hold_id).ok_or_else(|| TaskError::Conflict("the checkpoint is no longer held".into()))?;
    let store = desk.app.store;
    blocking(move || store.extend_checkpoint(lsn, HOLD_SECONDS)).await?.map_err(TaskError::Conflict)?;
    EXTEND.answer(&())
}

async fn release(State(desk): State<Desk>, Path(hold_id): Path<u64>) -> Result<Response, TaskError> {
    desk.holds.end(hold_id, |lsn| desk.app.store.release_checkpoint(lsn));
    RELEASE.answer(&())
}

async fn list(State(desk): State<Desk>) -> Result<Response, TaskError> {
    let found = backups::list_backups(&desk.app.store.read(), backups::KEPT_MAX)?;
    LIST.answer(&Items { items: found.into_iter().map(view).collect() })
}

async fn record(State(desk): State<Desk>, body: Body) -> Result<Response, TaskError> {
    let made = RECORD.wish(body).await?;
    let recorded = desk.app.store.write(Instant::now() + WRITE_DEADLINE, move |tx, now| {
        Ok::<_, Abort<std::convert::Infallible>>(backups::record_backup(tx, now, made)?)
    });
    match recorded.await {
        Ok(backup) => RECORD.answer(&view(backup)),
        Err(Abort::Failed(failure)) => Err(failure.into()),
        Err(Abort::Refused(never)) => match never {},
    }
}

async fn followed(State(desk): State<Desk>, body: Body) -> Result<Response, TaskError> {
    desk.app.metrics.followers().hear(FOLLOWED.wish(body).await?);
    FOLLOWED.answer(&())
}

/// The newest record.
pub(super) fn last(app: &App, read: &Snapshot) -> Result<Option<LastBackupView>, Failure> {
    let newest = backups::list_backups(read, 1)?.into_iter().next();
    Ok(newest.map(|backup| {
        let age_seconds = seconds_between(backup.finished_at, app.clock.now());
        LastBackupView { age_seconds, backup: view(backup) }
    }))
}

/// A record as the command line shows it.
fn view(backup: Backup) -> BackupView {
    BackupView { finished_at: rfc3339(backup.finished_at), made: backup.made }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_is_released_with_its_last_hold() {
        let holds = Holds::default();
        let (first, second, other) = (holds.begin(7).unwrap(), holds.begin(7).unwrap(), holds.begin(9).unwrap());
        let released = |id| {
            let mut released = None;
            holds.end(id, |lsn| released = Some(lsn));
            released
        };
        assert_eq!(holds.extend(first), Some(7));
        assert_eq!(released(first), None, "the second one still needs it");
        assert_eq!(holds.extend(first), None);
        assert_eq!(released(first), None, "it has ended");
        assert_eq!(released(second), Some(7));
        assert_eq!(released(other), Some(9));
        assert!((0..HOLDS_MAX).all(|_| holds.begin(1).is_some()));
        assert_eq!(holds.begin(1), None);
    }
}
