//! One attempt to sign in, from the redirect to the callback: what binds both to one browser, and how that browser holds it.

use chacha20poly1305::aead::Aead as _;
use chacha20poly1305::aead::Payload;
use chacha20poly1305::{Key, KeyInit as _, XChaCha20Poly1305, XNonce};
use data_encoding::BASE64URL_NOPAD;
use quintet_storage::{Timestamp, Uuid};
use zeroize::Zeroizing;

use crate::secrets::{Secret, constant_time_eq, digest, digest_parts, random_bytes};

/// How long an attempt may take, in seconds (4-localization.md, N3).
pub const LIFE_SECONDS: i64 = 600;
/// Bytes of the nonce in front of a sealed login.
const NONCE_BYTES: usize = 24;
/// Bytes of a login: what it is about, three secrets, its end.
const LOGIN_BYTES: usize = 16 + 3 * 32 + 8;

/// An attempt to sign in. Its secrets are 256 random bits each.
pub struct Login {
    /// What it is about, for whoever made it.
    pub about: Uuid,
    /// Until when it counts.
    pub ends_at: Timestamp,
    state: [u8; 32],
    nonce: [u8; 32],
    verifier: Zeroizing<[u8; 32]>,
}

impl Login {
    /// A new one.
    #[must_use]
    pub fn new(about: Uuid, now: Timestamp) -> Login {
        let verifier = Zeroizing::new(random_bytes());
        Login { about, ends_at: now.plus_seconds(LIFE_SECONDS), state: random_bytes(), nonce: random_bytes(), verifier }
    }

    /// What the callback must bring.
    #[must_use]
    pub fn state(&self) -> String {
        BASE64URL_NOPAD.encode(&self.state)
    }

    /// Whether a callback brings it.
    #[must_use]
    pub fn is_answered_by(&self, state: &str) -> bool {
        constant_time_eq(self.state().as_bytes(), state.as_bytes())
    }

    /// What the ID token must say.
    #[must_use]
    pub fn nonce(&self) -> String {
        BASE64URL_NOPAD.encode(&self.nonce)
    }

    /// What proves to the provider that who brings the code has made the login (RFC 7636, 4.1): 43 characters.
    #[must_use]
    pub fn verifier(&self) -> Secret {
        Secret::new(BASE64URL_NOPAD.encode(self.verifier.as_slice()))
    }

    /// What the provider is told of it before: S256 (RFC 7636, 4.2).
    #[must_use]
    pub fn challenge(&self) -> String {
        BASE64URL_NOPAD.encode(&digest(self.verifier().expose().as_bytes()))
    }
}

/// What logins are sealed with.
pub struct LoginKey(Zeroizing<[u8; 32]>);

impl LoginKey {
    pub(super) fn new(bytes: Zeroizing<[u8; 32]>) -> LoginKey {
        LoginKey(bytes)
    }

    /// A login as its browser holds it: unreadable there, and good for this purpose alone. `None`: it could not be sealed,
    /// which the cipher rules out for so few bytes.
    #[must_use]
    pub fn seal(&self, login: &Login, purpose: &str) -> Option<String> {
        let Login { about, ends_at, state, nonce, verifier } = login;
        let plain = Zeroizing::new(
            [about.as_bytes().as_slice(), state, nonce, verifier.as_slice(), &ends_at.as_micros().to_be_bytes()]
                .concat(),
        );
        let drawn: [u8; NONCE_BYTES] = random_bytes();
        let payload = Payload { msg: &plain, aad: purpose.as_bytes() };
        let sealed = self.cipher().encrypt(&XNonce::from(drawn), payload).ok()?;
        Some(BASE64URL_NOPAD.encode(&[drawn.as_slice(), &sealed].concat()))
    }

    /// Opens what a browser brings, if it was sealed here for this purpose and still counts.
    #[must_use]
    pub fn open(&self, text: &str, purpose: &str, now: Timestamp) -> Option<Login> {
        /// More than any sealed login has.
        const TEXT_BYTES_MAX: usize = 512;
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).ok()?;
        let (drawn, sealed) = bytes.split_first_chunk::<NONCE_BYTES>()?;
        let payload = Payload { msg: sealed, aad: purpose.as_bytes() };
        let plain = Zeroizing::new(self.cipher().decrypt(&XNonce::from(*drawn), payload).ok()?);
        if plain.len() != LOGIN_BYTES {
            return None;
        }
        let (about, rest) = plain.split_first_chunk::<16>()?;
        let (state, rest) = rest.split_first_chunk::<32>()?;
        let (nonce, rest) = rest.split_first_chunk::<32>()?;
        let (verifier, rest) = rest.split_first_chunk::<32>()?;
        let ends_at = Timestamp::from_micros(i64::from_be_bytes(*rest.first_chunk::<8>()?));
        let login = Login {
            about: Uuid::from_bytes(*about),
            ends_at,
            state: *state,
            nonce: *nonce,
            verifier: Zeroizing::new(*verifier),
        };
        (now < ends_at).then_some(login)
    }

    /// A digest under this key: by it something is found that nobody who has the disk alone is to try names on.
    #[must_use]
    pub fn mark(&self, parts: &[&[u8]]) -> u128 {
        let parts: Vec<&[u8]> =
            [b"mark".as_slice(), self.0.as_slice()].into_iter().chain(parts.iter().copied()).collect();
        digest_parts(&parts).first_chunk().map_or(0, |half| u128::from_be_bytes(*half))
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&Key::from(*self.0))
    }
}
