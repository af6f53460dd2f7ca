//! Taking a decision.

use quintet_platform::jobs::{Agenda, Progress, Swept};
use quintet_storage::{Abort, Failure, Read as _, Scan, Snapshot, Timestamp, Uuid, WriteTx};

use super::model::{DeskApproval, DeskDecision};
use super::names::{is_hidden, is_same};
use super::tables::{DESK_CALLS, DESK_DECISIONS, DESK_EXPIRIES, DESK_PENDING, DeskCallRow, DeskDecisionRow};
use crate::decisions::{Status, WORDS_CHARS_MAX};

/// The longest name of one who decides, in characters: ten of them, and what is between, are within what a service may say.
const NAME_CHARS_MAX: usize = 190;
/// How many decisions are timed out in one transaction.
const SLICE_ROWS: usize = 100;

/// What somebody says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Yes.
    Approve,
    /// No.
    Reject,
    /// Not so.
    RequestChanges,
    /// It is not asked any more.
    Cancel,
}

/// Takes a decision.
#[derive(Clone, Debug)]
pub struct Decide {
    /// Which.
    pub decision_id: Uuid,
    /// What is said.
    pub verdict: Verdict,
    /// Who says it.
    pub by: String,
    /// Why.
    pub reason: Option<String>,
    /// How many different names a yes takes.
    pub names_needed: u64,
}

/// Why a decision was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeskRefusal {
    /// There is none of this id.
    #[error("there is no decision {0}")]
    NoSuch(Uuid),
    /// It was taken before.
    #[error("the decision is {} already", .0.name())]
    Settled(Status),
    /// Its time is over.
    #[error("the decision's time is over")]
    Expired,
    /// It needs another name.
    #[error("{0:?} has approved it already; it takes {1} different names")]
    SameName(String, u64),
    /// Whoever says so may not.
    #[error("this takes the permission decision_decide, and a session that goes on")]
    NotPermitted,
    /// It was asked for by the same person.
    #[error("whoever asks for something does not decide it")]
    OwnWish,
    /// Something else was looked at.
    #[error("this is not the context that is decided on")]
    OtherContext,
    /// Nobody said why.
    #[error("a rejection needs a reason")]
    NoReason,
    /// A name or a reason that cannot be.
    #[error(
        "a name has 1 to 190 characters that can be seen, a reason 1 to 2,000, neither with white space at its ends"
    )]
    Words,
}
impl quintet_storage::Refusal for DeskRefusal {}

fn check_words(command: &Decide) -> Result<(), DeskRefusal> {
    let fits = |text: &str, most: usize| {
        !text.trim().is_empty() && text.trim() == text && text.chars().take(most + 1).count() <= most
    };
    if !fits(&command.by, NAME_CHARS_MAX) || is_hidden(&command.by) {
        return Err(DeskRefusal::Words);
    }
    match &command.reason {
        Some(reason) if !fits(reason, WORDS_CHARS_MAX) => Err(DeskRefusal::Words),
        None if command.verdict == Verdict::Reject => Err(DeskRefusal::NoReason),
        _ => Ok(()),
    }
}

