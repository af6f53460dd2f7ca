//! Root keys: which of them a store is wrapped by, and whether the one at hand is right.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bincode::{Decode, Encode};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::cipher::{KEY_BYTES, KeyBytes};
use super::data_keys::{self, DATA_KEYS, KeyRow};
use super::{Erased, KeyOwner};
use crate::codec::Row;
use crate::error::{Abort, Failure};
use crate::read::{Read, Scan};
use crate::store::Store;
use crate::table::{Family, Table};
use crate::time::Timestamp;
use crate::tx::WriteTx;

/// Which root keys the data keys are wrapped by; one row, made with the first data key.
pub(crate) const ROOT: Table<(), RootRow> = Table::new(0x0005, Family::APPLIANCE, "storage_root_key");

/// How long [`Store::unlock`] may wait for the writer of a store that has just been opened.
const UNLOCK_DEADLINE: Duration = Duration::from_secs(30);

/// A root key's name: the first 8 bytes of a digest of it. It reveals nothing of a random key; of one made from a
/// passphrase no more than a wrapped key does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub struct KeyId(pub(crate) [u8; 8]);

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A root key; overwritten when it is dropped, and never printed.
#[derive(Clone)]
pub struct RootKey {
    bytes: KeyBytes,
    id: KeyId,
}

impl RootKey {
    /// Takes a key into custody.
    #[must_use]
    pub fn new(bytes: Zeroizing<[u8; KEY_BYTES]>) -> RootKey {
        let digest = Sha256::new().chain_update(b"quintet/root-key-id/1\0").chain_update(bytes.as_slice()).finalize();
        let mut id = [0; 8];
        for (to, from) in id.iter_mut().zip(digest) {
            *to = from;
        }
        RootKey { bytes, id: KeyId(id) }
    }

    /// Its name.
    #[must_use]
    pub fn id(&self) -> KeyId {
        self.id
    }

    pub(crate) fn bytes(&self) -> &KeyBytes {
        &self.bytes
    }
}

impl fmt::Debug for RootKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RootKey({})", self.id)
    }
}

/// The root keys at hand: the one that new data keys are wrapped by, and perhaps the one before it.
#[derive(Clone, Debug)]
pub struct KeyRing {
    current: RootKey,
    previous: Option<RootKey>,
}

impl KeyRing {
    /// A ring. A previous key that is the current one does not count.
    #[must_use]
    pub fn new(current: RootKey, previous: Option<RootKey>) -> KeyRing {
        let previous = previous.filter(|previous| previous.id != current.id);
        KeyRing { current, previous }
    }

    /// The key that is, or is to be, in force.
    #[must_use]
    pub fn current(&self) -> &RootKey {
        &self.current
    }

    /// The key before it.
    #[must_use]
    pub fn previous(&self) -> Option<&RootKey> {
        self.previous.as_ref()
    }

    pub(crate) fn key(&self, id: KeyId) -> Option<&RootKey> {
        [Some(&self.current), self.previous.as_ref()].into_iter().flatten().find(|key| key.id == id)
    }

