//! Whether a message may be sent: the checks in their order (6-messaging.md, M').

use quintet_platform::clock::rfc3339;
use quintet_storage::{Abort, Read, Timestamp};

use super::answers::answer;
use super::model::{Asked, Author, Course, Ready};
use crate::attendance::Attendance;
use crate::mail::model::Addressee;
use crate::mail::recipients::{Resolved, Typed, resolve, resolve_as};
use crate::mail::threads;
use crate::model::{AgentKey, MessageId, ThreadId};
use crate::refusal::{Refusal, Withholding};

/// A message that may be sent, and to whom.
#[derive(Clone, Debug)]
pub(super) struct Cleared {
    /// Recipients as typed.
    pub(super) typed: Typed,
    /// What it is about.
    pub(super) subject: String,
    /// Where it belongs; `None`: to a thread of its own.
    pub(super) thread: Option<ThreadId>,
    /// What it answers.
    pub(super) in_reply_to: Option<MessageId>,
    /// Whom it goes to.
    pub(super) resolved: Resolved,
    /// Whom a reply left out.
    pub(super) skipped_retired: Option<Vec<String>>,
}

/// Whether a message may be sent, the day's allowance apart.
///
/// # Errors
/// The first check that says no.
pub(super) fn check(
    read: &impl Read,
    now: Timestamp,
    author: &Author,
    ready: &Ready,
    attendance: &Attendance,
) -> Result<Cleared, Abort<Refusal>> {
    let Asked { course, wants, .. } = &ready.asked;
    let cleared = directed(read, now, author, course)?;
    if let Some(thread) = cleared.thread
        && !threads::takes_part(read, (author.workspace.no, thread), author.no)?
    {
        return Err(Refusal::NotFound("such thread".to_owned()).into());
    }
    let agents = &cleared.resolved.agents;
    if wants.available {
        all_available(now, agents)?;
    }
    if wants.responsive {
        all_responsive(read, now, author, agents, attendance)?;
    }
    let is_outside = !cleared.resolved.outside.is_empty();
    if is_outside && author.workspace.is_encrypted {
        return Err(Refusal::ExternalMailRefused("nothing leaves an encrypted workspace by mail").into());
    }
    let faults = &ready.faults;
    let first = [&faults.sealing, &faults.size].into_iter().flatten().next();
    first.map_or(Ok(()), |refusal| Err(refusal.clone()))?;
    if is_outside && ready.asked.is_ephemeral {
        let problem = "names an address outside, which has no stream: fire_and_forget goes to streams alone";
        return Err(Refusal::field("to", problem).into());
    }
    if is_outside && !author.has_relay {
        return Err(Refusal::ExternalMailUnavailable.into());
    }
    if let Some(payload) = &ready.payload {
        payload.check(read, author.workspace.no, &cleared.resolved.rooms)?;
    }
    faults.claim.as_ref().map_or(Ok(()), |refusal| Err(refusal.clone()))?;
    Ok(cleared)
}

/// Whom it goes to.
pub(super) fn directed(
    read: &impl Read,
    now: Timestamp,
    author: &Author,
    course: &Course,
) -> Result<Cleared, Abort<Refusal>> {
    match course {
        Course::New { typed, subject, thread } => Ok(Cleared {
            resolved: resolve(read, now, author.asker(), typed)?,
            typed: typed.clone(),
            subject: subject.clone(),
            thread: *thread,
            in_reply_to: None,
            skipped_retired: None,
        }),
        Course::Reply(reply) => {
            let answer = answer(read, author, reply)?;
            Ok(Cleared {
                resolved: resolve_as(read, now, author.asker(), &answer.typed, answer.count)?,
                typed: answer.typed,
                subject: answer.subject,
                thread: Some(answer.thread),
                in_reply_to: Some(answer.parent),
                skipped_retired: Some(answer.skipped_retired),
            })
        }
    }
}

fn all_available(now: Timestamp, agents: &[Addressee]) -> Result<(), Refusal> {
    let mailboxes = agents.iter().map(|addressee| &addressee.mailbox);
    let withholding = mailboxes.filter(|mailbox| mailbox.standing.is_withholding(now));
    let all: Vec<Withholding> = withholding
        .map(|mailbox| Withholding {
            agent: mailbox.name.clone(),
            availability: mailbox.standing.availability.name(),
            until: mailbox.standing.until.map(rfc3339),
        })
        .collect();
    if all.is_empty() { Ok(()) } else { Err(Refusal::RecipientUnavailable(all)) }
}

fn all_responsive(
    read: &impl Read,
    now: Timestamp,
    author: &Author,
    agents: &[Addressee],
    attendance: &Attendance,
) -> Result<(), Abort<Refusal>> {
    let keys: Vec<AgentKey> = agents.iter().map(|addressee| (author.workspace.no, addressee.no)).collect();
    let reach = attendance.reach(read, &keys, now)?;
    let silent = agents.iter().zip(reach).filter(|(_, (is_responsive, _))| !is_responsive);
    let all: Vec<String> = silent.map(|(addressee, _)| addressee.mailbox.name.clone()).collect();
    if all.is_empty() { Ok(()) } else { Err(Refusal::RecipientNotResponsive(all).into()) }
}
