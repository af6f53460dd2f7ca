//! The streams that are open, by the agent whose they are.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use quintet_platform::http::Outgoing;
use tokio::sync::Notify;

use super::afloat::Afloat;
use super::model::{OpenStream, TAKEN_WITHIN};
use crate::model::AgentKey;

/// What waits for a reader besides what lies in the inbox, in events and in bytes; more is not told.
const TOLD_MAX: usize = 64;
const TOLD_BYTES_MAX: usize = EVENT_BYTES_MAX;
/// The most bytes of an event that lies in no inbox.
pub(crate) const EVENT_BYTES_MAX: usize = 256 << 10;

/// The streams of all agents.
#[derive(Default)]
pub(crate) struct Streams {
    open: Mutex<HashMap<AgentKey, Vec<Arc<Line>>>>,
    afloat: Afloat,
}

/// How many an event reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reached {
    /// Agents that have a stream which it goes to.
    pub(crate) agents: usize,
    /// These streams.
    pub(crate) streams: usize,
}

/// A stream, as others see it.
pub(crate) struct Line {
    key_id: String,
    is_wake_capable: bool,
    outgoing: Option<Outgoing>,
    /// When more was last asked for, so that what was told before had been taken over to be sent.
    asked_at: Mutex<Instant>,
    told: Mutex<VecDeque<Bytes>>,
    woken: Notify,
}

impl Line {
    /// One that was opened with a key; `outgoing` tells what has arrived, where the listener knows.
    pub(crate) fn new(key_id: String, is_wake_capable: bool, outgoing: Option<Outgoing>, now: Instant) -> Line {
        Line {
            key_id,
            is_wake_capable,
            outgoing,
            asked_at: Mutex::new(now),
            told: Mutex::default(),
            woken: Notify::new(),
        }
    }

    /// The key that it was opened with.
    pub(crate) fn key_id(&self) -> &str {
        &self.key_id
    }

    /// More is asked for.
    pub(crate) fn asked(&self, now: Instant) {
        *self.asked_at.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    /// What was told besides what lies in the inbox, the oldest first.
    pub(crate) fn take_told(&self) -> Option<Bytes> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// Waits until something is told, or its key is in doubt.
    pub(crate) async fn woken(&self) {
        self.woken.notified().await;
    }

    /// `false`: there was no room for it.
    fn tell(&self, event: Bytes) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting: usize = told.iter().map(Bytes::len).sum();
        if told.len() >= TOLD_MAX || waiting + event.len() > TOLD_BYTES_MAX {
            return false;
        }
        told.push_back(event);
        self.woken.notify_one();
        true
    }

    fn open_stream(&self, now: Instant) -> OpenStream {
        let taken_at = self.outgoing.as_ref().map(Outgoing::taken_at);
        let taken_at = taken_at.unwrap_or_else(|| *self.asked_at.lock().unwrap_or_else(PoisonError::into_inner));
        (self.is_wake_capable, now.saturating_duration_since(taken_at))
    }
}

impl Streams {
    /// Adds a stream of an agent. `false`: it has so many already.
    pub(crate) fn open(&self, agent: AgentKey, line: &Arc<Line>, most: u64) -> bool {
        let mut held = self.held();
        let lines = held.entry(agent).or_default();
        let has_room = u64::try_from(lines.len()).unwrap_or(u64::MAX) < most;
        if has_room {
            lines.push(Arc::clone(line));
        } else if lines.is_empty() {
            held.remove(&agent);
        }
        has_room
    }

    /// A stream of an agent has ended.
    pub(crate) fn close(&self, agent: AgentKey, line: &Arc<Line>) {
        let mut held = self.held();
        let Some(lines) = held.get_mut(&agent) else { return };
        lines.retain(|other| !Arc::ptr_eq(other, line));
        if lines.is_empty() {
            held.remove(&agent);
        }
    }

    /// Tells all streams of agents of one workspace something that lies in no inbox: a whole event, as it is written.
    pub(crate) fn tell(&self, agents: &[AgentKey], event: String) -> Reached {
        let mut reached = Reached::default();
        let Some((workspace, _)) = agents.first() else { return reached };
        let Some(event) = self.afloat.event(*workspace, event) else { return reached };
        let held = self.held();
        for lines in agents.iter().filter_map(|agent| held.get(agent)) {
            let streams = lines.iter().filter(|line| line.tell(event.clone())).count();
            reached.agents += usize::from(streams > 0);
            reached.streams += streams;
        }
        reached
    }

    /// How many streams of these agents are open, as [`Streams::tell`] counts them.
    pub(crate) fn reach(&self, agents: &[AgentKey]) -> Reached {
        let held = self.held();
        let open = agents.iter().filter_map(|agent| held.get(agent)).map(Vec::len);
        open.fold(Reached::default(), |reached, streams| Reached {
            agents: reached.agents + 1,
            streams: reached.streams + streams,
        })
    }

