//! What contradicts itself in the rows of messaging (6-messaging.md, S4): each folder's own, and whether what falls due is
//! what is said to.

use std::collections::BTreeSet;

use quintet_storage::{Failure, Read, Snapshot, Timestamp};

use crate::due::{self, Due};
use crate::identity::{agents, mailboxes};
use crate::mail::threads;
use crate::usage::{self, Sent};
use crate::{
    acks, approvals, blocks, claims, drafts, guard, identity, inbound, invites, keys, mail, memory, outbox, pubkeys,
    reminders, rooms, signup, telling,
};

/// Everything that does; the first hundred findings or so.
pub(crate) fn verify(read: &Snapshot) -> Result<Vec<String>, Failure> {
    let (mut findings, mut sent, mut calls) = (Vec::new(), Sent::new(), mail::verify::Calls::new());
    identity::verify(read, &mut findings)?;
    keys::verify(read, &mut findings)?;
    invites::verify(read, &mut findings)?;
    let mut moving = Vec::new();
    rooms::verify(read, &mut moving, &mut findings)?;
    blocks::verify(read, &mut findings)?;
    pubkeys::verify(read, &mut findings)?;
    mail::verify::verify(read, (&mut sent, &mut calls), &mut findings)?;
    outbox::verify(read, &mut findings)?;
    usage::verify(read, &sent, &mut findings)?;
    acks::verify(read, &mut findings)?;
    claims::verify(read, &mut findings)?;
    drafts::verify(read, &mut findings)?;
    memory::verify(read, &mut findings)?;
    reminders::verify(read, &mut findings)?;
    approvals::verify(read, &mut findings)?;
    guard::verify(read, &mut findings)?;
    signup::verify(read, &mut findings)?;
    telling::verify(read, &mut findings)?;
    inbound::verify(read, &calls, &mut findings)?;
    let mut watched = BTreeSet::new();
    due::each(read, &mut findings, |at, due, findings| {
        match due {
            Due::Parked(workspace) => drop(watched.insert(workspace)),
            Due::Rooms(agent) => moving.retain(|one| *one != agent),
            _ => {}
        }
        if !is_right(read, at, due)? {
            findings.push(format!("{due:?} falls due at {at:?}, and does not say so itself"));
        }
        Ok(())
    })?;
    due::each_parked(read, &mut findings, |workspace, due, findings| {
        if !watched.contains(&workspace) {
            findings.push(format!("{due:?} is parked, and nobody looks whether {workspace:?} is active"));
        }
    })?;
    let ends = |agent| format!("the agent {agent:?} is put into its rooms, and nothing goes on with it");
    findings.extend(moving.into_iter().map(ends));
    Ok(findings)
}

/// Whether what falls due says so itself, or goes on with what was too much for one transaction.
fn is_right(read: &impl Read, at: Timestamp, due: Due) -> Result<bool, Failure> {
    Ok(match due {
        Due::Release(agent) => {
            let until = mailboxes::find(read, agent)?.and_then(|mailbox| mailbox.standing.until);
            until == Some(at) || mail::verify::goes_on(read, due)?
        }
        Due::Resume(key) => {
            let pause = threads::find(read, key)?.and_then(|thread| thread.pause);
            pause.map_or(mail::verify::goes_on(read, due)?, |pause| pause.resumes_at == at)
        }
        Due::Idle(agent) => agents::find(read, agent)?.is_some_and(|agent| agent.idle_look_at == Some(at)),
        Due::Remind(key) => reminders::falls_due_at(read, key)? == Some(at),
        Due::Usage((workspace, day)) => usage::used(read, workspace, day)? != usage::Day::default(),
        Due::Nag((workspace, debtor, message)) => {
            acks::find(read, (workspace, debtor), message)?.is_some_and(|owed| owed.looked_at == at)
        }
        Due::Approval(key) => approvals::falls_due_at(read, key)? == Some(at),
        Due::Invite(_) | Due::KeyUrl(_) | Due::SignUp(_) | Due::Parked(_) | Due::Rooms(_) => true,
    })
}
