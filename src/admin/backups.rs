//! What the administration socket does for `quintet backup` and `quintet verify`: it holds a checkpoint while the
//! command line reads it, and keeps the records of finished backups.
//!
//! Reading and copying is the command's own work, so that whatever the server may not reach does not matter. A hold
//! ends by itself when the command stops extending it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use quintet_platform::backups::{self, Backup, MadeBackup};
use quintet_platform::clock::rfc3339;
use quintet_storage::{Abort, Lsn};

use super::protocol::{BackupView, BackupWish, HoldView, Items, KeyFileView};
use super::tasks::{TaskError, WRITE_DEADLINE};
use crate::app::App;
use crate::root_key::KeyPlace;

/// How long a hold lasts unless it is extended.
const HOLD_SECONDS: u64 = 120;

/// Holds at a time; each keeps files from being removed.
const HOLDS_MAX: usize = 32;

/// Who holds which checkpoint. Several may hold the same one; it is given back with the last.
#[derive(Clone, Debug, Default)]
pub struct Holds(Arc<Mutex<HoldList>>);

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

/// Runs what blocks apart from the tasks that answer requests.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, TaskError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| TaskError::Failed(error.to_string()))
}

/// Makes a checkpoint of everything that has been acknowledged, and holds it.
///
/// # Errors
/// It could not be made, or too many are held.
pub async fn hold_checkpoint(app: &App, holds: &Holds) -> Result<HoldView, TaskError> {
    let (store, holds) = (app.store.clone(), holds.clone());
    let held = blocking(move || {
        let held = store.hold_checkpoint(HOLD_SECONDS)?;
        let Some(id) = holds.begin(held.lsn) else {
            return Err(format!("{HOLDS_MAX} checkpoints are held already; try again when a backup has ended"));
        };
        // Somebody who ended a hold of the same checkpoint a moment ago may have released it.
        store.extend_checkpoint(held.lsn, HOLD_SECONDS).map(|held| (id, held))
    });
    let (hold_id, held) = held.await?.map_err(TaskError::Failed)?;
    let checkpoint = held.path.strip_prefix(app.store.directory()).unwrap_or(&held.path).display().to_string();
    let root_key = KeyPlace::of(&app.config);
    let absolute = |path: &std::path::Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let key_files = root_key.backup_files().into_iter();
    let key_files = key_files.map(|(path, name)| KeyFileView { path: absolute(&path).display().to_string(), name });
    Ok(HoldView { hold_id, lsn: held.lsn, checkpoint, hold_seconds: HOLD_SECONDS, key_files: key_files.collect() })
}

/// Makes a hold last longer.
///
/// # Errors
/// It has ended.
pub async fn extend_hold(app: &App, holds: &Holds, hold_id: u64) -> Result<(), TaskError> {
    let lsn = holds.extend(hold_id).ok_or_else(|| TaskError::Conflict("the checkpoint is no longer held".into()))?;
    let store = app.store.clone();
    blocking(move || store.extend_checkpoint(lsn, HOLD_SECONDS)).await?.map_err(TaskError::Conflict)?;
    Ok(())
}

/// Ends a hold; one that has ended already is none to complain about.
pub fn end_hold(app: &App, holds: &Holds, hold_id: u64) {
    holds.end(hold_id, |lsn| app.store.release_checkpoint(lsn));
}

/// Records a backup that was made.
///
/// # Errors
/// The store failed.
pub async fn record_backup(app: &App, wish: BackupWish) -> Result<BackupView, TaskError> {
    let BackupWish { lsn, destination, files, bytes, with_key, duration_millis } = wish;
    let made = MadeBackup { lsn, destination, files, bytes, with_key, duration_millis };
    let recorded = app.store.write(Instant::now() + WRITE_DEADLINE, move |tx, now| {
        Ok::<_, Abort<std::convert::Infallible>>(backups::record_backup(tx, now, made)?)
    });
    match recorded.await {
        Ok(backup) => Ok(backup_view(backup)),
        Err(Abort::Failed(failure)) => Err(failure.into()),
        Err(Abort::Refused(never)) => match never {},
    }
}

/// All records, newest first.
///
/// # Errors
/// The store cannot be read.
pub fn list_backups(app: &App) -> Result<Items<BackupView>, TaskError> {
    let found = backups::list_backups(&app.store.read(), backups::KEPT_MAX)?;
    Ok(Items { items: found.into_iter().map(backup_view).collect() })
}

/// A record as the command line shows it.
#[must_use]
pub fn backup_view(backup: Backup) -> BackupView {
    let MadeBackup { lsn, destination, files, bytes, with_key, duration_millis } = backup.made;
    BackupView { finished_at: rfc3339(backup.finished_at), lsn, destination, files, bytes, with_key, duration_millis }
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
