//! When keys were last used: noted in memory, stored once a minute, so that reading costs no write.

use quintet_storage::{Failure, Read as _, Store, Timestamp, WriteTx};
use uuid::Uuid;

use super::authenticate::Caller;
use super::key_text::parse_key_id;
use super::keys::KeyRecord;
use super::tables::{KEY_USES, KEYS, KeyUseRow};
use crate::clock::BoxFuture;
use crate::jobs::{Job, Noted, Progress};

/// The most rows of one transaction.
const SLICE_ROWS: usize = 500;
/// How long a use may stay in memory only.
const STORE_AFTER_SECONDS: i64 = 60;
/// The most keys remembered between two rounds; the uses of more are not noted.
const KEYS_MAX: usize = 100_000;

/// Notes uses of keys.
pub struct KeyUses {
    store: Store,
    noted: Noted<Uuid>,
}

impl KeyUses {
    /// Nothing noted yet.
    #[must_use]
    pub fn new(store: Store) -> KeyUses {
        KeyUses { store, noted: Noted::new(KEYS_MAX, STORE_AFTER_SECONDS) }
    }

    /// Notes that a caller's key was used. `true` if this is the first note since the last round: time to
    /// [`wake`](crate::clock::Clock::wake) the clock.
    pub fn note(&self, caller: &Caller, now: Timestamp) -> bool {
        parse_key_id(&caller.key_id).is_some_and(|id| self.noted.note(id, now))
    }

    /// Brings records up to date with what is noted but not stored yet.
    pub fn fill_in(&self, records: &mut [KeyRecord]) {
        for record in records {
            let newer = parse_key_id(&record.key_id).and_then(|id| self.noted.of(id));
            record.last_used_at = record.last_used_at.max(newer);
        }
    }
}

/// Never takes a use back, and stores none of a key that is gone.
fn put_uses(tx: &mut WriteTx<'_>, uses: &[(Uuid, Timestamp)]) -> Result<(), Failure> {
    for (id, at) in uses {
        let stored = tx.get(&KEY_USES, id)?;
        if stored.is_none_or(|stored| stored.last_used_at < *at) && tx.contains(&KEYS, id)? {
            tx.put(&KEY_USES, id, &KeyUseRow { last_used_at: *at })?;
        }
    }
    Ok(())
}

impl Job for KeyUses {
    fn name(&self) -> &'static str {
        "platform.key_uses"
    }

    fn next_due(&self) -> Result<Option<Timestamp>, Failure> {
        Ok(self.noted.due())
    }

    fn slice(&self) -> BoxFuture<'_, Result<Progress, Failure>> {
        Box::pin(self.noted.store_some(&self.store, SLICE_ROWS, put_uses))
    }
}
