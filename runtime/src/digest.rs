//! Content digests: `sha256:` and 64 lower-case hexadecimal digits.

use std::fmt;
use std::io::{self, Read};

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The SHA-256 of some content, as OCI writes it. No other algorithm is accepted: an image names its parts by digests,
/// and each part is checked against the one it is named by.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

/// A text is not a digest that can be checked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a digest is sha256: and 64 lower-case hexadecimal digits")]
pub struct NotADigest;

impl Digest {
    const PREFIX: &'static str = "sha256:";

    /// Reads a digest.
    pub fn parse(text: &str) -> Result<Digest, NotADigest> {
        let hex = text.strip_prefix(Self::PREFIX).ok_or(NotADigest)?;
        let well_formed = hex.len() == 64 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if well_formed { Ok(Digest(text.to_owned())) } else { Err(NotADigest) }
    }

    /// The digest of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Digest {
        Digest::from_hash(&Sha256::digest(bytes))
    }

    /// With the prefix, as OCI writes it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The 64 digits: a safe file name.
    #[must_use]
    pub fn hex(&self) -> &str {
        self.0.get(Self::PREFIX.len()..).unwrap_or_default()
    }

    fn from_hash(hash: &[u8]) -> Digest {
        Digest(format!("{}{}", Self::PREFIX, HEXLOWER.encode(hash)))
    }
}

impl TryFrom<String> for Digest {
    type Error = NotADigest;

    fn try_from(text: String) -> Result<Self, NotADigest> {
        Digest::parse(&text)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        digest.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Hashes and counts what is read through it.
pub(crate) struct HashingReader<R> {
    inner: R,
    hash: Sha256,
    count: u64,
}

impl<R: Read> HashingReader<R> {
    pub fn new(inner: R) -> HashingReader<R> {
        HashingReader { inner, hash: Sha256::new(), count: 0 }
    }

    /// The digest and the number of bytes of all that was read.
    pub fn finish(self) -> (Digest, u64) {
        (Digest::from_hash(&self.hash.finalize()), self.count)
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hash.update(buffer.get(..count).unwrap_or_default());
        self.count += count as u64;
        Ok(count)
    }
}
