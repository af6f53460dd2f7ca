//! Links and sessions of operators whose time is over: they let nobody in from that instant on, and go at the next full
//! hour.

use quintet_storage::{Failure, Snapshot, Timestamp, Uuid, WriteTx};

use super::tables::{ENDS, EndRow, LINKS, OPERATORS};
use crate::jobs::{Agenda, ByHour, Swept};

const HOURS: ByHour<(u32, Uuid), EndRow> = ByHour { table: ENDS, hour: |place| place.0, most: 200 };

/// Both by the hour at whose start they go. One that is made from now on ends later.
pub struct PeopleEnds;

impl Agenda for PeopleEnds {
    type Place = (u32, Uuid);

    const NAME: &'static str = "platform.people_ends";
    const TAG: u16 = ENDS.spec().tag;
    const IS_FREEING: bool = true;
    const FIRST: Self::Place = (0, Uuid::nil());

    fn next(&self, read: &Snapshot, from: Self::Place) -> Result<Option<Timestamp>, Failure> {
        HOURS.next(read, from)
    }

    fn slice(&self, tx: &mut WriteTx<'_>, now: Timestamp, from: Self::Place) -> Result<Swept<Self::Place>, Failure> {
        HOURS.slice(tx, now, from, |tx, place, what| {
            match what {
                EndRow::Link => tx.delete(&LINKS, &place.1),
                EndRow::Operator => tx.delete(&OPERATORS, &place.1),
            }
            Ok(())
        })
    }
}
