//! API keys, for the operator. A key carries permissions of several services; what a room adds of its own, it says in its
//! own file beside this one.

use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use quintet_platform::access::{self, AccessRefusal, IssueKey, KeyRecord, PreparedSecret, Service, Tenant};
use quintet_platform::clock::rfc3339;
use quintet_platform::http::query::Query;
use quintet_runs::operator::KeyStanding;
use quintet_storage::{Abort, Failure, Snapshot};
use serde::{Deserialize, Serialize};

use super::call::{Call, Items};
use super::runs::{self, RunTermsView, RunTermsWish};
use super::task::{PAGE_ROWS, TaskError, WRITE_DEADLINE, meant, write_freeing};
use super::{localization, tenants};
use crate::app::{App, PERMISSIONS};

/// Keys of one tenant, or of all; the oldest first within a tenant; `tenant`.
pub const LIST: Call<(), Items<KeyView>> = Call::look("/keys");
/// Issues a key.
pub const ISSUE: Call<KeyWish, IssuedKeyView> = Call::change("/keys");
/// One key, by its id.
pub const SHOW: Call<(), KeyView> = Call::look("/keys/{key_id}");
/// Revokes a key.
pub const REVOKE: Call<(), RevokedView> = Call::change("/keys/{key_id}/revoke");

/// Asks for a new key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeyWish {
    /// The tenant's id or name.
    pub tenant: String,
    /// What the key is for, in the operator's words.
    #[serde(default)]
    pub label: Option<String>,
    /// What it may do; empty, and no template: the ordinary permissions of the tenant's services.
    #[serde(default)]
    pub permissions: Vec<String>,
    /// A template of localization that its principal is granted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// The template's scope: the text of a JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// After how many days it expires; never if absent.
    #[serde(default)]
    pub ttl_days: Option<u32>,
    /// What it allows of runs; what its tenant may, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<RunTermsWish>,
}

/// A key just issued; the only time its secret is told.
#[derive(Clone, Serialize, Deserialize)]
pub struct IssuedKeyView {
    /// The key's id.
    pub key_id: String,
    /// The key itself.
    pub api_key: String,
    /// The tenant it belongs to.
    pub tenant_id: String,
    /// What it is for.
    pub label: Option<String>,
    /// What it may do.
    pub permissions: Vec<String>,
    /// When it expires; RFC 3339.
    pub expires_at: Option<String>,
    /// What it allows of runs; absent: what its tenant may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<RunTermsView>,
}

/// A key without its secret.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeyView {
    /// The key's id.
    pub key_id: String,
    /// The tenant it belongs to.
    pub tenant_id: String,
    /// What it is for.
    pub label: Option<String>,
    /// What it may do.
    pub permissions: Vec<String>,
    /// When it was issued; RFC 3339.
    pub created_at: String,
    /// When it expires; RFC 3339.
    pub expires_at: Option<String>,
    /// When it was revoked; RFC 3339.
    pub revoked_at: Option<String>,
    /// When it was last used, to the minute; RFC 3339.
    pub last_used_at: Option<String>,
    /// What it allows of runs; absent: what its tenant may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<RunTermsView>,
}

/// The end of a key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RevokedView {
    /// The key's id.
    pub key_id: String,
    /// Always true.
    pub revoked: bool,
}

pub(super) fn routes(app: App) -> Router {
    Router::new()
        .merge(LIST.served_by(list))
        .merge(ISSUE.served_by(async |State(app): State<App>, body: Body| {
            ISSUE.answer(&issue(&app, ISSUE.wish(body).await?).await?)
        }))
        .merge(SHOW.served_by(show))
        .merge(REVOKE.served_by(revoke))
        .with_state(app)
}

/// Issues a key.
///
/// # Errors
/// The wish makes no sense, there is no such tenant, or the store failed.
pub async fn issue(app: &App, wish: KeyWish) -> Result<IssuedKeyView, TaskError> {
    let tenant = tenants::resolve(&app.store.read(), &wish.tenant)?;
    let grant = localization::grant_wish(&tenant, wish.template.as_deref(), wish.scope.as_deref())?;
    let permissions = match &grant {
        Some(_) if wish.permissions.is_empty() => Vec::new(),
        _ => permissions_of(&app.store.read(), &tenant, wish.permissions)?,
    };
    let terms = runs::terms(&tenant, wish.runs)?;
    let runs =
        terms.clone().map(|terms| runs::terms_view(KeyStanding { remaining_seconds: terms.metered_seconds, terms }));
    let command = IssueKey {
        tenant_id: tenant.tenant_id,
        principal_id: None,
        label: wish.label.unwrap_or_default(),
        permissions,
        ttl_days: wish.ttl_days,
        secret: PreparedSecret::draw(),
    };
    let is_localizations = tenant.services.contains(Service::Localization);
    let issued = app.store.write(Instant::now() + WRITE_DEADLINE, move |tx, now| {
        let key = access::issue_key(tx, now, command).map_err(|abort| match abort {
            Abort::Refused(refusal) => Abort::Refused(Abort::<AccessRefusal>::Refused(refusal).into()),
            Abort::Failed(failure) => Abort::Failed(failure),
        })?;
        if let Some(terms) = &terms {
            quintet_runs::operator::give_terms(tx, &key.key_id, terms)?;
        }
        if is_localizations {
            quintet_localization::operator::key_issued(tx, now, &key, grant.is_some())?;
        }
        let mut permissions = key.permissions.clone();
        if let Some(grant) = grant {
            let granted = quintet_localization::operator::grant(tx, now, key.tenant_id, key.principal_id, grant);
            permissions.extend(granted.map_err(|abort| match abort {
                Abort::Refused(reason) => Abort::Refused(TaskError::Unusable(reason)),
                Abort::Failed(failure) => Abort::Failed(failure),
            })?);
        }
        Ok((key, permissions))
    });
    let (key, permissions) = issued.await.map_err(|abort| match abort {
        Abort::Refused(error) => error,
        Abort::Failed(failure) => failure.into(),
    })?;
    Ok(IssuedKeyView {
        key_id: key.key_id,
        api_key: key.api_key.expose().clone(),
        tenant_id: key.tenant_id.to_string(),
        label: some_text(key.label),
        permissions,
        expires_at: key.expires_at.map(rfc3339),
        runs,
    })
}

