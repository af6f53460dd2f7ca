//! Listing an inbox, and waiting for mail.

use std::time::Duration;

use http::Method;
use quintet_platform::service::{Answer, Parameter, Route, Shape, failed, json as success, refusal_of};
use tokio::time::sleep;

use super::super::page::{Asked, page};
use super::wire::write_page;
use crate::dialect::{ACTING, Answered, Call, WRITER_TIME};
use crate::identity::{keys, mailboxes};
use crate::mail::deliver::release_due;
use crate::model::AgentKey;
use crate::refusal::Refusal;

/// A wait that is longer is one of this length, in seconds.
const WAIT_SECONDS_MAX: i64 = 55;
/// Whoever waits looks this often whether he may, as streams do: not everything that ends a wait is told of.
const LOOK_TIME: Duration = Duration::from_secs(20);
/// A page with more rows is written off the threads that serve everybody.
const ROWS_AT_ONCE: usize = 50;

const CURSOR: Parameter = Parameter::new(
    "cursor",
    Shape::Integer { min: 0, max: i64::MAX, default: Some(0) },
    "Deliveries behind this agent_seq: the next_cursor of the page before.",
);
const LIMIT: Parameter = Parameter::new(
    "limit",
    Shape::Integer { min: 1, max: 200, default: Some(50) },
    "The most deliveries of a page. A page can have fewer and still not be the last.",
);
const LABEL: Parameter =
    Parameter::new("label", Shape::Text { min: 1, max: 64 }, "Deliveries that the agent has given this label.");
const UNREAD: Parameter =
    Parameter::new("unread", Shape::Word(&["true", "false"], "false"), "Deliveries that have not been read.");
const WAIT: Parameter = Parameter::new(
    "wait",
    Shape::Integer { min: 0, max: i64::MAX, default: Some(0) },
    "Waits so many seconds, 55 at the most, if there is nothing to show yet.",
);

pub(super) const LIST: Route = Route::get("list_inbox", "/v1/inbox")
    .permission("read")
    .marks(&[ACTING])
    .summary("The agent's deliveries in the order in which they came; marks nothing read, and releases what is due")
    .parameters(&[CURSOR, LIMIT, LABEL, UNREAD, WAIT])
    .successes(&[success(200, "Inbox")])
    .codes(&["busy"]);

pub(super) async fn list(mut call: Call) -> Answered {
    let (agent, _) = call.caller.acting()?;
    let asked = Asked {
        after: whole(call.integer(&CURSOR)?),
        limit: usize::try_from(whole(call.integer(&LIMIT)?)).unwrap_or(1),
        label: call.text(&LABEL)?,
        is_unread: call.word(&UNREAD)? == Some("true"),
    };
    let wait = call.integer(&WAIT)?.unwrap_or(0).min(WAIT_SECONDS_MAX);
    if call.parts.method != Method::HEAD {
        release(&call, agent).await?;
    }
    let mut waiting = call.context.wakes.wait(agent);
    let mut doubt = call.context.key_wakes.wait(keys::number_of(&call.caller.key.id));
    let over = sleep(Duration::from_secs(whole(Some(wait))));
    tokio::pin!(over);
    let (mut is_over, basis) = (wait == 0, call.caller.basis(false));
    loop {
        waiting.mark();
        doubt.mark();
        let read = call.snapshot();
        // Nobody is told who would not be let in any more, nor waits: it may have ended before this wait could hear of it.
        if wait > 0 {
            basis.check(&read).map_err(refusal_of)?;
        }
        let found = page(&read, agent, &asked).map_err(|failure| failed::<Refusal>(&failure))?;
        drop(read);
        if is_over || !found.rows.is_empty() || found.next > asked.after {
            return written(&call, agent, (asked.after, found)).await;
        }
        tokio::select! {
            () = waiting.come() => {}
            () = doubt.come() => {}
            () = sleep(LOOK_TIME) => {}
            () = &mut over => is_over = true,
            () = call.context.stopped() => is_over = true,
        }
    }
}

/// A number of a query, which the route's description keeps from being negative.
fn whole(number: Option<i64>) -> u64 {
    number.and_then(|number| u64::try_from(number).ok()).unwrap_or(0)
}

/// Releases what is due before it is looked at: the time of what the agent has declared may be over, and nobody has swept
/// that up yet. If nothing can be written, what is stored is shown all the same.
async fn release(call: &Call, agent: AgentKey) -> Result<(), Refusal> {
    let mailbox = mailboxes::get(&call.snapshot(), agent).map_err(|failure| failed::<Refusal>(&failure))?;
    if mailbox.held_count > 0 && mailbox.standing.is_over(call.now()) {
        let released = call.context.write::<_, Refusal>(WRITER_TIME, move |tx, now| Ok(release_due(tx, now, agent)?));
        if let Err(error) = released.await {
            tracing::debug!(?error, "what is due to an agent could not be released");
        }
    }
    Ok(())
}

async fn written(call: &Call, agent: AgentKey, found: (u64, super::super::page::Page)) -> Answered {
    let (context, workspace) = (call.context.clone(), call.caller.workspace.clone());
    let is_small = found.1.rows.len() <= ROWS_AT_ONCE;
    let write = move || {
        let read = context.store.read();
        Ok(write_page(&read, &workspace, agent.1, found)?)
    };
    let body = match is_small {
        true => write().map_err(refusal_of)?,
        false => call.in_turn(&call.context.lookers, write).await?,
    };
    Ok(Answer::json(200, body))
}
