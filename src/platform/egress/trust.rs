//! Whom a certificate must be signed by.

use std::sync::{Arc, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_rustls::TlsConnector;

/// Who may sign certificates of those that are called.
#[derive(Default)]
pub(super) struct Authorities {
    /// Besides the system's.
    extra: Vec<CertificateDer<'static>>,
    /// Made when it is needed first: the system's store is some hundred files.
    connector: OnceLock<TlsConnector>,
    /// The same for whoever answers.
    credulous: OnceLock<TlsConnector>,
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
        Ok(Authorities { extra, connector: OnceLock::new(), credulous: OnceLock::new() })
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

    /// Encrypts, and asks for no proof of who answers: for what would go unencrypted otherwise.
    pub(super) fn credulous(&self) -> TlsConnector {
        let make = || {
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let anybody = Arc::new(Anybody(Arc::clone(&provider)));
            let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
            let config = versions
                .map(|versions| versions.dangerous().with_custom_certificate_verifier(anybody).with_no_client_auth());
            config.map(|config| TlsConnector::from(Arc::new(config)))
        };
        #[expect(clippy::expect_used, reason = "ring has cipher suites for both versions of TLS")]
        self.credulous.get_or_init(|| make().expect("ring serves the versions of TLS")).clone()
    }
}

/// Takes every certificate, and has its owner prove that it is his.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// A file of certificates that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("no certificates in PEM form")]
pub struct NoCertificates;
