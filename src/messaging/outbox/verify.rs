//! What contradicts itself in the rows of mail that leaves.

use quintet_platform::verify::each;
use quintet_storage::{Failure, Read};

use super::model::{Fate, Outgoing, State, What};
use super::rows::find;
use super::tables::{BY_THREAD, DUE, OLD, OLD_OUTGOING, OUTBOX, UNDELIVERABLE};
use super::undeliverable::KEPT_SECONDS;

/// Everything that does: a mail is in the index that its state says and in no other, and done exactly if nobody waits for it;
/// what was given up is forgotten one day.
pub(crate) fn verify(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    each(read, &OUTBOX, findings, |key, row, findings| {
        let outgoing = row.into_outgoing();
        let is_listed = match outgoing.state {
            State::Due(at) => read.contains(&DUE, &(at, key.0, key.1))?,
            State::Held(thread) => read.contains(&BY_THREAD, &(key.0, thread, key.1))?,
            State::Done(at) => read.contains(&OLD, &(at.plus_seconds(KEPT_SECONDS), key.0, OLD_OUTGOING, key.1))?,
        };
        if !is_listed {
            findings.push(format!("the mail {key:?} is not found by its state"));
        }
        if !is_whole(&outgoing) {
            findings.push(format!("the mail {key:?} contradicts itself"));
        }
        Ok(())
    })?;
    each(read, &DUE, findings, |(at, workspace, id), _, findings| {
        let state = find(read, (workspace, id))?.map(|outgoing| outgoing.state);
        if state != Some(State::Due(at)) {
            findings.push(format!("the mail {id} of {workspace:?} is due at {at:?}, and does not say so"));
        }
        Ok(())
    })?;
    each(read, &BY_THREAD, findings, |(workspace, thread, id), _, findings| {
        let state = find(read, (workspace, id))?.map(|outgoing| outgoing.state);
        if state != Some(State::Held(thread)) {
            findings.push(format!("the mail {id} of {workspace:?} is held by {thread:?}, and does not say so"));
        }
        Ok(())
    })?;
    check_old(read, findings)
}

fn is_whole(outgoing: &Outgoing) -> bool {
    let waits = outgoing.bound.iter().any(|bound| matches!(bound.fate, Fate::Waits(_)));
    let is_done = matches!(outgoing.state, State::Done(_));
    let is_held = matches!(outgoing.state, State::Held(_));
    let says = match &outgoing.what {
        What::Message(thread) => !is_held || outgoing.state == State::Held(*thread),
        What::Note { text, .. } => text.is_some() != is_done && !is_held,
    };
    waits != is_done && says && (outgoing.began_at.is_none() == is_held)
}

fn check_old(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    each(read, &OLD, findings, |(at, workspace, kind, id), _, findings| {
        let is_there = match kind {
            OLD_OUTGOING => find(read, (workspace, id))?.is_some_and(
                |outgoing| matches!(outgoing.state, State::Done(done) if done.plus_seconds(KEPT_SECONDS) == at),
            ),
            _ => read.contains(&UNDELIVERABLE, &(workspace, id))?,
        };
        if !is_there {
            findings.push(format!("what {id} of {workspace:?} is to be forgotten for is not there"));
        }
        Ok(())
    })?;
    each(read, &UNDELIVERABLE, findings, |(workspace, id), row, findings| {
        let at = row.into_undeliverable().received_at.plus_seconds(KEPT_SECONDS);
        if !read.contains(&OLD, &(at, workspace, super::tables::OLD_UNDELIVERABLE, id))? {
            findings.push(format!("what was given up as {id} in {workspace:?} is never forgotten"));
        }
        Ok(())
    })
}
