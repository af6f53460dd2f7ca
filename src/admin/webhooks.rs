//! Webhooks, for the operator: endpoints and deliveries of all tenants, and sending once more what was given up. Each call
//! takes a parameter `service`, without which runs are meant.

use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use quintet_platform::access::{Service, Tenant};
use quintet_platform::clock::parse_rfc3339;
use quintet_platform::deliveries::{Dead, DeliveryState};
use quintet_platform::egress::EgressError;
use quintet_platform::webhooks::{EndpointKey, Host, NotDone, Operator, Wanted, Webhooks};
use quintet_storage::{Abort, Failure, Timestamp, WriteTx};
use serde::{Deserialize, Serialize};

use super::call::{Call, Items};
use super::records::{Asked, RecordView, view};
use super::task::{TaskError, WRITE_DEADLINE, blocking, meant};
use super::tenants;
use crate::app::App;

/// The endpoints of a tenant, or of all, newest first; `tenant`.
pub const LIST: Call<(), Items<RecordView>> = Call::look("/webhooks");
/// One endpoint; `tenant`.
pub const SHOW: Call<(), RecordView> = Call::look("/webhooks/{endpoint}");
/// Enables an endpoint; `tenant`.
pub const ENABLE: Call<(), RecordView> = Call::change("/webhooks/{endpoint}/enable");
/// Has an endpoint told that it is being tried; `tenant`. The delivery.
pub const TEST: Call<(), RecordView> = Call::change("/webhooks/{endpoint}/test");
/// The newest deliveries; `tenant`, `endpoint`, `state`, `limit`.
pub const DELIVERIES: Call<(), DeliveriesView> = Call::look("/deliveries");
/// One delivery.
pub const DELIVERY: Call<(), RecordView> = Call::look("/deliveries/{tenant}/{id}");
/// Sends deliveries once more that have ended.
pub const REDELIVER: Call<RedeliverWish, Items<RecordView>> = Call::change("/deliveries/redeliver");
/// Sends once more what was given up to an endpoint: a part of it; `tenant`.
pub const REDELIVER_DEAD: Call<DeadWish, RedeliveredView> = Call::change("/webhooks/{endpoint}/redeliver-dead");
/// Whether the hosts of active endpoints can be called, as far as their names tell.
pub const HOSTS: Call<(), HostsView> = Call::look("/webhook-hosts");

/// Deliveries sent once more in one transaction.
const REDELIVERED_AT_ONCE: usize = 64;
/// Hosts that are asked for at a time, and how long that may take in all.
const HOSTS_AT_ONCE: usize = 16;
const HOSTS_TIME: Duration = Duration::from_secs(3);

/// Deliveries.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeliveriesView {
    /// In the order in which they were enqueued.
    pub items: Vec<RecordView>,
    /// Whether there are older ones.
    pub truncated: bool,
}

/// Asks for deliveries to be sent once more.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RedeliverWish {
    /// Whose.
    pub tenant: String,
    /// Their numbers: all of them, or none.
    pub delivery_ids: Vec<u64>,
}

/// Asks for what was given up to be sent once more.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeadWish {
    /// Given up at this instant or later; RFC 3339.
    pub since: String,
    /// From this number on.
    #[serde(default)]
    pub from: u64,
    /// Up to this number; up to the last one there is, if absent.
    #[serde(default)]
    pub until: Option<u64>,
}

/// What was sent once more.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RedeliveredView {
    /// Deliveries enqueued anew.
    pub redelivered: u64,
    /// Deliveries that were looked at.
    pub looked_at: u64,
    /// Where to go on; absent at the end.
    pub next: Option<u64>,
    /// The last number that is looked at.
    pub until: u64,
}

/// Hosts that cannot be called.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HostsView {
    /// What is wrong with which.
    pub items: Vec<HostView>,
    /// How many were looked at.
    pub looked_at: u64,
    /// How many there was no time for.
    pub left_out: u64,
}

/// A host that cannot be called.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HostView {
    /// Its name, and the port.
    pub host: String,
    /// What is wrong.
    pub problem: String,
    /// Whether the name does not resolve.
    pub is_unresolved: bool,
    /// An endpoint there.
    pub endpoint_id: String,
    /// How many there are.
    pub endpoints: u64,
}

