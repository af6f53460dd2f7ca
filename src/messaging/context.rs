//! What messaging needs to serve: made once, when the appliance starts.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use quintet_platform::Foundation;
use quintet_platform::limits::{Buckets, Rate, RetryAfterSeconds};
use quintet_platform::service::Turns;
use quintet_storage::{Abort, Timestamp, WriteTx};

use crate::attendance::Attendance;
use crate::identity::{Workspace, agents, keys};
use crate::model::{AgentKey, unpacked};
use crate::wakes::{self, Wakes};
use crate::words::address;

/// How many requests look through many rows, or read a large body, at a time.
const LOOKERS: usize = 8;
/// How many messages are written as mail at a time: each takes up to some 60 MiB.
const MAILS: usize = 2;
/// Bodies over a mebibyte that are read and worked on at a time (6-messaging.md, E4); half of them may be one tenant's.
const LARGE_BODIES: usize = 8;
/// Keys whose rates are held.
const RATED_KEYS_MAX: usize = 10_000;

/// What the operator says of messaging.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What agents' addresses end with; empty: there is no mail from outside.
    pub domain: String,
    /// Under which address the service is reached, without a slash at the end; empty: its listener's.
    pub public_url: String,
    /// Requests of one key a second; 0: as many as it likes.
    pub rate_per_second: u32,
    /// How many of them at once.
    pub rate_burst: u32,
}

/// What agents' addresses end with where the operator has no domain (RFC 2606, 2: never a real one).
const NO_DOMAIN: &str = "quintet.invalid";

/// What messaging needs. Clones share it, at the cost of one reference.
#[derive(Clone)]
pub struct Context(Arc<Parts>);

/// The parts of a context.
pub struct Parts {
    foundation: Foundation,
    /// What the operator says.
    pub(crate) settings: Settings,
    /// Who is there.
    pub(crate) attendance: Attendance,
    /// Who waits for mail.
    pub(crate) wakes: Wakes<AgentKey>,
    /// Who waits with a key, by its number.
    pub(crate) key_wakes: Wakes<u64>,
    /// Who waits for the verdict on an approval, by what is told of it.
    pub(crate) approval_wakes: Wakes<u64>,
    /// For those who look through many rows, or read a large body.
    pub(crate) lookers: Turns,
    /// For messages that are written as mail, of which each is held as a whole.
    pub(crate) mails: Turns,
    /// For bodies that are large.
    pub(crate) large_bodies: Turns,
    rates: Buckets<String>,
    /// Where the listener is.
    listener: OnceLock<String>,
}

impl std::ops::Deref for Parts {
    type Target = Foundation;

    fn deref(&self) -> &Foundation {
        &self.foundation
    }
}

impl std::ops::Deref for Context {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl Context {
    /// Made once, when the appliance starts.
    #[must_use]
    pub fn new(foundation: Foundation, settings: Settings) -> Context {
        let (attendance, wakes, key_wakes) = (Attendance::default(), Wakes::<AgentKey>::default(), Wakes::default());
        let (told, retired) = (wakes.clone(), wakes.clone());
        foundation.store.on_told(wakes::TOPIC, Box::new(move |agent, seq| told.told(unpacked(agent), seq)));
        foundation.store.on_told(agents::RETIRED, Box::new(move |agent, _| retired.doubt(unpacked(agent))));
        let (streams, waits) = (attendance.clone(), key_wakes.clone());
        let revoked = move |key, _| {
            streams.streams().doubt(|key_id| keys::number_of(key_id) == key);
            waits.doubt(key);
        };
        foundation.store.on_told(keys::REVOKED, Box::new(revoked));
        let approval_wakes = Wakes::default();
        let decided = approval_wakes.clone();
        foundation.store.on_told(wakes::APPROVALS, Box::new(move |approval, number| decided.told(approval, number)));
        Context(Arc::new(Parts {
            foundation,
            settings,
            attendance,
            wakes,
            key_wakes,
            approval_wakes,
            lookers: Turns::new(LOOKERS),
            mails: Turns::new(MAILS),
            large_bodies: Turns::of(LARGE_BODIES, LARGE_BODIES / 2),
            rates: Buckets::new(RATED_KEYS_MAX),
            listener: OnceLock::new(),
        }))
    }

    /// Waits until the appliance stops.
    pub(crate) fn stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        self.stopping.stopped()
    }

    /// Says where the listener is, which is known as soon as it is bound: `http://127.0.0.1:7440`. The first to say so is
    /// believed.
    pub fn listens_at(&self, address: String) {
        let _ = self.listener.set(address);
    }

    /// Under which address the service is reached, without a slash at the end.
    pub(crate) fn base_url(&self) -> String {
        match self.settings.public_url.is_empty() {
            true => self.listener.get().cloned().unwrap_or_default(),
            false => self.settings.public_url.trim_end_matches('/').to_owned(),
        }
    }

    /// What agents' addresses end with.
    pub(crate) fn domain(&self) -> &str {
        if self.settings.domain.is_empty() { NO_DOMAIN } else { &self.settings.domain }
    }

    /// The address of an agent of a workspace.
    pub(crate) fn address(&self, workspace: &Workspace, agent: &str) -> String {
        address::of_agent(&workspace.slug, agent, self.domain())
    }

    /// Counts a request against the rate of its key.
    ///
    /// # Errors
    /// How long it must wait.
    pub(crate) fn pace(&self, key_id: &str) -> Result<(), RetryAfterSeconds> {
        let Settings { rate_per_second, rate_burst, .. } = self.settings;
        if rate_per_second == 0 {
            return Ok(());
        }
        let rate = Rate { per_second: rate_per_second, burst: rate_burst };
        self.rates.take(&key_id.to_owned(), rate, self.clock.pacing_now())
    }

    /// The present instant.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// One transaction, at most so long in waiting for the writer.
    ///
    /// # Errors
    /// What the verb refuses, and the store's failures.
    pub(crate) async fn write<T, R>(
        &self,
        patience: Duration,
        verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<R>> + Send + 'static,
    ) -> Result<T, Abort<R>>
    where
        T: Send + 'static,
        R: Send + 'static,
    {
        self.store.write(Instant::now() + patience, verb).await
    }
}
