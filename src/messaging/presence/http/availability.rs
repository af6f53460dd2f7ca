//! Whether an agent takes mail.

use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{Answer, Content, KeyRule, Route, json as success};
use quintet_storage::{Timestamp, WriteTx};

use super::super::declare::{USUAL_SECONDS, be_busy, declare};
use super::form::{read_declared, reason};
use crate::dialect::{Answered, Call};
use crate::form::{AGENT, agent_of, members, optional};
use crate::identity::{Availability, Mailbox, Priority, Standing, mailboxes};
use crate::wire::instant_or_null;

pub(super) const GET: Route = Route::get("get_availability", "/v1/agents/{name}/availability")
    .permission("read")
    .summary("Whether an agent takes mail, until when it does not, and how much is held for it")
    .segments(&[AGENT])
    .successes(&[success(200, "Availability")]);
pub(super) const PUT: Route = Route::put("set_availability", "/v1/agents/{name}/availability")
    .permission("send")
    .summary("Declare whether the agent takes mail; what it does not withhold any more is delivered at once")
    .segments(&[AGENT])
    .body(Content::Json("AvailabilityChange"))
    .successes(&[success(200, "AvailabilityChanged")])
    .codes(&["permission_denied"]);
pub(super) const BUSY: Route = Route::post("set_busy", "/v1/agents/{name}/busy")
    .permission("send")
    .summary("Have the agent be busy for so many seconds, in which its mail is held; 0 ends that")
    .segments(&[AGENT])
    .body(Content::OptionalJson("BusyChange"))
    .successes(&[success(200, "Busy")])
    .key(KeyRule::Optional)
    .codes(&["permission_denied"]);

pub(super) async fn get(call: Call) -> Answered {
    let (no, _) = agent_of(&call)?;
    let (workspace, now) = (call.caller.workspace.no, call.now());
    call.answer(200, |read| Ok(to_compact(&written(&mailboxes::get(read, (workspace, no))?, now)).into()))
}

pub(super) async fn put(call: Call) -> Answered {
    let (no, _) = agent_of(&call)?;
    call.caller.may_change(no)?;
    let agent = (call.caller.workspace.no, no);
    let mut change = call.change().await?;
    change.begin()?;
    let declared = read_declared(&mut members(&mut change)?)?;
    let verb = move |tx: &mut WriteTx<'_>, now| {
        let (mailbox, released) = declare(tx, now, agent, declared)?;
        let mut record = written(&mailbox, now);
        if let Json::Object(members) = &mut record {
            members.push(("released".to_owned(), Json::from(released)));
        }
        Ok(Answer::json(200, to_compact(&record)))
    };
    change.write(verb).await
}

pub(super) async fn busy(call: Call) -> Answered {
    let (no, _) = agent_of(&call)?;
    call.caller.may_change(no)?;
    let agent = (call.caller.workspace.no, no);
    let mut change = call.change().await?;
    change.begin()?;
    let mut fields = members(&mut change)?;
    let (seconds, reason) = (optional::<u64>(&mut fields, "seconds")?.unwrap_or(USUAL_SECONDS), reason(&mut fields)?);
    let verb = move |tx: &mut WriteTx<'_>, now| {
        let mailbox = be_busy(tx, now, agent, Some(seconds), reason)?;
        Ok(Answer::json(200, to_compact(&written_busy(&mailbox.standing, now))))
    };
    change.write(verb).await
}

/// How an agent stands: one whose time is over is online, whether or not that was seen to.
fn current(standing: &Standing, now: Timestamp) -> Standing {
    if standing.is_over(now) { Standing::ONLINE } else { standing.clone() }
}

fn written(mailbox: &Mailbox, now: Timestamp) -> Json {
    let standing = current(&mailbox.standing, now);
    Json::object([
        ("availability", Json::from(standing.availability.name())),
        ("until", instant_or_null(standing.until)),
        ("reason", standing.reason.as_deref().into()),
        ("holds_from", standing.holds_from().map(Priority::name).into()),
        ("held", mailbox.held_count.into()),
    ])
}

fn written_busy(standing: &Standing, now: Timestamp) -> Json {
    let standing = current(standing, now);
    let is_busy = standing.availability == Availability::Busy;
    let until = standing.until.filter(|_| is_busy);
    let seconds = until.map_or(0, |until| (until.as_micros() - now.as_micros()).div_euclid(1_000_000));
    Json::object([
        ("busy", Json::from(is_busy)),
        ("busy_until", instant_or_null(until)),
        ("seconds", seconds.into()),
        ("busy_reason", standing.reason.as_deref().filter(|_| is_busy).into()),
    ])
}
