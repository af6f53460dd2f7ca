//! TLS of the listeners: the certificate in use, and its replacement when the files change.
//!
//! `tls.cert` and `tls.key` are looked at each second, by what the file system says of them (a link that is set anew is
//! seen as well). Once they have changed and then rested for a second they are read; a pair that is sound takes the
//! place of the one in use from the next handshake on, in one step, and one that is not leaves everything as it is and
//! is told in the log, by `quintet status` and by `quintet doctor`.
//!
//! Reading order: [`certificate`] (what one says of itself) · [`pair`] (two files, checked) · this file.

pub mod certificate;
pub mod pair;

#[cfg(test)]
mod tests;

use std::fmt;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use quintet_platform::Timestamp;
use quintet_platform::clock::Clock;
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use crate::config::{Config, Problem, Problems};
use pair::{Facts, Files, Pair, PairError};

/// How often the files are looked at.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// What the listeners speak inside TLS.
const PROTOCOLS: [&[u8]; 1] = [b"http/1.1"];

/// The TLS of all listeners. Clones share everything.
#[derive(Clone)]
pub struct Tls(Arc<Inner>);

struct Inner {
    files: Files,
    /// What they were before they were read first.
    first_seen: Stamps,
    provider: Arc<CryptoProvider>,
    shown: Arc<Shown>,
    acceptor: TlsAcceptor,
    standing: Mutex<Standing>,
    /// The time of day: certificates are valid in real time, also where a rehearsal has its own.
    clock: Clock,
}

/// What callers are shown at the moment.
#[derive(Debug)]
struct Shown(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// What is to be told of the certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Of the one in use.
    pub facts: Facts,
    /// Since when it is in use.
    pub loaded_at: Timestamp,
    /// Why the files, as they are now, were not taken, and when that was tried.
    pub refused: Option<(Timestamp, PairError)>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("files", &self.0.files).finish_non_exhaustive()
    }
}

/// The files that the configuration names, if it names any.
#[must_use]
pub fn files(config: &Config) -> Option<Files> {
    config.tls_pair.clone().map(|(cert, key)| Files { cert, key })
}

/// What is wrong with the files that the configuration names, told at the place that names them.
#[must_use]
pub fn problems(config: &Config) -> Problems {
    let Some(files) = files(config) else { return Problems(Vec::new()) };
    let outcome = Pair::read(&files, &rustls::crypto::ring::default_provider());
    Problems(outcome.err().map(|error| at_its_place(config, &error)).into_iter().collect())
}

fn at_its_place(config: &Config, error: &PairError) -> Problem {
    let entry = config.effective.iter().find(|entry| entry.dotted() == error.setting);
    let place = entry.map_or_else(|| error.setting.to_owned(), |entry| entry.origin.to_string());
    Problem { place, message: error.to_string() }
}

impl Tls {
    /// The TLS that the configuration asks for; none if it asks for none.
    ///
    /// # Errors
    /// The certificate or its key cannot be used.
    pub fn open(config: &Config) -> Result<Option<Tls>, Problems> {
        let Some(files) = files(config) else { return Ok(None) };
        let tls = Tls::read(files).map_err(|error| Problems(vec![at_its_place(config, &error)]))?;
        if let Some(complaint) = tls.standing().facts.complaint(tls.0.clock.now()) {
            tracing::warn!(cert = %tls.0.files.cert.display(), "{complaint}");
        }
        Ok(Some(tls))
    }

    pub(crate) fn read(files: Files) -> Result<Tls, PairError> {
        let first_seen = Watcher::look(&files);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let Pair { certified, facts } = Pair::read(&files, &provider)?;
        let clock = Clock::system();
        let shown = Arc::new(Shown(RwLock::new(certified)));
        let standing = Mutex::new(Standing { facts, loaded_at: clock.now(), refused: None });
        let acceptor = TlsAcceptor::from(Arc::new(server_config(&provider, &shown)));
        Ok(Tls(Arc::new(Inner { files, first_seen, provider, shown, acceptor, standing, clock })))
    }

