//! Raising, listing, looking at and cancelling approvals. No key decides one.

use std::time::Duration;

use quintet_platform::http::body;
use quintet_platform::ids::ulid;
use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{
    Answer, Content, FromSegment as _, KeyRule, Parameter, Route, Shape, failed, json as success, refusal_of,
};
use quintet_storage::{Abort, Timestamp, WriteTx};
use tokio::time::sleep;

use super::super::cancel::{self, Canceller};
use super::super::mails::ByMail;
use super::super::model::{Status, told_as};
use super::super::raise::{self, NewApproval};
use super::super::record::{self, Known};
use super::super::rows;
use super::form;
use super::path::{APPROVAL, approval_key};
use crate::dialect::{ACTING, Answered, Call};
use crate::form::members;
use crate::identity::keys;
use crate::model::ApprovalId;
use crate::refusal::Refusal;

/// A wait that is longer is one of this length, in seconds (P5).
const WAIT_SECONDS_MAX: i64 = 55;
/// Whoever waits looks this often whether he may: not everything that ends a wait is told of.
const LOOK_TIME: Duration = Duration::from_secs(20);
/// A list has about so many bytes at most.
const LISTED_BYTES_MAX: usize = 2 << 20;

const STATUS: Parameter = Parameter::new(
    "status",
    Shape::Word(&["pending", "approved", "rejected", "timed_out", "cancelled"], ""),
    "Approvals that stand so; absent: all.",
);
const LIMIT: Parameter = Parameter::new(
    "limit",
    Shape::Integer { min: 1, max: 200, default: Some(50) },
    "The most approvals of a page. A page can have fewer and still not be the last.",
);
const CURSOR: Parameter =
    Parameter::new("cursor", Shape::Ulid, "Approvals behind this one: the next_cursor of the page before.");
const WAIT: Parameter = Parameter::new(
    "wait",
    Shape::Integer { min: 0, max: i64::MAX, default: Some(0) },
    "Waits so many seconds for the verdict, 55 at the most; waited_out says that it has not come.",
);

pub(super) const RAISE: Route = Route::post("raise_approval", "/v1/approvals")
    .permission("send")
    .marks(&[ACTING])
    .summary("Put an action before a person, who says yes or no")
    .body(Content::Json("ApprovalNew"))
    .successes(&[success(201, "Approval")])
    .makes("approval_id", "id")
    .key(KeyRule::Optional)
    .codes(&["approvals_not_configured", "quota_exceeded"]);
pub(super) const LIST: Route = Route::get("list_approvals", "/v1/approvals")
    .permission("read")
    .summary("The workspace's approvals, the newest first")
    .parameters(&[STATUS, LIMIT, CURSOR])
    .successes(&[success(200, "Approvals")])
    .codes(&["busy"]);
pub(super) const GET: Route = Route::get("get_approval", "/v1/approvals/{approval_id}")
    .permission("read")
    .summary("One approval, with its verdict once it has one")
    .segments(&[APPROVAL])
    .parameters(&[WAIT])
    .successes(&[success(200, "Approval")]);
pub(super) const CANCEL: Route = Route::post("cancel_approval", "/v1/approvals/{approval_id}/cancel")
    .permission("send")
    .summary("Ask for an approval no more: the agent that raised it, or an admin key")
    .segments(&[APPROVAL])
    .successes(&[success(200, "Approval")])
    .key(KeyRule::Optional)
    .codes(&["already_decided"]);
pub(super) const DECIDE: Route = Route::post("decide_approval", "/v1/approvals/{approval_id}/decision")
    .permission("send")
    .summary("Always refused: a person decides, and no key")
    .segments(&[APPROVAL])
    .successes(&[success(200, "Approval").about("Never")])
    .key(KeyRule::Optional);

pub(super) async fn raise(call: Call) -> Answered {
    let ((_, no), acting) = call.caller.acting()?;
    let (workspace, requester) = (call.caller.workspace.clone(), (no, acting.name.clone()));
    let (attestation, by_mail) = (call.caller.attestation(), ByMail::drawn(&call.context));
    let mut change = call.change().await?;
    change.begin()?;
    let form::Said { title, kind, thread, matter, expires_minutes } = form::read(&mut members(&mut change)?)?;
    let new = NewApproval { title, kind, thread, matter, expires_minutes, requester, attestation, by_mail };
    let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| {
        let matter = new.matter.0.clone();
        let (key, approval) = raise::raise(tx, now, &workspace, new)?;
        let known = Known { key, approval, matter, verdict: None };
        // What it says is sealed where it lies, so it is where the answer is remembered.
        Ok(Answer::json(201, to_compact(&Json::object(known.members(now)))).secret())
    };
    change.write(verb).await
}

