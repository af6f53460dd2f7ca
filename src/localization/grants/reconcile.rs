//! The reconciler: every ten seconds it tells the authorization system what that does not know yet, and finds out what it
//! has removed (localization, S5); and what it has of revoked grants, for what was told first may arrive last, after an answer
//! was no longer waited for.
//!
//! A round is bounded. Where it ends early, because there is much or because the system is away, the next one goes on behind
//! the place that it came to, so that one grant which cannot be settled is in nobody's way.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};
use std::convert::Infallible;
use std::time::{Duration, Instant};

use quintet_storage::{Abort, Failure, Read, Scan, Store, Timestamp, Uuid};

use super::create::get_grant;
use super::settle::settle_grant;
use super::tell::tell;
use crate::access::{
    GRANTS, GRANTS_BY_PRINCIPAL, GRANTS_MAX, GrantId, IntentState, IntentStep, OPEN_GRANTS, REVOKED_GRANTS,
};
use crate::audit::Actor;
use crate::authorization::{AuthorizationSystem, SystemFailure};
use crate::context::{Context, WRITER_TIME};
use crate::model::TenantId;
use crate::refusal::Refusal;

/// How long it rests, of real time.
const REST: Duration = Duration::from_secs(10);
/// How many open grants a round settles.
const OPEN_MAX: usize = 200;
/// How many principals a round asks for, and how many it looks at to find them.
const ASKED_MAX: usize = 100;
const LOOKED_AT_MAX: usize = 2_000;
/// How many revoked grants a round looks after.
const REVOKED_MAX: usize = 50;

/// Reconciles for as long as it is polled.
pub async fn reconcile(context: Context) {
    let mut places = Places::default();
    loop {
        tokio::time::sleep(REST).await;
        if let Err(failure) = round_of(&context.store, context.authorization.as_ref(), &mut places).await {
            tracing::warn!(%failure, "grants could not be reconciled; trying again later");
        }
    }
}

/// How far the last round came: it begins anew from the first where there is nothing behind.
#[derive(Debug, Default)]
pub(super) struct Places {
    open: Option<(TenantId, GrantId)>,
    principal: Option<(TenantId, Uuid)>,
    revoked: Option<(TenantId, Timestamp, GrantId)>,
}

/// One round.
///
/// # Errors
/// Only the store's.
pub(super) async fn round_of(
    store: &Store,
    system: &dyn AuthorizationSystem,
    places: &mut Places,
) -> Result<(), Failure> {
    if settle_open(store, system, places).await? && system.is_told() {
        compare(store, system, places).await?;
        look_after_revoked(store, system, places).await?;
    }
    Ok(())
}

/// Asks the system for what it has of grants that are revoked for good: whatever is there is to be removed again.
async fn look_after_revoked(
    store: &Store,
    system: &dyn AuthorizationSystem,
    places: &mut Places,
) -> Result<(), Failure> {
    let scan = Scan::all().limit(REVOKED_MAX);
    let revoked = store.read().scan(&REVOKED_GRANTS, places.revoked.iter().fold(scan, Scan::after))?;
    places.revoked = revoked.last().filter(|_| revoked.len() == REVOKED_MAX).map(|(key, _)| *key);
    let mut known: BTreeMap<Uuid, HashSet<Uuid>> = BTreeMap::new();
    for ((tenant_id, _, grant_id), _) in revoked {
        let Some(row) = store.read().get(&GRANTS, &(tenant_id, grant_id))? else { continue };
        let grant = row.into_grant(grant_id)?;
        if !grant.intents.iter().any(|intent| intent.is_told) {
            continue;
        }
        let there = match known.entry(grant.principal_id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                system.patience().await;
                match system.intents_of(grant.principal_id).await {
                    Ok(there) => unknown.insert(there),
                    Err(SystemFailure::Refused(404 | 410)) => unknown.insert(HashSet::new()),
                    // What is not said now is asked for when all others were.
                    Err(SystemFailure::Away | SystemFailure::Paced) => return Ok(()),
                    Err(_) => continue,
                }
            }
        };
        let left = grant.numbered().filter(|(_, id, intent)| intent.is_told && there.contains(id));
        let steps: Vec<_> = left.map(|(place, ..)| (place, IntentStep::StillThere)).collect();
        settle(store, tenant_id, grant_id, steps).await?;
    }
    Ok(())
}

