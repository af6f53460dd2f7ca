//! One root key follows another while the appliance runs.
//!
//! For a file, `quintet root-key rotate` makes the new key; for other sources a start does that finds another key in
//! `storage.root_key` and the one in force in `storage.root_key_previous`. The rest is the same, and falls due by the
//! clock: `quintet_storage::seal::rotation` has the order and its reasons.
//!
//! What a kill between any two lines leaves behind, and how the next start goes on:
//! - a file in the making beside the key's: removed, it was never used;
//! - a file with two keys, the second of which is in force in the store: the first is the new one, and is used;
//! - data keys in any state: the store knows how far it came;
//! - a file with two keys, the first of which alone is in use: the second goes.

use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use quintet_platform::Timestamp;
use quintet_platform::clock::{BoxFuture, rfc3339};
use quintet_platform::jobs;
use quintet_storage::seal::rotation::{self, Progress};
use quintet_storage::seal::{self, KeyId, KeyRing, PreviousPhase};
use quintet_storage::{Abort, Failure, Store};

use super::key_file::{self, KeyFile, Keys};
use crate::start_error::StartError;

/// How long one step may wait for the writer; the next round tries again.
const DEADLINE: Duration = Duration::from_secs(10);

/// The root key of an open store.
pub struct RootKeys {
    store: Store,
    wish: String,
    file: Option<KeyFile>,
    previous_is_configured: bool,
    copy_window_seconds: i64,
    /// Held while the file changes.
    changing: Mutex<()>,
    /// Why a rotation cannot come to its end until a restart.
    stuck: Mutex<Option<String>>,
}

/// What is said of the root key: never the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Where it comes from, as the configuration has it.
    pub source: String,
    /// Its name.
    pub key_id: KeyId,
    /// Since when it is in force.
    pub since: Option<Timestamp>,
    /// When a key last followed upon another.
    pub rotated_at: Option<Timestamp>,
    /// The name of the key before it, as long as something may need that.
    pub previous_key_id: Option<KeyId>,
    /// What is under way.
    pub state: State,
}

/// What is under way with the root key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing: one key, and everything is under it.
    AtRest,
    /// Data keys are being put under the new key; the previous one is needed.
    Rewrapping,
    /// Everything is under the new key; the previous one is kept until this instant, for copies that are being made.
    KeepingPrevious(Timestamp),
    /// The previous key is being taken out.
    RemovingPrevious,
    /// Something keeps a rotation from its end until a restart.
    Stuck(String),
}

impl State {
    /// The state's name for programs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            State::AtRest => "at_rest",
            State::Rewrapping => "rewrapping",
            State::KeepingPrevious(_) => "keeping_previous",
            State::RemovingPrevious => "removing_previous",
            State::Stuck(_) => "stuck",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            State::AtRest => f.write_str("no previous key is needed"),
            State::Rewrapping => f.write_str("data keys are being put under it; the previous key is needed"),
            State::KeepingPrevious(until) => write!(f, "the previous key is kept until {}", rfc3339(*until)),
            State::RemovingPrevious => f.write_str("the previous key is being taken out"),
            State::Stuck(reason) => write!(f, "the rotation is stuck, keep the previous key: {reason}"),
        }
    }
}

/// Why a rotation was not begun.
#[derive(Debug)]
pub enum RotateError {
    /// The key does not lie in a file. Says where it comes from.
    NotAFile(String),
    /// The configuration names a previous source.
    PreviousConfigured,
    /// One is under way.
    UnderWay(State),
    /// The key's file cannot be read or replaced.
    File(StartError),
    /// The store failed.
    Store(Failure),
}

impl From<Failure> for RotateError {
    fn from(failure: Failure) -> Self {
        RotateError::Store(failure)
    }
}

