//! Sending a message: checked, counted, posted, in one transaction.

use quintet_storage::{Abort, Failure, Read, Timestamp, WriteTx};

use super::check::{Cleared, check};
use super::model::{Author, Reachability, Ready, Sent};
use crate::attendance::{Attendance, Presence};
use crate::identity::{Availability, agents};
use crate::mail::model::{Addressee, Sender};
use crate::mail::post::{From, Letter, post};
use crate::refusal::Refusal;
use crate::usage::{self, Daily};
use crate::words::address;

/// Sends a message.
///
/// # Errors
/// The first check that says no; then nothing was done.
pub(crate) fn send(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    author: &Author,
    ready: Ready,
    attendance: &Attendance,
) -> Result<Sent, Abort<Refusal>> {
    let Cleared { typed, subject, thread, in_reply_to, resolved, skipped_retired } =
        check(tx, now, author, &ready, attendance)?;
    usage::count(tx, now, &author.workspace, Daily::Messages, 1)?;
    let reachability = reachability(tx, now, author, &resolved.agents, attendance)?;
    let inside = resolved.agents.iter().map(|addressee| addressee.mailbox.name.clone());
    let recipients = inside.chain(resolved.outside.iter().map(|(address, _)| address.clone())).collect();
    let (cc, external_count) = (typed.cc.clone(), resolved.outside.len());
    let letter = Letter {
        thread,
        in_reply_to,
        from: from(tx, author)?,
        subject,
        to: typed.to,
        cc: typed.cc,
        agents: resolved.agents,
        outside: resolved.outside,
        rooms: resolved.rooms,
        priority: ready.priority,
        is_sealed: ready.is_sealed,
        is_signed: ready.is_signed,
        has_claim: ready.has_claim,
        said: ready.said,
        attachments: ready.attachments,
    };
    let posted = post(tx, now, &author.workspace, letter)?;
    Ok(Sent { posted, recipients, cc, external_count, reachability, skipped_retired })
}

/// What a message says of its sender.
fn from(read: &impl Read, author: &Author) -> Result<From, Failure> {
    let lane = agents::find(read, author.key())?.and_then(|agent| agent.persona);
    Ok(From {
        sender: Sender::Agent(author.no),
        name: author.name.clone(),
        address: address::of_agent(&author.workspace.slug, &author.name, &author.domain),
        lane,
        attestation: author.attestation,
    })
}

/// Who may not read it at once. A message is told of, whoever that is.
fn reachability(
    read: &impl Read,
    now: Timestamp,
    author: &Author,
    agents: &[Addressee],
    attendance: &Attendance,
) -> Result<Reachability, Failure> {
    let mut reachability = Reachability::default();
    for (place, Addressee { no, mailbox, .. }) in agents.iter().enumerate() {
        let attended = attendance.attended(read, (author.workspace.no, *no))?;
        if attended.presence(false, now) != Presence::Responsive {
            reachability.not_responsive.push(place);
        }
        if attended.wake_channel().is_dead() {
            reachability.no_wake_channel.push(place);
        }
        let standing = &mailbox.standing;
        if standing.availability != Availability::Online && !standing.is_over(now) {
            reachability.busy.push(place);
        }
    }
    Ok(reachability)
}
