//! Sessions whose time is over: they let nobody in from that instant on, and go at the next full hour.

use quintet_storage::{Failure, Snapshot, Timestamp, Uuid, WriteTx};

use super::end::end_session;
use super::tables::{Mark, SESSIONS_BY_END};
use crate::jobs::{Agenda, ByHour, Swept};

const HOURS: ByHour<(u32, Uuid), Mark> = ByHour { table: SESSIONS_BY_END, hour: |place| place.0, most: 200 };

/// The sessions by the hour at whose start they go. One that is made from now on ends later.
pub struct SessionEnds;

impl Agenda for SessionEnds {
    type Place = (u32, Uuid);

    const NAME: &'static str = "platform.session_ends";
    const TAG: u16 = SESSIONS_BY_END.spec().tag;
    const IS_FREEING: bool = true;
    const FIRST: Self::Place = (0, Uuid::nil());

    fn next(&self, read: &Snapshot, from: Self::Place) -> Result<Option<Timestamp>, Failure> {
        HOURS.next(read, from)
    }

    fn slice(&self, tx: &mut WriteTx<'_>, now: Timestamp, from: Self::Place) -> Result<Swept<Self::Place>, Failure> {
        HOURS.slice(tx, now, from, |tx, place, Mark| end_session(tx, place.1).map(drop))
    }
}