/// How webhooks stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhooksView {
    /// Endpoints of all tenants.
    pub endpoints: u64,
    /// Those that are inactive.
    pub endpoints_disabled: u64,
    /// Those of them that were disabled because deliveries were given up and none was taken.
    pub endpoints_given_up: u64,
    /// Deliveries that have not ended.
    pub pending_deliveries: u64,
    /// For how long an attempt has been due; absent if none is.
    pub oldest_due_seconds: Option<u64>,
}

pub(super) fn routes(app: App) -> Router {
    Router::new()
        .merge(LIST.served_by(list))
        .merge(SHOW.served_by(show))
        .merge(ENABLE.served_by(enable))
        .merge(TEST.served_by(test))
        .merge(DELIVERIES.served_by(deliveries))
        .merge(DELIVERY.served_by(delivery))
        .merge(REDELIVER.served_by(redeliver))
        .merge(REDELIVER_DEAD.served_by(redeliver_dead))
        .merge(HOSTS.served_by(async |State(app): State<App>| HOSTS.answer(&hosts(&app).await?)))
        .with_state(app)
}

/// The services that have webhooks; the first is meant where none is named.
fn rooms(app: &App) -> [Operator; 2] {
    [quintet_runs::operator::webhooks(&app.runs), quintet_localization::operator::webhooks(&app.localization)]
}

/// Of the service that is named, or of runs.
fn room(asked: &mut Asked, app: &App) -> Result<Operator, TaskError> {
    let named = asked.0.take("service");
    let named = named.as_deref().unwrap_or(Service::Runs.name());
    let rooms = rooms(app);
    let known: Vec<&str> = rooms.iter().map(|room| room.webhooks.service.name()).collect();
    let unknown = || TaskError::Unusable(format!("no service {named:?} has webhooks; {}", meant(named, &known)));
    rooms.iter().find(|room| room.webhooks.service.name() == named).cloned().ok_or_else(unknown)
}

/// The endpoint of this id, among those of the tenant that is named, or of all.
fn endpoint(asked: &mut Asked, app: &App, room: &Operator, id: &str) -> Result<(Tenant, EndpointKey), TaskError> {
    let none = || TaskError::NotFound(format!("there is no webhook endpoint {id:?}"));
    let endpoint_id = (room.webhooks.read_id)(id).ok_or_else(none)?;
    for tenant in asked.tenants(app)? {
        let key = EndpointKey { tenant_id: tenant.tenant_id, endpoint_id };
        if room.endpoint(key)?.is_some() {
            return Ok((tenant, key));
        }
    }
    Err(none())
}

/// The endpoint of a path, of which service it is, and whose.
fn named(app: &App, raw: Option<&str>, id: &str) -> Result<(Operator, Tenant, EndpointKey), TaskError> {
    let mut asked = Asked::of(raw)?;
    let room = room(&mut asked, app)?;
    let (tenant, key) = endpoint(&mut asked, app, &room, id)?;
    Ok((room, tenant, key))
}

/// Runs a verb on the writer.
async fn write<T: Send + 'static>(
    app: &App,
    verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<NotDone>> + Send + 'static,
) -> Result<T, TaskError> {
    app.store.write(Instant::now() + WRITE_DEADLINE, verb).await.map_err(|abort| match abort {
        Abort::Failed(failure) => failure.into(),
        Abort::Refused(refusal) if refusal.is_absence() => TaskError::NotFound(refusal.to_string()),
        Abort::Refused(refusal) => TaskError::Conflict(refusal.to_string()),
    })
}

async fn list(State(app): State<App>, RawQuery(raw): RawQuery) -> Result<Response, TaskError> {
    let mut asked = Asked::of(raw.as_deref())?;
    let room = room(&mut asked, &app)?;
    let tenants = asked.tenants(&app)?;
    let listed = blocking(move || {
        let mut items = Vec::new();
        for tenant in &tenants {
            let endpoints = room.endpoints(tenant.tenant_id)?;
            items.extend(endpoints.into_iter().map(|record| view(tenant, record)));
        }
        Ok::<_, Failure>(items)
    });
    LIST.answer(&Items { items: listed.await?? })
}

