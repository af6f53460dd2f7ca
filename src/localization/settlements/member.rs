//! The desk, for members at the console: what their own tenant waits for, and taking it (8-console.md, "Who may what").

use std::time::Instant;

use quintet_platform::access::Service;
use quintet_platform::json::Json;
use quintet_platform::vouched::Vouched;
use quintet_storage::{Abort, Failure, Read, Uuid};
use serde_json::Value;

use super::operator::{WRITER_TIME, view, warm, whole};
use crate::approvals::{names_needed, request_asked_by};
use crate::context::Context;
use crate::decisions::SubjectKind;
use crate::desk::{self, Decide, DeskDecision, DeskRefusal, Verdict, decisions_of, get_decision};
use crate::licences::licence_asked_by;
use crate::model::{ProjectId, TenantId};

/// What it takes to decide at the desk.
pub const DECIDE: &str = "decision_decide";

/// Decisions of a tenant, the newest first, at most so many: those that wait, or with `all` those that were taken, too.
///
/// # Errors
/// Only the store's.
pub fn list(context: &Context, tenant_id: Uuid, all: bool, limit: usize) -> Result<Vec<Value>, Failure> {
    Ok(decisions_of(&context.store.read(), TenantId(tenant_id), all, limit)?.iter().map(view).collect())
}

/// One of them; and whether this member asked for it, and so does not decide it.
///
/// # Errors
/// Only the store's.
pub fn show(context: &Context, vouched: &Vouched, decision_id: Uuid) -> Result<Option<(Value, bool)>, Failure> {
    let read = context.store.read();
    let found = get_decision(&read, decision_id)?.filter(|found| found.subject.tenant_id.0 == vouched.tenant_id());
    let Some(decision) = found else { return Ok(None) };
    let is_own = asked_by(&read, &decision)? == Some(vouched.principal_id());
    Ok(Some((whole(context, &decision)?, is_own)))
}

/// What a member says.
pub struct Saying {
    /// Of which decision.
    pub decision_id: Uuid,
    /// The digest of the context that was looked at.
    pub context_hash: String,
    /// What.
    pub verdict: Verdict,
    /// Why.
    pub reason: Option<String>,
}

/// Takes a decision as a member. It is told of by the member's id: names of people are in no chain.
///
/// # Errors
/// [`DeskRefusal::NotPermitted`], [`DeskRefusal::NoSuch`], [`DeskRefusal::OwnWish`], [`DeskRefusal::OtherContext`]; then as
/// the desk's own.
pub async fn decide(context: &Context, vouched: Vouched, saying: Saying) -> Result<Value, Abort<DeskRefusal>> {
    let Saying { decision_id, context_hash, verdict, reason } = saying;
    let shared = context.clone();
    warm(context, decision_id)?;
    let decided = context.store.write(Instant::now() + WRITER_TIME, move |tx, now| {
        vouched.check(tx, Service::Localization, Some(DECIDE)).map_err(|abort| match abort {
            Abort::Refused(_) => Abort::Refused(DeskRefusal::NotPermitted),
            Abort::Failed(failure) => Abort::Failed(failure),
        })?;
        let known = get_decision(tx, decision_id)?.filter(|known| known.subject.tenant_id.0 == vouched.tenant_id());
        let known = known.ok_or(DeskRefusal::NoSuch(decision_id))?;
        if asked_by(tx, &known)? == Some(vouched.principal_id()) {
            return Err(DeskRefusal::OwnWish.into());
        }
        if known.context_hash != context_hash {
            return Err(DeskRefusal::OtherContext.into());
        }
        let names_needed = names_needed(tx, &shared.shelf, &known.subject)?;
        let by = vouched.principal_id().to_string();
        desk::decide(tx, now, Decide { decision_id, verdict, by, reason, names_needed })
    });
    Ok(whole(context, &decided.await?)?)
}

/// Who asked for what is to be decided.
fn asked_by(read: &impl Read, decision: &DeskDecision) -> Result<Option<Uuid>, Failure> {
    let subject = &decision.subject;
    match subject.kind {
        SubjectKind::ApprovalRequest => request_asked_by(read, subject.tenant_id, subject.id),
        SubjectKind::Licence => {
            let action = decision.action_json();
            let Some(project) = action.get("project").and_then(Json::as_str) else { return Ok(None) };
            let Ok(project) = project.parse() else { return Ok(None) };
            licence_asked_by(read, subject.tenant_id, ProjectId(project), subject.id)
        }
    }
}