pub(super) async fn list(mut call: Call) -> Answered {
    let status = call.word(&STATUS)?.and_then(Status::named);
    let limit = usize::try_from(call.integer(&LIMIT)?.unwrap_or(1)).unwrap_or(1);
    let after = call.text(&CURSOR)?.and_then(|text| ApprovalId::from_segment(&text));
    let (context, workspace, now) = (call.context.clone(), call.caller.workspace.clone(), call.now());
    let look = move || {
        let read = context.store.read();
        let all = rows::list(&read, workspace.no, status, after, limit + 1)?;
        let (mut told, mut bytes, mut last, mut has_more) = (Vec::new(), 0, None, false);
        for id in all {
            let Some(known) = record::known(&read, &workspace, (workspace.no, id))? else { continue };
            bytes += known.bytes();
            if told.len() == limit || bytes > LISTED_BYTES_MAX && !told.is_empty() {
                has_more = true;
                break;
            }
            last = Some(id);
            // The time of one that is found as pending may be over, and nobody has seen to that yet.
            if status.is_none_or(|status| status == known.approval.status_at(now)) {
                told.push(Json::object(known.members(now)));
            }
        }
        let next = last.filter(|_| has_more).map(|id| ulid(id.0));
        Ok(to_compact(&Json::object([("approvals", Json::from(told)), ("next_cursor", next.into())])))
    };
    Ok(Answer::json(200, call.in_turn(&call.context.lookers, look).await?))
}

pub(super) async fn get(mut call: Call) -> Answered {
    let key = approval_key(&call)?;
    let wait = call.integer(&WAIT)?.unwrap_or(0).min(WAIT_SECONDS_MAX);
    let mut waiting = call.context.approval_wakes.wait(told_as(key));
    let mut doubt = call.context.key_wakes.wait(keys::number_of(&call.caller.key.id));
    let over = sleep(Duration::from_secs(u64::try_from(wait).unwrap_or(0)));
    tokio::pin!(over);
    let (mut is_over, basis) = (wait == 0, call.caller.basis(false));
    loop {
        waiting.mark();
        doubt.mark();
        let read = call.snapshot();
        // Nobody is told who would not be let in any more, nor waits.
        if wait > 0 {
            basis.check(&read).map_err(refusal_of)?;
        }
        let now = call.now();
        let approval = rows::named(&read, key).map_err(refusal_of)?;
        let is_pending = approval.status_at(now) == Status::Pending;
        if is_over || !is_pending {
            let known = record::of(&read, &call.caller.workspace, key, approval);
            let known = known.map_err(|failure| failed::<Refusal>(&failure))?;
            let waited_out = ("waited_out", Json::from(is_pending));
            let told = known.members(now).into_iter().chain(Some(waited_out).filter(|_| wait > 0));
            return Ok(Answer::json(200, to_compact(&Json::object(told))));
        }
        drop(read);
        tokio::select! {
            () = waiting.come() => {}
            () = doubt.come() => {}
            () = sleep(LOOK_TIME) => {}
            () = &mut over => is_over = true,
            () = call.context.stopped() => is_over = true,
        }
    }
}

pub(super) async fn cancel(call: Call) -> Answered {
    let key = approval_key(&call)?;
    let (workspace, by) = (call.caller.workspace.clone(), Canceller::of(&call.caller));
    let mut change = call.change().await?;
    change.begin()?;
    let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| -> Result<Answer, Abort<Refusal>> {
        let approval = cancel::cancel(tx, now, &workspace, key, &by)?;
        let known = record::of(tx, &workspace, key, approval)?;
        Ok(Answer::json(200, to_compact(&Json::object(known.members(now)))).secret())
    };
    change.write(verb).await
}

/// Whichever approval it names, and whatever it says: nothing of that is looked at (P4).
pub(super) async fn decide(mut call: Call) -> Answered {
    let body = call.take_body();
    body::pass_over(call.headers(), body).await;
    Err(Refusal::Denied(
        "no key decides an approval: a person does, with `quintet messaging approval decide` or on the page of a link",
    )
    .into())
}
