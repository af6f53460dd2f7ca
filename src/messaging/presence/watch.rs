//! What a stream tells: of each delivery, and of each release once; what is kept nowhere; and that its key is not good any
//! more (6-messaging.md, W3).
//!
//! It looks when it is woken, and only once the caller has taken what was told before: a slow caller costs nothing, and is
//! told of the newest when he is back. What it says is a hint, and the inbox the truth.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant as StdInstant};

use bytes::Bytes;
use quintet_platform::access;
use quintet_platform::http::Outgoing;
use quintet_platform::ids::ulid;
use quintet_platform::service::failed;
use quintet_storage::{Failure, Read, Uuid};
use tokio::time::Instant;

use crate::attendance::Line;
use crate::context::Context;
use crate::identity::{Caller, Priority, Status, keys, mailboxes, workspaces};
use crate::limits::STREAMS_PER_AGENT;
use crate::mail::{deliver, messages};
use crate::model::{AgentKey, DeliveryId};
use crate::refusal::Refusal;
use crate::wakes::Waiting;

/// A comment this often keeps the connection, and has a watcher look after what it may have missed.
const SIGN_TIME: Duration = Duration::from_secs(20);
const SIGN: &[u8] = b": keep-alive\n\n";
const UNAUTHORIZED: &[u8] = b"event: unauthorized\ndata: {}\n\n";
/// Whoever is further behind is told of the newest alone.
const BEHIND_MAX: u64 = 100;
/// Events of one piece.
const EVENTS_MAX: usize = 16;

/// How a stream is asked for.
pub(super) struct Wish {
    /// The last place of the inbox that its reader knows.
    pub(super) after: u64,
    /// Whether its reader can start a turn of the agent.
    pub(super) is_wake_capable: bool,
    /// What of it arrives.
    pub(super) outgoing: Option<Outgoing>,
}

/// Somebody who watches an inbox.
pub(super) struct Watcher {
    place: Place,
    waiting: Waiting<AgentKey>,
    /// Of the inbox up to here all is told.
    told: u64,
    sign_at: Instant,
    step: Step,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    First,
    Later,
    Over,
}

/// A place among the streams of an agent, until it is dropped.
struct Place {
    context: Context,
    agent: AgentKey,
    tenant_id: Uuid,
    line: Arc<Line>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let Place { context, agent, line, .. } = self;
        context.attendance.streams().close(*agent, line);
        if context.attendance.detached(*agent, context.now()) {
            context.clock.wake();
        }
    }
}

/// Begins to watch the inbox of the agent that acts.
///
/// # Errors
/// It has as many streams as it may have.
pub(super) fn watch(context: &Context, caller: &Caller, agent: AgentKey, wish: Wish) -> Result<Box<Watcher>, Refusal> {
    let line = Arc::new(Line::new(caller.key.id.clone(), wish.is_wake_capable, wish.outgoing, StdInstant::now()));
    let most = caller.workspace.limit(STREAMS_PER_AGENT);
    if !context.attendance.streams().open(agent, &line, most) {
        return Err(Refusal::LimitReached(STREAMS_PER_AGENT.name, most));
    }
    let place = Place { context: context.clone(), agent, tenant_id: caller.workspace.tenant_id, line };
    if context.attendance.attached(agent, context.now()) {
        context.clock.wake();
    }
    // Waiting begins before the look: nothing comes unseen between them.
    let waiting = context.wakes.wait(agent);
    let mailbox = mailboxes::get(&context.store.read(), agent).map_err(|failure| failed::<Refusal>(&failure))?;
    let told = wish.after.min(mailbox.last_seq);
    Ok(Box::new(Watcher { place, waiting, told, sign_at: Instant::now() + SIGN_TIME, step: Step::First }))
}

/// What a look found.
enum Look {
    Events(String),
    Nothing,
    /// Its key, its agent or its workspace is not good any more.
    Unauthorized,
}

impl Watcher {
    /// The next piece; none after the end, and when the appliance stops.
    pub(super) async fn piece(&mut self) -> Option<Bytes> {
        if self.step == Step::Over || self.place.context.stopping.is_stopping() {
            return None;
        }
        self.place.line.asked(StdInstant::now());
        loop {
            self.waiting.mark();
            match self.look() {
                Ok(Look::Events(events)) => {
                    self.step = Step::Later;
                    return Some(events.into());
                }
                Ok(Look::Unauthorized) => {
                    self.step = Step::Over;
                    return Some(Bytes::from_static(UNAUTHORIZED));
                }
                Ok(Look::Nothing) => {}
                Err(failure) => {
                    tracing::error!(%failure, "a stream ends, for its inbox cannot be read");
                    return None;
                }
            }
            if let Some(told) = self.place.line.take_told() {
                return Some(told);
            }
            // The answer's head goes out with it.
            if self.step == Step::First {
                self.step = Step::Later;
                return Some(Bytes::from_static(SIGN));
            }
            if !self.wait().await? {
                return Some(Bytes::from_static(SIGN));
            }
        }
    }