    /// How many streams of an agent are open.
    #[cfg(test)]
    pub(crate) fn count(&self, agent: AgentKey) -> usize {
        self.reach(&[agent]).streams
    }

    /// How many streams of all agents are open.
    pub(crate) fn count_all(&self) -> usize {
        self.held().values().map(Vec::len).sum()
    }

    /// Has all streams look whether their key is still good that were opened with one that fits.
    pub(crate) fn doubt(&self, fits: impl Fn(&str) -> bool) {
        for line in self.held().values().flatten().filter(|line| fits(&line.key_id)) {
            line.woken.notify_one();
        }
    }

    /// Of each of several agents, whether a message starts a turn of it.
    pub(super) fn live(&self, agents: &[AgentKey], now: Instant) -> Vec<bool> {
        let held = self.held();
        let is_live = |line: &Arc<Line>| {
            let (is_wake_capable, age) = line.open_stream(now);
            is_wake_capable && age <= TAKEN_WITHIN
        };
        agents.iter().map(|agent| held.get(agent).is_some_and(|lines| lines.iter().any(is_live))).collect()
    }

    /// The streams of an agent.
    pub(super) fn of(&self, agent: AgentKey, now: Instant) -> Vec<OpenStream> {
        self.held().get(&agent).map_or_else(Vec::new, |lines| lines.iter().map(|line| line.open_stream(now)).collect())
    }

    fn held(&self) -> MutexGuard<'_, HashMap<AgentKey, Vec<Arc<Line>>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::model::{AgentNo, WorkspaceNo};

    const AGENT: AgentKey = (WorkspaceNo(1), AgentNo(1));

    fn line(key_id: &str) -> Arc<Line> {
        Arc::new(Line::new(key_id.to_owned(), true, None, Instant::now()))
    }

    #[test]
    fn an_agent_has_so_many_and_no_more() {
        let streams = Streams::default();
        let lines: Vec<_> = (0..17).map(|_| line("k")).collect();
        let opened: Vec<bool> = lines.iter().map(|line| streams.open(AGENT, line, 16)).collect();
        assert_eq!((opened.iter().filter(|is_open| **is_open).count(), streams.count(AGENT)), (16, 16));
        streams.close(AGENT, &lines[16]);
        streams.close(AGENT, &lines[3]);
        assert_eq!(streams.count(AGENT), 15);
        lines.iter().for_each(|line| streams.close(AGENT, line));
        assert!(streams.held().is_empty());
    }

    #[tokio::test]
    async fn what_is_told_reaches_each_that_has_room() {
        let streams = Streams::default();
        let (one, other) = (line("k"), line("l"));
        streams.open(AGENT, &one, 16);
        let (deaf, tell) = ((WorkspaceNo(1), AgentNo(2)), |agents: &[AgentKey]| streams.tell(agents, "x".to_owned()));
        let one_stream = Reached { agents: 1, streams: 1 };
        for _ in 0..TOLD_MAX {
            assert_eq!(tell(&[AGENT]), one_stream);
        }
        streams.open(AGENT, &other, 16);
        assert_eq!(tell(&[AGENT, deaf]), one_stream, "one of them reads nothing, and one agent has none");
        other.woken().await;
        assert_eq!((other.take_told(), other.take_told()), (Some(Bytes::from_static(b"x")), None));
        assert_eq!((tell(&[deaf]), tell(&[])), (Reached::default(), Reached::default()));
    }

    /// However many large events one sends: who does not read holds so much, and the rest is nobody's.
    #[test]
    fn what_waits_is_so_much_and_no_more() {
        let streams = Streams::default();
        let slow = line("k");
        streams.open(AGENT, &slow, 16);
        let told = |bytes: usize| streams.tell(&[AGENT], "x".repeat(bytes)).streams;
        assert_eq!((told(EVENT_BYTES_MAX / 2), told(EVENT_BYTES_MAX / 2 + 1), told(EVENT_BYTES_MAX / 2)), (1, 0, 1));
        assert_eq!(told(1), 0);
        slow.take_told();
        assert_eq!((told(1), told(EVENT_BYTES_MAX)), (1, 0));
        while slow.take_told().is_some() {}
        assert_eq!(told(EVENT_BYTES_MAX), 1, "the largest has room");
    }

    #[test]
    fn without_a_listener_that_knows_asking_for_more_is_taking() {
        let line = line("k");
        let later = Instant::now() + Duration::from_secs(70);
        assert!(line.open_stream(later).1 > Duration::from_secs(60));
        line.asked(later);
        assert_eq!(line.open_stream(later), (true, Duration::ZERO));
        let outgoing = Outgoing::new(later - Duration::from_secs(5));
        let known = Line::new(String::new(), false, Some(outgoing), later);
        assert_eq!(known.open_stream(later), (false, Duration::from_secs(5)));
    }
}
