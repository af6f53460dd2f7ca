//! What is held of attendance while the appliance runs.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use quintet_platform::secrets::constant_time_eq;
use quintet_storage::Timestamp;

use super::model::Sighting;
use crate::identity::keys::drawn;
use crate::model::AgentKey;

/// An agent that has echoed is asked again after so long, in seconds: a watcher that asks once a minute then echoes at least
/// every third minute, which is as long as an echo counts.
const CHALLENGE_AFTER_SECONDS: i64 = 45;
/// A challenge can be echoed for so long, in seconds.
const CHALLENGE_SECONDS: i64 = 300;
/// Characters of a challenge.
const CHALLENGE_CHARS: usize = 24;
const CHALLENGE_ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Who was seen when, and who was asked for an echo.
#[derive(Default)]
pub(crate) struct Attendance(Mutex<HashMap<AgentKey, Attending>>);

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
    /// An agent asks for something. `pong` is what it echoes, if it does; `is_its_own`: its key is bound to it alone.
    pub(crate) fn saw(&self, agent: AgentKey, key_id: &str, pong: Option<&str>, is_its_own: bool, now: Timestamp) {
        let mut held = self.held();
        let attending = held.entry(agent).or_default();
        attending.sighting.last_seen_at = attending.sighting.last_seen_at.max(Some(now));
        let Some(pong) = pong else { return };
        let Some(echo) = attending.echoes.get_mut(key_id) else { return };
        let is_echo = |(challenge, asked_at): &(String, Timestamp)| {
            now <= asked_at.plus_seconds(CHALLENGE_SECONDS) && constant_time_eq(challenge.as_bytes(), pong.as_bytes())
        };
        let Some((_, asked_at)) = echo.waiting.take_if(|waiting| is_echo(waiting)) else { return };
        echo.echoed_at = Some(now);
        if is_its_own {
            attending.sighting.last_pong_at = Some(now);
            attending.sighting.echo_delay_ms = Some((now.as_micros() - asked_at.as_micros()) / 1_000);
        }
    }

    /// The challenge that an answer to an agent carries, if one is due.
    pub(crate) fn challenge(&self, agent: AgentKey, key_id: &str, now: Timestamp) -> Option<String> {
        let mut held = self.held();
        let echo = held.entry(agent).or_default().echoes.entry(key_id.to_owned()).or_default();
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

    /// What is held of an agent's attendance.
    pub(crate) fn sighting(&self, agent: AgentKey) -> Sighting {
        self.held().get(&agent).map_or_else(Sighting::default, |attending| attending.sighting)
    }

    fn held(&self) -> MutexGuard<'_, HashMap<AgentKey, Attending>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
    fn a_shared_key_proves_nothing_of_one_agent() {
        let attendance = Attendance::default();
        let now = Timestamp::from_micros(1_764_000_000_000_000);
        let challenge = attendance.challenge(AGENT, "k", now).unwrap();
        attendance.saw(AGENT, "k", Some(&challenge), false, now);
        assert_eq!((attendance.sighting(AGENT).last_pong_at, attendance.challenge(AGENT, "k", now)), (None, None));
    }
}
