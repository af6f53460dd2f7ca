//! Where a root key lies, for what opens no store: backups, restores, `verify`, `doctor`.

use std::path::{Path, PathBuf};

use quintet_storage::seal::KeyRing;

use super::key_file::KeyFile;
use super::passphrase::{self, Recipe};
use crate::config::Config;
use crate::start_error::StartError;

/// The usual name of the key's file, in the data directory and in backups.
pub const FILE: &str = "root.key";

/// Where a root key lies.
pub enum KeyPlace {
    /// In a file.
    File(PathBuf),
    /// In somebody's head; the recipe that makes a key of the passphrase lies in this data directory.
    Passphrase(PathBuf),
    /// With systemd.
    Credential,
}

impl KeyPlace {
    /// Where the configuration says.
    #[must_use]
    pub fn of(config: &Config) -> KeyPlace {
        match config.root_key.split_once(':') {
            Some(("credential", _)) => KeyPlace::Credential,
            Some(("passphrase", _)) => KeyPlace::Passphrase(config.data_dir.clone()),
            Some((_, path)) => KeyPlace::File(config.data_dir.join(path)),
            None => KeyPlace::inside(&config.data_dir),
        }
    }

    /// That of a directory which has it inside: its key file, or else the recipe of a passphrase.
    #[must_use]
    pub fn inside(directory: &Path) -> KeyPlace {
        let file = directory.join(FILE);
        if !file.exists() && directory.join(passphrase::FILE).exists() {
            return KeyPlace::Passphrase(directory.to_path_buf());
        }
        KeyPlace::File(file)
    }

    /// This file.
    #[must_use]
    pub fn at(path: &Path) -> KeyPlace {
        KeyPlace::File(path.to_path_buf())
    }

    /// The files that a backup must contain so that what it restores can be read, with the names they get in it.
    #[must_use]
    pub fn backup_files(&self) -> Vec<(PathBuf, String)> {
        match self {
            KeyPlace::File(path) => vec![(path.clone(), FILE.to_string())],
            KeyPlace::Passphrase(directory) => {
                vec![(directory.join(passphrase::FILE), passphrase::FILE.to_string())]
            }
            KeyPlace::Credential => Vec::new(),
        }
    }

    /// The keys, where they can be read without a passphrase or systemd.
    ///
    /// # Errors
    /// As [`KeyPlace::check`].
    pub fn ring(&self) -> Result<Option<KeyRing>, StartError> {
        let KeyPlace::File(path) = self else { return Ok(None) };
        let keys = KeyFile::new(path.clone()).read()?;
        Ok(Some(KeyRing::new(keys.current_key(), keys.previous_key())))
    }

    /// Whether what lies there is there and whole. A passphrase and a credential are with others.
    ///
    /// # Errors
    /// [`StartError::RootKeyMissing`], [`StartError::RootKeyDamaged`], or it cannot be read.
    pub fn check(&self) -> Result<(), StartError> {
        match self {
            KeyPlace::File(_) => self.ring().map(drop),
            KeyPlace::Passphrase(directory) => match Recipe::read(directory)? {
                Some(_) => Ok(()),
                None => Err(StartError::RootKeyMissing(directory.join(passphrase::FILE))),
            },
            KeyPlace::Credential => Ok(()),
        }
    }
}
