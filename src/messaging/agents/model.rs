//! What a registration says, and the rules that need nothing else.

use crate::identity::Agent;
use crate::model::AgentNo;
use crate::words::agent_name::AgentName;
use crate::words::checkout::SessionKey;
use crate::words::room_name;

/// After so many seconds without a word of it an agent retires.
const IDLE_SECONDS: i64 = 14 * 86_400;
/// The same of one that calls itself ephemeral.
const EPHEMERAL_IDLE_SECONDS: i64 = 6 * 3_600;

/// Who registers, and as what. Absent is what keeps what an agent has.
#[derive(Clone, Debug)]
pub(crate) struct Registration {
    /// The name it wants, or has.
    pub(crate) name: Option<AgentName>,
    /// What it does.
    pub(crate) role: Option<String>,
    /// Where it works.
    pub(crate) session: Option<SessionKey>,
    /// SHA-256 of its device's id.
    pub(crate) device_hash: Option<String>,
    /// Of its repository's address.
    pub(crate) repo_fingerprint: Option<String>,
    /// What it can; replaces.
    pub(crate) capabilities: Option<Vec<String>>,
    /// Labels; they merge.
    pub(crate) labels: Vec<(String, String)>,
    /// Whether it stays out of the phonebook.
    pub(crate) is_unlisted: Option<bool>,
    /// Whether it retires after hours.
    pub(crate) is_ephemeral: Option<bool>,
    /// What an admin's key says it is.
    pub(crate) persona: Option<String>,
    /// A name for a new agent that says nothing to make one of, or whose own is taken; drawn before the transaction.
    pub(crate) spare_name: AgentName,
}

impl Registration {
    /// The room of its repository, which who registers joins.
    pub(crate) fn room(&self) -> Option<String> {
        self.repo_fingerprint.as_deref().map(room_name::of_repository)
    }
}

/// Who has registered.
#[derive(Clone, Debug)]
pub(crate) struct Registered {
    /// Its number.
    pub(crate) no: AgentNo,
    /// What it is now.
    pub(crate) agent: Agent,
    /// Whether there was none before.
    pub(crate) is_new: bool,
    /// The members of the registration by which it was known before as something else.
    pub(crate) changed: Vec<&'static str>,
}

/// After how many seconds without a word of it an agent retires.
pub(crate) fn idle_seconds(agent: &Agent) -> i64 {
    if agent.is_ephemeral { EPHEMERAL_IDLE_SECONDS } else { IDLE_SECONDS }
}

/// Labels with others merged in, in the order of their keys: what both have gets the others' value.
pub(super) fn merged(labels: &[(String, String)], others: &[(String, String)]) -> Vec<(String, String)> {
    let mut all = labels.to_vec();
    for (key, value) in others {
        match all.binary_search_by(|(known, _)| known.cmp(key)) {
            Ok(place) => all.iter_mut().skip(place).take(1).for_each(|(_, old)| old.clone_from(value)),
            Err(place) => all.insert(place, (key.clone(), value.clone())),
        }
    }
    all
}

/// By which members of a registration an agent was known as something else before: a path is hashed with the rest of a
/// session, so that it is told of only where nothing else is.
pub(super) fn changed(agent: &Agent, registration: &Registration) -> Vec<&'static str> {
    let differs = |old: Option<&str>, new: Option<&str>| old.is_some() && new.is_some() && old != new;
    let mut changed = Vec::new();
    if differs(agent.device_hash.as_deref(), registration.device_hash.as_deref()) {
        changed.push("device_id");
    }
    if differs(agent.repo_fingerprint.as_deref(), registration.repo_fingerprint.as_deref()) {
        changed.push("repo_remote");
    }
    let session = registration.session.as_ref().map(SessionKey::as_str);
    if changed.is_empty() && registration.device_hash.is_some() && differs(agent.session_key.as_deref(), session) {
        changed.push("workdir");
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::merged;

    #[test]
    fn labels_merge_in_the_order_of_their_keys() {
        let pairs = |texts: &[(&str, &str)]| -> Vec<(String, String)> {
            texts.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let all = merged(&pairs(&[("b", "1"), ("d", "2")]), &pairs(&[("d", "3"), ("a", ""), ("c", "x"), ("a", "y")]));
        assert_eq!(all, pairs(&[("a", "y"), ("b", "1"), ("c", "x"), ("d", "3")]));
    }
}
