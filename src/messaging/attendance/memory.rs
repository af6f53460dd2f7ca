//! What is held of attendance while the appliance runs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use quintet_platform::jobs::Noted;
use quintet_platform::secrets::constant_time_eq;
use quintet_storage::{Failure, Read, Timestamp};

use super::model::{Attended, Presence, REACHABLE_SECONDS, Sighting};
use super::streams::Streams;
use super::tables;
use crate::identity::keys::drawn;
use crate::model::AgentKey;
use crate::telling;

/// An agent that has echoed is asked again after so long, in seconds: a watcher that asks once a minute then echoes at least
/// every third minute, which is as long as an echo counts.
const CHALLENGE_AFTER_SECONDS: i64 = 45;
/// A challenge can be echoed for so long, in seconds.
const CHALLENGE_SECONDS: i64 = 300;
/// Characters of a challenge.
const CHALLENGE_CHARS: usize = 24;
const CHALLENGE_ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// How long what is seen may stay in memory only, in seconds (6-messaging.md, W5).
const STORE_AFTER_SECONDS: i64 = 60;
/// Of so many agents what is seen is stored in a round; of more it stays in memory.
const NOTED_MAX: usize = 100_000;

/// Who was seen when, who was asked for an echo, and who has streams open. Clones share it.
#[derive(Clone)]
pub(crate) struct Attendance(Arc<Parts>);

struct Parts {
    agents: Mutex<HashMap<AgentKey, Attending>>,
    streams: Streams,
    /// Of which agents more is known than is stored.
    noted: Noted<AgentKey>,
}

impl Default for Attendance {
    fn default() -> Attendance {
        let (agents, streams) = (Mutex::default(), Streams::default());
        Attendance(Arc::new(Parts { agents, streams, noted: Noted::new(NOTED_MAX, STORE_AFTER_SECONDS) }))
    }
}

/// What is held of an agent.
#[derive(Default)]
struct Attending {
    sighting: Sighting,
    /// By the key that it acts with: each has one challenge at a time.
    echoes: HashMap<String, Echo>,
}

/// How it stands with the echoes of a key.
#[derive(Default)]
struct Echo {
    /// The challenge that waits, and since when.
    waiting: Option<(String, Timestamp)>,
    /// When the last one was echoed.
    echoed_at: Option<Timestamp>,
}

impl Attendance {
    /// An agent asks for something. `pong` is what it echoes, if it does; `is_its_own`: its key is bound to it alone. `true`:
    /// nothing waited to be stored before, so that it is time to wake the clock.
    pub(crate) fn saw(
        &self,
        agent: AgentKey,
        key_id: &str,
        pong: Option<&str>,
        is_its_own: bool,
        now: Timestamp,
    ) -> bool {
        let mut held = self.held();
        let attending = held.entry(agent).or_default();
        attending.sighting.last_seen_at = attending.sighting.last_seen_at.max(Some(now));
        if let Some(asked_at) = pong.and_then(|pong| attending.take_echo(key_id, pong, now))
            && is_its_own
        {
            attending.sighting.last_pong_at = Some(now);
            attending.sighting.echo_delay_ms = Some((now.as_micros() - asked_at.as_micros()) / 1_000);
        }
        drop(held);
        self.0.noted.note(agent, now)
    }

    /// A stream of an agent is open. `true` as with [`Attendance::saw`].
    pub(crate) fn has_stream(&self, agent: AgentKey, now: Timestamp) -> bool {
        self.sees(agent, now, |_| {})
    }

    /// A stream of an agent was opened.
    pub(crate) fn attached(&self, agent: AgentKey, now: Timestamp) -> bool {
        self.sees(agent, now, |sighting| sighting.attached_at = Some(now))
    }

    /// A stream of an agent has ended.
    pub(crate) fn detached(&self, agent: AgentKey, now: Timestamp) -> bool {
        self.sees(agent, now, |sighting| sighting.detached_at = Some(now))
    }

