//! The ledger's part of the administration socket: proofs, balances, searches, exports. Lists come in pages;
//! the command line asks for one after the other, so that no answer is large and no snapshot is held for long.

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use quintet_ledger::operator::{self, Page, Search};
use quintet_platform::clock::parse_rfc3339;
use quintet_platform::http::query::Query;
use quintet_platform::ids::parse_uuid;
use quintet_storage::{Timestamp, Uuid};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::call::Call;
use super::task::{TaskError, blocking};
use super::tenants;
use crate::app::App;

/// Proves all ledgers.
pub const PROOF: Call<(), ProofView> = Call::look("/ledger/proof");
/// A page of what is posted on a tenant's accounts; `tenant`, `from`.
pub const TRIAL_BALANCE: Call<(), PageView<TrialRowView>> = Call::look("/ledger/trial-balance");
/// A page of a tenant's journal; `tenant`, `from`.
pub const EXPORT: Call<(), PageView<Value>> = Call::look("/ledger/export");
/// A page of the transactions that fit; `tenant`, `from`, and what they are to fit.
pub const SEARCH: Call<(), PageView<Value>> = Call::look("/ledger/search");

/// What was proven.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProofView {
    /// Tenants.
    pub tenants: u64,
    /// Accounts that were added up.
    pub accounts: u64,
    /// Transactions that were read.
    pub transactions: u64,
    /// Statement lines that were read.
    pub lines: u64,
    /// What does not fit; at most the first thousand.
    pub findings: Vec<FindingView>,
    /// How many findings there are in all.
    pub findings_total: u64,
}

/// Something that does not fit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FindingView {
    /// Where.
    pub place: String,
    /// What.
    pub problem: String,
}

/// A page of a list.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PageView<T> {
    /// What it holds.
    pub items: Vec<T>,
    /// Records that do not read.
    pub damaged: Vec<FindingView>,
    /// Where the next page begins; absent at the end.
    pub next: Option<String>,
}

/// An account in a trial balance. Amounts are minor units.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrialRowView {
    /// The account.
    pub account_id: String,
    /// Its name.
    pub name: String,
    /// The code of its asset type.
    pub asset: String,
    /// Fraction digits.
    pub scale: u8,
    /// `debit` or `credit`.
    pub normal_side: String,
    /// Posted debits.
    pub debits_minor: String,
    /// Posted credits.
    pub credits_minor: String,
}

pub(super) fn routes(app: App) -> Router {
    Router::new()
        .merge(PROOF.served_by(prove))
        .merge(TRIAL_BALANCE.served_by(trial_balance))
        .merge(EXPORT.served_by(export))
        .merge(SEARCH.served_by(search))
        .with_state(app)
}

async fn prove(State(app): State<App>) -> Result<Response, TaskError> {
    let store = app.store.clone();
    // On a large ledger it takes longer than a snapshot lives.
    let proven = blocking(move || {
        let view = store.long_view().map_err(TaskError::Failed)?;
        Ok::<_, TaskError>(quintet_ledger::verify(view.snapshot())?)
    });
    let proof = proven.await??;
    let findings = proof.findings.into_iter();
    PROOF.answer(&ProofView {
        tenants: proof.tenants,
        accounts: proof.accounts,
        transactions: proof.transactions,
        lines: proof.lines,
        findings: findings.map(|finding| FindingView { place: finding.place, problem: finding.problem }).collect(),
        findings_total: proof.findings_total,
    })
}

/// The parameters of a list: whose, and from where on.
struct Asked {
    query: Query,
    tenant_id: Uuid,
    from: Option<Uuid>,
}

impl Asked {
    fn of(app: &App, raw: Option<&str>) -> Result<Asked, TaskError> {
        let mut query = Query::parse(raw).map_err(|error| TaskError::Unusable(error.to_string()))?;
        let tenant = query.required("tenant").map_err(|error| TaskError::Unusable(error.to_string()))?;
        let tenant_id = tenants::resolve(&app.store.read(), &tenant)?.tenant_id;
        let from = query.take("from").map(|text| id(&text)).transpose()?;
        Ok(Asked { query, tenant_id, from })
    }
}

fn id(text: &str) -> Result<Uuid, TaskError> {
    parse_uuid(text).ok_or_else(|| TaskError::Unusable(format!("{text:?} is no id")))
}

fn instant(text: &str) -> Result<Timestamp, TaskError> {
    parse_rfc3339(text).map_err(|error| TaskError::Unusable(format!("{text:?}: {error}")))
}

fn page<T, V>(page: Page<T>, view: impl FnMut(T) -> V) -> PageView<V> {
    let damaged = page.damaged.into_iter();
    PageView {
        items: page.items.into_iter().map(view).collect(),
        damaged: damaged.map(|(id, problem)| FindingView { place: id.to_string(), problem }).collect(),
        next: page.next.map(|id| id.to_string()),
    }
}

async fn trial_balance(State(app): State<App>, RawQuery(raw): RawQuery) -> Result<Response, TaskError> {
    let asked = Asked::of(&app, raw.as_deref())?;
    let rows = operator::trial_balance(&app.store.read(), asked.tenant_id, asked.from)?;
    TRIAL_BALANCE.answer(&page(rows, |row| TrialRowView {
        account_id: row.account_id.to_string(),
        name: row.name,
        asset: row.asset,
        scale: row.scale,
        normal_side: row.normal_side.to_owned(),
        debits_minor: row.debits.to_string(),
        credits_minor: row.credits.to_string(),
    }))
}

async fn export(State(app): State<App>, RawQuery(raw): RawQuery) -> Result<Response, TaskError> {
    let asked = Asked::of(&app, raw.as_deref())?;
    let records = operator::export(&app.store.read(), asked.tenant_id, asked.from)?;
    EXPORT.answer(&page(records, |record: Value| record))
}

async fn search(State(app): State<App>, RawQuery(raw): RawQuery) -> Result<Response, TaskError> {
    let mut asked = Asked::of(&app, raw.as_deref())?;
    let query = &mut asked.query;
    let wanted = Search {
        account_id: query.take("account").map(|text| id(&text)).transpose()?,
        from: query.take("since").map(|text| instant(&text)).transpose()?,
        until: query.take("until").map(|text| instant(&text)).transpose()?,
        external_id: query.take("external_id"),
        description: query.take("description"),
        metadata: query.take("metadata"),
    };
    let records = operator::search(&app.store.read(), asked.tenant_id, &wanted, asked.from)?;
    SEARCH.answer(&page(records, |record: Value| record))
}