    /// Waits for something to look at; `false`: it is time for a sign of life. None when the appliance stops.
    async fn wait(&mut self) -> Option<bool> {
        let Watcher { place, waiting, sign_at, .. } = self;
        tokio::select! {
            () = waiting.come() => Some(true),
            () = place.line.woken() => Some(true),
            () = tokio::time::sleep_until(*sign_at) => {
                *sign_at = Instant::now() + SIGN_TIME;
                if place.context.attendance.has_stream(place.agent, place.context.now()) {
                    place.context.clock.wake();
                }
                Some(false)
            }
            () = place.context.stopped() => None,
        }
    }

    fn look(&mut self) -> Result<Look, Failure> {
        let read = self.place.context.store.read();
        let Some(last_seq) = self.place.last_seq(&read)? else { return Ok(Look::Unauthorized) };
        if self.step == Step::First || last_seq.saturating_sub(self.told) > BEHIND_MAX {
            self.told = self.told.max(last_seq.saturating_sub(1));
        }
        let mut events = String::new();
        for _ in 0..EVENTS_MAX {
            if self.told >= last_seq {
                break;
            }
            self.told = event(&read, self.place.agent, self.told + 1, last_seq, &mut events)?;
        }
        Ok(if events.is_empty() { Look::Nothing } else { Look::Events(events) })
    }
}

impl Place {
    /// The last place of the inbox; `None`: whoever opened the stream could not open it any more.
    fn last_seq(&self, read: &impl Read) -> Result<Option<u64>, Failure> {
        let is_revoked = keys::find(read, self.line.key_id())?.is_none_or(|key| key.revoked_at.is_some());
        let is_active = workspaces::find(read, self.agent.0)?.is_some_and(|found| found.status == Status::Active);
        if is_revoked || !is_active || access::is_suspended(read, self.tenant_id)? {
            return Ok(None);
        }
        Ok(mailboxes::find(read, self.agent)?.filter(|mailbox| !mailbox.is_retired).map(|mailbox| mailbox.last_seq))
    }
}

/// Writes the event of the delivery at a place, or of all that were released with it; the last place that it tells of.
fn event(read: &impl Read, agent: AgentKey, seq: u64, last_seq: u64, out: &mut String) -> Result<u64, Failure> {
    let Some(first) = deliver::find(read, agent, seq)? else { return Ok(last_seq) };
    let last = seq.saturating_add(u64::from(first.released.saturating_sub(1))).min(last_seq);
    let delivery = if last == seq { first } else { deliver::find(read, agent, last)?.unwrap_or(first) };
    let message = messages::find(read, (agent.0, delivery.message))?;
    let priority = message.map_or(Priority::Normal, |message| message.priority).name();
    let id = ulid(DeliveryId { arrived_at: delivery.arrived_at, agent: agent.1, seq: last }.to_uuid());
    let released = match delivery.released {
        0 => String::new(),
        count => format!(",\"released\":{count}"),
    };
    let _ = write!(
        out,
        "id: {last}\nevent: message\ndata: {{\"agent_seq\":{last},\"delivery_id\":\"{id}\",\"priority\":\"{priority}\"{released}}}\n\n"
    );
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Bench;

    /// 6-messaging.md, S3: most of what an idle stream may cost is its connection's.
    #[tokio::test]
    async fn what_waits_is_small() {
        let bench = Bench::new();
        let (agent, key_id) = (bench.agent("ann"), bench.admin.split('_').nth(2).unwrap().to_owned());
        let read = bench.context.store.read();
        let key = keys::find(&read, &key_id).unwrap().unwrap();
        let caller = Caller { workspace: bench.workspace.clone(), key, agent: None, name: None };
        let wish = Wish { after: 0, is_wake_capable: true, outgoing: None };
        let mut watcher = watch(&bench.context, &caller, agent, wish).unwrap();
        let held = size_of_val(&*watcher) + size_of_val(&*watcher.place.line);
        let waits = size_of_val(&watcher.piece());
        assert!(held + waits < 2_048, "{held} and {waits} bytes");
    }
}
