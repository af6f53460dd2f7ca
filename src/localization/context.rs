//! What localization needs to serve, and where its work is done.
//!
//! The threads that serve requests serve all services: nothing may keep one of them for long. What looks at a few rows is
//! done right there. What may look at more is done aside ([`Context::aside`]), and its work is bounded; what mostly looks at
//! a few is tried right there first ([`Context::at_once_or_aside`]). What reads a whole file waits for its turn ([`Context::in_turn`]): a file may take a few hundred megabytes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use quintet_platform::Foundation;
use quintet_platform::access::Authority;
use quintet_platform::deliveries::Pump;
use quintet_platform::egress::Egress;
use quintet_platform::service::{TURN_TIME, Turn, Turns};
use quintet_storage::{Abort, Snapshot, Store, Uuid};

use crate::audit::{AnchorFile, Anchoring};
use crate::authorization::{AuthorizationSystem, Embedded, SystemFailure};
use crate::decisions::Decisions;
use crate::desk::{Calls, Desk};
use crate::engine::Engine;
use crate::formats::FILE_BYTES_MAX;
use crate::glance::{Lookup, glance};
use crate::identity::Identity;
use crate::language::Health;
use crate::likeness::Indexes;
use crate::locks::Locks;
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::shelf::Shelf;

/// How long a request may wait for the writer.
pub const WRITER_TIME: Duration = Duration::from_secs(10);
/// How many requests look at many rows at a time.
const ASIDES: usize = 4;
/// How many files are read or written at a time.
const TURNS: usize = 2;
/// How many releases are made at a time; of a tenant, one.
const RELEASES: usize = 2;
/// How much the documents that come in may take together: as much as the largest, its texts and its units.
pub(crate) const DOCUMENTS_BYTES_MAX: usize = FILE_BYTES_MAX + (24 << 20);
/// What a small document may take, which does not wait behind large ones.
pub(crate) const SMALL_DOCUMENT_BYTES_MAX: usize = 1 << 20;
/// How many small ones that come in are in memory at once.
pub(crate) const SMALL_DOCUMENTS: usize = 4;
/// How often the core's checks run.
const CORE_INTERVAL: Duration = Duration::from_secs(60);
/// How many bytes the indexes of the translation memory take at most, all tenants' together.
const MEMORY_BYTES_MAX: usize = 64 << 20;
/// How many bytes of what was worked out are kept, about: pages of key context, the rules of projects.
const SHELF_BYTES: usize = 64 << 20;

/// What the operator says of localization.
#[derive(Default)]
pub struct Settings {
    /// What writes drafts, if anything does.
    pub engine: Option<Engine>,
    /// The file that checkpoints of the audit chains are anchored in, if there is to be one.
    pub anchor_file: Option<PathBuf>,
    /// What takes decisions; none: this appliance's own desk, which tells nobody.
    pub decisions: Option<Decisions>,
    /// The system that is to know of every grant, if there is one.
    pub authorization: Option<Arc<dyn AuthorizationSystem>>,
    /// Whom people sign in with, if with anybody.
    pub identity: Option<Identity>,
    /// What makes the deliveries of webhooks, and what they go through; none: nothing is ever delivered.
    pub deliveries: Option<(Pump, Egress)>,
}

/// What localization needs to serve. Clones share it, at the cost of one reference.
#[derive(Clone)]
pub struct Context(Arc<Parts>);