async fn list(State(app): State<App>, RawQuery(query): RawQuery) -> Result<Response, TaskError> {
    let unusable = |_| TaskError::Unusable("the query makes no sense".into());
    let mut query = Query::parse(query.as_deref()).map_err(unusable)?;
    let read = app.store.read();
    let tenants = match query.take("tenant") {
        Some(tenant) => vec![tenants::resolve(&read, &tenant)?],
        None => tenants::all(&read)?,
    };
    let mut items = Vec::new();
    for tenant in tenants {
        let mut after: Option<String> = None;
        loop {
            let mut page = access::list_keys(&read, tenant.tenant_id, after.as_deref(), PAGE_ROWS)?;
            app.uses.fill_in(&mut page);
            let is_last = page.len() < PAGE_ROWS;
            after = page.last().map(|key| key.key_id.clone());
            for key in page {
                items.push(view(&read, key)?);
            }
            if is_last {
                break;
            }
        }
    }
    LIST.answer(&Items { items })
}

async fn show(State(app): State<App>, Path(key_id): Path<String>) -> Result<Response, TaskError> {
    let read = app.store.read();
    let found = access::find_key(&read, &key_id)?;
    let key = found.ok_or_else(|| TaskError::NotFound(AccessRefusal::KeyNotFound.to_string()))?;
    let mut page = vec![key];
    app.uses.fill_in(&mut page);
    let key = page.pop().ok_or_else(|| TaskError::Failed("a key was lost".into()))?;
    SHOW.answer(&view(&read, key)?)
}

async fn revoke(State(app): State<App>, Path(key_id): Path<String>) -> Result<Response, TaskError> {
    let revoked = write_freeing(&app, move |tx, now| {
        let is_new = access::find_key(tx, &key_id)?.is_some_and(|key| key.revoked_at.is_none());
        let key = access::revoke_key(tx, now, None, &key_id)?;
        if is_new {
            quintet_localization::operator::key_revoked(tx, now, &key)?;
        }
        Ok(key)
    });
    let key = revoked.await?;
    REVOKE.answer(&RevokedView { key_id: key.key_id, revoked: true })
}

/// The permissions a key is to carry: those asked for, if they exist, else the ordinary ones of the
/// tenant's services.
fn permissions_of(read: &Snapshot, tenant: &Tenant, wanted: Vec<String>) -> Result<Vec<String>, TaskError> {
    let offered = PERMISSIONS.iter().filter(|(service, ..)| tenant.services.contains(*service));
    if wanted.is_empty() {
        return Ok(offered.flat_map(|(_, ordinary, _)| ordinary.iter()).map(ToString::to_string).collect());
    }
    let known: Vec<&str> =
        offered.flat_map(|(_, ordinary, special)| ordinary.iter().chain(*special)).copied().collect();
    for name in wanted.iter().filter(|name| !known.contains(&name.as_str())) {
        check_permission(read, tenant, name, &known)?;
    }
    Ok(wanted)
}

/// A permission that is in no list: those of localization name workspaces, projects and locales.
fn check_permission(read: &Snapshot, tenant: &Tenant, name: &str, known: &[&str]) -> Result<(), TaskError> {
    let refused = |problem: String| Err(TaskError::Unusable(format!("unknown permission {name:?}{problem}")));
    if tenant.services.contains(Service::Localization) {
        match quintet_localization::operator::check_permission(read, tenant.tenant_id, name)? {
            None => {}
            Some(Ok(())) => return Ok(()),
            Some(Err(problem)) => return refused(format!(": {problem}")),
        }
    }
    match known {
        [] => refused(": the tenant's services have none".to_owned()),
        _ => refused(format!("; {}", meant(name, known))),
    }
}

fn some_text(text: String) -> Option<String> {
    if text.is_empty() { None } else { Some(text) }
}

fn view(read: &Snapshot, key: KeyRecord) -> Result<KeyView, Failure> {
    Ok(KeyView {
        runs: quintet_runs::operator::key_standing(read, &key.key_id)?.map(runs::terms_view),
        key_id: key.key_id,
        tenant_id: key.tenant_id.to_string(),
        label: some_text(key.label),
        permissions: key.permissions,
        created_at: rfc3339(key.created_at),
        expires_at: key.expires_at.map(rfc3339),
        revoked_at: key.revoked_at.map(rfc3339),
        last_used_at: key.last_used_at.map(rfc3339),
    })
}
