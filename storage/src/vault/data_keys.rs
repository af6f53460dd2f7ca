//! Data keys: their rows, wrapping and unwrapping, and the few that are kept in memory.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use bincode::{Decode, Encode};
use uuid::Uuid;
use zeroize::Zeroizing;

use super::cipher::{self, Binding, KEY_BYTES, KeyBytes};
use super::owner::{Erased, KeyOwner};
use super::root_key::{KeyId, KeyRing, RootKey};
use crate::error::{Abort, Failure};
use crate::tables::codec::{self, Row};
use crate::tables::family::Family;
use crate::tables::projection::Projection;
use crate::tables::table::Table;
use crate::time::Timestamp;

/// The data keys, by [`KeyOwner::key`].
pub(crate) const DATA_KEYS: Table<(u8, Uuid, Uuid), KeyRow> =
    Table::new(0x0004, Family::APPLIANCE, "storage_data_keys").hot();

/// Unwrapped keys kept in memory; beyond that the oldest goes. 32 bytes each, and what the map takes.
pub(crate) const CACHED_MAX: usize = 4_096;

/// An owner's data key.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) enum KeyRow {
    /// In use.
    Live {
        /// Random; no other key ever has it.
        id: [u8; 16],
        /// The same key under each root key that may be the only one at hand: one, or two during a rotation.
        wraps: Vec<Wrap>,
    },
    /// Destroyed for good.
    Destroyed {
        /// What the key's identity was; zeros if there never was a key.
        id: [u8; 16],
        /// When.
        at: Timestamp,
    },
}

impl Row for KeyRow {}

/// A data key under a root key.
#[derive(Clone, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Wrap {
    pub(crate) root: KeyId,
    sealed: Vec<u8>,
}

/// A data key in the clear.
pub(crate) struct Unwrapped(pub(crate) KeyBytes);

impl Unwrapped {
    pub(crate) fn seal(&self, binding: &Binding<'_>, plaintext: &[u8]) -> Result<Vec<u8>, Failure> {
        cipher::seal(&self.0, binding, plaintext)
    }
}

/// What a reader may do with an owner's sealed values: the answer of [`Read::data_key`](crate::Read::data_key).
/// Hold it no longer than the read it comes from: it does not learn of a later destruction.
pub struct DataKey(State);

enum State {
    Missing,
    Live(Arc<Unwrapped>),
    Destroyed,
}

impl fmt::Debug for Wrap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Wrap(under {}, {} bytes)", self.root, self.sealed.len())
    }
}

impl fmt::Debug for DataKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            State::Missing => "DataKey(missing)",
            State::Live(_) => "DataKey([redacted])",
            State::Destroyed => "DataKey(destroyed)",
        })
    }
}

impl DataKey {
    /// The key that an owner's row holds, out of its wraps under these root keys.
    pub(crate) fn under(ring: &KeyRing, owner: KeyOwner, row: Option<KeyRow>) -> Result<DataKey, Failure> {
        Ok(DataKey(match row {
            None => State::Missing,
            Some(KeyRow::Destroyed { .. }) => State::Destroyed,
            Some(KeyRow::Live { id, wraps }) => State::Live(Arc::new(Unwrapped(unwrap_with(ring, owner, id, &wraps)?))),
        }))
    }

    pub(crate) fn live(&self) -> Result<&Unwrapped, Abort<Erased>> {
        match &self.0 {
            State::Live(key) => Ok(key),
            State::Destroyed => Err(Abort::Refused(Erased)),
            State::Missing => Err(Failure::Damaged("a sealed value's data key is missing".to_owned()).into()),
        }
    }

    /// Opens a sealed form; `what` names its table, if it does not open.
    pub(crate) fn open(
        &self,
        binding: &Binding<'_>,
        sealed: &[u8],
        what: &str,
    ) -> Result<Zeroizing<Vec<u8>>, Abort<Erased>> {
        cipher::open(&self.live()?.0, binding, sealed)
            .ok_or_else(|| Failure::Damaged(format!("a sealed value of {what} does not open")).into())
    }
}

/// The root keys in force and the data keys unwrapped so far. One for each store.
pub(crate) struct Vault {
    tables: Arc<dyn Projection>,
    ring: RwLock<Option<Arc<KeyRing>>>,
    unwrapped: Mutex<Cache>,
}

/// Unwrapped keys by their identity, the oldest first to go.
#[derive(Default)]
struct Cache {
    keys: HashMap<[u8; 16], Arc<Unwrapped>>,
    order: VecDeque<[u8; 16]>,
}