async fn show(State(app): State<App>, Path(id): Path<String>, RawQuery(raw): RawQuery) -> Result<Response, TaskError> {
    let (room, tenant, key) = named(&app, raw.as_deref(), &id)?;
    let record = room.endpoint(key)?;
    SHOW.answer(&view(&tenant, record.unwrap_or_default()))
}

async fn enable(
    State(app): State<App>,
    Path(id): Path<String>,
    RawQuery(raw): RawQuery,
) -> Result<Response, TaskError> {
    let (Operator { webhooks, .. }, tenant, key) = named(&app, raw.as_deref(), &id)?;
    let record = write(&app, move |tx, now| webhooks.enable_for_operator(tx, now, key)).await?;
    ENABLE.answer(&view(&tenant, record))
}

async fn test(State(app): State<App>, Path(id): Path<String>, RawQuery(raw): RawQuery) -> Result<Response, TaskError> {
    let (Operator { webhooks, .. }, tenant, key) = named(&app, raw.as_deref(), &id)?;
    let record = write(&app, move |tx, now| webhooks.test_for_operator(tx, now, key)).await?;
    TEST.answer(&view(&tenant, record))
}

async fn deliveries(State(app): State<App>, RawQuery(raw): RawQuery) -> Result<Response, TaskError> {
    let mut asked = Asked::of(raw.as_deref())?;
    let room = room(&mut asked, &app)?;
    let (tenants, endpoint_id) = match asked.0.take("endpoint") {
        None => (asked.tenants(&app)?, None),
        Some(id) => {
            let (tenant, key) = endpoint(&mut asked, &app, &room, &id)?;
            (vec![tenant], Some(key.endpoint_id))
        }
    };
    let state = asked.0.take("state").map(|name| state_named(&name)).transpose()?;
    let limit = asked.limit()?;
    let wanted = Wanted { endpoint_id, state, limit };
    DELIVERIES.answer(&blocking(move || newest(&room, &tenants, &wanted)).await??)
}

/// The newest deliveries of these tenants.
fn newest(room: &Operator, tenants: &[Tenant], wanted: &Wanted) -> Result<DeliveriesView, Failure> {
    let (mut all, mut truncated): (Vec<(Timestamp, RecordView)>, bool) = (Vec::new(), false);
    for tenant in tenants {
        let (found, has_more) = room.deliveries(tenant.tenant_id, wanted)?;
        all.extend(found.into_iter().map(|(at, record)| (at, view(tenant, record))));
        all.sort_by_key(|(at, _)| *at);
        let more = all.len().saturating_sub(wanted.limit);
        all.drain(..more);
        truncated |= has_more || more > 0;
    }
    Ok(DeliveriesView { items: all.into_iter().map(|(_, one)| one).collect(), truncated })
}

fn state_named(name: &str) -> Result<DeliveryState, TaskError> {
    let known = DeliveryState::ALL.map(DeliveryState::name);
    let state = DeliveryState::ALL.into_iter().find(|state| state.name() == name);
    state.ok_or_else(|| TaskError::Unusable(format!("unknown state {name:?}; {}", meant(name, &known))))
}

async fn delivery(
    State(app): State<App>,
    Path((tenant, id)): Path<(String, u64)>,
    RawQuery(raw): RawQuery,
) -> Result<Response, TaskError> {
    let room = room(&mut Asked::of(raw.as_deref())?, &app)?;
    let tenant = tenants::resolve(&app.store.read(), &tenant)?;
    let none = || TaskError::NotFound(format!("tenant {:?} has no delivery {id}", tenant.name));
    let record = room.delivery(tenant.tenant_id, id)?.ok_or_else(none)?;
    DELIVERY.answer(&view(&tenant, record))
}

async fn redeliver(State(app): State<App>, RawQuery(raw): RawQuery, body: Body) -> Result<Response, TaskError> {
    let Operator { webhooks, .. } = room(&mut Asked::of(raw.as_deref())?, &app)?;
    let wish = REDELIVER.wish(body).await?;
    if wish.delivery_ids.len() > REDELIVERED_AT_ONCE {
        return Err(TaskError::Unusable(format!("{REDELIVERED_AT_ONCE} deliveries at a time")));
    }
    let tenant = tenants::resolve(&app.store.read(), &wish.tenant)?;
    let tenant_id = tenant.tenant_id;
    let made = write(&app, move |tx, now| webhooks.redeliver_all(tx, now, tenant_id, &wish.delivery_ids)).await?;
    REDELIVER.answer(&Items { items: made.into_iter().map(|record| view(&tenant, record)).collect() })
}

