//! Root keys: what wraps data keys, and their names.

use std::fmt;

use bincode::{Decode, Encode};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::cipher::{KEY_BYTES, KeyBytes};

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

    pub(crate) fn ids(&self) -> Vec<KeyId> {
        [Some(&self.current), self.previous.as_ref()].into_iter().flatten().map(RootKey::id).collect()
    }
}
