//! What logins are sealed with: made once, kept for good, so that a login under way outlives a restart.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use quintet_storage::seal::{self, Erased, KeyOwner};
use quintet_storage::{Abort, Failure, Read, Store, WriteTx};
use zeroize::Zeroizing;

use super::login::LoginKey;
use super::tables::{LOGIN_KEY, LoginKeyRow, THE_KEY};
use crate::secrets::random_bytes;

/// How long the first login may wait for the writer.
const WRITER_TIME: Duration = Duration::from_secs(10);

/// What logins are sealed with.
pub struct LoginKeys {
    store: Store,
    known: OnceLock<LoginKey>,
}

impl LoginKeys {
    /// The one of a store, which is looked up, or made, when it is first needed.
    #[must_use]
    pub fn new(store: Store) -> LoginKeys {
        LoginKeys { store, known: OnceLock::new() }
    }

    /// The key.
    ///
    /// # Errors
    /// Only the store's.
    pub async fn get(&self) -> Result<&LoginKey, Failure> {
        if let Some(known) = self.known.get() {
            return Ok(known);
        }
        let stored = stored_key(&self.store.read())?;
        let bytes = match stored {
            Some(bytes) => bytes,
            None => {
                let drawn = Zeroizing::new(random_bytes());
                let deadline = Instant::now() + WRITER_TIME;
                let made = self.store.write(deadline, move |tx, _| obtain_login_key(tx, drawn)).await;
                made.map_err(failure_of)?
            }
        };
        Ok(self.known.get_or_init(|| LoginKey::new(bytes)))
    }
}

type KeyBytes = Zeroizing<[u8; 32]>;

fn stored_key(read: &impl Read) -> Result<Option<KeyBytes>, Failure> {
    let Some(row) = read.get(&LOGIN_KEY, &THE_KEY)? else { return Ok(None) };
    let opened = seal::open(read, KeyOwner::Appliance, &LOGIN_KEY, &THE_KEY, &row.key).map_err(failure_of)?;
    let damaged = |_| Failure::Damaged("the key of logins has not 32 bytes".to_owned());
    <[u8; 32]>::try_from(opened.as_slice()).map(|bytes| Some(Zeroizing::new(bytes))).map_err(damaged)
}

/// The key of this store; the one drawn, if it has none.
fn obtain_login_key(tx: &mut WriteTx<'_>, drawn: KeyBytes) -> Result<KeyBytes, Abort<Erased>> {
    if let Some(stored) = stored_key(tx)? {
        return Ok(stored);
    }
    let key = seal::seal(tx, KeyOwner::Appliance, &LOGIN_KEY, &THE_KEY, drawn.as_slice())?;
    tx.put(&LOGIN_KEY, &THE_KEY, &LoginKeyRow { key })?;
    Ok(drawn)
}

fn failure_of(abort: Abort<Erased>) -> Failure {
    match abort {
        Abort::Failed(failure) => failure,
        // The appliance's own key is never destroyed.
        Abort::Refused(Erased) => Failure::Io("the appliance's own key has been destroyed".to_owned()),
    }
}