/// Takes a decision; a yes that takes several names waits for the others.
///
/// # Errors
/// In this order: [`DeskRefusal::Words`], [`DeskRefusal::NoReason`], [`DeskRefusal::NoSuch`], [`DeskRefusal::Settled`],
/// [`DeskRefusal::Expired`], [`DeskRefusal::SameName`].
pub fn decide(tx: &mut WriteTx<'_>, now: Timestamp, command: Decide) -> Result<DeskDecision, Abort<DeskRefusal>> {
    check_words(&command)?;
    let Decide { decision_id, verdict, by, reason, names_needed } = command;
    let mut row = tx.get(&DESK_DECISIONS, &decision_id)?.ok_or(DeskRefusal::NoSuch(decision_id))?;
    if row.status != Status::Pending {
        return Err(DeskRefusal::Settled(row.status).into());
    }
    if row.expires_at <= now {
        return Err(DeskRefusal::Expired.into());
    }
    let (status, decided_by) = match verdict {
        Verdict::Approve => {
            if row.approvals.iter().any(|known| is_same(&known.by, &by)) {
                return Err(DeskRefusal::SameName(by, names_needed).into());
            }
            row.approvals.push(DeskApproval { by, at: now });
            if row.approvals.len() < usize::try_from(names_needed).unwrap_or(usize::MAX) {
                row.reason = reason.or(row.reason);
                tx.put(&DESK_DECISIONS, &decision_id, &row)?;
                return Ok(row.into_decision(decision_id));
            }
            (Status::Approved, names(&row.approvals))
        }
        Verdict::Reject => (Status::Rejected, by),
        Verdict::RequestChanges => (Status::ChangesRequested, by),
        Verdict::Cancel => (Status::Cancelled, by),
    };
    row.decided_by = Some(decided_by);
    row.reason = reason.or(row.reason);
    settle(tx, now, decision_id, row, status).map_err(Abort::Failed)
}

/// The names of all who said yes, as far as a service may say them.
fn names(approvals: &[DeskApproval]) -> String {
    let mut all = String::new();
    for approval in approvals {
        let with = if all.is_empty() { approval.by.clone() } else { format!("{all}, {}", approval.by) };
        if with.chars().count() > WORDS_CHARS_MAX {
            break;
        }
        all = with;
    }
    all
}

/// A decision is taken: it waits no more, and its call falls due.
fn settle(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    decision_id: Uuid,
    mut row: DeskDecisionRow,
    status: Status,
) -> Result<DeskDecision, Failure> {
    row.status = status;
    row.decided_at = Some(now);
    row.event_id = Some(tx.new_id().into_bytes());
    tx.put(&DESK_DECISIONS, &decision_id, &row)?;
    tx.delete(&DESK_PENDING, &decision_id);
    tx.delete(&DESK_EXPIRIES, &(row.expires_at, decision_id));
    tx.put(&DESK_CALLS, &(now, decision_id), &DeskCallRow { attempts: 0 })?;
    tx.falls_due(DESK_CALLS.spec().tag, now);
    Ok(row.into_decision(decision_id))
}

/// Times out what nobody has decided (localization, W5).
pub struct ExpiredDecisions;

impl Agenda for ExpiredDecisions {
    type Place = Timestamp;

    const NAME: &'static str = "localization.desk_expiry";
    const TAG: u16 = DESK_EXPIRIES.spec().tag;
    const IS_FREEING: bool = true;
    const FIRST: Timestamp = Timestamp::EPOCH;

    fn next(&self, read: &Snapshot, from: Timestamp) -> Result<Option<Timestamp>, Failure> {
        let scan = Scan::all().from(&(from, Uuid::nil())).limit(1);
        Ok(read.scan(&DESK_EXPIRIES, scan)?.first().map(|((at, _), _)| *at))
    }

    fn slice(&self, tx: &mut WriteTx<'_>, now: Timestamp, from: Timestamp) -> Result<Swept<Timestamp>, Failure> {
        let rows = tx.scan(&DESK_EXPIRIES, Scan::all().from(&(from, Uuid::nil())).limit(SLICE_ROWS))?;
        let mut progress = if rows.len() == SLICE_ROWS { Progress::More } else { Progress::Rest };
        let mut to = from;
        for ((at, decision_id), _) in rows {
            if at > now {
                progress = Progress::Rest;
                break;
            }
            to = at;
            let row = tx.get(&DESK_DECISIONS, &decision_id)?;
            let row = row.ok_or_else(|| Failure::Damaged(format!("desk decision {decision_id} is gone")))?;
            settle(tx, now, decision_id, row, Status::TimedOut)?;
        }
        Ok(Swept { to: Some(to), progress })
    }
}
