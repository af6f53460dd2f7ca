//! What a browser holds of a session: its id (16 bytes) and its secret (32 bytes), in base64url.

use data_encoding::BASE64URL_NOPAD;
use quintet_storage::Uuid;
use zeroize::Zeroizing;

use crate::secrets::{Digest, Secret, digest, random_bytes};

/// Characters of 48 bytes in base64url.
const TEXT_LEN: usize = 64;

/// A secret that was drawn for a session that is not there yet.
pub struct SessionToken(Zeroizing<[u8; 32]>);

impl SessionToken {
    /// A new one.
    #[must_use]
    pub fn draw() -> SessionToken {
        SessionToken(Zeroizing::new(random_bytes()))
    }

    /// What is stored of it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        digest(self.0.as_slice())
    }

    /// The text for the browser, once the session is there.
    #[must_use]
    pub fn text(&self, session_id: Uuid) -> Secret {
        let bytes = Zeroizing::new([session_id.as_bytes().as_slice(), self.0.as_slice()].concat());
        Secret::new(BASE64URL_NOPAD.encode(&bytes))
    }
}

/// Takes a text apart: which session, and the digest of its secret. `None` if it has not the form of one.
pub(crate) fn split_token(text: &str) -> Option<(Uuid, Digest)> {
    if text.len() != TEXT_LEN {
        return None;
    }
    let bytes = Zeroizing::new(BASE64URL_NOPAD.decode(text.as_bytes()).ok()?);
    let (id, secret) = bytes.split_first_chunk::<16>()?;
    Some((Uuid::from_bytes(*id), digest(secret)))
}
