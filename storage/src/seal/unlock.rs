//! Giving a store its root keys.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::owners;
use super::root::{ROOT, UnlockError};
use crate::error::{Abort, Failure};
use crate::open::store::Store;
use crate::vault::data_keys::{self, DATA_KEYS, KeyRow};
use crate::vault::{Erased, KeyId, KeyOwner, KeyRing, RootKey};
use crate::view::read::Read;

/// How long [`Store::unlock`] may wait for the writer of a store that has just been opened.
const UNLOCK_DEADLINE: Duration = Duration::from_secs(30);

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
        if row.is_some_and(|row| row.current == ring.current().id() && row.other.is_none()) {
            self.vault().set_ring(Some(KeyRing::new(ring.current().clone(), None)));
        }
        Ok(())
    }

    /// The names of the root keys that the store has been given: the current one, and the one before it.
    #[must_use]
    pub fn root_keys(&self) -> Option<(KeyId, Option<KeyId>)> {
        let ring: Arc<KeyRing> = self.vault().ring().ok()?;
        Some((ring.current().id(), ring.previous().map(RootKey::id)))
    }

    fn note_first_key(&self) -> Result<(), UnlockError> {
        let noted = self.write_blocking(Instant::now() + UNLOCK_DEADLINE, |tx, _| {
            owners::obtain(tx, KeyOwner::Appliance)?;
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
