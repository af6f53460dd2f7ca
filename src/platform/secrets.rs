//! Secrets: where they come from, how they are held, compared and digested.

use std::fmt;

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use zeroize::{Zeroize, Zeroizing};

/// A SHA-256 digest.
pub type Digest = [u8; 32];

/// A value that must not be seen: it prints as `[redacted]`, is not serializable, and its memory is overwritten
/// when it is dropped. Reading it takes a call that can be searched for.
#[derive(Clone, Default)]
pub struct Secret<T: Zeroize = String>(Zeroizing<T>);

impl<T: Zeroize> Secret<T> {
    /// Takes a value into custody.
    pub fn new(value: T) -> Self {
        Secret(Zeroizing::new(value))
    }

    /// The value itself. Whoever calls this answers for where it goes.
    pub fn expose(&self) -> &T {
        &self.0
    }
}

impl<T: Zeroize> From<T> for Secret<T> {
    fn from(value: T) -> Self {
        Secret::new(value)
    }
}

impl<T: Zeroize> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// Bytes from the kernel's random source.
///
/// # Panics
/// If the kernel has no random source, which Linux rules out once it has booted; going on without one would be
/// worse than stopping.
#[must_use]
#[expect(clippy::expect_used, reason = "without a random source no secret can be made; see Panics")]
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the kernel's random source answers");
    bytes
}

/// SHA-256 of some bytes.
#[must_use]
pub fn digest(bytes: &[u8]) -> Digest {
    Sha256::digest(bytes).into()
}

/// SHA-256 over several parts, each preceded by its length (8 bytes, big-endian), so that no two lists of parts
/// have the same digest because bytes moved from one part into the next.
#[must_use]
pub fn digest_parts(parts: &[&[u8]]) -> Digest {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// Whether two byte strings are equal, in a time that depends on their lengths only.
#[must_use]
pub fn constant_time_eq(left: &[u8], right: &[u8]) -> bool {
    left.ct_eq(right).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_prints() {
        let secret = Secret::new("hunter2".to_owned());
        assert_eq!(format!("{secret:?}"), "[redacted]");
        assert_eq!(format!("{:?}", Some(&secret)), "Some([redacted])");
        assert_eq!(secret.expose(), "hunter2");
        assert_eq!(format!("{:?}", Secret::new([7_u8; 32])), "[redacted]");
    }

    #[test]
    fn digest_is_sha_256() {
        let hex = data_encoding::HEXLOWER.encode(&digest(b"abc"));
        assert_eq!(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        assert_ne!(digest_parts(&[b"ab", b"c"]), digest_parts(&[b"a", b"bc"]));
        assert_ne!(digest_parts(&[b"ab"]), digest_parts(&[b"ab", b""]));
        assert_eq!(digest_parts(&[b"ab", b"c"]), digest_parts(&[b"ab", b"c"]));
    }

    #[test]
    fn comparison_is_equality() {
        assert!(constant_time_eq(b"same", b"same"));
        assert!(!constant_time_eq(b"same", b"sane"));
        assert!(!constant_time_eq(b"same", b"same "));
        assert!(constant_time_eq(b"", b""));
    }

    #[test]
    fn random_bytes_differ() {
        assert_ne!(random_bytes::<32>(), random_bytes::<32>());
    }
}
