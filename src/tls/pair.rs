//! A certificate with its chain and its key: read from two files, checked, and ready to be shown to callers.

use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quintet_platform::Timestamp;
use quintet_platform::clock::rfc3339;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use zeroize::Zeroizing;

use super::certificate::Certificate;

/// Larger files hold no certificate and no key.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// How long before its end a certificate is told of.
pub const EXPIRES_SOON_DAYS: i64 = 14;

/// Where certificate and key lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// The certificate, and behind it those that lead to an authority: PEM.
    pub cert: PathBuf,
    /// The certificate's key: PEM, PKCS#8, PKCS#1 or SEC1.
    pub key: PathBuf,
}

/// A certificate and its key.
#[derive(Clone, Debug)]
pub struct Pair {
    /// What callers are shown.
    pub certified: Arc<CertifiedKey>,
    /// What the operator is told.
    pub facts: Facts,
}

/// What is to be said of a certificate in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The first names it is for.
    pub names: Vec<String>,
    /// From when it is valid.
    pub not_before: Timestamp,
    /// Until when it is valid.
    pub not_after: Timestamp,
    /// Which certificate of the file is not the one that signed the certificate before it, counted from 1.
    pub broken_link: Option<usize>,
}

impl Facts {
    /// What is wrong with it at this instant, as a sentence, if callers may or will refuse it.
    #[must_use]
    pub fn complaint(&self, now: Timestamp) -> Option<String> {
        let soon = now.plus_micros(EXPIRES_SOON_DAYS * 86_400 * 1_000_000);
        let Facts { not_before, not_after, broken_link, .. } = self;
        if *not_after <= now {
            Some(format!("The certificate expired on {}: callers refuse it.", instant(*not_after)))
        } else if now < *not_before {
            Some(format!("The certificate is not valid before {}: callers refuse it.", instant(*not_before)))
        } else if *not_after <= soon {
            Some(format!("The certificate expires on {}.", instant(*not_after)))
        } else {
            broken_link.map(|at| {
                format!(
                    "Certificate {at} of the file did not sign the one before it: many callers refuse such a chain."
                )
            })
        }
    }
}

/// An instant as people read it: certificates are valid by whole seconds.
#[must_use]
pub fn instant(at: Timestamp) -> String {
    rfc3339(at).replace(".000000Z", "Z")
}

/// Why a pair of files cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairError {
    /// The key of the configuration that names the file: `tls.cert` or `tls.key`.
    pub setting: &'static str,
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for PairError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} {}", self.setting, self.path.display(), self.reason)
    }
}

impl Pair {
    /// Reads both files and checks them against each other.
    ///
    /// # Errors
    /// Which file is wrong, and what is.
    pub fn read(files: &Files, provider: &CryptoProvider) -> Result<Pair, PairError> {
        let (cert_path, key_path) = (&files.cert, &files.key);
        let of_cert = |reason: String| PairError { setting: "tls.cert", path: cert_path.clone(), reason };
        let of_key = |reason: String| PairError { setting: "tls.key", path: key_path.clone(), reason };
        let chain = chain(&read(cert_path).map_err(of_cert)?).map_err(of_cert)?;
        let mut told = Vec::new();
        for (index, certificate) in chain.iter().enumerate() {
            let malformed = || of_cert(format!("is not well-formed: its certificate {} cannot be read", index + 1));
            told.push(Certificate::read(certificate).ok_or_else(malformed)?);
        }
        let key = key(&read(key_path).map_err(of_key)?).map_err(of_key)?;
        let certified = CertifiedKey::from_der(chain, key, provider).map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => {
                of_key(format!("holds another key than that of the certificate in {}", cert_path.display()))
            }
            rustls::Error::InvalidCertificate(_) => of_cert("holds a certificate that cannot be used".to_owned()),
            _ => of_key("holds a key that cannot be used; use RSA (2048 bits or more), ECDSA or Ed25519".to_owned()),
        })?;
        let follows = |pair: &[Certificate]| matches!(pair, [one, next] if one.issuer == next.subject);
        let broken_link = told.windows(2).position(|pair| !follows(pair)).map(|at| at + 2);
        let first = told.into_iter().next().ok_or_else(|| of_cert(NO_CERTIFICATE.to_owned()))?;
        let Certificate { names, not_before, not_after, .. } = first;
        Ok(Pair { certified: Arc::new(certified), facts: Facts { names, not_before, not_after, broken_link } })
    }
}

const NO_CERTIFICATE: &str = "holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)";

fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut bytes = Zeroizing::new(Vec::new());
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err("is too large for a certificate or a key".to_owned());
    }
    Ok(bytes)
}

fn chain(text: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let chain: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(text).collect();
    let chain = chain.map_err(|_| "is not well-formed PEM".to_owned())?;
    if !chain.is_empty() {
        return Ok(chain);
    }
    match PrivateKeyDer::from_pem_slice(text) {
        Ok(_) => Err("holds a private key and no certificate: are tls.cert and tls.key mixed up?".to_owned()),
        Err(_) => Err(NO_CERTIFICATE.to_owned()),
    }
}

fn key(text: &[u8]) -> Result<PrivateKeyDer<'static>, String> {
    match PrivateKeyDer::from_pem_slice(text) {
        Ok(key) => Ok(key),
        Err(pem::Error::NoItemsFound) => {
            let has = |marker: &[u8]| text.windows(marker.len()).any(|part| part == marker);
            if has(b"-----BEGIN ENCRYPTED PRIVATE KEY-----") {
                Err("is encrypted: write it out without a passphrase, `openssl pkey -in OLD -out NEW`".to_owned())
            } else if has(b"-----BEGIN CERTIFICATE-----") {
                Err("holds a certificate and no private key: are tls.cert and tls.key mixed up?".to_owned())
            } else {
                Err("holds no private key in PEM form (-----BEGIN PRIVATE KEY-----)".to_owned())
            }
        }
        Err(_) => Err("is not well-formed PEM".to_owned()),
    }
}
