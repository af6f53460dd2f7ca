//! When keys were last used: noted in memory, stored once a minute, so that reading costs no write.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use quintet_storage::{Abort, Read as _, Store, Timestamp, WriteTx};
use uuid::Uuid;

use super::authenticate::Caller;
use super::key_text::parse_key_id;
use super::keys::KeyRecord;
use super::tables::{KEY_USES, KEYS, KeyUseRow};
use crate::clock::{BoxFuture, DueWork};

/// How long a use may stay in memory only.
const STORE_AFTER_SECONDS: i64 = 60;
/// The most rows of one transaction.
const SLICE_ROWS: usize = 500;
/// The most keys remembered between two rounds; the uses of more are not noted.
const KEYS_MAX: usize = 100_000;
/// How long a round may wait for the writer; the next one tries again.
const DEADLINE: Duration = Duration::from_secs(10);

/// Notes uses of keys. Register it as [`DueWork`].
pub struct KeyUses {
    store: Store,
    noted: Mutex<Noted>,
}

#[derive(Default)]
struct Noted {
    by_key: HashMap<Uuid, Timestamp>,
    /// When the oldest note that is not stored was made.
    since: Option<Timestamp>,
}

impl KeyUses {
    /// Nothing noted yet.
    #[must_use]
    pub fn new(store: Store) -> KeyUses {
        KeyUses { store, noted: Mutex::default() }
    }

    /// Notes that a caller's key was used. `true` if this is the first note since the last round: time to
    /// [`wake`](crate::clock::Clock::wake) the clock.
    pub fn note(&self, caller: &Caller, now: Timestamp) -> bool {
        let Some(id) = parse_key_id(&caller.key_id) else { return false };
        let mut noted = self.noted();
        if noted.by_key.len() >= KEYS_MAX && !noted.by_key.contains_key(&id) {
            return false;
        }
        noted.by_key.insert(id, now);
        let first = noted.since.is_none();
        noted.since.get_or_insert(now);
        first
    }

    /// Brings records up to date with what is noted but not stored yet.
    pub fn fill_in(&self, records: &mut [KeyRecord]) {
        let noted = self.noted();
        for record in records {
            let newer = parse_key_id(&record.key_id).and_then(|id| noted.by_key.get(&id).copied());
            record.last_used_at = record.last_used_at.max(newer);
        }
    }

    fn noted(&self) -> std::sync::MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes everything noted; what cannot be stored is put back.
    async fn store_all(&self) {
        let taken = std::mem::take(&mut *self.noted());
        let mut uses: Vec<(Uuid, Timestamp)> = taken.by_key.into_iter().collect();
        uses.sort_unstable();
        while !uses.is_empty() {
            let slice = uses.split_off(uses.len().saturating_sub(SLICE_ROWS));
            let rows = slice.clone();
            let stored = self.store.write(Instant::now() + DEADLINE, move |tx, _| put_uses(tx, &rows)).await;
            if let Err(Abort::Failed(failure)) = stored {
                tracing::warn!(%failure, "last uses of keys could not be stored; trying again later");
                uses.extend(slice);
                break;
            }
        }
        if let (false, Some(since)) = (uses.is_empty(), taken.since) {
            let mut noted = self.noted();
            for (id, at) in uses {
                let newest = noted.by_key.entry(id).or_insert(at);
                *newest = at.max(*newest);
            }
            noted.since = Some(since);
        }
    }
}

/// Never takes a use back, and stores none of a key that is gone.
fn put_uses(tx: &mut WriteTx<'_>, uses: &[(Uuid, Timestamp)]) -> Result<(), Abort<Infallible>> {
    for (id, at) in uses {
        let stored = tx.get(&KEY_USES, id)?;
        if stored.is_none_or(|stored| stored.last_used_at < *at) && tx.contains(&KEYS, id)? {
            tx.put(&KEY_USES, id, &KeyUseRow { last_used_at: *at })?;
        }
    }
    Ok(())
}

impl DueWork for KeyUses {
    fn name(&self) -> &'static str {
        "platform.key_uses"
    }

    fn next_due(&self) -> Option<Timestamp> {
        self.noted().since.map(|since| since.plus_seconds(STORE_AFTER_SECONDS))
    }

    fn run_due(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.store_all())
    }
}
