//! Why the appliance did not start.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use quintet_storage::{Failure, OpenError};

use crate::config::Problems;

/// Why the appliance did not start.
#[derive(Debug)]
pub enum StartError {
    /// The data directory could not be opened.
    Open {
        /// The directory.
        directory: PathBuf,
        /// Why not.
        error: OpenError,
    },
    /// The root key of a directory that holds data is gone.
    RootKeyMissing(PathBuf),
    /// The root key cannot be made where it is to lie.
    RootKeyDirectory {
        /// Where it is to lie.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The root key's file holds something else.
    RootKeyDamaged {
        /// The file.
        path: PathBuf,
    },
    /// The root key cannot be had from where the configuration says, or is the wrong one.
    RootKeyRefused {
        /// What is the matter.
        reason: String,
        /// What to do.
        hint: String,
    },
    /// Whether the root key is right could not be read or noted down.
    RootKeyUnchecked(Failure),
    /// An address could not be listened on.
    Bind {
        /// The listener's name.
        name: &'static str,
        /// The address.
        address: String,
        /// Why not.
        error: io::Error,
    },
    /// A directory that was to be made holds something.
    NotEmpty(PathBuf),
    /// Other users may change what is in the data directory.
    Exposed(PathBuf),
    /// The listeners' certificate or its key cannot be used.
    Tls(Problems),
    /// The clock's reading could not be read or kept.
    Clock(Failure),
    /// The key that signs checkpoints of audit chains could not be made.
    AuditKey(Failure),
    /// The process may not open as many files as it needs.
    TooFewFiles {
        /// How many it may open.
        limit: u64,
        /// How many it needs.
        needed: u64,
    },
    /// SIGTERM or SIGINT came before everything was open.
    ToldToStop,
    /// The operating system refused.
    Io {
        /// What was tried.
        doing: String,
        /// What came back.
        error: io::Error,
    },
}

impl StartError {
    /// A [`StartError::Io`] about a path.
    #[must_use]
    pub fn io(doing: &str, path: &Path, error: io::Error) -> StartError {
        StartError::Io { doing: format!("{doing} {}", path.display()), error }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Open { error, .. } => write!(f, "{error}"),
            StartError::RootKeyMissing(path) => write!(f, "the root key {} is missing", path.display()),
            StartError::RootKeyDirectory { path, error } => {
                write!(f, "the root key {} cannot be made: {error}", path.display())
            }
            StartError::RootKeyDamaged { path } => {
                write!(f, "damage in {} at byte 0: this is not a root key", path.display())
            }
            StartError::RootKeyRefused { reason, .. } => f.write_str(reason),
            StartError::RootKeyUnchecked(failure) => write!(f, "the root key could not be checked: {failure}"),
            StartError::Bind { name, address, error } => write!(f, "cannot listen on {address} for {name}: {error}"),
            StartError::NotEmpty(path) => write!(f, "{} is not empty", path.display()),
            StartError::Exposed(path) => write!(f, "other users may write to {}", path.display()),
            StartError::Tls(problems) => write!(f, "{problems}"),
            StartError::Clock(failure) => write!(f, "the clock cannot go on from where it stood: {failure}"),
            StartError::AuditKey(failure) => write!(f, "the audit key cannot be made: {failure}"),
            StartError::TooFewFiles { limit, needed } => {
                write!(f, "this process may open {limit} files at once; it needs at least {needed}")
            }
            StartError::ToldToStop => f.write_str("told to stop before everything was open"),
            StartError::Io { doing, error } => write!(f, "{doing}: {error}"),
        }
    }
}

impl std::error::Error for StartError {}
