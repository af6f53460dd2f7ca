//! What the administration socket can do, apart from how it is asked. `quintet demo` calls the same functions.

use std::time::{Duration, Instant};

use quintet_localization::operator::{self as localization, GrantWish};
use quintet_platform::access::{
    self, AccessRefusal, CreateTenant, IssueKey, KeyRecord, PreparedSecret, Service, Services, Tenant,
};
use quintet_platform::backups;
use quintet_platform::clock::{ClockError, rfc3339};
use quintet_platform::ids;
use quintet_runs::operator::{self as runs, KeyStanding, KeyTerms};
use quintet_storage::{Abort, Failure, Snapshot, Timestamp, Uuid, WriteTx};

use super::backups::backup_view;
use super::protocol::{
    AdvanceView, ClockView, IssuedKeyView, Items, KeyView, KeyWish, LastBackupView, Problem, ProblemCode, RevokedView,
    RootKeyView, RunTermsView, RunTermsWish, TenantView, TenantWish,
};
use crate::app::{App, PERMISSIONS};
use crate::root_key::{RotateError, Standing, State};

/// How long a task waits for the writer.
pub(super) const WRITE_DEADLINE: Duration = Duration::from_secs(10);

/// Rows read at a time; a list of all tenants or keys reads as many pages as it takes.
const PAGE_ROWS: usize = 1_000;

/// Why a task was not done. Each has a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskError {
    /// The request makes no sense.
    Unusable(String),
    /// What it is about does not exist.
    NotFound(String),
    /// What it is about is not in a state for it.
    Conflict(String),
    /// The store failed.
    Store(Failure),
    /// The appliance could not do it.
    Failed(String),
}

impl TaskError {
    /// What the command line is told.
    #[must_use]
    pub fn problem(self) -> Problem {
        let (code, message) = match self {
            TaskError::Unusable(reason) => (ProblemCode::Unusable, reason),
            TaskError::NotFound(reason) => (ProblemCode::NotFound, reason),
            TaskError::Conflict(reason) => (ProblemCode::Conflict, reason),
            TaskError::Store(failure) => (ProblemCode::of(&failure), failure.to_string()),
            TaskError::Failed(reason) => (ProblemCode::Failed, reason),
        };
        Problem { code, message, hint: code.hint().map(str::to_string) }
    }
}

/// Keeps the failure whole: what becomes of it is decided in one place, [`ProblemCode::of`].
impl From<Failure> for TaskError {
    fn from(failure: Failure) -> Self {
        TaskError::Store(failure)
    }
}

impl From<Abort<AccessRefusal>> for TaskError {
    fn from(abort: Abort<AccessRefusal>) -> Self {
        let refusal = match abort {
            Abort::Failed(failure) => return failure.into(),
            Abort::Refused(refusal) => refusal,
        };
        let reason = refusal.to_string();
        match refusal {
            AccessRefusal::TenantNotFound | AccessRefusal::ParentNotFound | AccessRefusal::KeyNotFound => {
                TaskError::NotFound(reason)
            }
            AccessRefusal::TenantExists => TaskError::Conflict(reason),
            AccessRefusal::ParentIsSubTenant
            | AccessRefusal::ServicesNotOfParent
            | AccessRefusal::NoServices
            | AccessRefusal::InvalidName
            | AccessRefusal::InvalidLabel
            | AccessRefusal::InvalidPermission
            | AccessRefusal::InvalidTtl => TaskError::Unusable(reason),
        }
    }
}

/// Runs a verb on the writer.
async fn write<T, F>(app: &App, verb: F) -> Result<T, TaskError>
where
    T: Send + 'static,
    F: FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<AccessRefusal>> + Send + 'static,
{
    Ok(app.store.write(Instant::now() + WRITE_DEADLINE, verb).await?)
}

/// [`write`] for what shuts somebody out: it goes on below the disk reserve.
async fn write_freeing<T, F>(app: &App, verb: F) -> Result<T, TaskError>
where
    T: Send + 'static,
    F: FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<AccessRefusal>> + Send + 'static,
{
    Ok(app.store.write_freeing(Instant::now() + WRITE_DEADLINE, verb).await?)
}

/// What is to be said of the root key.
///
/// # Errors
/// The store cannot be read.
pub fn show_root_key(app: &App) -> Result<RootKeyView, TaskError> {
    Ok(root_key_view(app.root_keys.standing()?))
}

