//! Deciding: a person's yes or no, which is recorded with who, how, when and from where (P4). The first durable one counts.

use quintet_storage::{Abort, Timestamp, WriteTx};

use super::model::{Act, Approval, Choice, End, How, Person};
use super::settle::settle;
use super::{links, rows};
use crate::identity::{Workspace, serving, workspaces};
use crate::model::ApprovalKey;
use crate::refusal::Refusal;

/// Decides an approval.
///
/// # Errors
/// There is none, its workspace does not serve, it has a verdict, or the act cannot be recorded. Nothing changes then.
pub(crate) fn decide(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    key: ApprovalKey,
    choice: Choice,
    act: Act,
) -> Result<(Workspace, Approval), Abort<Refusal>> {
    let approval = rows::named(tx, key)?;
    let workspace = workspaces::find(tx, key.0)?.ok_or_else(rows::absent)?;
    serving(tx, &workspace)?;
    approval.check_pending(now)?;
    act.check(choice)?;
    let settled = settle(tx, now, &workspace, key, approval, (End::Decided(choice, act), now))?;
    Ok((workspace, settled))
}

/// Decides on the page of a link: whom the link is for is who decides.
///
/// # Errors
/// As [`decide`]; or there is no such link, or its person is no approver any more.
pub(crate) fn decide_on_page(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    token: &str,
    choice: Choice,
    (source, reason): (String, String),
) -> Result<(Workspace, Approval, Person), Abort<Refusal>> {
    let (key, person) = links::find(tx, token)?.ok_or_else(no_link)?;
    let approval = rows::named(tx, key)?;
    // Whether it is too late is told before whether somebody may.
    approval.check_pending(now)?;
    if !links::is_entitled(tx, key, &approval, &person)? {
        return Err(Refusal::Denied(NO_APPROVER).into());
    }
    let act = Act { by: person.name().to_owned(), how: How::Page, source, reason };
    let (workspace, approval) = decide(tx, now, key, choice, act)?;
    Ok((workspace, approval, person))
}

/// There is no such link.
pub(crate) fn no_link() -> Refusal {
    Refusal::NotFound("such link".to_owned())
}

/// Why a link of somebody who approves nothing any more is over.
pub(crate) const NO_APPROVER: &str = "whom this link was made for does not approve this any more";
