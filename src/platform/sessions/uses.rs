//! When sessions were last used: noted in memory, stored once a minute, so that reading costs no write.

use quintet_storage::{Failure, Read as _, Store, Timestamp, Uuid, WriteTx};

use super::tables::{SESSION_USES, SESSIONS, SessionUseRow};
use crate::clock::BoxFuture;
use crate::jobs::{Job, Noted, Progress};

/// The most rows of one transaction.
const SLICE_ROWS: usize = 500;
/// How long a use may stay in memory only.
const STORE_AFTER_SECONDS: i64 = 60;
/// The most sessions remembered between two rounds; the uses of more are not noted.
const SESSIONS_NOTED_MAX: usize = 100_000;

/// Notes uses of sessions.
pub struct SessionUses {
    store: Store,
    noted: Noted<Uuid>,
}

impl SessionUses {
    /// Nothing noted yet.
    #[must_use]
    pub fn new(store: Store) -> SessionUses {
        SessionUses { store, noted: Noted::new(SESSIONS_NOTED_MAX, STORE_AFTER_SECONDS) }
    }

    /// Notes that a session was used. `true` if this is the first note since the last round: time to
    /// [`wake`](crate::clock::Clock::wake) the clock.
    pub fn note(&self, session_id: Uuid, now: Timestamp) -> bool {
        self.noted.note(session_id, now)
    }

    /// The last use that is noted and not stored yet.
    pub(super) fn of(&self, session_id: Uuid) -> Option<Timestamp> {
        self.noted.of(session_id)
    }
}

/// Never takes a use back, and stores none of a session that has ended.
fn put_uses(tx: &mut WriteTx<'_>, uses: &[(Uuid, Timestamp)]) -> Result<(), Failure> {
    for (id, at) in uses {
        let stored = tx.get(&SESSION_USES, id)?;
        if stored.is_none_or(|stored| stored.last_used_at < *at) && tx.contains(&SESSIONS, id)? {
            tx.put(&SESSION_USES, id, &SessionUseRow { last_used_at: *at })?;
        }
    }
    Ok(())
}

impl Job for SessionUses {
    fn name(&self) -> &'static str {
        "platform.session_uses"
    }

    fn next_due(&self) -> Result<Option<Timestamp>, Failure> {
        Ok(self.noted.due())
    }

    fn slice(&self) -> BoxFuture<'_, Result<Progress, Failure>> {
        Box::pin(self.noted.store_some(&self.store, SLICE_ROWS, put_uses))
    }
}