/// Puts a new root key into its file and everything under it.
///
/// # Errors
/// The key does not lie in a file, a rotation is under way, the file cannot be changed, or the store failed.
pub async fn rotate_root_key(app: &App) -> Result<RootKeyView, TaskError> {
    let rotated = app.root_keys.rotate().await;
    // Whatever came of it, there may be something to do by the clock.
    app.clock.wake();
    match rotated {
        Ok(standing) => Ok(root_key_view(standing)),
        Err(RotateError::Store(failure)) => Err(failure.into()),
        Err(error @ (RotateError::NotAFile(_) | RotateError::PreviousConfigured | RotateError::UnderWay(_))) => {
            Err(TaskError::Conflict(error.to_string()))
        }
        Err(error @ RotateError::File(_)) => Err(TaskError::Failed(error.to_string())),
    }
}

pub(super) fn last_backup(app: &App, read: &Snapshot) -> Result<Option<LastBackupView>, Failure> {
    let newest = backups::list_backups(read, 1)?.into_iter().next();
    Ok(newest.map(|backup| {
        let age_seconds = seconds_between(backup.finished_at, app.clock.now());
        LastBackupView { age_seconds, backup: backup_view(backup) }
    }))
}

/// Whole seconds from one instant to a later one; none if it is not later.
pub(crate) fn seconds_between(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.as_micros().saturating_sub(from.as_micros()) / 1_000_000).unwrap_or(0)
}

/// Creates a tenant.
///
/// # Errors
/// The wish makes no sense, the id is taken, or the store failed.
pub async fn create_tenant(app: &App, wish: TenantWish) -> Result<TenantView, TaskError> {
    let unusable_id = || TaskError::Unusable("the id is not a UUID".into());
    let id = wish.id.map(|text| ids::parse_uuid(&text).ok_or_else(unusable_id)).transpose()?;
    let services = match wish.services {
        Some(names) => names.iter().map(|name| service_named(name)).collect::<Result<Services, _>>()?,
        None => Services::ALL,
    };
    let command = CreateTenant { id, name: wish.name, services, parent: None };
    let tenant = write(app, move |tx, now| access::create_tenant(tx, now, command)).await?;
    Ok(tenant_view(tenant))
}

/// All tenants, the oldest first.
///
/// # Errors
/// The store cannot be read.
pub fn list_tenants(app: &App) -> Result<Items<TenantView>, TaskError> {
    let tenants = all_tenants(&app.store.read())?;
    Ok(Items { items: tenants.into_iter().map(tenant_view).collect() })
}

/// One tenant, by id or name.
///
/// # Errors
/// There is no such tenant, or several have the name.
pub fn show_tenant(app: &App, tenant: &str) -> Result<TenantView, TaskError> {
    Ok(tenant_view(resolve_tenant(&app.store.read(), tenant)?))
}

/// Suspends a tenant.
///
/// # Errors
/// There is no such tenant, or the store failed.
pub async fn suspend_tenant(app: &App, tenant: &str) -> Result<TenantView, TaskError> {
    let tenant_id = resolve_tenant(&app.store.read(), tenant)?.tenant_id;
    Ok(tenant_view(write_freeing(app, move |tx, now| access::suspend_tenant(tx, now, tenant_id)).await?))
}

/// Activates a tenant.
///
/// # Errors
/// There is no such tenant, or the store failed.
pub async fn activate_tenant(app: &App, tenant: &str) -> Result<TenantView, TaskError> {
    let tenant_id = resolve_tenant(&app.store.read(), tenant)?.tenant_id;
    Ok(tenant_view(write(app, move |tx, now| access::activate_tenant(tx, now, tenant_id)).await?))
}

