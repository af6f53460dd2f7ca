//! Root keys: which of them a store is wrapped by, and whether the one at hand is right.

use std::fmt;

use bincode::{Decode, Encode};

use crate::error::Failure;
use crate::tables::codec::Row;
use crate::tables::family::Family;
use crate::tables::table::Table;
use crate::time::Timestamp;
use crate::vault::{KeyId, KeyRing, RootKey};
use crate::view::read::Read;

/// Which root keys the data keys are wrapped by; one row, made with the first data key.
pub(crate) const ROOT: Table<(), RootRow> = Table::new(0x0005, Family::APPLIANCE, "storage_root_key");

/// Which root keys the data keys are wrapped by.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct RootRow {
    /// The key in force.
    pub(crate) current: KeyId,
    /// Since when.
    pub(crate) since: Timestamp,
    /// When a root key last followed upon another.
    pub(crate) rotated_at: Option<Timestamp>,
    /// The one before it, as long as some data key is wrapped by it.
    pub(crate) other: Option<OtherKey>,
}

impl Row for RootRow {}

/// A root key that is not in force and still wraps data keys.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct OtherKey {
    pub(crate) id: KeyId,
    pub(crate) phase: Phase,
}

/// How far a rotation is. See [`rotation`](super::rotation).
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum Phase {
    /// Data keys up to and including `after` are wrapped by both keys; those behind it perhaps by the other alone.
    Adding {
        /// The last one that was looked at.
        after: Option<OwnerKey>,
    },
    /// Every data key is wrapped by both.
    Both {
        /// Since when.
        since: Timestamp,
    },
    /// Data keys up to and including `after` are wrapped by the current key alone.
    Removing {
        /// The last one that was looked at.
        after: Option<OwnerKey>,
    },
}

/// A key of [`DATA_KEYS`] as a row holds it.
pub(crate) type OwnerKey = (u8, [u8; 16], [u8; 16]);

/// What a store says of its root keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootState {
    /// The key in force.
    pub current: KeyId,
    /// Since when.
    pub since: Timestamp,
    /// When a root key last followed upon another.
    pub rotated_at: Option<Timestamp>,
    /// The key before it, as long as it wraps anything.
    pub previous: Option<PreviousKey>,
}

/// A root key that is not in force any more and still wraps data keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviousKey {
    /// Its name.
    pub id: KeyId,
    /// How far it is from being of no use.
    pub phase: PreviousPhase,
}

/// How far a previous root key is from being of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreviousPhase {
    /// Some data keys are wrapped by it alone: without it they are lost.
    Needed,
    /// Every data key is wrapped by the current key as well, since this instant. Copies of the directory that were
    /// begun before may need it.
    Kept(Timestamp),
    /// Its wraps are being removed.
    Removing,
}

/// Why a root key does not open a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnlockError {
    /// None of the keys at hand is the one that the data keys are wrapped by.
    Wrong {
        /// The one they are wrapped by.
        needed: KeyId,
        /// Those at hand.
        given: Vec<KeyId>,
    },
    /// The current key is right, but a rotation had not come to its end, and some data keys are wrapped by this one.
    PreviousNeeded(KeyId),
    /// The store could not be read or written.
    Failed(Failure),
}

impl From<Failure> for UnlockError {
    fn from(failure: Failure) -> Self {
        UnlockError::Failed(failure)
    }
}

impl fmt::Display for UnlockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnlockError::Wrong { needed, given } => {
                let given: Vec<String> = given.iter().map(KeyId::to_string).collect();
                write!(
                    f,
                    "this is the wrong root key: the data are under {needed}, the key at hand is {}",
                    given.join(", ")
                )
            }
            UnlockError::PreviousNeeded(id) => {
                write!(f, "a rotation of the root key was not finished: the previous key {id} is still needed")
            }
            UnlockError::Failed(failure) => write!(f, "the root key could not be checked: {failure}"),
        }
    }
}

impl std::error::Error for UnlockError {}

/// What a ring is to a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Its current key is in force.
    InForce,
    /// Its current key opens the store and is to be in force: this is the row that says so.
    Begin(RootRow),
}

impl RootRow {
    pub(crate) fn first(current: KeyId, now: Timestamp) -> RootRow {
        RootRow { current, since: now, rotated_at: None, other: None }
    }

    /// What a ring is to the store that has this row. Everything that is accepted opens every data key.
    pub(crate) fn judge(&self, ring: &KeyRing, now: Timestamp) -> Result<Verdict, UnlockError> {
        let current = ring.current().id();
        let previous = ring.previous().map(RootKey::id);
        let begin = |phase| {
            let other = Some(OtherKey { id: self.current, phase });
            Ok(Verdict::Begin(RootRow { current, since: now, rotated_at: Some(now), other }))
        };
        match &self.other {
            // The key in force. While data keys are without it, the other one must be at hand.
            Some(OtherKey { id, phase: Phase::Adding { .. } }) if current == self.current && previous != Some(*id) => {
                Err(UnlockError::PreviousNeeded(*id))
            }
            _ if current == self.current => Ok(Verdict::InForce),
            // Back to the key before: a copy whose key file is older than its data, or a change of mind. Every data
            // key is still wrapped by it.
            Some(OtherKey { id, phase: Phase::Adding { .. } | Phase::Both { .. } }) if current == *id => {
                begin(Phase::Both { since: now })
            }
            // On to a new key, from one that must open every data key.
            Some(OtherKey { id, phase: Phase::Adding { .. } }) if previous == Some(self.current) => {
                Err(UnlockError::PreviousNeeded(*id))
            }
            _ if previous == Some(self.current) => begin(Phase::Adding { after: None }),
            _ => Err(UnlockError::Wrong { needed: self.current, given: ring.ids() }),
        }
    }

    fn state(&self) -> RootState {
        let previous = self.other.as_ref().map(|other| PreviousKey {
            id: other.id,
            phase: match other.phase {
                Phase::Adding { .. } => PreviousPhase::Needed,
                Phase::Both { since } => PreviousPhase::Kept(since),
                Phase::Removing { .. } => PreviousPhase::Removing,
            },
        });
        RootState { current: self.current, since: self.since, rotated_at: self.rotated_at, previous }
    }
}

/// What the store says of its root keys; `None` if it has never been unlocked.
///
/// # Errors
/// The store's failures.
pub fn root_state(read: &impl Read) -> Result<Option<RootState>, Failure> {
    Ok(read.get(&ROOT, &())?.map(|row| row.state()))
}
