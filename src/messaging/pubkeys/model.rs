//! What a public key is, and how its text is read.

use bincode::{Decode, Encode};
use data_encoding::HEXLOWER;
use quintet_platform::secrets::digest;
use quintet_storage::Timestamp;

use crate::words::bech32;

/// Keys of an agent that are not revoked (6-messaging.md, Q4).
pub(super) const KEYS_MAX: usize = 16;
/// Revoked keys that are kept of an agent: the oldest go before that.
pub(super) const REVOKED_MAX: usize = 128;
/// Bytes of a key.
const KEY_BYTES: usize = 32;
/// Bytes of the digest that is a fingerprint.
const FINGERPRINT_BYTES: usize = 8;

/// What a key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub(crate) enum Algorithm {
    /// Sealing for the agent, as age does.
    AgeX25519,
    /// Checking what the agent has signed.
    Ed25519,
}

impl Algorithm {
    /// All of them.
    pub(crate) const ALL: [Algorithm; 2] = [Algorithm::AgeX25519, Algorithm::Ed25519];

    /// As requests write it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Algorithm::AgeX25519 => "age-x25519",
            Algorithm::Ed25519 => "ed25519",
        }
    }

    /// The algorithm with a name.
    pub(crate) fn named(name: &str) -> Option<Algorithm> {
        Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }

    /// What the text of a key begins with.
    const fn prefix(self) -> &'static str {
        match self {
            Algorithm::AgeX25519 => "age",
            Algorithm::Ed25519 => "absig",
        }
    }

    /// What a key's text must be.
    pub(super) const fn rule(self) -> &'static str {
        match self {
            Algorithm::AgeX25519 => "must be a recipient of age: age1…, 32 bytes in Bech32",
            Algorithm::Ed25519 => "must be a key for signatures: absig1…, 32 bytes in Bech32",
        }
    }

    /// The bytes of a key's text; `None`: it is none of this algorithm.
    pub(crate) fn read(self, text: &str) -> Option<[u8; KEY_BYTES]> {
        bech32::decode(self.prefix(), text)?.try_into().ok()
    }
}

/// A key's fingerprint: the first 16 hexadecimal digits of the digest of its bytes.
pub(crate) fn fingerprint(bytes: &[u8; KEY_BYTES]) -> String {
    let digest = digest(bytes);
    HEXLOWER.encode(digest.get(..FINGERPRINT_BYTES).unwrap_or_default())
}

/// A public key of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pubkey {
    /// What it is for.
    pub(crate) algorithm: Algorithm,
    /// Its fingerprint.
    pub(crate) fingerprint: String,
    /// Its text.
    pub(crate) text: String,
    /// What its agent calls it.
    pub(crate) label: Option<String>,
    /// When it was published first.
    pub(crate) created_at: Timestamp,
    /// When it was revoked.
    pub(crate) revoked_at: Option<Timestamp>,
    /// Why.
    pub(crate) reason: Option<String>,
}
