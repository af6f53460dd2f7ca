//! An authority of the tests' own, and what it issues.

use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::CertificateDer;

use crate::tls::Tls;
use crate::tls::pair::{Files, PairError};

/// Who signs.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its own certificate, encoded.
    pub der: CertificateDer<'static>,
    /// The same as PEM.
    pub pem: String,
}

/// What it signed: both as PEM.
pub struct Issued {
    /// The certificate alone.
    pub cert: String,
    /// Its key.
    pub key: String,
}

impl Authority {
    /// A new one.
    pub fn new() -> Authority {
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.distinguished_name.push(rcgen::DnType::CommonName, "an authority of tests");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let own = parameters.self_signed(&key).unwrap();
        let (der, pem) = (own.der().clone(), own.pem());
        Authority { issuer: Issuer::new(parameters, key), der, pem }
    }

    /// A certificate for a name, until the end of a year.
    pub fn issue(&self, name: &str, until: i32) -> Issued {
        let mut parameters = CertificateParams::new(vec![name.to_owned()]).unwrap();
        parameters.distinguished_name.push(rcgen::DnType::CommonName, name);
        parameters.not_before = date_time_ymd(2020, 1, 1);
        parameters.not_after = date_time_ymd(until, 12, 31);
        let key = KeyPair::generate().unwrap();
        let cert = parameters.signed_by(&key, &self.issuer).unwrap();
        Issued { cert: cert.pem(), key: key.serialize_pem() }
    }

    /// What a client is made with that trusts this authority alone.
    pub fn client(&self) -> rustls::ClientConfig {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(self.der.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let versions = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        versions.unwrap().with_root_certificates(roots).with_no_client_auth()
    }
}

impl Issued {
    /// Both in files, in a directory.
    pub fn put(&self, directory: &Path) -> Files {
        let files = Files { cert: directory.join("cert.pem"), key: directory.join("key.pem") };
        std::fs::write(&files.cert, &self.cert).unwrap();
        std::fs::write(&files.key, &self.key).unwrap();
        files
    }
}

/// The TLS of a pair of files.
pub fn tls_of(files: &Files) -> Result<Tls, PairError> {
    Tls::read(files.clone())
}
