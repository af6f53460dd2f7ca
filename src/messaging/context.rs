//! What messaging needs to serve: made once, when the appliance starts.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use quintet_platform::Foundation;
use quintet_platform::egress::{Egress, NameServers, Place};
use quintet_platform::limits::{Buckets, Rate, RetryAfterSeconds};
use quintet_platform::secrets::Secret;
use quintet_platform::service::Turns;
use quintet_storage::{Abort, Timestamp, WriteTx};
use tokio::sync::watch;

use crate::attendance::Attendance;
use crate::identity::{Workspace, agents, keys};
use crate::model::{AgentKey, unpacked};
use crate::refused_mails::RefusedMails;
use crate::rejections::Rejections;
use crate::unanswered::Unanswered;
use crate::wakes::{self, Wakes};
use crate::words::address;

/// How many requests look through many rows, or read a large body, at a time.
const LOOKERS: usize = 8;
/// How many messages are written as mail at a time: each takes up to some 60 MiB.
const MAILS: usize = 2;
/// Bodies over a mebibyte that are read and worked on at a time (6-messaging.md, E4); half of them may be one tenant's.
const LARGE_BODIES: usize = 8;
/// Calls of inbound endpoints with a body that is not small, which are read and held at a time; those of one source.
const CALLS: usize = 64;
const CALLS_OF_A_SOURCE: usize = 16;
/// How many of them are looked at at a time for whether they are proved: whoever has no key keeps nobody else waiting.
const STRANGERS: usize = 2;
/// Mails from outside that are large and taken in at a time, of 25 MiB each and what is read out of them; half of them may be
/// of one source.
const LARGE_MAILS: usize = 4;
/// Sign-ups whose mail is handed to the relay at a time.
const SIGN_UPS: usize = 4;
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
    /// What goes out to others.
    pub egress: Egress,
    /// Mail from and to the outside.
    pub mail: Mail,
    /// Whether everybody may sign up who has an address of mail.
    pub is_signup_open: bool,
}

/// What the operator says of mail from and to the outside.
#[derive(Clone, Debug)]
pub struct Mail {
    /// Whether anything here listens for it.
    pub is_listening: bool,
    /// Where it leaves by; `None`: it does not.
    pub relay: Option<Relay>,
    /// Opens connections.
    pub egress: Egress,
    /// Who is asked whether mail comes from where it says; `None`: nobody.
    pub name_servers: Option<NameServers>,
}

impl Mail {
    /// Neither in nor out.
    #[must_use]
    pub fn none() -> Mail {
        Mail { is_listening: false, relay: None, egress: Egress::new(|_| false), name_servers: None }
    }
}

/// The server that takes mail for the outside.
#[derive(Clone, Debug)]
pub struct Relay {
    /// Where it is.
    pub place: Place,
    /// Whether it is spoken to encrypted.
    pub encryption: RelayEncryption,
    /// Who signs in to it, and with what; `None`: nobody.
    pub credentials: Option<(String, Secret)>,
}

/// Whether a relay is spoken to encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelayEncryption {
    /// Where it offers that, whatever its certificate is; never a password without.
    Opportunistic,
    /// Always, and its certificate must be trusted.
    Required,
    /// Never.
    Off,
}

/// What came of mail since the start, for those who watch it.
#[derive(Debug, Default)]
pub(crate) struct MailFigures {
    /// Mail that was taken in.
    pub(crate) received: AtomicU64,
    /// Mail that was refused after its recipients had been accepted.
    pub(crate) refused: AtomicU64,
    /// Mail that the relay took.
    pub(crate) sent: AtomicU64,
    /// Attempts that are made again.
    pub(crate) retried: AtomicU64,
    /// Addresses that mail was given up for.
    pub(crate) given_up: AtomicU64,
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
    /// For bodies of calls.
    pub(crate) calls: Turns,
    /// For calls of which nobody knows yet by whom they are.
    pub(crate) strangers: Turns,
    /// Calls of inbound endpoints that were rejected.
    pub(crate) rejections: Rejections,
    /// For mail from outside that is large: it is held from its first bytes to its end.
    pub(crate) large_mails: Turns,
    /// For sign-ups whose mail is being sent.
    pub(crate) sign_ups: Turns,
    /// What came of mail.
    pub(crate) mail_figures: MailFigures,
    /// How often mail that was refused is written down.
    pub(crate) refused_mails: RefusedMails,
    /// Names that mail from outside need not wait for.
    pub(crate) unanswered: Arc<Unanswered>,
    /// How many mails are handed to the relay now.
    pub(crate) mail_under_way: watch::Sender<usize>,
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
            calls: Turns::of(CALLS, CALLS_OF_A_SOURCE),
            strangers: Turns::new(STRANGERS),
            rejections: Rejections::default(),
            large_mails: Turns::of(LARGE_MAILS, LARGE_MAILS / 2),
            sign_ups: Turns::new(SIGN_UPS),
            mail_figures: MailFigures::default(),
            refused_mails: RefusedMails::default(),
            unanswered: Arc::default(),
            mail_under_way: watch::Sender::new(0),
            rates: Buckets::new(RATED_KEYS_MAX),
            listener: OnceLock::new(),
        }))
    }

    /// What is held by whoever must not keep it.
    pub(crate) fn downgrade(&self) -> Weak<Parts> {
        Arc::downgrade(&self.0)
    }

    /// A context of these parts.
    pub(crate) const fn of(parts: Arc<Parts>) -> Context {
        Context(parts)
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

    /// Whether anything here listens for mail from outside: without a domain there is nobody whom it could be for.
    pub(crate) fn listens_for_mail(&self) -> bool {
        self.settings.mail.is_listening && !self.settings.domain.is_empty()
    }

    /// Waits until no mail is handed to the relay any more, at most so long.
    pub async fn mail_rests(&self, at_most: Duration) {
        let mut under_way = self.mail_under_way.subscribe();
        // The sender lives as long as this.
        let _ = tokio::time::timeout(at_most, under_way.wait_for(|count| *count == 0)).await;
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