/// Tells the system of what is open. Whether it is there.
async fn settle_open(store: &Store, system: &dyn AuthorizationSystem, places: &mut Places) -> Result<bool, Failure> {
    let scan = Scan::all().limit(OPEN_MAX);
    let open = store.read().scan(&OPEN_GRANTS, places.open.iter().fold(scan, Scan::after))?;
    let is_last = open.len() < OPEN_MAX;
    for ((tenant_id, grant_id), _) in open {
        places.open = Some((tenant_id, grant_id));
        let grant = match get_grant(&store.read(), tenant_id, grant_id) {
            Ok(grant) => grant,
            Err(Abort::Refused(_)) => continue,
            Err(Abort::Failed(failure)) => return Err(failure),
        };
        let told = tell(system, tenant_id, &grant, true).await;
        settle(store, tenant_id, grant_id, told.steps).await?;
        if told.failure == Some(SystemFailure::Away) {
            return Ok(false);
        }
    }
    if is_last {
        places.open = None;
    }
    Ok(true)
}

/// What a principal should have there: of each intent the grant, its place in it, and its id.
struct Expected {
    tenant_id: TenantId,
    principal_id: Uuid,
    intents: Vec<(GrantId, usize, Uuid)>,
}

/// Asks the system what principals have; what is missing there ends here.
async fn compare(store: &Store, system: &dyn AuthorizationSystem, places: &mut Places) -> Result<(), Failure> {
    let (reading, after) = (store.clone(), places.principal);
    let gathered = tokio::task::spawn_blocking(move || gather(&reading.read(), after)).await;
    let (expected, next) = gathered.map_err(|_| Failure::Panicked)??;
    places.principal = next;
    for Expected { tenant_id, principal_id, intents } in expected {
        system.patience().await;
        let there = match system.intents_of(principal_id).await {
            Ok(there) => there,
            Err(SystemFailure::Away | SystemFailure::Paced) => {
                places.principal = Some((tenant_id, principal_id));
                return Ok(());
            }
            Err(failure) => {
                tracing::warn!(%principal_id, %failure, "the authorization system does not say what a principal has");
                continue;
            }
        };
        let mut missing: BTreeMap<GrantId, Vec<(usize, IntentStep)>> = BTreeMap::new();
        for (grant_id, place, _) in intents.into_iter().filter(|(.., id)| !there.contains(id)) {
            missing.entry(grant_id).or_default().push((place, IntentStep::Missing));
        }
        for (grant_id, steps) in missing {
            settle(store, tenant_id, grant_id, steps).await?;
        }
    }
    Ok(())
}

/// A principal of a tenant.
type Principal = (TenantId, Uuid);

/// What the next principals should have there, and behind which to go on; `None`: with the first.
fn gather(read: &impl Read, after: Option<Principal>) -> Result<(Vec<Expected>, Option<Principal>), Failure> {
    let (mut found, mut place, mut looked_at) = (Vec::new(), after, 0);
    while found.len() < ASKED_MAX && looked_at < LOOKED_AT_MAX {
        looked_at += 1;
        let scan = Scan::all().limit(1);
        let behind = place.map(|(tenant_id, principal_id)| (tenant_id, principal_id, GrantId(Uuid::max())));
        let first = read.scan(&GRANTS_BY_PRINCIPAL, behind.iter().fold(scan, Scan::after))?;
        let Some(((tenant_id, principal_id, _), _)) = first.into_iter().next() else { return Ok((found, None)) };
        place = Some((tenant_id, principal_id));
        let mut intents = Vec::new();
        let own = Scan::prefix(&(tenant_id, principal_id)).limit(GRANTS_MAX);
        for ((.., grant_id), _) in read.scan(&GRANTS_BY_PRINCIPAL, own)? {
            let Some(row) = read.get(&GRANTS, &(tenant_id, grant_id))? else { continue };
            let grant = row.into_grant(grant_id)?;
            let held = grant.numbered().filter(|(.., intent)| intent.is_told && intent.state == IntentState::Granted);
            intents.extend(held.map(|(place, intent_id, _)| (grant_id, place, intent_id)));
        }
        if !intents.is_empty() {
            found.push(Expected { tenant_id, principal_id, intents });
        }
    }
    Ok((found, place))
}

/// Takes steps of a grant, if there are any and the grant is there still.
async fn settle(
    store: &Store,
    tenant_id: TenantId,
    grant_id: GrantId,
    steps: Vec<(usize, IntentStep)>,
) -> Result<(), Failure> {
    if steps.is_empty() {
        return Ok(());
    }
    let settled = store.write(Instant::now() + WRITER_TIME, move |tx, now| {
        match settle_grant(tx, now, &Actor::operator(tenant_id), grant_id, &steps) {
            Ok(_) | Err(Abort::Refused(Refusal::NotFound)) => Ok(()),
            Err(Abort::Refused(other)) => Err(Abort::<Infallible>::Failed(Failure::Io(format!("{other:?}")))),
            Err(Abort::Failed(failure)) => Err(Abort::Failed(failure)),
        }
    });
    match settled.await {
        Ok(()) => Ok(()),
        Err(Abort::Failed(failure)) => Err(failure),
        Err(Abort::Refused(never)) => match never {},
    }
}
