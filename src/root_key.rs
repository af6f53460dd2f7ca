//! The root key: 32 random bytes, kept in hexadecimal in a file of the data directory that only its owner reads.
//!
//! It is made together with the directory and never again: values sealed under a lost key cannot be read. A file that
//! exists is never written to, whatever it holds.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use quintet_platform::secrets;
use quintet_storage::Store;
use rustix::fs::{Access, CWD, RenameFlags};

use crate::config::Config;
use crate::start_error::StartError;

/// The usual name of the key's file, in the data directory and in backups.
pub const FILE: &str = "root.key";

/// The key's length.
const KEY_BYTES: usize = 32;

/// More than a key's file has: its text, the end of the line, and one byte by which a longer file shows.
const FILE_BYTES_MAX: u64 = 2 * KEY_BYTES as u64 + 3;

/// Where the key lies, or will lie.
#[derive(Debug)]
pub struct RootKey {
    path: PathBuf,
}

impl RootKey {
    /// Finds the key's place and rules out what can be ruled out before the store is opened, so that a start that
    /// fails because of the key leaves nothing behind. A relative path is looked up in the data directory.
    ///
    /// # Errors
    /// The configuration takes the key from elsewhere, its directory is not there or cannot be written to, or, before
    /// a directory is made, the file holds something else.
    pub fn locate(config: &Config) -> Result<RootKey, StartError> {
        let path = match config.root_key.split_once(':') {
            Some(("file", path)) => config.data_dir.join(path),
            _ => return Err(StartError::Unsupported(config.unsupported())),
        };
        let key = RootKey { path };
        // What is the matter with a directory that was made before is told by opening it.
        if !matches!(quintet_storage::read_format(&config.data_dir), Ok(None)) {
            return Ok(key);
        }
        match key.check() {
            Err(StartError::RootKeyMissing(_)) => key.check_directory(&config.data_dir)?,
            other => other?,
        }
        Ok(key)
    }

    /// The files that a backup must contain so that what it restores can be read, with the names they get in it.
    #[must_use]
    pub fn backup_files(&self) -> Vec<(PathBuf, String)> {
        vec![(self.path.clone(), FILE.to_string())]
    }

    /// The key of a directory that keeps it in its usual place.
    #[must_use]
    pub fn inside(directory: &Path) -> RootKey {
        RootKey::at(&directory.join(FILE))
    }

    /// The key in this file.
    #[must_use]
    pub fn at(path: &Path) -> RootKey {
        RootKey { path: path.to_path_buf() }
    }

    /// Makes sure that the key is there and whole. It is made only while it is missing and nothing was ever written
    /// to the store; the caller holds the directory's lock.
    ///
    /// # Errors
    /// The key is missing or damaged, or it cannot be written.
    pub fn ensure(&self, store: &Store) -> Result<(), StartError> {
        match self.check() {
            Err(StartError::RootKeyMissing(_)) if store.read().lsn() == 0 => {
                self.make().map_err(|error| StartError::io("writing the root key", &self.path, error))
            }
            other => other,
        }
    }

    /// Whether the key can be made. About the data directory itself the store decides, which comes first.
    fn check_directory(&self, data_dir: &Path) -> Result<(), StartError> {
        let directory = self.directory();
        if directory == data_dir {
            return Ok(());
        }
        rustix::fs::access(directory, Access::WRITE_OK | Access::EXEC_OK)
            .map_err(|error| StartError::RootKeyDirectory { path: self.path.clone(), error: error.into() })
    }

    fn directory(&self) -> &Path {
        self.path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    /// Writes the key under another name first, so that nobody ever finds half of it under its own.
    fn make(&self) -> io::Result<()> {
        let mut name = self.path.file_name().unwrap_or_default().to_os_string();
        name.push(format!(".{}.tmp", HEXLOWER.encode(&secrets::random_bytes::<8>())));
        let temporary = self.path.with_file_name(name);
        let text = format!("{}\n", HEXLOWER.encode(&secrets::random_bytes::<KEY_BYTES>()));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary);
        let placed = file.and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            rename_unless_taken(&temporary, &self.path)
        });
        if placed.is_err() {
            // What is left of it is a key that nobody uses.
            let _ = fs::remove_file(&temporary);
        }
        placed?;
        // The name must survive a power cut, too.
        File::open(self.directory())?.sync_all()
    }

    /// Whether the key is there and whole.
    ///
    /// # Errors
    /// [`StartError::RootKeyMissing`], [`StartError::RootKeyDamaged`], or it cannot be read.
    pub fn check(&self) -> Result<(), StartError> {
        let path = &self.path;
        let reading = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => StartError::RootKeyMissing(path.clone()),
            _ => StartError::io("reading the root key", path, error),
        };
        let damaged = || StartError::RootKeyDamaged { path: path.clone() };
        let found = fs::metadata(path).map_err(reading)?;
        if !found.is_file() {
            return Err(damaged());
        }
        let mut text = Vec::new();
        File::open(path).and_then(|file| file.take(FILE_BYTES_MAX).read_to_end(&mut text)).map_err(reading)?;
        if found.mode() & 0o077 != 0 {
            tracing::warn!(path = %path.display(), "other users may read the root key; `chmod 600` it");
        }
        match HEXLOWER.decode(text.trim_ascii_end()) {
            Ok(key) if key.len() == KEY_BYTES => Ok(()),
            _ => Err(damaged()),
        }
    }
}

/// Gives a file its name for good; never takes it from another.
fn rename_unless_taken(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::io::Errno;
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Some file systems cannot say "unless"; a second name for the same file says it as well.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            fs::hard_link(from, to)?;
            fs::remove_file(from)
        }
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_never_taken_from_another_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("root.key");
        fs::write(&path, "precious").unwrap();
        let key = RootKey { path: path.clone() };
        assert_eq!(key.make().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing else is left behind");
        fs::remove_file(&path).unwrap();
        key.make().unwrap();
        key.check().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
