//! The key that checkpoints are signed with (Ed25519): one for the appliance, made once, its private half sealed.

use data_encoding::{BASE64, HEXLOWER};
use ed25519_dalek::{Signature, SigningKey, VerifyingKey};
use quintet_platform::secrets::{Secret, digest};
use quintet_storage::seal::{self, Erased, KeyOwner};
use quintet_storage::{Abort, Failure, Read, Timestamp, WriteTx};

use super::tables::{AUDIT_KEY, AuditKeyRow};

/// What stands before a public key in the structure that tools read (RFC 8410): SubjectPublicKeyInfo of Ed25519.
const SPKI_PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// What anybody may know of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKey {
    bytes: [u8; 32],
    /// When it was made.
    pub made_at: Timestamp,
}

impl PublicKey {
    /// The first eight bytes of its SHA-256.
    #[must_use]
    pub fn id(&self) -> [u8; 8] {
        let mut id = [0; 8];
        id.iter_mut().zip(digest(&self.bytes)).for_each(|(to, from)| *to = from);
        id
    }

    /// The same as text: its first 16 hexadecimal digits (localization, U4).
    #[must_use]
    pub fn id_text(&self) -> String {
        HEXLOWER.encode(&self.id())
    }

    /// The key in hexadecimal digits.
    #[must_use]
    pub fn text(&self) -> String {
        HEXLOWER.encode(&self.bytes)
    }

    /// The key as tools read it.
    #[must_use]
    pub fn pem(&self) -> String {
        let structure = [&SPKI_PREFIX[..], &self.bytes].concat();
        format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", BASE64.encode(&structure))
    }

    /// Whether a signature of a text is this key's.
    #[must_use]
    pub fn has_signed(&self, text: &str, signature: &[u8; 64]) -> bool {
        let key = VerifyingKey::from_bytes(&self.bytes);
        key.is_ok_and(|key| key.verify_strict(text.as_bytes(), &Signature::from_bytes(signature)).is_ok())
    }
}

/// Makes the key, if there is none; `seed` is 32 bytes from the system's random source.
///
/// # Errors
/// Only the store's.
pub fn make_key(tx: &mut WriteTx<'_>, now: Timestamp, seed: &Secret<[u8; 32]>) -> Result<(), Failure> {
    if tx.contains(&AUDIT_KEY, &())? {
        return Ok(());
    }
    let public = SigningKey::from_bytes(seed.expose()).verifying_key().to_bytes();
    let sealed = seal::seal(tx, KeyOwner::Appliance, &AUDIT_KEY, &(), seed.expose());
    let private = sealed.map_err(not_erased)?;
    tx.put(&AUDIT_KEY, &(), &AuditKeyRow { public, private, made_at: now })
}

/// What anybody may know of the key; `None`: it is not made yet.
///
/// # Errors
/// Only the store's.
pub fn public_key(read: &impl Read) -> Result<Option<PublicKey>, Failure> {
    let row = read.get(&AUDIT_KEY, &())?;
    Ok(row.map(|AuditKeyRow { public, made_at, .. }| PublicKey { bytes: public, made_at }))
}

/// Both halves; `None`: it is not made yet.
///
/// # Errors
/// Only the store's, [`Failure::Damaged`] among them if the halves do not belong together.
pub(super) fn signing_key(read: &impl Read) -> Result<Option<(SigningKey, PublicKey)>, Failure> {
    let Some(row) = read.get(&AUDIT_KEY, &())? else { return Ok(None) };
    let damaged = || Failure::Damaged("the audit key's halves do not belong together".to_owned());
    let private = seal::open(read, KeyOwner::Appliance, &AUDIT_KEY, &(), &row.private).map_err(not_erased)?;
    let key = SigningKey::from_bytes(private.as_slice().try_into().map_err(|_| damaged())?);
    if key.verifying_key().to_bytes() != row.public {
        return Err(damaged());
    }
    Ok(Some((key, PublicKey { bytes: row.public, made_at: row.made_at })))
}

fn not_erased(abort: Abort<Erased>) -> Failure {
    match abort {
        Abort::Failed(failure) => failure,
        Abort::Refused(Erased) => Failure::Damaged("the appliance's own data key was destroyed".to_owned()),
    }
}