impl fmt::Display for RotateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RotateError::NotAFile(source) => write!(
                f,
                "the root key comes from {source}, where the appliance cannot put a new one: set storage.root_key to the new source and storage.root_key_previous to {source:?}, then restart"
            ),
            RotateError::PreviousConfigured => f.write_str(
                "storage.root_key_previous is set: take it out of the configuration and restart before the next rotation",
            ),
            RotateError::UnderWay(state) => write!(f, "a rotation is under way: {state}"),
            RotateError::File(error) => write!(f, "the root key's file cannot be changed: {error}"),
            RotateError::Store(failure) => failure.fmt(f),
        }
    }
}

impl std::error::Error for RotateError {}

impl RootKeys {
    /// `wish` is where it comes from as the configuration has it, `file` its file if it is in one.
    pub(super) fn new(
        store: Store,
        wish: String,
        file: Option<KeyFile>,
        previous_is_configured: bool,
        copy_window_seconds: i64,
    ) -> RootKeys {
        RootKeys {
            store,
            wish,
            file,
            previous_is_configured,
            copy_window_seconds,
            changing: Mutex::default(),
            stuck: Mutex::default(),
        }
    }

    /// What is to be said of the root key.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn standing(&self) -> Result<Standing, Failure> {
        let Some((current, at_hand)) = self.store.root_keys() else {
            return Err(Failure::Io("the store has not been given its root key".to_owned()));
        };
        let noted = seal::root_state(&self.store.read())?;
        let mut standing = Standing {
            source: self.wish.clone(),
            key_id: current,
            since: None,
            rotated_at: None,
            previous_key_id: at_hand,
            state: State::AtRest,
        };
        let Some(noted) = noted else { return Ok(standing) };
        if noted.current == current {
            standing.since = Some(noted.since);
            standing.rotated_at = noted.rotated_at;
            standing.state = match noted.previous.as_ref().map(|previous| previous.phase) {
                None if at_hand.is_none() => State::AtRest,
                None | Some(PreviousPhase::Removing) => State::RemovingPrevious,
                Some(PreviousPhase::Needed) => State::Rewrapping,
                Some(PreviousPhase::Kept(since)) => {
                    State::KeepingPrevious(since.plus_seconds(self.copy_window_seconds))
                }
            };
            standing.previous_key_id = noted.previous.map(|previous| previous.id).or(at_hand);
        } else {
            standing.previous_key_id = Some(noted.current);
            standing.state = State::Rewrapping;
        }
        if let Some(reason) = self.stuck().clone() {
            standing.state = State::Stuck(reason);
        }
        Ok(standing)
    }

    /// Makes a new key, puts it into the file, and puts every data key under it. The previous one leaves the file by
    /// itself once the copy window has passed.
    ///
    /// # Errors
    /// See [`RotateError`]. If the store fails, the new key is in the file, and the rest is taken up again.
    pub async fn rotate(self: &Arc<Self>) -> Result<Standing, RotateError> {
        let keys = Arc::clone(self);
        let begun = tokio::task::spawn_blocking(move || keys.put_new_key_into_file()).await;
        begun.map_err(|_| Failure::Panicked)??;
        self.advance().await?;
        Ok(self.standing()?)
    }

    fn put_new_key_into_file(&self) -> Result<(), RotateError> {
        let file = self.file.as_ref().ok_or_else(|| RotateError::NotAFile(self.wish.clone()))?;
        if self.previous_is_configured {
            return Err(RotateError::PreviousConfigured);
        }
        let _alone = self.changing();
        let standing = self.standing()?;
        if standing.state != State::AtRest {
            return Err(RotateError::UnderWay(standing.state));
        }
        let found = file.read().map_err(RotateError::File)?;
        let in_force = standing.key_id;
        let keys = match &found.previous {
            None if found.current_key().id() == in_force => {
                Keys { current: key_file::draw(), previous: Some(found.current) }
            }
            // A rotation that failed after the file was replaced: it is written once more, to be sure.
            Some(_) if found.previous_key().is_some_and(|key| key.id() == in_force) => found,
            _ => {
                let reason = format!("{} does not hold the key in force, {in_force}; put it back", self.wish);
                return Err(RotateError::File(StartError::RootKeyRefused { reason, hint: String::new() }));
            }
        };
        let ring = KeyRing::new(keys.current_key(), keys.previous_key());
        // From here on a start finds both keys, whatever happens.
        file.replace(&keys).map_err(|error| RotateError::File(StartError::io("writing", file.path(), error)))?;
        let new = ring.current().id();
        self.store.replace_root_keys(ring).map_err(|error| Failure::Io(error.to_string()))?;
        tracing::info!(key_id = %new, previous_key_id = %in_force, "a new root key is in force");
        Ok(())
    }

    /// Goes as far as can be gone now.
    async fn advance(&self) -> Result<(), Failure> {
        loop {
            let seconds = self.copy_window_seconds;
            let step = self
                .store
                .write_freeing(Instant::now() + DEADLINE, move |tx, now| {
                    Ok::<_, Abort<Infallible>>(rotation::step(tx, now, seconds)?)
                })
                .await;
            match step {
                Ok(Progress::More) => {}
                Ok(Progress::Wait(until)) => {
                    self.tell_wait(until);
                    return Ok(());
                }
                Ok(Progress::Done) => return self.forget_previous(),
                Err(Abort::Refused(never)) => match never {},
                Err(Abort::Failed(failure)) => return Err(self.note(failure)),
            }
        }
    }

    fn tell_wait(&self, until: Timestamp) {
        let until = rfc3339(until);
        match self.file {
            Some(_) if !self.previous_is_configured => {
                tracing::info!(%until, "everything is under the new root key; the previous one is kept for copies");
            }
            _ => tracing::info!(
                %until,
                "everything is under the new root key; once this instant has passed, take storage.root_key_previous out of the configuration"
            ),
        }
    }

    /// No data key is under the previous key any more: it leaves the file, and memory.
    fn forget_previous(&self) -> Result<(), Failure> {
        let _alone = self.changing();
        let Some((current, Some(previous))) = self.store.root_keys() else { return Ok(()) };
        if let Some(file) = &self.file {
            let replaced = match file.read() {
                Ok(keys) if keys.current_key().id() == current && keys.previous.is_some() => {
                    let keys = Keys { previous: None, ..keys };
                    file.replace(&keys).map_err(|error| StartError::io("writing", file.path(), error))
                }
                other => other.map(drop),
            };
            if let Err(error) = replaced {
                let reason = format!("the previous root key cannot be taken out of its file: {error}");
                return Err(self.note(Failure::Damaged(reason)));
            }
        }
        self.store.forget_previous_root_key()?;
        tracing::info!(key_id = %current, previous_key_id = %previous, "the previous root key is not needed any more");
        Ok(())
    }

    /// What time does not mend ends a rotation until a restart; the previous key stays.
    fn note(&self, failure: Failure) -> Failure {
        if let Failure::Damaged(reason) = &failure {
            tracing::error!(reason, "the rotation of the root key is stuck until a restart; keep the previous key");
            *self.stuck() = Some(reason.clone());
        }
        failure
    }

    fn stuck(&self) -> MutexGuard<'_, Option<String>> {
        self.stuck.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changing(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl jobs::Job for RootKeys {
    fn name(&self) -> &'static str {
        "root_key.rotation"
    }

    fn next_due(&self) -> Result<Option<Timestamp>, Failure> {
        Ok(match self.standing()?.state {
            State::AtRest | State::Stuck(_) => None,
            State::Rewrapping | State::RemovingPrevious => Some(Timestamp::EPOCH),
            State::KeepingPrevious(until) => Some(until),
        })
    }

    fn slice(&self) -> BoxFuture<'_, Result<jobs::Progress, Failure>> {
        Box::pin(async { self.advance().await.map(|()| jobs::Progress::Rest) })
    }
}
