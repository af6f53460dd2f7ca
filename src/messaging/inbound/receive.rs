//! The way of a call: what it must show, in the order of the documentation, and the one transaction that makes a message of it
//! (6-messaging.md, H2 to H5).
//!
//! Before that transaction nothing is written, and nothing is known of whoever calls but that he has the secret. In it
//! everything is looked at again: the secret may have been renewed meanwhile, and the same call may have come twice.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use quintet_platform::access::Service;
use quintet_platform::secrets::Secret;
use quintet_platform::service::{Fault, Turns, failed, refusal_of};
use quintet_storage::{Abort, Failure, Read, Timestamp, Uuid, WriteTx};

use super::message::{Spoken, spoken};
use super::model::{Endpoint, EndpointId, Secrets};
use super::replays::{Known, look, remember};
use super::rows;
use super::signature::{Proved, prove};
use crate::context::Context;
use crate::dialect::WRITER_TIME;
use crate::identity::{Workspace, mailboxes, serving, workspaces};
use crate::mail::messages::HERE_BYTES_MAX;
use crate::mail::post::{Said, post};
use crate::model::{AgentKey, DeliveryId};
use crate::refusal::Refusal;
use crate::rejections::Rejection;
use crate::sending::store;
use crate::usage::{self, Daily};
use crate::words::secret::SECRET_BYTES;

/// What a call's timestamp may be off by, in seconds, either way.
const WINDOW_SECONDS: i64 = 300;
/// A body that is looked at where the request is served; larger ones wait for their turn elsewhere.
pub(super) const SMALL_BODY_BYTES: usize = 32 << 10;

/// A call.
pub(super) struct Arrived {
    /// The endpoint that its address names, if it can name one.
    pub(super) endpoint: Option<EndpointId>,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// Where it comes from: who sends much waits behind himself.
    pub(super) source: Uuid,
    /// Whether this appliance makes it itself.
    pub(super) is_from_within: bool,
}

/// An endpoint, with what a call of it is held against.
struct Found {
    agent: AgentKey,
    workspace: Workspace,
    endpoint: Endpoint,
    secrets: Secrets,
}

/// Why a call has become nothing.
#[derive(Clone, Debug)]
pub(super) enum NotTaken {
    /// It is rejected: whoever calls is not told why.
    Rejected(Rejection),
    /// Whoever has the secret is told why.
    Refused(Refusal),
}

impl From<Refusal> for NotTaken {
    fn from(refusal: Refusal) -> NotTaken {
        NotTaken::Refused(refusal)
    }
}

impl NotTaken {
    /// As it is answered.
    pub(super) fn refusal(self) -> Refusal {
        match self {
            NotTaken::Rejected(_) => Refusal::InvalidSignature,
            NotTaken::Refused(refusal) => refusal,
        }
    }
}

/// Takes a call in; the delivery that it has become.
///
/// # Errors
/// What is wrong with it.
pub(super) async fn receive(context: &Context, arrived: Arrived) -> Result<Uuid, NotTaken> {
    let now = context.now();
    let found = find(&context.store.read(), now, arrived.endpoint).map_err(|failure| failed::<Refusal>(&failure))?;
    // Where there is none, as much is computed as where there is one.
    let secrets = found.as_ref().map_or_else(nobody, |found| found.secrets.clone());
    let Arrived { headers, body, source, is_from_within, .. } = arrived;
    let proving = (headers.clone(), body.clone());
    let proving = move || prove(&proving.0, &proving.1, &secrets);
    let proved = in_turn(&context.strangers, source, body.len(), proving).await?;
    let Some(found) = found else { return Err(NotTaken::Rejected(Rejection::Signature)) };
    let Some(proved) = proved else { return Err(reject(context, &found, Rejection::Signature)) };
    if !is_in_window(&proved, now) {
        return Err(reject(context, &found, Rejection::Stale));
    }
    let known = look(&context.store.read(), now, found.agent, found.endpoint.id, &proved);
    if known.map_err(|failure| failed::<Refusal>(&failure))? == Known::Replay {
        return Err(reject(context, &found, Rejection::Replay));
    }
    let admitted = context.admit_own(Service::Messaging, found.workspace.tenant_id);
    admitted.map_err(|not| Refusal::from(Fault::of_admission(not)))?;
    let (workspace, form, size) = (found.workspace.clone(), proved.form, body.len());
    let reading = move || spoken(&workspace, &headers, form, &body, is_from_within);
    let spoken = in_turn(&context.lookers, found.workspace.tenant_id, size, reading).await??;
    take(context, Arc::new(found), proved, spoken).await
}

/// Does what takes as long as a body is large.
async fn in_turn<T: Send + 'static>(
    turns: &Turns,
    party: Uuid,
    size: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refusal> {
    if size <= SMALL_BODY_BYTES { Ok(work()) } else { Ok(turns.take(party, work).await?) }
}