/// The parts of a context.
pub struct Parts {
    foundation: Foundation,
    core: Arc<Health>,
    /// The indexes of the translation memory.
    pub(crate) memory: Indexes,
    /// Those of requests that look at many rows, or at a body of more than a few kilobytes.
    pub(crate) asides: Turns,
    turns: Turns,
    /// Those of releases that are made.
    pub(crate) releases: Turns,
    /// What the documents that come in take, in bytes.
    documents: Turns,
    /// Small ones.
    small_documents: Turns,
    /// Of those who prepare a change for long.
    pub(crate) locks: Locks,
    /// What writes drafts, if anything does.
    pub(crate) engine: Option<Engine>,
    /// What takes decisions.
    pub(crate) decisions: Decisions,
    /// The webhooks of this appliance's own desk.
    pub(crate) calls: Arc<Calls>,
    /// Whom people sign in with, if with anybody.
    pub(crate) identity: Option<Identity>,
    /// What makes the deliveries of webhooks.
    pub(crate) pump: Pump,
    /// What they go through.
    pub(crate) egress: Egress,
    /// What is to know of every grant.
    pub(crate) authorization: Arc<dyn AuthorizationSystem>,
    /// Where checkpoints of the audit chains are anchored.
    pub(crate) anchoring: Anchoring,
    /// What was worked out from stored rows, for whoever needs it again.
    pub(crate) shelf: Arc<Shelf>,
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
    /// Made once, when the appliance starts. Runs the core's checks for the first time.
    #[must_use]
    pub fn new(foundation: Foundation) -> Context {
        Context::with(foundation, Settings::default())
    }

    /// [`Context::new`] with what the operator says. What a credential is worth is for the appliance itself to say, whatever
    /// system is told of grants (localization, S4).
    #[must_use]
    pub fn with(foundation: Foundation, settings: Settings) -> Context {
        let foundation = Foundation { authority: Arc::new(Authority::Embedded), ..foundation };
        let Settings { engine, anchor_file, decisions, authorization, identity, deliveries } = settings;
        let (pump, egress) = deliveries.unwrap_or_else(|| {
            let egress = Egress::new(|_| false);
            (Pump::new(foundation.store.clone(), foundation.clock.clone(), egress.clone(), Vec::new()), egress)
        });
        let desk = || {
            let desk = Arc::new(Desk::new(foundation.store.clone()));
            Decisions::new(desk, "default".to_owned(), None).embedded()
        };
        let decisions = decisions.unwrap_or_else(desk);
        let calls = {
            let clock = Arc::new(foundation.clock.clone());
            Calls::new(foundation.store.clone(), clock, decisions.webhook_secret.clone())
        };
        Context(Arc::new(Parts {
            decisions,
            calls: Arc::new(calls),
            foundation,
            core: Arc::new(Health::start()),
            memory: Indexes::new(MEMORY_BYTES_MAX),
            asides: Turns::of(ASIDES, ASIDES / 2),
            turns: Turns::new(TURNS),
            releases: Turns::of(RELEASES, 1),
            documents: Turns::new(DOCUMENTS_BYTES_MAX),
            small_documents: Turns::new(SMALL_DOCUMENTS * SMALL_DOCUMENT_BYTES_MAX),
            pump,
            egress,
            locks: Locks::default(),
            engine,
            authorization: authorization.unwrap_or_else(|| Arc::new(Embedded)),
            anchoring: Anchoring::new(anchor_file.as_deref().map(AnchorFile::at)),
            identity,
            shelf: Arc::new(Shelf::new(SHELF_BYTES)),
        }))
    }

    /// Whether the authorization system answers: `None` if there is none, else what is wrong with it, if anything is. Asks it.
    pub async fn authorization_problem(&self) -> Option<Result<(), SystemFailure>> {
        if !self.authorization.is_told() {
            return None;
        }
        // Of a principal whom nobody has: whoever knows none such answers, too.
        Some(match self.authorization.intents_of(Uuid::nil()).await {
            Ok(_) | Err(SystemFailure::Refused(404)) => Ok(()),
            Err(failure) => Err(failure),
        })
    }

    /// The state of the language core.
    #[must_use]
    pub fn core(&self) -> &Health {
        &self.core
    }