async fn redeliver_dead(
    State(app): State<App>,
    Path(id): Path<String>,
    RawQuery(raw): RawQuery,
    body: Body,
) -> Result<Response, TaskError> {
    let (room, _, key) = named(&app, raw.as_deref(), &id)?;
    let wish = REDELIVER_DEAD.wish(body).await?;
    let since = parse_rfc3339(&wish.since)
        .map_err(|error| TaskError::Unusable(format!("{:?} is no instant: {error}", wish.since)))?;
    let EndpointKey { tenant_id, endpoint_id } = key;
    let webhooks: Webhooks = room.webhooks;
    let until = match wish.until {
        Some(until) => until,
        // What dies from now on is not sent once more, or it would never end.
        None => room.last_delivery(tenant_id)?,
    };
    let wanted = Dead { endpoint_id, since, from: wish.from, until, limit: REDELIVERED_AT_ONCE };
    let page = blocking(move || room.dead(tenant_id, &wanted)).await??;
    let (looked_at, next) = (page.looked_at, page.next);
    let redelivered = write(&app, move |tx, now| webhooks.redeliver_dead(tx, now, key, &page)).await?;
    REDELIVER_DEAD.answer(&RedeliveredView { redelivered, looked_at, next, until })
}

async fn hosts(app: &App) -> Result<HostsView, TaskError> {
    let begun = Instant::now();
    let rooms = rooms(app);
    let found = blocking(move || {
        let mut found = Vec::new();
        for room in rooms {
            found.extend(room.hosts()?.into_iter().map(|host| (room.clone(), host)));
        }
        Ok::<_, Failure>(found)
    });
    let all = found.await??;
    let (count, mut looked_at, mut items) = (all.len(), 0, Vec::new());
    for some in all.chunks(HOSTS_AT_ONCE) {
        if begun.elapsed() + Duration::from_secs(2) > HOSTS_TIME {
            break;
        }
        looked_at += some.len();
        let asked = some.iter().cloned().map(|(room, host)| {
            tokio::spawn(async move {
                let endpoint_id = (room.webhooks.write_id)(host.example.endpoint_id);
                room.obstacle(&host).await.map(|error| host_view(&host, endpoint_id, error))
            })
        });
        for asked in asked.collect::<Vec<_>>() {
            items.extend(asked.await.ok().flatten());
        }
    }
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    Ok(HostsView { items, looked_at: number(looked_at), left_out: number(count - looked_at) })
}

fn host_view(host: &Host, endpoint_id: String, error: EgressError) -> HostView {
    HostView {
        host: host.authority.clone(),
        problem: error.to_string(),
        is_unresolved: matches!(error, EgressError::Unresolved | EgressError::TimedOut),
        endpoint_id,
        endpoints: host.endpoints,
    }
}

/// How the webhooks of all services stand.
pub(super) fn standing(app: &App) -> Result<WebhooksView, Failure> {
    let mut view = WebhooksView::default();
    for room in rooms(app) {
        let standing = room.standing()?;
        view.endpoints += standing.endpoints;
        view.endpoints_disabled += standing.disabled;
        view.endpoints_given_up += standing.given_up;
        view.pending_deliveries += standing.waiting;
    }
    // Whose webhook is given up there is told so, and enables it.
    let messaging = quintet_messaging::operator::webhooks_standing(&app.messaging)?;
    view.endpoints += messaging.endpoints;
    view.endpoints_disabled += messaging.disabled;
    view.pending_deliveries += messaging.waiting;
    let now = app.clock.now();
    let seconds = |at: Timestamp| u64::try_from(now.micros_since(at).max(0) / 1_000_000).unwrap_or(0);
    view.oldest_due_seconds = app.pump.oldest_due()?.filter(|at| *at <= now).map(seconds);
    Ok(view)
}
