//! Links and sessions of operators whose time is over: they let nobody in from that instant on, and go at the next full
//! hour.

use quintet_storage::{Failure, Read as _, Scan, Snapshot, Timestamp, Uuid, WriteTx};

use super::tables::{ENDS, EndRow, LINKS, OPERATORS};
use crate::jobs::{Agenda, Progress, Swept, start_of_hour};

/// Rows removed in one transaction.
const SLICE_ROWS: usize = 200;

/// Both by the hour at whose start they go. One that is made from now on ends later.
pub struct PeopleEnds;

impl Agenda for PeopleEnds {
    type Place = (u32, Uuid);

    const NAME: &'static str = "platform.people_ends";
    const TAG: u16 = ENDS.spec().tag;
    const IS_FREEING: bool = true;
    const FIRST: Self::Place = (0, Uuid::nil());

    fn next(&self, read: &Snapshot, from: Self::Place) -> Result<Option<Timestamp>, Failure> {
        let first = read.scan(&ENDS, Scan::all().from(&from).limit(1))?;
        Ok(first.first().map(|((hour, _), _)| start_of_hour(*hour)))
    }

    fn slice(&self, tx: &mut WriteTx<'_>, now: Timestamp, from: Self::Place) -> Result<Swept<Self::Place>, Failure> {
        let oldest = tx.scan(&ENDS, Scan::all().from(&from).limit(SLICE_ROWS))?;
        let (mut removed, mut to) = (0, None);
        for (place, what) in oldest {
            if start_of_hour(place.0) > now {
                break;
            }
            match what {
                EndRow::Link => tx.delete(&LINKS, &place.1),
                EndRow::Operator => tx.delete(&OPERATORS, &place.1),
            }
            tx.delete(&ENDS, &place);
            (removed, to) = (removed + 1, Some(place));
        }
        Ok(Swept { to, progress: if removed == SLICE_ROWS { Progress::More } else { Progress::Rest } })
    }
}
