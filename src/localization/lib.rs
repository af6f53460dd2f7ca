//! Localization: string files that come back byte for byte, translations, checks, releases, and an audit chain.
//!
//! Nouns: a tenant has *workspaces*, they have *projects*; a project has one source locale and a set of target locales.
//! A *file* of a project is a path with all its versions; each version's string *keys* keep their ids over uploads. A
//! *translation* belongs to a key and a locale. A *grant* gives a principal the permissions of a *template* within a
//! scope. People come by an identity provider, and have a *session*; programs have keys. Every change leaves an *audit
//! event* in the tenant's chain.
//!
//! Invariants:
//! - nobody reads or changes another tenant's things, and cannot tell them from absent ones;
//! - a change, its audit event and the answer remembered under its Idempotency-Key are one transaction;
//! - the audit chain has no gap and no branch, from a tenant's first event on;
//! - a short id stands for one thing of its tenant, for good;
//! - an export without edits is the upload, byte for byte.
//!
//! Reading order, in which imports point one way, from below: [`language`] (locales: tags, forms, plural categories) ·
//! [`formats`] (readers and writers of files) · [`likeness`] (texts that are like a text) · [`engine`] (asking an AI
//! engine) · `model`, `lists`, `refusal`, `rows`, `shelf`, `glance`, `identity` (whom people sign in with) · `audit` (the
//! chain), `session_events` · `census` (what counts of prose hang on) · `decisions` (what is asked of others), `desk` (the
//! service that is built in) · `access` (permissions, and what a caller may) · `principals` (who there is) ·
//! [`authorization`] (another system that is to know of grants) · `context` (where work is done) · `http` (what all
//! endpoints share) · `webhooks` (who is told what happens) · `proof` (what the chain proves) · `spaces` (workspaces, projects, locales) · `grants` · `accounts`
//! (changing who there is, settings) · `sign_in` (people's sessions) · `content` (files, keys, exports) · `quality` (the
//! checks) · `terms` (glossary and style) · `memory` (what was said before) · `figures` (lists and sums) · `review`
//! (translations and their states) · `translate` (drafts of an engine) · `exchange` (XLIFF, TMX, TBX) · `approvals`,
//! `licences` (what decisions are about) · `settlements` (decisions that were taken) · `releases` (archives of what is
//! approved) · `verify`. A folder has its endpoints beside it, in its own `http`.

mod access;
mod accounts;
mod approvals;
mod audit;
pub mod authorization;
mod census;
mod content;
mod context;
mod decisions;
mod desk;
pub mod engine;
mod exchange;
mod figures;
pub mod formats;
mod glance;
mod grants;
mod http;
mod identity;
pub mod language;
mod licences;
pub mod likeness;
mod lists;
mod locks;
mod memory;
mod model;
mod principals;
mod proof;
pub mod quality;
mod refusal;
mod releases;
mod review;
mod rows;
mod session_events;
mod settlements;
mod shelf;
mod sign_in;
mod spaces;
mod terms;
mod translate;
mod verify;
mod webhooks;

#[cfg(test)]
mod testing;

use std::sync::Arc;

use axum::Router;
use quintet_platform::clock::DueWork;
use quintet_platform::jobs::{Rows, Sweep};
use quintet_platform::service::{self, Endpoints, Route};
use quintet_storage::{Migration, TableSpec};

use crate::lists::joined;

pub use crate::access::KEY_PERMISSIONS;
pub use crate::audit::{AnchorFile, PublicKey, verify_anchors};
pub use crate::context::{Context, Settings};
pub use crate::decisions::{DecisionService, Decisions, External};
pub use crate::desk::{Desk, OwnListener, webhook_secret};
pub use crate::http::Localization;
pub use crate::identity::{Identity, NoPublicUrl};
pub use crate::proof::{AuditStanding, audit_key, audit_standing, prepare};
pub use crate::refusal::CODES;
pub use crate::settlements::{member as decision_member, operator as decision_operator};
pub use crate::verify::verify;
pub use crate::webhooks::WEBHOOKS;

/// The operator's side.
pub mod operator {
    pub use crate::accounts::operator::*;
    pub use crate::accounts::people::*;
    pub use crate::grants::operator::*;
    pub use crate::webhooks::operator::webhooks;
}

