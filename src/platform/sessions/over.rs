//! Sessions whose time is over: they let nobody in from that instant on, and go at the next full hour.

use quintet_storage::{Failure, Read as _, Scan, Snapshot, Timestamp, Uuid, WriteTx};

use super::end::end_session;
use super::tables::{Mark, SESSIONS_BY_END};
use crate::jobs::{Agenda, Progress, Swept, start_of_hour};

/// Sessions removed in one transaction.
const SLICE_ROWS: usize = 200;

/// The sessions by the hour at whose start they go. One that is made from now on ends later.
pub struct SessionEnds;

impl Agenda for SessionEnds {
    type Place = (u32, Uuid);

    const NAME: &'static str = "platform.session_ends";
    const TAG: u16 = SESSIONS_BY_END.spec().tag;
    const IS_FREEING: bool = true;
    const FIRST: Self::Place = (0, Uuid::nil());

    fn next(&self, read: &Snapshot, from: Self::Place) -> Result<Option<Timestamp>, Failure> {
        let first = read.scan(&SESSIONS_BY_END, Scan::all().from(&from).limit(1))?;
        Ok(first.first().map(|((hour, _), Mark)| start_of_hour(*hour)))
    }

    fn slice(&self, tx: &mut WriteTx<'_>, now: Timestamp, from: Self::Place) -> Result<Swept<Self::Place>, Failure> {
        let oldest = tx.scan(&SESSIONS_BY_END, Scan::all().from(&from).limit(SLICE_ROWS))?;
        let (mut removed, mut to) = (0, None);
        for (place, Mark) in oldest {
            if start_of_hour(place.0) > now {
                break;
            }
            end_session(tx, place.1)?;
            (removed, to) = (removed + 1, Some(place));
        }
        Ok(Swept { to, progress: if removed == SLICE_ROWS { Progress::More } else { Progress::Rest } })
    }
}