    fn ids(&self) -> Vec<KeyId> {
        [Some(&self.current), self.previous.as_ref()].into_iter().flatten().map(RootKey::id).collect()
    }
}

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
    fn first(current: KeyId, now: Timestamp) -> RootRow {
        RootRow { current, since: now, rotated_at: None, other: None }
    }

    /// What a ring is to the store that has this row. Everything that is accepted opens every data key.
    pub(crate) fn judge(&self, ring: &KeyRing, now: Timestamp) -> Result<Verdict, UnlockError> {
        let current = ring.current.id;
        let previous = ring.previous.as_ref().map(RootKey::id);
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

/// The root keys that a new data key is wrapped by: the one in force, and the other one as long as a copy may have
/// that alone.
pub(crate) fn wrapping_keys<'r>(tx: &mut WriteTx<'_>, ring: &'r KeyRing) -> Result<Vec<&'r RootKey>, Failure> {
    let row = ensure(tx, ring)?;
    let other = row.other.filter(|other| !matches!(other.phase, Phase::Removing { .. })).map(|other| other.id);
    let current = ring.key(row.current);
    let current = current.ok_or_else(|| Failure::Io(format!("the root key {} is not at hand", row.current)))?;
    Ok([Some(current), other.and_then(|id| ring.key(id))].into_iter().flatten().collect())
}

/// The row about the root keys, made if there is none.
fn ensure(tx: &mut WriteTx<'_>, ring: &KeyRing) -> Result<RootRow, Failure> {
    if let Some(row) = tx.get(&ROOT, &())? {
        return Ok(row);
    }
    if !tx.scan(&DATA_KEYS, Scan::all().limit(1))?.is_empty() {
        return Err(Failure::Damaged("there are data keys, but not the row that names their root key".to_owned()));
    }
    let row = RootRow::first(ring.current.id, tx.now());
    tx.put(&ROOT, &(), &row)?;
    Ok(row)
}

impl Store {
    /// Gives the store its root keys; until then nothing can be sealed or opened. To be called right after
    /// [`Store::open`], before anything is written: wrong keys are refused, and the store is as it was.
    ///
    /// A new store notes down the current key as its own. A ring whose previous key is the one in force, or whose
    /// current key is the one before that, is accepted; [`rotation::step`](super::rotation::step) does the rest.
    ///
    /// # Errors
    /// See [`UnlockError`].
    pub fn unlock(&self, ring: KeyRing) -> Result<(), UnlockError> {
        let read = self.read();
        let Some(row) = read.get(&ROOT, &())? else {
            self.vault().set_ring(Some(ring));
            return self.note_first_key().inspect_err(|_| self.vault().set_ring(None));
        };
        row.judge(&ring, read.time())?;
        // The name fits; the appliance's own data key, which is there from the beginning, proves the key.
        match read.get(&DATA_KEYS, &KeyOwner::Appliance.key())? {
            Some(KeyRow::Live { id, wraps }) => {
                data_keys::unwrap_with(&ring, KeyOwner::Appliance, id, &wraps)?;
            }
            _ => return Err(Failure::Damaged("the appliance's own data key is missing".to_owned()).into()),
        }
        self.vault().set_ring(Some(ring));
        Ok(())
    }

    /// Replaces the root keys of a store that has been unlocked, as [`Store::unlock`] would accept them.
    ///
    /// # Errors
    /// See [`UnlockError`]; the keys in force stay.
    pub fn replace_root_keys(&self, ring: KeyRing) -> Result<(), UnlockError> {
        let read = self.read();
        if let Some(row) = read.get(&ROOT, &())? {
            row.judge(&ring, read.time())?;
        }
        self.vault().set_ring(Some(ring));
        Ok(())
    }

    /// Forgets the previous root key, once no data key is wrapped by it; does nothing before.
    ///
    /// # Errors
    /// The store's failures.
    pub fn forget_previous_root_key(&self) -> Result<(), Failure> {
        let ring = self.vault().ring()?;
        let row = self.read().get(&ROOT, &())?;
        if row.is_some_and(|row| row.current == ring.current.id && row.other.is_none()) {
            self.vault().set_ring(Some(KeyRing::new(ring.current.clone(), None)));
        }
        Ok(())
    }

    /// The names of the root keys that the store has been given: the current one, and the one before it.
    #[must_use]
    pub fn root_keys(&self) -> Option<(KeyId, Option<KeyId>)> {
        let ring: Arc<KeyRing> = self.vault().ring().ok()?;
        Some((ring.current.id, ring.previous.as_ref().map(RootKey::id)))
    }

    fn note_first_key(&self) -> Result<(), UnlockError> {
        let noted = self.write_blocking(Instant::now() + UNLOCK_DEADLINE, |tx, _| {
            super::prepare(tx, KeyOwner::Appliance)?;
            Ok::<(), Abort<Erased>>(())
        });
        match noted {
            Ok(()) => Ok(()),
            // A full disk is a state; the first sealing notes it down.
            Err(Abort::Failed(Failure::StorageFull)) => Ok(()),
            Err(Abort::Failed(failure)) => Err(failure.into()),
            Err(Abort::Refused(Erased)) => {
                Err(Failure::Damaged("the appliance's own data key has been destroyed".to_owned()).into())
            }
        }
    }
}
