//! Where root keys come from, and how an open store gets them.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use quintet_storage::Store;
use quintet_storage::seal::{self, KeyRing, RootKey, RootState, UnlockError};
use zeroize::Zeroizing;

use super::key_file::{self, KeyFile};
use super::passphrase::{self, Passphrase, Recipe};
use super::rotation::RootKeys;
use crate::config::Config;
use crate::start_error::StartError;

/// The directory in which systemd puts a service's credentials.
const CREDENTIALS_VARIABLE: &str = "CREDENTIALS_DIRECTORY";

/// More than a credential with a key has.
const CREDENTIAL_BYTES_MAX: u64 = 128;

/// Where a root key comes from.
enum Source {
    File(KeyFile),
    Credential(String),
    Passphrase(String, Passphrase),
}

impl Source {
    /// Reads a checked value of the configuration. A passphrase is taken out of the environment.
    fn of(text: &str, data_dir: &Path) -> Source {
        match text.split_once(':') {
            Some(("credential", name)) => Source::Credential(name.to_string()),
            Some(("passphrase", variable)) => Source::Passphrase(variable.to_string(), Passphrase::take(variable)),
            Some((_, path)) => Source::File(KeyFile::new(data_dir.join(path))),
            None => Source::File(KeyFile::new(data_dir.join(text))),
        }
    }

    /// The key in force there.
    fn key(&self, data_dir: &Path) -> Result<RootKey, StartError> {
        match self {
            Source::File(file) => Ok(file.read()?.current_key()),
            Source::Credential(name) => credential(name),
            Source::Passphrase(variable, passphrase) => match Recipe::read(data_dir)? {
                Some(recipe) => recipe.key(passphrase.checked(variable)?),
                None => Err(StartError::RootKeyMissing(data_dir.join(passphrase::FILE))),
            },
        }
    }

    /// Makes what the source needs to have a key, if that can be made at all.
    fn make(&self, data_dir: &Path) -> Result<(), StartError> {
        match self {
            Source::File(file) => file.make(),
            Source::Passphrase(..) => Recipe::make(data_dir).map(drop),
            Source::Credential(_) => Ok(()),
        }
    }
}

/// Where the configuration says that the root key comes from. Holds passphrases; is not printed.
pub struct RootKeySources {
    data_dir: PathBuf,
    copy_window_seconds: i64,
    /// As the configuration has it.
    wish: String,
    source: Source,
    previous: Option<Source>,
}

impl RootKeySources {
    /// Looks the sources up, and takes passphrases out of the environment. To be called before the process becomes
    /// undumpable, which would bar it from its own environment.
    #[must_use]
    pub fn take(config: &Config) -> RootKeySources {
        RootKeySources {
            data_dir: config.data_dir.clone(),
            copy_window_seconds: i64::from(config.copy_window_minutes) * 60,
            wish: config.root_key.clone(),
            source: Source::of(&config.root_key, &config.data_dir),
            previous: config.root_key_previous.as_ref().map(|text| Source::of(text, &config.data_dir)),
        }
    }

    /// Rules out what can be ruled out before the store is opened, so that a start that fails because of the key
    /// leaves nothing behind.
    ///
    /// # Errors
    /// The key cannot be had, or, before a directory is made, cannot be made where it is to lie.
    pub fn check(&self) -> Result<(), StartError> {
        match &self.source {
            Source::Credential(name) => credential(name).map(drop),
            Source::Passphrase(variable, passphrase) => passphrase.checked(variable).map(drop),
            // What is the matter with a directory that was made before is told by opening it.
            Source::File(file) if matches!(quintet_storage::read_format(&self.data_dir), Ok(None)) => {
                match file.read() {
                    Err(StartError::RootKeyMissing(_)) => file.check_directory(&self.data_dir),
                    other => other.map(drop),
                }
            }
            Source::File(_) => Ok(()),
        }
    }

