//! The root key: 32 random bytes, kept in hexadecimal in a file of the data directory that only its owner reads.
//!
//! It is made together with the directory and never again: values sealed under a lost key cannot be read.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use quintet_platform::secrets;
use quintet_storage::Store;

use crate::config::Config;
use crate::start_error::StartError;

/// The key's length.
const KEY_BYTES: usize = 32;

/// Where the key's file lies; a relative path is looked up in the data directory.
fn key_file(config: &Config) -> Result<PathBuf, StartError> {
    match config.root_key.split_once(':') {
        Some(("file", path)) => Ok(config.data_dir.join(path)),
        _ => {
            let reason = "storage.root_key: this version takes the root key from a file only (\"file:root.key\")";
            Err(StartError::Unsupported(reason.to_string()))
        }
    }
}

/// Makes sure that the key is there and whole. It is made only while nothing was ever written to the store;
/// the caller holds the directory's lock.
///
/// # Errors
/// The key is missing or damaged, it cannot be written, or the configuration takes it from elsewhere.
pub fn ensure(config: &Config, store: &Store) -> Result<(), StartError> {
    let path = key_file(config)?;
    match check_file(&path) {
        Err(StartError::RootKeyMissing(_) | StartError::RootKeyDamaged { .. }) if store.read().lsn() == 0 => {
            make(&path)
        }
        other => other,
    }
}

fn make(path: &Path) -> Result<(), StartError> {
    let text = format!("{}\n", HEXLOWER.encode(&secrets::random_bytes::<KEY_BYTES>()));
    let written =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
    written.map_err(|error| StartError::io("writing the root key", path, error))?;
    // The name must survive a power cut, too.
    let directory = path.parent().map_or_else(|| Ok(()), |parent| fs::File::open(parent)?.sync_all());
    directory.map_err(|error| StartError::io("writing the root key", path, error))
}

fn check_file(path: &Path) -> Result<(), StartError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(StartError::RootKeyMissing(path.to_path_buf()));
        }
        Err(error) => return Err(StartError::io("reading the root key", path, error)),
    };
    if fs::metadata(path).is_ok_and(|found| found.mode() & 0o077 != 0) {
        tracing::warn!(path = %path.display(), "other users may read the root key; `chmod 600` it");
    }
    match HEXLOWER.decode(text.trim_end().as_bytes()) {
        Ok(key) if key.len() == KEY_BYTES => Ok(()),
        _ => Err(StartError::RootKeyDamaged { path: path.to_path_buf() }),
    }
}