/// Issues a key.
///
/// # Errors
/// The wish makes no sense, there is no such tenant, or the store failed.
pub async fn issue_key(app: &App, wish: KeyWish) -> Result<IssuedKeyView, TaskError> {
    let tenant = resolve_tenant(&app.store.read(), &wish.tenant)?;
    let grant = grant_wish(&tenant, wish.template.as_deref(), wish.scope.as_deref())?;
    let permissions = match &grant {
        Some(_) if wish.permissions.is_empty() => Vec::new(),
        _ => permissions_of(&tenant, wish.permissions)?,
    };
    let terms = run_terms(&tenant, wish.runs)?;
    let runs =
        terms.clone().map(|terms| run_terms_view(KeyStanding { remaining_seconds: terms.metered_seconds, terms }));
    let command = IssueKey {
        tenant_id: tenant.tenant_id,
        principal_id: None,
        label: wish.label.unwrap_or_default(),
        permissions,
        ttl_days: wish.ttl_days,
        secret: PreparedSecret::draw(),
    };
    let issued = app.store.write(Instant::now() + WRITE_DEADLINE, move |tx, now| {
        let key = access::issue_key(tx, now, command).map_err(|abort| match abort {
            Abort::Refused(refusal) => Abort::Refused(Abort::<AccessRefusal>::Refused(refusal).into()),
            Abort::Failed(failure) => Abort::Failed(failure),
        })?;
        if let Some(terms) = &terms {
            runs::give_terms(tx, &key.key_id, terms)?;
        }
        let mut permissions = key.permissions.clone();
        if let Some(grant) = grant {
            let granted = localization::grant(tx, now, key.tenant_id, key.principal_id, grant);
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

/// What a key is to allow of runs, if anything was said.
fn run_terms(tenant: &Tenant, wish: Option<RunTermsWish>) -> Result<Option<KeyTerms>, TaskError> {
    let Some(wish) = wish else { return Ok(None) };
    let terms = KeyTerms {
        tier: wish.tier,
        metered_seconds: wish.metered_seconds,
        allowed_images: Some(wish.allowed_images).filter(|images| !images.is_empty()),
        retention_days: wish.retention_days,
    };
    if terms == KeyTerms::default() {
        return Ok(None);
    }
    if !tenant.services.contains(Service::Runs) {
        return Err(TaskError::Unusable("terms are of runs, which the tenant is not provisioned for".into()));
    }
    runs::check_terms(&terms).map_err(TaskError::Unusable)?;
    Ok(Some(terms))
}

fn run_terms_view(standing: KeyStanding) -> RunTermsView {
    RunTermsView {
        tier: standing.terms.tier,
        metered_seconds: standing.terms.metered_seconds,
        remaining_seconds: standing.remaining_seconds,
        allowed_images: standing.terms.allowed_images,
        retention_days: standing.terms.retention_days,
    }
}

/// The template a key is to have, if one was asked for.
fn grant_wish(tenant: &Tenant, template: Option<&str>, scope: Option<&str>) -> Result<Option<GrantWish>, TaskError> {
    let Some(template) = template else {
        return match scope {
            Some(_) => Err(TaskError::Unusable("a scope goes with a template".into())),
            None => Ok(None),
        };
    };
    if !tenant.services.contains(Service::Localization) {
        return Err(TaskError::Unusable(
            "templates are localization's, which the tenant is not provisioned for".into(),
        ));
    }
    localization::read_grant_wish(template, scope).map(Some).map_err(TaskError::Unusable)
}

/// Keys of one tenant, or of all; the oldest first within a tenant.
///
/// # Errors
/// There is no such tenant, or the store cannot be read.
pub fn list_keys(app: &App, tenant: Option<&str>) -> Result<Items<KeyView>, TaskError> {
    let read = app.store.read();
    let tenants = match tenant {
        Some(tenant) => vec![resolve_tenant(&read, tenant)?],
        None => all_tenants(&read)?,
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
                items.push(key_view(&read, key)?);
            }
            if is_last {
                break;
            }
        }
    }
    Ok(Items { items })
}

/// One key, by its id.
///
/// # Errors
/// There is no such key, or the store cannot be read.
pub fn show_key(app: &App, key_id: &str) -> Result<KeyView, TaskError> {
    let read = app.store.read();
    let found = access::find_key(&read, key_id)?;
    let key = found.ok_or_else(|| TaskError::NotFound(AccessRefusal::KeyNotFound.to_string()))?;
    let mut page = vec![key];
    app.uses.fill_in(&mut page);
    let key = page.pop().ok_or_else(|| TaskError::Failed("a key was lost".into()))?;
    Ok(key_view(&read, key)?)
}

/// Revokes a key.
///
/// # Errors
/// There is no such key, or the store failed.
pub async fn revoke_key(app: &App, key_id: &str) -> Result<RevokedView, TaskError> {
    let wanted = key_id.to_string();
    let key = write_freeing(app, move |tx, now| access::revoke_key(tx, now, None, &wanted)).await?;
    Ok(RevokedView { key_id: key.key_id, revoked: true })
}

/// What the clock says.
#[must_use]
pub fn show_clock(app: &App) -> ClockView {
    let mode = if app.clock.is_rehearsal() { "rehearsal" } else { "system" };
    ClockView { now: rfc3339(app.clock.now()), mode: mode.into() }
}

/// Moves a rehearsal clock.
///
/// # Errors
/// The clock keeps real time, cannot go so far, or something does not come to rest.
pub async fn advance_clock(app: &App, seconds: u64) -> Result<AdvanceView, TaskError> {
    let report = app.clock.advance(seconds).await.map_err(|error| match error {
        ClockError::RealTime => TaskError::Conflict(error.to_string()),
        ClockError::TooFar => TaskError::Unusable(error.to_string()),
        ClockError::NotAtRest(_) => TaskError::Failed(error.to_string()),
        ClockError::Store(failure) => TaskError::Store(failure),
    })?;
    Ok(AdvanceView { now: rfc3339(report.now), steps: report.steps })
}

pub(super) fn all_tenants(read: &Snapshot) -> Result<Vec<Tenant>, Failure> {
    let mut tenants = Vec::new();
    let mut after = None;
    loop {
        let page = access::list_tenants(read, after, PAGE_ROWS)?;
        let is_last = page.len() < PAGE_ROWS;
        after = page.last().map(|tenant| tenant.tenant_id);
        tenants.extend(page);
        if is_last {
            return Ok(tenants);
        }
    }
}

/// A tenant by its id, or by its name if no other tenant has it.
pub(super) fn resolve_tenant(read: &Snapshot, wanted: &str) -> Result<Tenant, TaskError> {
    let none = || TaskError::NotFound(format!("no tenant has the id or name {wanted:?}"));
    if let Some(id) = ids::parse_uuid(wanted) {
        return access::find_tenant(read, id)?.ok_or_else(none);
    }
    let mut named = all_tenants(read)?.into_iter().filter(|tenant| tenant.name == wanted);
    match (named.next(), named.next()) {
        (Some(tenant), None) => Ok(tenant),
        (Some(_), Some(_)) => Err(TaskError::Conflict(format!("several tenants are named {wanted:?}; give the id"))),
        (None, _) => Err(none()),
    }
}

/// The permissions a key is to carry: those asked for, if they exist, else the ordinary ones of the
/// tenant's services.
fn permissions_of(tenant: &Tenant, wanted: Vec<String>) -> Result<Vec<String>, TaskError> {
    let offered = PERMISSIONS.iter().filter(|(service, ..)| tenant.services.contains(*service));
    if wanted.is_empty() {
        return Ok(offered.flat_map(|(_, ordinary, _)| ordinary.iter()).map(ToString::to_string).collect());
    }
    let known: Vec<&str> =
        offered.flat_map(|(_, ordinary, special)| ordinary.iter().chain(*special)).copied().collect();
    match wanted.iter().find(|name| !known.contains(&name.as_str())) {
        None => Ok(wanted),
        Some(unknown) if known.is_empty() => {
            Err(TaskError::Unusable(format!("unknown permission {unknown:?}: the tenant's services have none")))
        }
        Some(unknown) => {
            Err(TaskError::Unusable(format!("unknown permission {unknown:?}; {}", meant(unknown, &known))))
        }
    }
}

fn service_named(name: &str) -> Result<Service, TaskError> {
    let known: Vec<&str> = Service::ALL.iter().map(|service| service.name()).collect();
    name.trim().parse().map_err(|_| TaskError::Unusable(format!("unknown service {name:?}; {}", meant(name, &known))))
}

/// The nearest of some known words, or all of them.
fn meant(given: &str, known: &[&str]) -> String {
    let nearest = known.iter().map(|word| (strsim::damerau_levenshtein(given, word), word)).min();
    match nearest {
        Some((distance, word)) if distance <= 3 => format!("did you mean {word}?"),
        _ => format!("known are {}", known.join(", ")),
    }
}

fn some_text(text: String) -> Option<String> {
    if text.is_empty() { None } else { Some(text) }
}

fn tenant_view(tenant: Tenant) -> TenantView {
    TenantView {
        tenant_id: tenant.tenant_id.to_string(),
        name: tenant.name,
        services: tenant.services.iter().map(|service| service.name().to_string()).collect(),
        status: tenant.status.name().into(),
        created_at: rfc3339(tenant.created_at),
        parent_tenant_id: tenant.parent.as_ref().map(Uuid::to_string),
    }
}

fn key_view(read: &Snapshot, key: KeyRecord) -> Result<KeyView, Failure> {
    Ok(KeyView {
        runs: runs::key_standing(read, &key.key_id)?.map(run_terms_view),
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

fn root_key_view(standing: Standing) -> RootKeyView {
    RootKeyView {
        key_id: standing.key_id.to_string(),
        source: standing.source,
        in_force_since: standing.since.map(rfc3339),
        rotated_at: standing.rotated_at.map(rfc3339),
        state: standing.state.name().into(),
        explanation: standing.state.to_string(),
        previous_key_id: standing.previous_key_id.map(|id| id.to_string()),
        previous_kept_until: match standing.state {
            State::KeepingPrevious(until) => Some(rfc3339(until)),
            State::AtRest | State::Rewrapping | State::RemovingPrevious | State::Stuck(_) => None,
        },
    }
}
