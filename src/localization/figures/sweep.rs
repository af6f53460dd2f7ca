//! The one that works off what is to be judged anew: at once, whenever something is noted, and after a start what was left.
//! Projects take turns, look by look: a large one does not keep the others waiting.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use quintet_platform::clock::BoxFuture;
use quintet_platform::jobs::{Job, Progress};
use quintet_platform::service::Fault;
use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, WriteTx};

use super::pass::{CauseKey, Found, apply, look};
use crate::content::rejudge::{Cause, REJUDGES, RejudgeRow, gather_terms};
use crate::context::Context;
use crate::model::{ProjectId, TenantId};
use crate::refusal::Refusal;

/// How long one step may wait for the writer.
const WRITER_TIME: Duration = Duration::from_secs(10);
/// For how long it works on end: whoever stops the appliance waits for no more.
const BURST_TIME: Duration = Duration::from_secs(5);
/// For how long a project is left alone whose translations could not be judged, in seconds.
const ASIDE_SECONDS: i64 = 60;

/// Works off what is to be judged anew.
pub struct Rejudging {
    context: Context,
    turn: Mutex<Turn>,
}

/// Whose turn it is.
#[derive(Default)]
struct Turn {
    /// The project that was looked at last.
    last: Option<(TenantId, ProjectId)>,
    /// Since when it works on end.
    since: Option<Instant>,
    /// Projects that are left alone, until when.
    aside: HashMap<(TenantId, ProjectId), Timestamp>,
}

impl Rejudging {
    /// Of the store that the context has.
    #[must_use]
    pub fn new(context: Context) -> Rejudging {
        Rejudging { context, turn: Mutex::default() }
    }

    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The oldest cause of the project whose turn it is.
    fn next(&self) -> Result<Option<(CauseKey, RejudgeRow)>, Failure> {
        let (read, now) = (self.context.store.read(), self.context.clock.now());
        let mut turn = self.turn();
        turn.aside.retain(|_, until| *until > now);
        next_of(&read, turn.last, |project| turn.aside.contains_key(&project))
    }

    /// Whether it has worked so long that somebody may want to stop it. What is left is due all the same.
    fn is_burst_over(&self) -> bool {
        self.turn().since.get_or_insert_with(Instant::now).elapsed() > BURST_TIME
    }

    async fn run_slice(&self) -> Result<Progress, Failure> {
        let Some((key, row)) = self.next()?.filter(|_| !self.is_burst_over()) else {
            self.turn().since = None;
            return Ok(Progress::Rest);
        };
        let (tenant_id, project_id, _) = key;
        self.turn().last = Some((tenant_id, project_id));
        let worked = self.work(key, row).await;
        // What the store cannot do now it can do soon; what is damaged is looked at again only now and then.
        if worked.as_ref().is_err_and(|failure| !matches!(failure, Failure::Busy | Failure::StorageFull)) {
            let until = self.context.clock.now().plus_seconds(ASIDE_SECONDS);
            self.turn().aside.insert((tenant_id, project_id), until);
        }
        worked.map(|()| Progress::More)
    }

    async fn work(&self, key: CauseKey, row: RejudgeRow) -> Result<(), Failure> {
        let (tenant_id, project_id, _) = key;
        if let (Cause::Terms(_), None) = (&row.cause, &row.done) {
            let two = Scan::prefix(&(tenant_id, project_id)).limit(2);
            let is_alone = self.context.store.read().scan(&REJUDGES, two)?.len() < 2;
            if !is_alone && self.write(move |tx| gather_terms(tx, tenant_id, project_id)).await? {
                return Ok(());
            }
        }
        let context = self.context.clone();
        let looked = tokio::task::spawn_blocking(move || {
            look(&context.store.read(), &context.shelf, key, row).map(Found::steps)
        });
        let steps = match looked.await {
            Ok(Ok(steps)) => steps,
            Ok(Err(Abort::Failed(failure))) => return Err(failure),
            Ok(Err(Abort::Refused(refusal))) => return Err(gone(&refusal)),
            Err(_) => return Err(gone(&Fault::Internal.into())),
        };
        for step in steps {
            self.write(move |tx| apply(tx, step)).await?;
        }
        Ok(())
    }

    async fn write<T: Send + 'static>(
        &self,
        verb: impl FnOnce(&mut WriteTx<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let deadline = Instant::now() + WRITER_TIME;
        let written = self.context.store.write(deadline, move |tx, _| Ok(verb(tx)?)).await;
        written.map_err(|abort: Abort<Infallible>| match abort {
            Abort::Failed(failure) => failure,
            Abort::Refused(never) => match never {},
        })
    }
}

/// The oldest cause of the first project behind the last one that is not left alone.
fn next_of(
    read: &impl Read,
    last: Option<(TenantId, ProjectId)>,
    is_aside: impl Fn((TenantId, ProjectId)) -> bool,
) -> Result<Option<(CauseKey, RejudgeRow)>, Failure> {
    for mut behind in [last, None] {
        loop {
            let scan = Scan::all().limit(1);
            let scan = match behind {
                Some((tenant_id, project_id)) => scan.after(&(tenant_id, project_id, u64::MAX)),
                None => scan,
            };
            match read.scan(&REJUDGES, scan)?.pop() {
                None => break,
                Some((key, _)) if is_aside((key.0, key.1)) => behind = Some((key.0, key.1)),
                Some(found) => return Ok(Some(found)),
            }
        }
        if last.is_none() {
            break;
        }
    }
    Ok(None)
}

/// Projects and files stay, so that they are not missed.
fn gone(refusal: &Refusal) -> Failure {
    Failure::Damaged(format!("what is to be judged anew cannot be: {refusal:?}"))
}

impl Job for Rejudging {
    fn name(&self) -> &'static str {
        "localization.rejudging"
    }

    fn agenda(&self) -> Option<u16> {
        Some(REJUDGES.spec().tag)
    }

    fn next_due(&self) -> Result<Option<Timestamp>, Failure> {
        match self.next()? {
            Some((_, row)) => Ok(Some(row.noted_at)),
            None => Ok(self.turn().aside.values().min().copied()),
        }
    }

    fn slice(&self) -> BoxFuture<'_, Result<Progress, Failure>> {
        Box::pin(self.run_slice())
    }
}
