//! Tenants, for the operator.

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use quintet_platform::access::{self, CreateTenant, Service, Services, Tenant};
use quintet_platform::clock::rfc3339;
use quintet_platform::ids;
use quintet_storage::{Failure, Snapshot, Uuid};
use serde::{Deserialize, Serialize};

use super::call::{Call, Items};
use super::task::{PAGE_ROWS, TaskError, meant, write, write_freeing};
use crate::app::App;

/// All tenants, the oldest first.
pub const LIST: Call<(), Items<TenantView>> = Call::look("/tenants");
/// Creates a tenant.
pub const CREATE: Call<TenantWish, TenantView> = Call::change("/tenants");
/// One tenant, by id or name.
pub const SHOW: Call<(), TenantView> = Call::look("/tenants/{tenant}");
/// Suspends a tenant.
pub const SUSPEND: Call<(), TenantView> = Call::change("/tenants/{tenant}/suspend");
/// Activates a tenant.
pub const ACTIVATE: Call<(), TenantView> = Call::change("/tenants/{tenant}/activate");

/// A tenant, as the command line shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenantView {
    /// Its id.
    pub tenant_id: String,
    /// Its name.
    pub name: String,
    /// The services it is provisioned for.
    pub services: Vec<String>,
    /// `active` or `suspended`.
    pub status: String,
    /// When it was created; RFC 3339.
    pub created_at: String,
    /// The tenant it belongs to, if it is a sub-tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_tenant_id: Option<String>,
}

/// Asks for a new tenant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TenantWish {
    /// Its name.
    pub name: String,
    /// Its id; one is minted if absent.
    #[serde(default)]
    pub id: Option<String>,
    /// The services it is provisioned for; all if absent.
    #[serde(default)]
    pub services: Option<Vec<String>>,
}

pub(super) fn routes(app: App) -> Router {
    Router::new()
        .merge(LIST.served_by(list))
        .merge(CREATE.served_by(async |State(app): State<App>, body: Body| {
            CREATE.answer(&create(&app, CREATE.wish(body).await?).await?)
        }))
        .merge(
            SHOW.served_by(async |State(app): State<App>, Path(tenant): Path<String>| {
                SHOW.answer(&show(&app, &tenant)?)
            }),
        )
        .merge(SUSPEND.served_by(suspend))
        .merge(ACTIVATE.served_by(activate))
        .with_state(app)
}

async fn list(State(app): State<App>) -> Result<Response, TaskError> {
    let tenants = all(&app.store.read())?;
    LIST.answer(&Items { items: tenants.into_iter().map(view).collect() })
}

/// Creates a tenant.
///
/// # Errors
/// The wish makes no sense, the id is taken, or the store failed.
pub async fn create(app: &App, wish: TenantWish) -> Result<TenantView, TaskError> {
    let unusable_id = || TaskError::Unusable("the id is not a UUID".into());
    let id = wish.id.map(|text| ids::parse_uuid(&text).ok_or_else(unusable_id)).transpose()?;
    let services = match wish.services {
        Some(names) => names.iter().map(|name| service_named(name)).collect::<Result<Services, _>>()?,
        None => Services::ALL,
    };
    let command = CreateTenant { id, name: wish.name, services, parent: None };
    let tenant = write(app, move |tx, now| access::create_tenant(tx, now, command)).await?;
    Ok(view(tenant))
}

/// One tenant, by id or name.
///
/// # Errors
/// There is no such tenant, or several have the name.
pub fn show(app: &App, tenant: &str) -> Result<TenantView, TaskError> {
    Ok(view(resolve(&app.store.read(), tenant)?))
}

async fn suspend(State(app): State<App>, Path(tenant): Path<String>) -> Result<Response, TaskError> {
    let tenant_id = resolve(&app.store.read(), &tenant)?.tenant_id;
    let suspended = write_freeing(&app, move |tx, now| access::suspend_tenant(tx, now, tenant_id)).await?;
    SUSPEND.answer(&view(suspended))
}

async fn activate(State(app): State<App>, Path(tenant): Path<String>) -> Result<Response, TaskError> {
    let tenant_id = resolve(&app.store.read(), &tenant)?.tenant_id;
    let activated = write(&app, move |tx, now| access::activate_tenant(tx, now, tenant_id)).await?;
    ACTIVATE.answer(&view(activated))
}

pub(super) fn all(read: &Snapshot) -> Result<Vec<Tenant>, Failure> {
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
pub(super) fn resolve(read: &Snapshot, wanted: &str) -> Result<Tenant, TaskError> {
    let none = || TaskError::NotFound(format!("no tenant has the id or name {wanted:?}"));
    if let Some(id) = ids::parse_uuid(wanted) {
        return access::find_tenant(read, id)?.ok_or_else(none);
    }
    let mut named = all(read)?.into_iter().filter(|tenant| tenant.name == wanted);
    match (named.next(), named.next()) {
        (Some(tenant), None) => Ok(tenant),
        (Some(_), Some(_)) => Err(TaskError::Conflict(format!("several tenants are named {wanted:?}; give the id"))),
        (None, _) => Err(none()),
    }
}

fn service_named(name: &str) -> Result<Service, TaskError> {
    let known: Vec<&str> = Service::ALL.iter().map(|service| service.name()).collect();
    name.trim().parse().map_err(|_| TaskError::Unusable(format!("unknown service {name:?}; {}", meant(name, &known))))
}

fn view(tenant: Tenant) -> TenantView {
    TenantView {
        tenant_id: tenant.tenant_id.to_string(),
        name: tenant.name,
        services: tenant.services.iter().map(|service| service.name().to_string()).collect(),
        status: tenant.status.name().into(),
        created_at: rfc3339(tenant.created_at),
        parent_tenant_id: tenant.parent.as_ref().map(Uuid::to_string),
    }
}