/// Everything that is served.
const ENDPOINTS: Endpoints<Localization> = &[
    http::health::ENDPOINTS,
    grants::http::ENDPOINTS,
    accounts::members::http::ENDPOINTS,
    accounts::service_accounts::http::ENDPOINTS,
    accounts::keys::http::ENDPOINTS,
    accounts::settings::http::ENDPOINTS,
    webhooks::http::ENDPOINTS,
    proof::http::ENDPOINTS,
    sign_in::http::ENDPOINTS,
    spaces::http::workspaces::ENDPOINTS,
    spaces::http::projects::ENDPOINTS,
    spaces::http::locales::ENDPOINTS,
    content::http::source_locale::ENDPOINTS,
    http::locales::ENDPOINTS,
    content::http::uploads::ENDPOINTS,
    content::http::files::ENDPOINTS,
    content::http::exports::ENDPOINTS,
    content::http::contexts::ENDPOINTS,
    content::http::keys::ENDPOINTS,
    figures::http::translations::ENDPOINTS,
    figures::http::stats::ENDPOINTS,
    memory::http::ENDPOINTS,
    review::http::translations::ENDPOINTS,
    review::http::transitions::ENDPOINTS,
    review::http::annotations::ENDPOINTS,
    terms::http::glossary::ENDPOINTS,
    terms::http::style::ENDPOINTS,
    exchange::http::xliff::ENDPOINTS,
    exchange::http::tmx::ENDPOINTS,
    exchange::http::tbx::ENDPOINTS,
    translate::http::ENDPOINTS,
    approvals::http::ENDPOINTS,
    licences::http::ENDPOINTS,
    settlements::http::ENDPOINTS,
    releases::http::releases::ENDPOINTS,
    releases::http::archive::ENDPOINTS,
    releases::http::manifest::ENDPOINTS,
];

/// Localization's listener.
pub fn routes(context: Context) -> Router {
    service::router::<Localization>(&context, ENDPOINTS, |router| router)
}

/// Every route that is served.
pub fn served() -> impl Iterator<Item = &'static Route> {
    service::routes::<Localization>(ENDPOINTS)
}

/// Every table of this package, a folder's after the other's. Their tags lie in 0x0300 to 0x03FF.
pub const TABLES: &[TableSpec] = &joined::<_, TABLE_COUNT>(&[
    spaces::TABLES,
    audit::TABLES,
    access::TABLES,
    principals::TABLES,
    accounts::TABLES,
    content::TABLES,
    terms::TABLES,
    memory::TABLES,
    figures::TABLES,
    translate::TABLES,
    census::TABLES,
    decisions::TABLES,
    desk::TABLES,
    approvals::TABLES,
    licences::TABLES,
    releases::TABLES,
    webhooks::TABLES,
]);

const TABLE_COUNT: usize = spaces::TABLES.len()
    + audit::TABLES.len()
    + access::TABLES.len()
    + principals::TABLES.len()
    + accounts::TABLES.len()
    + content::TABLES.len()
    + terms::TABLES.len()
    + memory::TABLES.len()
    + figures::TABLES.len()
    + translate::TABLES.len()
    + census::TABLES.len()
    + decisions::TABLES.len()
    + desk::TABLES.len()
    + approvals::TABLES.len()
    + licences::TABLES.len()
    + releases::TABLES.len()
    + webhooks::TABLES.len();

/// What brings a data directory of an older format to the present one.
pub const MIGRATIONS: &[Migration] = &joined::<_, MIGRATION_COUNT>(&[figures::MIGRATIONS, accounts::MIGRATIONS]);

const MIGRATION_COUNT: usize = figures::MIGRATIONS.len() + accounts::MIGRATIONS.len();

/// What is done again and again of real time, for as long as it is polled: the language core's checks, and telling the
/// authorization system of grants.
pub async fn watch(context: Context) {
    tokio::join!(context.clone().watch_core(), grants::reconcile(context));
}

/// What falls due by the clock.
#[must_use]
pub fn due_work(context: &Context) -> Vec<Arc<dyn DueWork>> {
    let store = || context.store.clone();
    let mut work: Vec<Arc<dyn DueWork>> = vec![
        Arc::new(Sweep(figures::Rejudging::new(context.clone()))),
        Arc::new(Sweep(proof::Checkpointing::new(context.clone()))),
        Arc::new(Sweep(licences::Recounting::new(context.clone()))),
        Arc::new(Sweep(settlements::Rereads::new(context.clone()))),
        Arc::new(Sweep(Rows::new(store(), licences::ExpiredLicences))),
        Arc::new(Sweep(Rows::new(store(), decisions::ExpiredEvents))),
    ];
    if context.decisions.is_embedded {
        work.push(Arc::new(Sweep(Rows::new(store(), desk::ExpiredDecisions))));
        work.push(Arc::new(Sweep(Arc::clone(&context.calls))));
    }
    work
}

/// Says where localization's listener is: the desk tells its decisions there.
pub fn listens_at(context: &Context, listener: Arc<dyn OwnListener>) {
    context.calls.listens_at(listener);
}
