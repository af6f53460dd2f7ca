//! The one place that encrypts: XChaCha20-Poly1305 with a random nonce for every sealing.
//!
//! A sealed form is a version byte, the nonce (24 bytes), the ciphertext and the tag (16 bytes). What a ciphertext
//! belongs to is not in it but in the associated data, so that it opens nowhere else.

use std::cell::RefCell;

use chacha20poly1305::{AeadInOut, Key, KeyInit, Tag, XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

use super::owner::KeyOwner;
use crate::error::Failure;

/// The version byte of everything sealed so far.
const VERSION: u8 = 1;

/// Bytes of a key.
pub(crate) const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 24;
const TAG_BYTES: usize = 16;

/// By how many bytes a sealed form is longer than what it holds.
pub const OVERHEAD_BYTES: usize = 1 + NONCE_BYTES + TAG_BYTES;

/// A key in the clear; overwritten when it is dropped.
pub(crate) type KeyBytes = Zeroizing<[u8; KEY_BYTES]>;

/// What a ciphertext belongs to. Each kind begins with words of its own, so that none can stand for another.
pub(crate) enum Binding<'a> {
    /// A value in a row: the row's stored key, which begins with the table's tag.
    Value { owner: KeyOwner, stored_key: &'a [u8] },
    /// A chunk of a large value.
    Chunk { owner: KeyOwner, upload: [u8; 16], index: u32, is_last: bool },
    /// A data key under a root key.
    DataKey { owner: KeyOwner, id: [u8; 16], root: [u8; 8] },
}

impl Binding<'_> {
    fn associated_data(&self) -> Vec<u8> {
        match self {
            Binding::Value { owner, stored_key } => {
                [b"quintet/value/1\0", owner.bytes().as_slice(), stored_key].concat()
            }
            Binding::Chunk { owner, upload, index, is_last } => {
                [b"quintet/chunk/1\0", owner.bytes().as_slice(), upload, &index.to_be_bytes(), &[u8::from(*is_last)]]
                    .concat()
            }
            Binding::DataKey { owner, id, root } => {
                [b"quintet/key/1\0", owner.bytes().as_slice(), id.as_slice(), root.as_slice()].concat()
            }
        }
    }
}

/// Bytes from the kernel's random source.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| Failure::Io(format!("drawing random bytes: {error}")))?;
    Ok(bytes)
}

/// Nonces drawn at a time.
const NONCES_AT_ONCE: usize = 64;

thread_local! {
    /// Random bytes that no nonce has been made of yet, and how many have. Nonces are no secret: each stands beside what was
    /// sealed with it.
    static DRAWN: RefCell<([u8; NONCES_AT_ONCE * NONCE_BYTES], usize)> =
        const { RefCell::new(([0; NONCES_AT_ONCE * NONCE_BYTES], NONCES_AT_ONCE * NONCE_BYTES)) };
}

/// A nonce of the kernel's random source, which is asked for many at a time: a call takes as long as sealing a row.
fn nonce() -> Result<[u8; NONCE_BYTES], Failure> {
    DRAWN.with_borrow_mut(|(drawn, used)| {
        if *used == drawn.len() {
            *drawn = random()?;
            *used = 0;
        }
        let nonce = drawn.get(*used..).and_then(<[u8]>::first_chunk).copied();
        *used += NONCE_BYTES;
        nonce.ok_or_else(|| Failure::Io("drawing a nonce: there are no random bytes left".to_owned()))
    })
}

fn cipher(key: &KeyBytes) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(&Key::from(**key))
}

/// Seals some bytes for what they belong to.
pub(crate) fn seal(key: &KeyBytes, binding: &Binding<'_>, plaintext: &[u8]) -> Result<Vec<u8>, Failure> {
    let nonce = nonce()?;
    // With its full length from the start, the buffer is never moved and leaves no plaintext behind.
    let mut sealed = Vec::with_capacity(plaintext.len() + OVERHEAD_BYTES);
    sealed.push(VERSION);
    sealed.extend_from_slice(&nonce);
    sealed.extend_from_slice(plaintext);
    let too_long = || Failure::TooLarge;
    let (_, body) = sealed.split_at_mut_checked(1 + NONCE_BYTES).ok_or_else(too_long)?;
    let tag = cipher(key)
        .encrypt_inout_detached(&XNonce::from(nonce), &binding.associated_data(), body.into())
        .map_err(|_| too_long())?;
    sealed.extend_from_slice(&tag);
    Ok(sealed)
}

/// Opens what [`seal`] made for the same binding under the same key; `None` if it is anything else.
pub(crate) fn open(key: &KeyBytes, binding: &Binding<'_>, sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let (version, rest) = sealed.split_first()?;
    if *version != VERSION {
        return None;
    }
    let (nonce, rest) = rest.split_first_chunk::<NONCE_BYTES>()?;
    let (body, tag) = rest.split_last_chunk::<TAG_BYTES>()?;
    let mut plaintext = Zeroizing::new(body.to_vec());
    cipher(key)
        .decrypt_inout_detached(
            &XNonce::from(*nonce),
            &binding.associated_data(),
            plaintext.as_mut_slice().into(),
            &Tag::from(*tag),
        )
        .ok()?;
    Some(plaintext)
}
