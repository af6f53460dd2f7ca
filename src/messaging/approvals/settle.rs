//! What every end of an approval has in common: the verdict, the message that tells of it, and the waking of whoever waits
//! are one transaction (P6).

use data_encoding::HEXLOWER;
use quintet_platform::clock::rfc3339;
use quintet_platform::ids::ulid;
use quintet_storage::{Failure, Timestamp, WriteTx};

use super::model::{Approval, End, How, Status, Verdict, told_as};
use super::rows::put_verdict;
use crate::identity::{Attestation, Priority, Workspace, mailboxes};
use crate::mail::messages::encode;
use crate::mail::model::{Addressee, Contents, Role, Sender};
use crate::mail::post::{From, Letter, Said, post};
use crate::model::ApprovalKey;
use crate::wakes::APPROVALS;
use crate::words::subject::SUBJECT_BYTES_MAX;

/// Ends an approval that is pending; whether it may be so ended is decided before. `at`: since when it counts as ended.
pub(super) fn settle(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    key: ApprovalKey,
    approval: Approval,
    (end, at): (End, Timestamp),
) -> Result<Approval, Failure> {
    let verdict = verdict_of(end, at);
    let approval = put_verdict(tx, workspace, key, approval, &verdict)?;
    tell(tx, now, workspace, key, &approval, &verdict)?;
    tx.tells(APPROVALS, told_as(key), 1);
    Ok(approval)
}

/// The same where nobody is left to be told: the workspace is deleted.
pub(super) fn settle_untold(
    tx: &mut WriteTx<'_>,
    workspace: &Workspace,
    key: ApprovalKey,
    approval: Approval,
    (end, at): (End, Timestamp),
) -> Result<(), Failure> {
    put_verdict(tx, workspace, key, approval, &verdict_of(end, at)).map(drop)
}

fn verdict_of(end: End, at: Timestamp) -> Verdict {
    let status = end.status();
    let (by, how, source, reason) = match end {
        End::Decided(_, act) => (act.by, Some(act.how), act.source, act.reason),
        End::TimedOut => (String::new(), None, String::new(), String::new()),
        End::Cancelled(by) => (by, None, String::new(), String::new()),
    };
    Verdict { status, at, by, how, source, reason }
}

/// One urgent message of the platform to whoever raised it, in the thread that it named. A retired one finds it in its
/// inbox when it comes back.
fn tell(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    key: ApprovalKey,
    approval: &Approval,
    verdict: &Verdict,
) -> Result<(), Failure> {
    let mailbox = mailboxes::get(tx, (workspace.no, approval.requester))?;
    let text = text_of(key, approval, verdict, workspace.is_encrypted);
    let letter = Letter {
        thread: approval.thread,
        in_reply_to: None,
        from: From {
            sender: Sender::System,
            name: "system".to_owned(),
            address: String::new(),
            lane: None,
            attestation: Attestation::System,
        },
        subject: subject(verdict.status, &approval.title),
        to: vec![mailbox.name.clone()],
        cc: Vec::new(),
        agents: vec![Addressee { no: approval.requester, role: Role::To, mailbox }],
        outside: Vec::new(),
        rooms: Vec::new(),
        priority: Priority::Urgent,
        is_sealed: false,
        is_signed: false,
        has_claim: false,
        said: Said::Here(encode(&Contents { text, ..Contents::default() })?),
        attachments: Vec::new(),
    };
    post(tx, now, workspace, letter).map(drop)
}

fn subject(status: Status, title: &str) -> String {
    let mut subject = format!("Approval {}: {title}", status.words());
    subject.truncate(subject.floor_char_boundary(SUBJECT_BYTES_MAX));
    subject
}

/// What the message says. On an encrypted workspace it leaves out what somebody wrote (E3): `GET /v1/approvals/{id}` has
/// that.
fn text_of((_, id): ApprovalKey, approval: &Approval, verdict: &Verdict, is_encrypted: bool) -> String {
    let id = ulid(id.0);
    let what = match verdict.status {
        Status::Approved => "approved: go ahead with exactly this action",
        Status::Rejected => "rejected: do not proceed",
        Status::TimedOut => "not decided in time, which is no consent: do not proceed",
        Status::Cancelled => "cancelled: do not proceed",
        Status::Pending => "pending",
    };
    let who = match (verdict.by.as_str(), verdict.how) {
        ("", _) => String::new(),
        (by, Some(How::Cli)) => format!("\nBy: {by}, at the command line"),
        (by, Some(How::Page)) => format!("\nBy: {by}, on the page of the approval"),
        (by, Some(How::Console)) => format!("\nBy: {by}, in the console"),
        (by, None) => format!("\nBy: {by}"),
    };
    let reason = match verdict.reason.as_str() {
        "" => String::new(),
        _ if is_encrypted => format!("\nReason: see GET /v1/approvals/{id}"),
        reason => format!("\nReason: {reason}"),
    };
    format!(
        "The approval {id} is {what}.\nAt: {}{who}{reason}\naction_sha256: {}",
        rfc3339(verdict.at),
        HEXLOWER.encode(&approval.action_sha256),
    )
}
