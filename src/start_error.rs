//! Why the appliance did not start.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use quintet_storage::OpenError;

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
    /// The root key's file holds something else.
    RootKeyDamaged {
        /// The file.
        path: PathBuf,
    },
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
    /// The configuration asks for something this version cannot do.
    Unsupported(String),
    /// The clock's reading could not be read or kept.
    Clock(String),
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
            StartError::RootKeyDamaged { path } => {
                write!(f, "damage in {} at byte 0: this is not a root key", path.display())
            }
            StartError::Bind { name, address, error } => write!(f, "cannot listen on {address} for {name}: {error}"),
            StartError::NotEmpty(path) => write!(f, "{} is not empty", path.display()),
            StartError::Unsupported(reason) => f.write_str(reason),
            StartError::Clock(reason) => write!(f, "the clock cannot go on from where it stood: {reason}"),
            StartError::Io { doing, error } => write!(f, "{doing}: {error}"),
        }
    }
}

impl std::error::Error for StartError {}