    /// Gives an open store its root keys. A key is made only while nothing was ever sealed in the store, or as the
    /// one to follow upon the key in force; the caller holds the directory's lock.
    ///
    /// # Errors
    /// The key is missing or damaged, it cannot be written, or it is the wrong one.
    pub fn unlock(self, store: &Store) -> Result<RootKeys, StartError> {
        let state = seal::root_state(&store.read()).map_err(StartError::RootKeyUnchecked)?;
        if let Source::File(file) = &self.source {
            file.remove_leftovers();
        }
        let previous = self.previous_key(state.as_ref());
        let is_to_follow =
            matches!((&previous, &state), (Some(Ok(previous)), Some(state)) if previous.id() == state.current);
        // Without a note of its root key the store holds nothing sealed.
        let is_new = state.is_none();
        let current = match self.source.key(&self.data_dir) {
            Err(StartError::RootKeyMissing(_)) if is_new || is_to_follow => {
                self.source.make(&self.data_dir)?;
                self.source.key(&self.data_dir)?
            }
            // A key to follow upon the one in force is made only when that one is at hand.
            Err(StartError::RootKeyMissing(path)) => {
                return Err(match (previous, state) {
                    (Some(Err(error)), _) => error,
                    (Some(Ok(previous)), Some(state)) => {
                        refused(UnlockError::Wrong { needed: state.current, given: vec![previous.id()] })
                    }
                    _ => StartError::RootKeyMissing(path),
                });
            }
            other => other?,
        };
        let own_previous = match &self.source {
            Source::File(file) => file.read()?.previous_key(),
            _ => None,
        };
        let previous = match (own_previous, previous) {
            (Some(_), Some(_)) => {
                return Err(StartError::RootKeyRefused {
                    reason: "the root key's file holds a previous key itself, and storage.root_key_previous names another".into(),
                    hint: "take storage.root_key_previous out of the configuration; once `quintet root-key show` says that no previous key is needed, the next move can begin".into(),
                });
            }
            (own, None) => own,
            (None, Some(named)) => unless_idle(named, &current, state.as_ref())?,
        };
        store.unlock(KeyRing::new(current, previous)).map_err(refused)?;
        let file = match self.source {
            Source::File(file) => Some(file),
            Source::Credential(_) | Source::Passphrase(..) => None,
        };
        Ok(RootKeys::new(store.clone(), self.wish, file, self.previous.is_some(), self.copy_window_seconds))
    }

    /// The key of `storage.root_key_previous`, if there is one.
    fn previous_key(&self, state: Option<&RootState>) -> Option<Result<RootKey, StartError>> {
        // Of a new store there is no previous key.
        let (previous, _) = self.previous.as_ref().zip(state)?;
        Some(previous.key(&self.data_dir))
    }
}

/// A previous key that cannot be had is no matter when no data key is wrapped by it any more.
fn unless_idle(
    named: Result<RootKey, StartError>,
    current: &RootKey,
    state: Option<&RootState>,
) -> Result<Option<RootKey>, StartError> {
    let is_idle = state.is_some_and(|state| state.current == current.id() && state.previous.is_none());
    if is_idle {
        tracing::info!("storage.root_key_previous is not needed any more; take it out of the configuration");
        return Ok(None);
    }
    named.map(Some)
}

/// Reads a key that systemd has put into the service's directory of credentials.
fn credential(name: &str) -> Result<RootKey, StartError> {
    let hint = format!(
        "make one, as root: `head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \\n' | systemd-creds encrypt --name={name} - /etc/credstore.encrypted/{name}`, keep a copy of the key apart from the backups, and put `LoadCredentialEncrypted={name}` into the [Service] section of the unit"
    );
    let refused = |reason: String| StartError::RootKeyRefused { reason, hint: hint.clone() };
    if name.contains('/') || name.starts_with('.') {
        return Err(refused(format!("{name:?} cannot be the name of a credential")));
    }
    let Some(directory) = std::env::var_os(CREDENTIALS_VARIABLE) else {
        return Err(refused(format!(
            "the root key is to come from the credential {name}, but systemd has passed no credentials ({CREDENTIALS_VARIABLE} is not set)"
        )));
    };
    let path = Path::new(&directory).join(name);
    let mut text = Zeroizing::new(Vec::with_capacity(256));
    let read = fs::File::open(&path).and_then(|file| file.take(CREDENTIAL_BYTES_MAX).read_to_end(&mut text));
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(refused(format!("the credential {name} of the root key is missing: there is no {}", path.display())))
        }
        Err(error) => Err(StartError::io("reading the root key", &path, error)),
        Ok(_) => match key_file::parse_key(text.trim_ascii_end()) {
            Some(key) => Ok(RootKey::new(key)),
            None => Err(refused(format!(
                "the credential {name} is not a root key: that is 64 hexadecimal digits (0-9, a-f) on one line"
            ))),
        },
    }
}

fn refused(error: UnlockError) -> StartError {
    let reason = error.to_string();
    let hint = match error {
        UnlockError::Wrong { .. } => {
            "nothing was changed; put back the key that belongs to these data, or name its source in storage.root_key. To move to a new key, name the old one's source in storage.root_key_previous".to_string()
        }
        UnlockError::PreviousNeeded(_) => {
            "nothing was changed; give the previous key back as well: as the second line of the key's file, or by its source in storage.root_key_previous".to_string()
        }
        UnlockError::Failed(failure) => return StartError::RootKeyUnchecked(failure),
    };
    StartError::RootKeyRefused { reason, hint }
}
