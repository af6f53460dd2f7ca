//! Looking at open decisions again: every ten minutes, at their expiry, and those that were cut off at once after a start
//! (localization, W4).

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use quintet_platform::clock::BoxFuture;
use quintet_platform::jobs::{Job, Progress};
use quintet_storage::{Abort, Failure, Timestamp};
use tokio::task::JoinSet;

use super::settle::{Settlement, settle_by, settle_decision};
use crate::context::Context;
use crate::decisions::{Next, Reading, Status, SubjectKind, WATCH_AGENDA, Watch, due_watches, every_watch, postpone};
use crate::refusal::Refusal;
use crate::{approvals, licences};

/// How long writing may wait for the writer.
const WRITER_TIME: Duration = Duration::from_secs(10);
/// Decisions that are looked at at a time.
const WATCHES_AT_ONCE: usize = 16;
/// How long after its expiry a decision that nobody tells anything of is timed out here, in seconds: a day.
const GRACE_SECONDS: i64 = 86_400;

/// Looks at open decisions again.
pub struct Rereads {
    context: Context,
    left: Mutex<Left>,
}

/// What is left from before the start.
enum Left {
    /// Nobody has looked.
    Unknown,
    /// These were cut off.
    Some(VecDeque<Watch>),
}

impl Rereads {
    /// Of the store that the context has.
    #[must_use]
    pub fn new(context: Context) -> Rereads {
        Rereads { context, left: Mutex::new(Left::Unknown) }
    }

    fn left(&self) -> MutexGuard<'_, Left> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those that are looked at now: first what a crash has cut off, then what is due.
    fn next(&self) -> Result<(Vec<Watch>, bool), Failure> {
        let read = self.context.store.read();
        let mut left = self.left();
        if let Left::Unknown = *left {
            let all = every_watch(&read)?.into_iter();
            *left = Left::Some(all.filter(|watch| watch.decision_id.is_none()).collect());
        }
        if let Left::Some(some) = &mut *left
            && !some.is_empty()
        {
            let count = some.len().min(WATCHES_AT_ONCE);
            return Ok((some.drain(..count).collect(), true));
        }
        drop(left);
        let (due, _) = due_watches(&read, self.context.clock.now(), WATCHES_AT_ONCE)?;
        Ok((due, false))
    }

    async fn run_slice(&self) -> Result<Progress, Failure> {
        let (watches, is_left) = self.next()?;
        // Each may wait for the service for some seconds, which whoever stops the appliance does not.
        if watches.is_empty() || self.context.stopping.is_stopping() {
            return Ok(Progress::Rest);
        }
        let mut looking = JoinSet::new();
        for watch in watches {
            let context = self.context.clone();
            looking.spawn(async move {
                let is_open = look(&context, &watch).await?;
                Ok::<_, Failure>(is_open.then_some(watch.subject))
            });
        }
        let (mut open, mut failed) = (Vec::new(), None);
        while let Some(ended) = looking.join_next().await {
            match ended {
                Ok(Ok(subject)) => open.extend(subject),
                Ok(Err(failure)) => failed = Some(failure),
                Err(_) => failed = Some(Failure::Panicked),
            }
        }
        if !open.is_empty() && !is_left {
            let verb = move |tx: &mut quintet_storage::WriteTx<'_>, now| {
                open.iter().try_for_each(|subject| postpone(tx, now, subject)).map_err(Abort::<Refusal>::Failed)
            };
            let postponed = self.context.store.write(Instant::now() + WRITER_TIME, verb).await;
            if let Err(Abort::Failed(failure)) = postponed {
                return Err(failure);
            }
        }
        failed.map_or(Ok(Progress::More), Err)
    }
}

/// Looks at one; whether it is still open.
async fn look(context: &Context, watch: &Watch) -> Result<bool, Failure> {
    let now = context.clock.now();
    let is_over = watch.expires_at.plus_seconds(GRACE_SECONDS) <= now;
    let subject = watch.subject;
    let outcome = match &watch.decision_id {
        None if context.decisions.is_in_flight(subject.id) => return Ok(true),
        None => {
            let is_over = watch.expires_at <= now;
            let _in_flight = context.decisions.enter(subject.id);
            let tenant_id = subject.tenant_id;
            let submitted = match subject.kind {
                SubjectKind::ApprovalRequest => approvals::submit_again(context, tenant_id, subject.id, is_over).await,
                SubjectKind::Licence => {
                    licences::submit_again(context, tenant_id, watch.project_id, subject.id, is_over).await
                }
            };
            match submitted {
                // It may have been raised before the crash, and taken since.
                Ok(()) => settle_decision(context, subject, None).await.or_else(|abort| match abort {
                    Abort::Refused(Refusal::DecisionUnavailable) => Ok(Settlement::NotYet),
                    abort => Err(abort),
                }),
                Err(abort) => Err(abort),
            }
        }
        Some(_) => match settle_decision(context, subject, None).await {
            Ok(Settlement::NotYet) | Err(Abort::Refused(Refusal::DecisionUnavailable)) if is_over => {
                // Its time has been over for a day, and the service tells nothing: it is open no longer.
                let reading = Reading { status: Status::TimedOut, decided_by: None, reason: None, decided_at: None };
                settle_by(context, watch, reading, None).await
            }
            outcome => outcome,
        },
    };
    match outcome {
        Ok(settlement) => Ok(settlement == Settlement::NotYet),
        Err(Abort::Refused(refusal)) => {
            tracing::debug!(?refusal, subject = %subject.id, "an open decision is looked at again later");
            Ok(true)
        }
        Err(Abort::Failed(failure)) => Err(failure),
    }
}

impl Job for Rereads {
    fn name(&self) -> &'static str {
        "localization.decision_rereads"
    }

    fn agenda(&self) -> Option<u16> {
        Some(WATCH_AGENDA)
    }

    fn next_due(&self) -> Result<Option<Timestamp>, Failure> {
        match &*self.left() {
            Left::Unknown => return Ok(Some(Timestamp::EPOCH)),
            Left::Some(some) if !some.is_empty() => return Ok(Some(Timestamp::EPOCH)),
            Left::Some(_) => {}
        }
        let read = self.context.store.read();
        let (_, Next(first)) = due_watches(&read, Timestamp::EPOCH, 1)?;
        Ok(first)
    }

    fn slice(&self) -> BoxFuture<'_, Result<Progress, Failure>> {
        Box::pin(self.run_slice())
    }
}