    /// What makes an encrypted connection of a plain one.
    #[must_use]
    pub fn acceptor(&self) -> &TlsAcceptor {
        &self.0.acceptor
    }

    /// Where the certificate and its key lie.
    #[must_use]
    pub fn files(&self) -> &Files {
        &self.0.files
    }

    /// What is to be told of the certificate.
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.state().clone()
    }

    fn state(&self) -> MutexGuard<'_, Standing> {
        self.0.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what the files hold now, or keeps what is in use.
    fn reload(&self) {
        let now = self.0.clock.now();
        match Pair::read(&self.0.files, &self.0.provider) {
            Ok(Pair { certified, facts }) => {
                *self.0.shown.0.write().unwrap_or_else(PoisonError::into_inner) = certified;
                let complaint = facts.complaint(now);
                let until = pair::instant(facts.not_after);
                *self.state() = Standing { facts, loaded_at: now, refused: None };
                tracing::info!(until, "the certificate was replaced");
                if let Some(complaint) = complaint {
                    tracing::warn!("{complaint}");
                }
            }
            Err(error) => {
                tracing::error!(%error, "the certificate was not replaced; the one before stays in use");
                self.state().refused = Some((now, error));
            }
        }
    }

    /// Looks after the files until `stop` turns true.
    pub async fn watch(self, mut stop: watch::Receiver<bool>) {
        let mut rounds = tokio::time::interval(LOOK_INTERVAL);
        rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut watcher = Watcher { taken: self.0.first_seen, seen: self.0.first_seen };
        loop {
            tokio::select! {
                _ = rounds.tick() => {}
                _ = stop.wait_for(|stop| *stop) => return,
            }
            let tls = self.clone();
            // A file system may take its time.
            let looked = tokio::task::spawn_blocking(move || {
                if watcher.has_new(&tls.0.files) {
                    tls.reload();
                }
                watcher
            });
            match looked.await {
                Ok(back) => watcher = back,
                Err(error) => {
                    tracing::error!(%error, "the certificate's files are not looked after any more");
                    return;
                }
            }
        }
    }
}

fn server_config(provider: &Arc<CryptoProvider>, shown: &Arc<Shown>) -> ServerConfig {
    let builder = ServerConfig::builder_with_provider(Arc::clone(provider));
    #[expect(clippy::expect_used, reason = "ring has cipher suites for both versions of TLS")]
    let builder = builder.with_protocol_versions(&[&TLS13, &TLS12]).expect("ring serves the versions of TLS");
    let mut config = builder.with_no_client_auth().with_cert_resolver(Arc::clone(shown) as Arc<dyn ResolvesServerCert>);
    config.alpn_protocols = PROTOCOLS.iter().map(|name| name.to_vec()).collect();
    // Callers keep what resumes a session: nothing grows here with their number.
    match rustls::crypto::ring::Ticketer::new() {
        Ok(ticketer) => config.ticketer = ticketer,
        Err(error) => tracing::warn!(%error, "sessions cannot be resumed"),
    }
    config
}

/// What the file system says of a file: two contents never have all of it in common in practice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(path: &Path) -> Option<Stamp> {
        let found = std::fs::metadata(path).ok()?;
        Some(Stamp {
            device: found.dev(),
            inode: found.ino(),
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }
}

type Stamps = [Option<Stamp>; 2];

/// Tells when the files have changed and come to rest: a pair is written one file after the other.
struct Watcher {
    taken: Stamps,
    seen: Stamps,
}

impl Watcher {
    fn look(files: &Files) -> Stamps {
        let stamp = |path: &PathBuf| Stamp::of(path);
        [stamp(&files.cert), stamp(&files.key)]
    }

    fn has_new(&mut self, files: &Files) -> bool {
        let now = Watcher::look(files);
        let is_at_rest = now == self.seen;
        self.seen = now;
        if now == self.taken || !is_at_rest {
            return false;
        }
        self.taken = now;
        true
    }
}
