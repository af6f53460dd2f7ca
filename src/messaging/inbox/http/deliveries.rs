//! One delivery.

use http::Method;
use quintet_platform::json::to_compact;
use quintet_platform::service::{Answer, Route, Segment, Shape, failed, json as success, refusal_of};
use quintet_storage::{Abort, Failure, Read};

use super::super::find::{Mine, find};
use crate::dialect::{ACTING, Answered, Call, WRITER_TIME};
use crate::identity::{Scope, Workspace};
use crate::mail::model::{Kept, Sender};
use crate::mail::{deliver, origins, threads};
use crate::model::{AgentKey, AgentNo, MailId};
use crate::refusal::Refusal;
use crate::shown::{Placed, delivery, opened};

/// The delivery that a path names; a message that the agent got or sent does as well.
pub(super) const DELIVERY: Segment = Segment::new("delivery_id", Shape::Ulid);

pub(super) const GET: Route = Route::get("get_delivery", "/v1/deliveries/{delivery_id}")
    .permission("read")
    .marks(&[ACTING])
    .summary("One delivery, or a message that the agent got or sent, with all that it says; a key that may send marks it read")
    .segments(&[DELIVERY])
    .successes(&[success(200, "Delivery")])
    .codes(&["busy"]);

/// Whose it is not, and what is not there, are the same.
pub(super) fn no_delivery() -> Refusal {
    Refusal::NotFound("delivery or message with this id that is for this agent".to_owned())
}

/// What the path names, with the agent that asks.
pub(super) fn mine(call: &Call) -> Result<(AgentKey, Mine), Refusal> {
    let (agent, _) = call.caller.acting()?;
    let id: MailId = call.segment(DELIVERY.name).ok_or_else(no_delivery)?;
    let found = find(&call.snapshot(), agent, id).map_err(|failure| failed::<Refusal>(&failure))?;
    Ok((agent, found.ok_or_else(no_delivery)?))
}

pub(super) async fn get(call: Call) -> Answered {
    let (agent, mut mine) = mine(&call)?;
    // Who only asks whether it is there has not read it.
    if call.caller.key.scope >= Scope::Send && call.parts.method != Method::HEAD {
        mark_read(&call, agent, &mut mine).await?;
    }
    let is_large = matches!(mine.message.kept, Kept::Large(_));
    let (context, workspace) = (call.context.clone(), call.caller.workspace.clone());
    let write = move || Ok(view(&context.store.read(), &workspace, agent.1, &mine)?);
    let body = match is_large {
        true => call.in_turn(&call.context.lookers, write).await?,
        false => write().map_err(refusal_of)?,
    };
    Ok(Answer::json(200, body))
}

/// Marks a delivery read, if that can be written: where it cannot, it can still be read.
async fn mark_read(call: &Call, agent: AgentKey, mine: &mut Mine) -> Result<(), Refusal> {
    let Some((seq, delivery)) = &mut mine.delivered else { return Ok(()) };
    if delivery.read_at.is_some() {
        return Ok(());
    }
    let place = *seq;
    let marked =
        call.context.write::<_, Refusal>(WRITER_TIME, move |tx, now| Ok(deliver::read(tx, now, agent, place)?));
    match marked.await {
        Ok(Some(now)) => *delivery = now,
        Ok(None) => {}
        Err(Abort::Failed(Failure::Busy | Failure::StorageFull | Failure::Stopped | Failure::OutcomeUnknown)) => {}
        Err(abort) => return Err(refusal_of(abort)),
    }
    Ok(())
}

/// A delivery as it is shown.
fn view(read: &impl Read, workspace: &Workspace, agent: AgentNo, mine: &Mine) -> Result<String, Failure> {
    let Mine { delivered, id, message } = mine;
    let (contents, signature) = opened(read, workspace, (*id, message))?;
    let placed = match delivered {
        Some((seq, delivery)) => Placed::Delivered { agent, seq: *seq, delivery },
        None => Placed::Sent,
    };
    let thread = threads::find(read, (workspace.no, message.thread))?;
    let count = thread.map_or(1, |thread| thread.message_count);
    let origin = match message.sender {
        Sender::External(_) => origins::find(read, (workspace.no, *id))?,
        _ => None,
    };
    let verdicts = origin.as_ref().map(|origin| &origin.verdicts);
    Ok(to_compact(&delivery(placed, (*id, message), (&contents, signature), verdicts, count)))
}