impl Vault {
    pub(crate) fn new(tables: Arc<dyn Projection>) -> Vault {
        Vault { tables, ring: RwLock::default(), unwrapped: Mutex::default() }
    }

    /// The root keys in force.
    pub(crate) fn ring(&self) -> Result<Arc<KeyRing>, Failure> {
        let ring = self.ring.read().unwrap_or_else(PoisonError::into_inner).clone();
        ring.ok_or_else(|| Failure::Io("the store has not been given its root key".to_owned()))
    }

    pub(crate) fn set_ring(&self, ring: Option<KeyRing>) {
        *self.ring.write().unwrap_or_else(PoisonError::into_inner) = ring.map(Arc::new);
    }

    fn unwrapped(&self) -> MutexGuard<'_, Cache> {
        self.unwrapped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many keys are kept in memory.
    #[cfg(test)]
    pub(crate) fn cached(&self) -> usize {
        self.unwrapped().keys.len()
    }

    /// An owner's key as the tables have it now: what is in them is durable, and never older than any snapshot.
    pub(crate) fn newest_key(&self, owner: KeyOwner) -> Result<DataKey, Failure> {
        let mut row = None;
        let key = DATA_KEYS.key_bytes(&owner.key());
        self.tables.get(DATA_KEYS.spec().family, &key, &mut |bytes| row = Some(codec::decode_row(bytes)))?;
        self.key_of(owner, row.transpose()?)
    }

    /// The key that an owner's row holds.
    pub(crate) fn key_of(&self, owner: KeyOwner, row: Option<KeyRow>) -> Result<DataKey, Failure> {
        Ok(DataKey(match row {
            None => State::Missing,
            Some(KeyRow::Destroyed { id, .. }) => {
                // A reader may have unwrapped it while its destruction was under way.
                self.forget(&id);
                State::Destroyed
            }
            Some(KeyRow::Live { id, wraps }) => State::Live(self.unwrap(owner, id, &wraps)?),
        }))
    }

    /// An owner's key, from memory or out of its wraps.
    pub(crate) fn unwrap(&self, owner: KeyOwner, id: [u8; 16], wraps: &[Wrap]) -> Result<Arc<Unwrapped>, Failure> {
        if let Some(key) = self.unwrapped().keys.get(&id) {
            return Ok(Arc::clone(key));
        }
        let key = Arc::new(Unwrapped(unwrap_with(self.ring()?.as_ref(), owner, id, wraps)?));
        let mut cache = self.unwrapped();
        if cache.keys.insert(id, Arc::clone(&key)).is_none() {
            cache.order.push_back(id);
        }
        while cache.order.len() > CACHED_MAX {
            let Some(oldest) = cache.order.pop_front() else { break };
            cache.keys.remove(&oldest);
        }
        Ok(key)
    }

    pub(crate) fn forget(&self, id: &[u8; 16]) {
        let mut cache = self.unwrapped();
        if cache.keys.remove(id).is_some() {
            cache.order.retain(|other| other != id);
        }
    }
}

/// Unwraps a data key with whichever root key fits.
pub(crate) fn unwrap_with(ring: &KeyRing, owner: KeyOwner, id: [u8; 16], wraps: &[Wrap]) -> Result<KeyBytes, Failure> {
    let mut fitting = wraps.iter().filter_map(|wrap| Some((ring.key(wrap.root)?, wrap)));
    let Some((root, wrap)) = fitting.next() else {
        let known: Vec<String> = wraps.iter().map(|wrap| wrap.root.to_string()).collect();
        return Err(Failure::Damaged(format!("a data key is wrapped by unknown root keys ({})", known.join(", "))));
    };
    let opened = cipher::open(root.bytes(), &Binding::DataKey { owner, id, root: root.id().0 }, &wrap.sealed);
    let damaged = || Failure::Damaged("a data key does not open".to_owned());
    let opened = opened.ok_or_else(damaged)?;
    let mut key = KeyBytes::new([0; KEY_BYTES]);
    if opened.len() != key.len() {
        return Err(damaged());
    }
    key.copy_from_slice(&opened);
    Ok(key)
}

/// A data key under one root key.
pub(crate) fn wrap(root: &RootKey, owner: KeyOwner, id: [u8; 16], key: &KeyBytes) -> Result<Wrap, Failure> {
    let binding = Binding::DataKey { owner, id, root: root.id().0 };
    Ok(Wrap { root: root.id(), sealed: cipher::seal(root.bytes(), &binding, key.as_slice())? })
}
