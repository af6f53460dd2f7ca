//! What is old is forgotten: mail that is done, and lines about what was given up.

use quintet_platform::jobs::{Agenda, Progress, Swept};
use quintet_storage::{Failure, Read as _, Scan, Snapshot, Timestamp, WriteTx};

use super::rows::forget;
use super::tables::{OLD, OLD_OUTGOING, UNDELIVERABLE};
use crate::model::Mark;

/// So much is forgotten in one transaction.
const SLICE: usize = 128;

/// Mail that is forgotten when its time has come.
pub(crate) struct ForgottenMail;

impl Agenda for ForgottenMail {
    /// What is old is noted at later and later instants, but for clocks that are set back.
    type Place = ();

    const NAME: &'static str = "messaging.forgotten_mail";
    const TAG: u16 = OLD.spec().tag;
    const IS_FREEING: bool = true;
    const FIRST: () = ();

    fn next(&self, read: &Snapshot, (): ()) -> Result<Option<Timestamp>, Failure> {
        Ok(read.scan(&OLD, Scan::all().limit(1))?.first().map(|((at, ..), Mark)| *at))
    }

    fn slice(&self, tx: &mut WriteTx<'_>, now: Timestamp, (): ()) -> Result<Swept<()>, Failure> {
        let rows = tx.scan(&OLD, Scan::all().limit(SLICE))?;
        let mut progress = Progress::Rest;
        for ((at, workspace, kind, id), Mark) in rows.into_iter().take_while(|((at, ..), _)| *at <= now) {
            progress = Progress::More;
            if kind == OLD_OUTGOING {
                forget(tx, (workspace, id))?;
            } else {
                tx.delete(&UNDELIVERABLE, &(workspace, id));
            }
            tx.delete(&OLD, &(at, workspace, kind, id));
        }
        Ok(Swept { to: None, progress })
    }
}