    fn sees(&self, agent: AgentKey, now: Timestamp, change: impl FnOnce(&mut Sighting)) -> bool {
        let mut held = self.held();
        let sighting = &mut held.entry(agent).or_default().sighting;
        sighting.last_seen_at = sighting.last_seen_at.max(Some(now));
        change(sighting);
        drop(held);
        self.0.noted.note(agent, now)
    }

    /// The challenge that an answer to an agent carries, if one is due.
    pub(crate) fn challenge(&self, agent: AgentKey, key_id: &str, now: Timestamp) -> Option<String> {
        let mut held = self.held();
        let echo = held.entry(agent).or_default().echo_of(key_id, now);
        if echo.echoed_at.is_some_and(|at| now <= at.plus_seconds(CHALLENGE_AFTER_SECONDS)) {
            return None;
        }
        let is_good = |(_, asked_at): &&(String, Timestamp)| now <= asked_at.plus_seconds(CHALLENGE_SECONDS);
        if let Some((challenge, _)) = echo.waiting.as_ref().filter(is_good) {
            return Some(challenge.clone());
        }
        let challenge = drawn(CHALLENGE_ALPHABET, CHALLENGE_CHARS);
        echo.waiting = Some((challenge.clone(), now));
        Some(challenge)
    }

    /// All that is known of an agent's attendance.
    pub(crate) fn attended(&self, read: &impl Read, agent: AgentKey) -> Result<Attended, Failure> {
        let stored = tables::find(read, agent)?.unwrap_or_default();
        let streams = self.0.streams.of(agent, Instant::now());
        let has_webhook = telling::rows::covered(read, &[agent])?.contains(&true);
        Ok(Attended { sighting: stored.merged(self.sighting(agent)), streams, has_webhook })
    }

    /// Of each of several agents, whether it responds, and whether a message starts a turn of it. What is stored is looked up
    /// for those alone of whom nothing in memory says that they respond.
    pub(crate) fn reach(
        &self,
        read: &impl Read,
        agents: &[AgentKey],
        now: Timestamp,
    ) -> Result<Vec<(bool, bool)>, Failure> {
        let responds = |sighting: &Sighting| sighting.presence(false, now) == Presence::Responsive;
        let held = self.held();
        let sighted: Vec<bool> =
            agents.iter().map(|agent| held.get(agent).is_some_and(|attending| responds(&attending.sighting))).collect();
        drop(held);
        let live = self.0.streams.live(agents, Instant::now());
        let webhooks = telling::rows::covered(read, agents)?;
        let mut reach = Vec::with_capacity(agents.len());
        for ((agent, is_responsive), (is_live, has_webhook)) in
            agents.iter().zip(sighted).zip(live.into_iter().zip(webhooks))
        {
            let is_responsive = is_responsive || tables::find(read, *agent)?.is_some_and(|stored| responds(&stored));
            reach.push((is_responsive, is_live || has_webhook));
        }
        Ok(reach)
    }

