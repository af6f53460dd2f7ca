//! What happened to a workflow, in order; and somebody who follows it.

use std::time::{Duration, Instant};

use quintet_platform::json::Json;
use quintet_platform::service::Fault;
use quintet_storage::{Abort, Failure, Read, Scan};

use super::model::{NO_WORKFLOW, Workflow, WorkflowState};
use super::rows::find;
use super::rules::index;
use super::tables::{EVENTS, GRAPHS};
use super::view;
use crate::context::{Context, Watch};
use crate::followers;
use crate::model::WorkflowKey;
use crate::refusal::Refusal;

/// Events in one piece.
const PIECE: usize = 100;
/// A sign of life this often keeps the connection.
const SIGN_TIME: Duration = Duration::from_secs(10);

/// What the nodes of a workflow are called; it never changes.
pub(super) fn refs(read: &impl Read, key: WorkflowKey) -> Result<Vec<String>, Failure> {
    let nodes = read.get(&GRAPHS, &key)?.map_or_else(Vec::new, |row| row.0.nodes);
    Ok(nodes.into_iter().map(|node| node.reference).collect())
}

/// The first events behind one, with their numbers, as answers tell them. `refs` are those of [`refs`].
pub(super) fn page(
    read: &impl Read,
    key: WorkflowKey,
    since: u64,
    limit: usize,
    refs: &[String],
) -> Result<Vec<(u64, Json)>, Failure> {
    let rows = read.scan(&EVENTS, Scan::prefix(&key).after(&(key.0, key.1, since)).limit(limit))?;
    let reference = |place| refs.get(index(place)).cloned().unwrap_or_default();
    Ok(rows.into_iter().map(|((_, _, number), row)| (number, view::event(key.1, number, &row, reference))).collect())
}

/// What somebody who follows is told.
pub(super) enum Piece {
    /// Events with their numbers.
    Events(Vec<(u64, Json)>),
    /// Nothing, for a while.
    Sign,
    /// It is over; in which state, if the workflow is still there.
    End(Option<WorkflowState>),
}

/// Somebody who follows a workflow.
pub(super) struct Follower {
    context: Context,
    key: WorkflowKey,
    refs: Vec<String>,
    since: u64,
    watch: Watch,
    told: Instant,
    has_ended: bool,
    place: followers::Place,
}

/// Begins to follow a workflow behind an event.
pub(super) fn follow(context: &Context, key: WorkflowKey, since: u64) -> Result<Follower, Abort<Refusal>> {
    let read = context.store.read();
    find(&read, key)?.ok_or(NO_WORKFLOW)?;
    let refs = refs(&read, key)?;
    let place = context.followers.enter(key.0).ok_or(Refusal::Fault(Fault::Busy))?;
    let (context, watch) = (context.clone(), context.watch());
    Ok(Follower { context, key, refs, since, watch, told: Instant::now(), has_ended: false, place })
}

impl Follower {
    /// The next piece; none after the end, when the appliance stops, or when others need the place.
    pub(super) async fn piece(&mut self) -> Option<Piece> {
        loop {
            if self.has_ended || self.place.is_given_up() || self.context.stopping.is_stopping() {
                return None;
            }
            self.watch.mark();
            let read = self.context.store.read();
            let events = page(&read, self.key, self.since, PIECE, &self.refs).ok()?;
            if let Some((last, _)) = events.last() {
                (self.since, self.told) = (*last, Instant::now());
                return Some(Piece::Events(events));
            }
            let workflow = find(&read, self.key).ok()?;
            drop(read);
            if workflow.as_ref().is_none_or(Workflow::is_over) {
                self.has_ended = true;
                return Some(Piece::End(workflow.map(|workflow| workflow.state)));
            }
            let left = SIGN_TIME.saturating_sub(self.told.elapsed());
            if left.is_zero() {
                self.told = Instant::now();
                return Some(Piece::Sign);
            }
            self.watch.paced_change(left).await;
        }
    }
}
