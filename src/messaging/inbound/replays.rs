//! What is remembered of calls that were accepted, so that a replay is told from the sender's own retry (6-messaging.md, H3).
//!
//! Ten minutes' calls lie together and go together, ten minutes after the last of them could have come: as much is
//! remembered as there were calls in twenty minutes, each by some fifty bytes.

use quintet_platform::jobs::{Agenda, Progress, Swept};
use quintet_platform::secrets::digest_parts;
use quintet_storage::{Failure, Read, Scan, Snapshot, Timestamp, Uuid, WriteTx};

use super::model::EndpointId;
use super::signature::{Form, Proved};
use super::tables::{REPLAYS, ReplayPlace, ReplayRow};
use crate::model::{AgentKey, AgentNo, WorkspaceNo};

/// For how long a call is remembered, in seconds: twice what its timestamp may be off by.
pub(super) const REMEMBERED_SECONDS: i64 = 600;
/// Rows that go in one transaction.
const SLICE_ROWS: usize = 1_000;

/// What is known of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// Nothing.
    New,
    /// Its sender sends it again, for he has not heard that it was accepted; what was answered.
    Retry(Uuid),
    /// It was here, as it is.
    Replay,
}

/// What a call is remembered by.
struct Marks {
    /// What it calls itself.
    id: Option<u128>,
    /// What signs it, where that does not cover what it calls itself.
    signature: Option<u128>,
    /// What else would sign it by itself, if it were sent again with nothing but that.
    others: Vec<u128>,
}

impl Marks {
    fn of(endpoint: EndpointId, proved: &Proved) -> Marks {
        let digest = |word: &[u8], of: &[u8]| half(&[endpoint.0.as_bytes(), word, of]);
        let id = proved.id.as_ref().map(|id| digest(b"id", id.as_bytes()));
        let signature = match proved.form {
            Form::Standard => None,
            Form::Own | Form::Service => Some(digest(b"signature", &proved.signature)),
        };
        let others = proved.others.iter().map(|other| digest(b"signature", other)).collect();
        Marks { id, signature, others }
    }
}

fn half(parts: &[&[u8]]) -> u128 {
    let mut half = [0; 16];
    for (to, from) in half.iter_mut().zip(digest_parts(parts)) {
        *to = from;
    }
    u128::from_be_bytes(half)
}

/// What is known of a call.
pub(super) fn look(
    read: &impl Read,
    now: Timestamp,
    agent: AgentKey,
    endpoint: EndpointId,
    proved: &Proved,
) -> Result<Known, Failure> {
    let marks = Marks::of(endpoint, proved);
    if let Some(mark) = marks.signature
        && find(read, now, agent, mark)?.is_some()
    {
        return Ok(Known::Replay);
    }
    let Some(mark) = marks.id else { return Ok(Known::New) };
    Ok(match find(read, now, agent, mark)? {
        None => Known::New,
        Some((_, row)) if proved.timestamp > row.timestamp => Known::Retry(Uuid::from_bytes(row.delivery_id)),
        Some(_) => Known::Replay,
    })
}

/// Remembers a call that was accepted, or that its sender has sent again.
pub(super) fn remember(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    agent: AgentKey,
    endpoint: EndpointId,
    proved: &Proved,
    delivery_id: Uuid,
) -> Result<(), Failure> {
    let Marks { id, signature, others } = Marks::of(endpoint, proved);
    let row = ReplayRow { timestamp: proved.timestamp, seen_at: now, delivery_id: delivery_id.into_bytes() };
    let part = part_of(now);
    tx.falls_due(REPLAYS.spec().tag, end_of(part));
    for mark in id.into_iter().chain(signature).chain(others) {
        if let Some((place, _)) = find(tx, now, agent, mark)? {
            tx.delete(&REPLAYS, &place);
        }
        tx.put(&REPLAYS, &(part, agent.0, agent.1, mark), &row)?;
    }
    Ok(())
}

/// What is remembered by a mark, if its time is not over.
fn find(
    read: &impl Read,
    now: Timestamp,
    (workspace, agent): AgentKey,
    mark: u128,
) -> Result<Option<(ReplayPlace, ReplayRow)>, Failure> {
    let part = part_of(now);
    for part in [part, part.saturating_sub(1)] {
        let place = (part, workspace, agent, mark);
        if let Some(row) = read.get(&REPLAYS, &place)? {
            let is_over = row.seen_at.plus_seconds(REMEMBERED_SECONDS) < now;
            return Ok(Some((place, row)).filter(|_| !is_over));
        }
    }
    Ok(None)
}

/// The ten minutes that an instant lies in, since 1970.
fn part_of(at: Timestamp) -> u32 {
    let seconds = at.as_micros().div_euclid(1_000_000).max(0);
    u32::try_from(seconds / REMEMBERED_SECONDS).unwrap_or(u32::MAX)
}

/// When what was remembered in ten minutes is over.
fn end_of(part: u32) -> Timestamp {
    Timestamp::EPOCH.plus_seconds((i64::from(part) + 2) * REMEMBERED_SECONDS)
}

/// What is remembered for too long.
pub(crate) struct OldReplays;

impl Agenda for OldReplays {
    /// What comes now is remembered behind all that has gone.
    type Place = ReplayPlace;

    const NAME: &'static str = "messaging.inbound_replays";
    const TAG: u16 = REPLAYS.spec().tag;
    const IS_FREEING: bool = true;
    const FIRST: ReplayPlace = (0, WorkspaceNo(0), AgentNo(0), 0);

    fn next(&self, read: &Snapshot, from: ReplayPlace) -> Result<Option<Timestamp>, Failure> {
        let first = read.scan(&REPLAYS, Scan::all().from(&from).limit(1))?;
        Ok(first.first().map(|((part, ..), _)| end_of(*part)))
    }

    fn slice(&self, tx: &mut WriteTx<'_>, now: Timestamp, from: ReplayPlace) -> Result<Swept<ReplayPlace>, Failure> {
        let (mut removed, mut to) = (0, None);
        for (place, _) in tx.scan(&REPLAYS, Scan::all().from(&from).limit(SLICE_ROWS))? {
            if end_of(place.0) > now {
                break;
            }
            tx.delete(&REPLAYS, &place);
            (removed, to) = (removed + 1, Some(place));
        }
        Ok(Swept { to, progress: if removed == SLICE_ROWS { Progress::More } else { Progress::Rest } })
    }
}

/// Finds what contradicts itself: nothing is remembered as of another time than it came.
pub(super) fn verify(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    quintet_platform::verify::each(read, &REPLAYS, findings, |(part, workspace, agent, _), row, findings| {
        if part_of(row.seen_at) != part {
            findings
                .push(format!("a call of {agent:?} in {workspace:?} is remembered as of another time than it came"));
        }
        Ok(())
    })
}
