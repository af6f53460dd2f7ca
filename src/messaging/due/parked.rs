//! What is parked: it fell due while its workspace, or its tenant, was suspended.
//!
//! The workspace's own activation says so at once. A tenant's is not told here: it is looked for, a minute after the first of
//! it was parked and then after longer and longer times, for one that is suspended for weeks must not cost much.

use quintet_platform::verify;
use quintet_storage::{Failure, Read, Scan, Timestamp, WriteTx};

use super::model::Due;
use super::tables::{PARKED, is_put, put};
use crate::model::{Mark, WorkspaceNo};

/// The shortest and the longest time after which it is looked again whether a workspace is active, in seconds. Those between
/// are twice one another, and it is looked at whole multiples of them: whoever looks beside another soon looks with him.
const LOOK_SECONDS_MIN: i64 = 60;
const LOOK_SECONDS_MAX: i64 = 960;
/// This part of the time for which the first of it has been parked, at most.
const LOOK_PARTS: i64 = 16;

/// Has something wait that fell due at an instant, for its workspace is suspended. It must say itself that it is due then.
pub(crate) fn park(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: WorkspaceNo,
    (at, due): (Timestamp, Due),
) -> Result<(), Failure> {
    if parked(tx, workspace, 1)?.is_empty() {
        put(tx, next_look(now, now), Due::Parked(workspace))?;
    }
    tx.put(&PARKED, &(workspace, at, due), &Mark)
}

/// The first of what a workspace has parked, `most` at the most, each with the instant at which it was due.
pub(crate) fn parked(read: &impl Read, workspace: WorkspaceNo, most: usize) -> Result<Vec<(Timestamp, Due)>, Failure> {
    let rows = read.scan(&PARKED, Scan::prefix(&(workspace,)).limit(most))?;
    Ok(rows.into_iter().map(|((_, at, due), Mark)| (at, due)).collect())
}

/// Something is parked no more. `is_right`: it still says that it is due then; otherwise it has been seen to.
pub(crate) fn put_back(
    tx: &mut WriteTx<'_>,
    workspace: WorkspaceNo,
    (at, due): (Timestamp, Due),
    is_right: bool,
) -> Result<(), Failure> {
    tx.delete(&PARKED, &(workspace, at, due));
    if is_right { put(tx, at, due) } else { Ok(()) }
}

/// A workspace is still suspended: it is looked at again, if it has parked anything.
pub(crate) fn watch(tx: &mut WriteTx<'_>, now: Timestamp, workspace: WorkspaceNo) -> Result<(), Failure> {
    let Some((since, _)) = parked(tx, workspace, 1)?.first().copied() else { return Ok(()) };
    put(tx, next_look(now, since), Due::Parked(workspace))
}

/// When it is looked again for what has been parked since an instant.
fn next_look(now: Timestamp, since: Timestamp) -> Timestamp {
    const MICROS: i64 = 1_000_000;
    let longest = (now.as_micros() - since.as_micros()) / MICROS / LOOK_PARTS;
    let mut pause = LOOK_SECONDS_MIN;
    while pause * 2 <= longest.min(LOOK_SECONDS_MAX) {
        pause *= 2;
    }
    let looks = now.as_micros().div_euclid(pause * MICROS) + 1;
    Timestamp::from_micros(looks * pause * MICROS)
}

/// What a workspace has parked is looked at now: it is active, or there is more of it.
pub(crate) fn wake_parked(tx: &mut WriteTx<'_>, now: Timestamp, workspace: WorkspaceNo) -> Result<(), Failure> {
    if parked(tx, workspace, 1)?.is_empty() { Ok(()) } else { put(tx, now, Due::Parked(workspace)) }
}

/// Whether something falls due at an instant, or did and is parked.
pub(crate) fn is_put_or_parked(
    read: &impl Read,
    workspace: WorkspaceNo,
    (at, due): (Timestamp, Due),
) -> Result<bool, Failure> {
    Ok(is_put(read, at, due)? || read.contains(&PARKED, &(workspace, at, due))?)
}

/// Calls `look` with the workspace of each thing that is parked.
pub(crate) fn each_parked(
    read: &impl Read,
    findings: &mut Vec<String>,
    mut look: impl FnMut(WorkspaceNo, Due, &mut Vec<String>),
) -> Result<(), Failure> {
    verify::each(read, &PARKED, findings, |(workspace, _, due), Mark, findings| {
        look(workspace, due, findings);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_looks_beside_another_soon_looks_with_him() {
        let since = Timestamp::from_micros(1_764_160_207_000_000);
        let looks = |mut at: Timestamp| {
            let mut all = Vec::new();
            while at < since.plus_seconds(86_400) {
                at = next_look(at, since);
                all.push(at);
            }
            all
        };
        let (one, other) = (looks(since), looks(since.plus_seconds(95)));
        assert_eq!(one[0], since.plus_seconds(60 - 7), "at the next whole minute");
        assert!(one.iter().zip(&one[1..]).all(|(one, next)| next.as_micros() - one.as_micros() <= 960_000_000));
        let common = one.iter().filter(|at| other.contains(at)).count();
        assert!(common + 2 >= other.len() && common > 80, "{common} of {}", other.len());
    }
}