/// The endpoint of an id; a secret that is no longer good is not among its own.
fn find(read: &impl Read, now: Timestamp, id: Option<EndpointId>) -> Result<Option<Found>, Failure> {
    let Some(agent) = rows::owner(read, id.unwrap_or(EndpointId(Uuid::nil())))? else { return Ok(None) };
    let Some(workspace) = workspaces::find(read, agent.0)? else { return Ok(None) };
    let opened = rows::open(read, workspace.tenant_id, agent)?.filter(|(endpoint, _)| Some(endpoint.id) == id);
    Ok(opened.map(|(endpoint, mut secrets)| {
        if endpoint.previous_until.is_none_or(|until| until <= now) {
            secrets.previous = None;
        }
        Found { agent, workspace, endpoint, secrets }
    }))
}

/// What a call is held against where there is no endpoint.
pub(super) fn nobody() -> Secrets {
    Secrets { current: Secret::new(vec![0; SECRET_BYTES]), previous: None }
}

/// Counts a call that is rejected, in memory.
fn reject(context: &Context, found: &Found, rejection: Rejection) -> NotTaken {
    if context.rejections.note(found.endpoint.id.number(), rejection, context.now()) {
        context.clock.wake();
    }
    NotTaken::Rejected(rejection)
}

fn is_in_window(proved: &Proved, now: Timestamp) -> bool {
    let seconds = now.as_micros().div_euclid(1_000_000);
    (seconds - proved.timestamp).abs() <= WINDOW_SECONDS
}

/// What the transaction makes of a call.
enum Taken {
    Accepted(Uuid),
    Rejected(Rejection),
}

/// Makes a message of a call that is proved.
async fn take(context: &Context, found: Arc<Found>, proved: Proved, spoken: Spoken) -> Result<Uuid, NotTaken> {
    let contents = spoken.encoded().map_err(|failure| failed::<Refusal>(&failure))?;
    // What the transaction does not take goes again.
    let (said, _staged) = if contents.len() <= HERE_BYTES_MAX {
        (Said::Here(contents), None)
    } else {
        let staged = store(context, &found.workspace, &contents).await?;
        (Said::Large(staged.value().clone()), Some(staged))
    };
    let own = Arc::clone(&found);
    let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| accept(tx, now, &own, &proved, &spoken, said);
    match context.write(WRITER_TIME, verb).await.map_err(refusal_of)? {
        Taken::Accepted(delivery_id) => Ok(delivery_id),
        Taken::Rejected(rejection) => Err(reject(context, &found, rejection)),
    }
}

/// The one transaction of a call.
fn accept(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    found: &Found,
    proved: &Proved,
    spoken: &Spoken,
    said: Said,
) -> Result<Taken, Abort<Refusal>> {
    let Found { agent, workspace, endpoint, .. } = found;
    let agent = *agent;
    let used = endpoint.generation.saturating_sub(u32::from(proved.is_by_previous));
    let today = rows::find(tx, agent)?.filter(|today| today.id == endpoint.id && today.is_good(used, now));
    let Some(endpoint) = today else { return Ok(Taken::Rejected(Rejection::Signature)) };
    if !is_in_window(proved, now) {
        return Ok(Taken::Rejected(Rejection::Stale));
    }
    match look(tx, now, agent, endpoint.id, proved)? {
        Known::New => {}
        Known::Replay => return Ok(Taken::Rejected(Rejection::Replay)),
        Known::Retry(delivery_id) => {
            remember(tx, now, agent, endpoint.id, proved, delivery_id)?;
            return Ok(Taken::Accepted(delivery_id));
        }
    }
    let workspace = workspaces::find(tx, workspace.no)?.ok_or(Refusal::WorkspaceDeleted)?;
    serving(tx, &workspace)?;
    let mailbox = mailboxes::get(tx, agent)?;
    if mailbox.is_retired {
        return Err(Refusal::AgentRetired(mailbox.name).into());
    }
    usage::count(tx, now, &workspace, Daily::ExternalIn, 1)?;
    let posted = post(tx, now, &workspace, spoken.letter(&endpoint, (agent.1, mailbox), said))?;
    // What is held has no place yet; it is found by its message until then.
    let delivery_id = match posted.held.is_empty() {
        true => {
            let seq = mailboxes::get(tx, agent)?.last_seq;
            DeliveryId { arrived_at: now, agent: agent.1, seq }.to_uuid()
        }
        false => posted.message.0,
    };
    remember(tx, now, agent, endpoint.id, proved, delivery_id)?;
    let mut counts = rows::counts(tx, agent)?;
    counts.accepted = counts.accepted.saturating_add(1);
    counts.last_accepted_at = Some(now);
    rows::put_counts(tx, agent, counts)?;
    Ok(Taken::Accepted(delivery_id))
}
