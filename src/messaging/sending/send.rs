//! Sending a message: checked, counted, posted, in one transaction.

use quintet_storage::{Abort, Failure, Read, Timestamp, WriteTx};

use super::check::{Cleared, check};
use super::model::{Author, Reachability, Ready, Sent};
use crate::acks::{self, Owed};
use crate::attendance::Attendance;
use crate::identity::{Availability, agents};
use crate::mail::model::{Addressee, Role, Sender};
use crate::mail::post::{From, Letter, post};
use crate::model::AgentKey;
use crate::outbox;
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
    ready: &Ready,
    attendance: &Attendance,
) -> Result<Sent, Abort<Refusal>> {
    let cleared = check(tx, now, author, ready, attendance)?;
    let Cleared { typed, subject, thread, in_reply_to, resolved, skipped_retired } = cleared;
    usage::count(tx, now, &author.workspace, Daily::Messages, 1)?;
    let outside: Vec<String> = resolved.outside.iter().map(|(address, _)| address.clone()).collect();
    if !outside.is_empty() {
        usage::count(tx, now, &author.workspace, Daily::ExternalOut, outside.len() as u64)?;
    }
    let reachability = reachability(tx, now, author, &resolved.agents, attendance)?;
    let inside = resolved.agents.iter().map(|addressee| addressee.mailbox.name.clone());
    let recipients = inside.chain(outside.iter().cloned()).collect();
    let (cc, external_count) = (typed.cc.clone(), outside.len());
    let debtors = ready.asked.ack_window_seconds.map(|seconds| (seconds, debtors(author, &resolved.agents)));
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
        priority: ready.asked.priority,
        is_sealed: ready.is_sealed,
        is_signed: ready.is_signed,
        has_claim: ready.has_claim,
        said: ready.said.clone(),
        attachments: ready.attachments.clone(),
    };
    let posted = post(tx, now, &author.workspace, letter)?;
    for (seconds, debtor) in
        debtors.into_iter().flat_map(|(seconds, all)| all.into_iter().map(move |one| (seconds, one)))
    {
        acks::owe(tx, debtor, posted.message, Owed::new(author.no, now, seconds))?;
    }
    if !outside.is_empty() {
        let mail = (author.workspace.no, posted.message, posted.thread);
        // What is for outside waits with all else of a paused thread (6-messaging.md, G1).
        match posted.pause {
            Some(_) => outbox::hold(tx, now, mail, outside)?,
            None => outbox::enqueue(tx, now, mail, outside)?,
        }
    }
    if let Some(parent) = in_reply_to {
        acks::settle(tx, author.key(), parent)?;
    }
    Ok(Sent { posted, recipients, cc, external_count, reachability, skipped_retired })
}

/// Who is to acknowledge a message: its recipients, but none who is only to know of it, nor its author.
fn debtors(author: &Author, agents: &[Addressee]) -> Vec<AgentKey> {
    let owes = |addressee: &&Addressee| addressee.role == Role::To && addressee.no != author.no;
    agents.iter().filter(owes).map(|addressee| (author.workspace.no, addressee.no)).collect()
}

/// What a message says of its sender.
pub(super) fn from(read: &impl Read, author: &Author) -> Result<From, Failure> {
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
    let keys: Vec<AgentKey> = agents.iter().map(|addressee| (author.workspace.no, addressee.no)).collect();
    let mut reachability = Reachability::default();
    let reach = attendance.reach(read, &keys, now)?;
    for (place, (Addressee { mailbox, .. }, (is_responsive, is_live))) in agents.iter().zip(reach).enumerate() {
        if !is_responsive {
            reachability.not_responsive.push(place);
        }
        if !is_live {
            reachability.no_wake_channel.push(place);
        }
        let standing = &mailbox.standing;
        if standing.availability != Availability::Online && !standing.is_over(now) {
            reachability.busy.push(place);
        }
    }
    Ok(reachability)
}
