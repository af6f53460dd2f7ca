//! Whom a certificate must be signed by.

use std::sync::{Arc, OnceLock};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;

/// Who may sign certificates of those that are called.
#[derive(Default)]
pub(super) struct Authorities {
    /// Besides the system's.
    extra: Vec<CertificateDer<'static>>,
    /// Made when it is needed first: the system's store is some hundred files.
    connector: OnceLock<TlsConnector>,
}

impl Authorities {
    /// Those of the system's store, and those in this text (PEM).
    ///
    /// # Errors
    /// [`NoCertificates`] if there is none in it, or one that is not well-formed.
    pub(super) fn with(pem: &[u8]) -> Result<Authorities, NoCertificates> {
        let extra: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        let extra = extra.map_err(|_| NoCertificates)?;
        let well_formed = extra.iter().all(|one| RootCertStore::empty().add(one.clone()).is_ok());
        if extra.is_empty() || !well_formed {
            return Err(NoCertificates);
        }
        Ok(Authorities { extra, connector: OnceLock::new() })
    }

    pub(super) fn connector(&self) -> TlsConnector {
        let make = || {
            let mut roots = RootCertStore::empty();
            let system = rustls_native_certs::load_native_certs();
            // One that cannot be read is trusted by nobody; the others count.
            roots.add_parsable_certificates(system.certs);
            roots.add_parsable_certificates(self.extra.iter().cloned());
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
            let config = versions.map(|versions| versions.with_root_certificates(roots).with_no_client_auth());
            config.map(|config| TlsConnector::from(Arc::new(config)))
        };
        #[expect(clippy::expect_used, reason = "ring has cipher suites for both versions of TLS")]
        self.connector.get_or_init(|| make().expect("ring serves the versions of TLS")).clone()
    }
}

/// A file of certificates that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("no certificates in PEM form")]
pub struct NoCertificates;