    /// Whom people sign in with.
    ///
    /// # Errors
    /// [`Refusal::IdentityUnavailable`] if nobody said.
    pub(crate) fn demand_identity(&self) -> Result<&Identity, Refusal> {
        self.identity.as_ref().ok_or(Refusal::IdentityUnavailable)
    }

    /// Runs the core's checks every minute, for as long as it is polled.
    pub async fn watch_core(self) {
        loop {
            tokio::time::sleep(CORE_INTERVAL).await;
            let core = Arc::clone(&self.core);
            if tokio::task::spawn_blocking(move || core.run()).await.is_err() {
                tracing::error!("the language core's checks could not be run");
            }
        }
    }

    /// Demands that the core can be relied on.
    ///
    /// # Errors
    /// [`Refusal::CoreUnavailable`]
    pub(crate) fn demand_core(&self) -> Result<(), Refusal> {
        if self.core.is_available() { Ok(()) } else { Err(Refusal::CoreUnavailable) }
    }

    /// Runs for a tenant what looks at more than a few rows, or at a body of more than a few kilobytes, on a thread of its own.
    ///
    /// # Errors
    /// Those of `work`; [`Fault::Busy`] if others kept it waiting, [`Fault::Internal`] if it panicked.
    pub(crate) async fn aside<T: Send + 'static>(
        &self,
        tenant_id: TenantId,
        work: impl FnOnce(&Snapshot) -> Result<T, Abort<Refusal>> + Send + 'static,
    ) -> Result<T, Abort<Refusal>> {
        self.taking(&self.asides, tenant_id, |store| work(&store.read())).await
    }

    /// Finds out for a tenant what mostly takes a look at a few rows: right there, and aside only if it takes more.
    ///
    /// # Errors
    /// Those of the lookup, and of [`Context::aside`].
    pub(crate) async fn at_once_or_aside<L: Lookup>(
        &self,
        tenant_id: TenantId,
        lookup: &Arc<L>,
    ) -> Result<L::Found, Abort<Refusal>> {
        let glanced = glance(lookup.as_ref(), &self.store.read());
        match glanced {
            Some(found) => found,
            None => {
                let lookup = Arc::clone(lookup);
                self.aside(tenant_id, move |read| lookup.look(read)).await
            }
        }
    }

    /// Runs for a tenant what reads a whole file, on a thread of its own, when it is its turn.
    ///
    /// # Errors
    /// As [`Context::aside`].
    pub(crate) async fn in_turn<T: Send + 'static>(
        &self,
        tenant_id: TenantId,
        work: impl FnOnce(&Store) -> Result<T, Abort<Refusal>> + Send + 'static,
    ) -> Result<T, Abort<Refusal>> {
        self.taking(&self.turns, tenant_id, work).await
    }

    /// Waits until there is room in memory for so many bytes, the most that a document may come to. Once it is read and
    /// takes less, [`Turn::lighten`] gives back what it does not. Small documents have a room of their own: whoever is next
    /// waits until there is room for his, and nobody with next to nothing is to wait behind that.
    ///
    /// # Errors
    /// [`Fault::Busy`] if others kept it waiting.
    pub(crate) async fn room(&self, tenant_id: TenantId, bytes_max: usize) -> Result<Turn, Refusal> {
        let is_small = bytes_max <= SMALL_DOCUMENT_BYTES_MAX;
        let room = if is_small { &self.small_documents } else { &self.documents };
        Ok(room.hold(tenant_id.0, bytes_max, TURN_TIME).await?)
    }

    async fn taking<T: Send + 'static>(
        &self,
        turns: &Turns,
        tenant_id: TenantId,
        work: impl FnOnce(&Store) -> Result<T, Abort<Refusal>> + Send + 'static,
    ) -> Result<T, Abort<Refusal>> {
        let store = self.store.clone();
        match turns.take(tenant_id.0, move || work(&store)).await {
            Ok(outcome) => outcome,
            Err(fault) => Err(Abort::Refused(fault.into())),
        }
    }
}