    /// When an agent was last there: at this instant, while a stream of it is open.
    pub(crate) fn seen_at(
        &self,
        read: &impl Read,
        agent: AgentKey,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Failure> {
        let attended = self.attended(read, agent)?;
        Ok(if attended.has_stream() { Some(now) } else { attended.sighting.last_seen_at })
    }

    /// The streams that are open.
    pub(crate) fn streams(&self) -> &Streams {
        &self.0.streams
    }

    /// What is held of when an agent was seen.
    pub(super) fn sighting(&self, agent: AgentKey) -> Sighting {
        self.held().get(&agent).map_or_else(Sighting::default, |attending| attending.sighting)
    }

    /// Of which agents more is known than is stored.
    pub(super) fn noted(&self) -> &Noted<AgentKey> {
        &self.0.noted
    }

    /// Forgets what is stored and says nothing any more of who is there.
    pub(super) fn forget_old(&self, now: Timestamp) {
        let is_new = |at: Option<Timestamp>| at.is_some_and(|at| now <= at.plus_seconds(REACHABLE_SECONDS));
        self.held()
            .retain(|agent, attending| is_new(attending.sighting.last_seen_at) || self.0.noted.of(*agent).is_some());
    }

    fn held(&self) -> MutexGuard<'_, HashMap<AgentKey, Attending>> {
        self.0.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Echo {
    /// Whether it still says anything of its key.
    fn is_fresh(&self, now: Timestamp) -> bool {
        let asked_at = self.waiting.as_ref().map(|(_, asked_at)| *asked_at);
        asked_at.max(self.echoed_at).is_some_and(|at| now <= at.plus_seconds(CHALLENGE_SECONDS))
    }
}

impl Attending {
    /// How it stands with the echoes of a key. Those of keys that are used no more go when another one comes.
    fn echo_of(&mut self, key_id: &str, now: Timestamp) -> &mut Echo {
        if !self.echoes.contains_key(key_id) {
            self.echoes.retain(|_, echo| echo.is_fresh(now));
        }
        self.echoes.entry(key_id.to_owned()).or_default()
    }

    /// Takes an echo, if it is one; when its challenge was issued.
    fn take_echo(&mut self, key_id: &str, pong: &str, now: Timestamp) -> Option<Timestamp> {
        let echo = self.echoes.get_mut(key_id)?;
        let is_echo = |(challenge, asked_at): &(String, Timestamp)| {
            now <= asked_at.plus_seconds(CHALLENGE_SECONDS) && constant_time_eq(challenge.as_bytes(), pong.as_bytes())
        };
        let (_, asked_at) = echo.waiting.take_if(|waiting| is_echo(waiting))?;
        echo.echoed_at = Some(now);
        Some(asked_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{AgentNo, WorkspaceNo};

    const AGENT: AgentKey = (WorkspaceNo(1), AgentNo(1));

    /// 6-messaging.md, W4.
    #[test]
    fn a_challenge_is_repeated_until_it_is_echoed() {
        let attendance = Attendance::default();
        let start = Timestamp::from_micros(1_764_000_000_000_000);
        let at = |seconds| start.plus_seconds(seconds);
        let first = attendance.challenge(AGENT, "k", at(0)).unwrap();
        assert_eq!(attendance.challenge(AGENT, "k", at(300)), Some(first.clone()));
        let second = attendance.challenge(AGENT, "k", at(301)).unwrap();
        assert_ne!(first, second, "it was too late for the first");
        attendance.saw(AGENT, "k", Some(&first), true, at(302));
        assert_eq!(attendance.sighting(AGENT).last_pong_at, None);
        attendance.saw(AGENT, "other", Some(&second), true, at(302));
        assert_eq!(attendance.sighting(AGENT).last_pong_at, None, "another key's");
        attendance.saw(AGENT, "k", Some(&second), true, at(303));
        assert_eq!(attendance.sighting(AGENT).last_pong_at, Some(at(303)));
        assert_eq!(attendance.sighting(AGENT).echo_delay_ms, Some(2_000));
        assert_eq!(attendance.challenge(AGENT, "k", at(348)), None);
        assert!(attendance.challenge(AGENT, "k", at(349)).is_some());
    }

    #[test]
    fn keys_that_are_used_no_more_are_not_held() {
        let attendance = Attendance::default();
        let start = Timestamp::from_micros(1_764_000_000_000_000);
        let held = || attendance.held()[&AGENT].echoes.len();
        for number in 0..100 {
            attendance.challenge(AGENT, &format!("k{number}"), start);
        }
        let echoed = attendance.challenge(AGENT, "k7", start.plus_seconds(300)).unwrap();
        attendance.saw(AGENT, "k7", Some(&echoed), true, start.plus_seconds(300));
        assert_eq!(held(), 100);
        attendance.challenge(AGENT, "another", start.plus_seconds(301));
        assert_eq!(held(), 2, "one was echoed since");
    }

    #[test]
    fn a_shared_key_proves_nothing_of_one_agent() {
        let attendance = Attendance::default();
        let now = Timestamp::from_micros(1_764_000_000_000_000);
        let challenge = attendance.challenge(AGENT, "k", now).unwrap();
        attendance.saw(AGENT, "k", Some(&challenge), false, now);
        assert_eq!((attendance.sighting(AGENT).last_pong_at, attendance.challenge(AGENT, "k", now)), (None, None));
    }
}
