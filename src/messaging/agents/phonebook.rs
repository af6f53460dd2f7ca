//! The phonebook: agents that are active and listed (6-messaging.md, T2).

use quintet_storage::{Failure, Read, Timestamp};

use crate::identity::{Agent, agents};
use crate::model::{AgentNo, WorkspaceNo};
use crate::tagged::wearers;
use crate::words::tag::TagExpression;

/// So many agents are read at a time.
const AT_ONCE: usize = 500;

/// Whom somebody looks for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    /// Words that stand somewhere in what is told of an agent, in any case.
    pub(crate) query: Option<String>,
    /// Something that it can.
    pub(crate) capability: Option<String>,
    /// The repository that it works in.
    pub(crate) repo_fingerprint: Option<String>,
}

impl Wanted {
    fn fits(&self, agent: &Agent) -> bool {
        let is_wanted = |wanted: &Option<String>, has: &dyn Fn(&str) -> bool| wanted.as_deref().is_none_or(has);
        is_wanted(&self.capability, &|wanted| agent.capabilities.iter().any(|one| one == wanted))
            && is_wanted(&self.repo_fingerprint, &|wanted| agent.repo_fingerprint.as_deref() == Some(wanted))
            && is_wanted(&self.query, &|wanted| says(agent, &wanted.to_lowercase()))
    }
}

/// Whether a word in lower case stands somewhere in what is told of an agent.
fn says(agent: &Agent, word: &str) -> bool {
    let labels = agent.labels.iter().flat_map(|(key, value)| [key, value]);
    let own = [&agent.name].into_iter().chain(&agent.role).chain(&agent.persona);
    own.chain(&agent.capabilities).chain(labels).any(|text| text.to_lowercase().contains(word))
}

/// The agents that fit, by name. With tags they are those that a message to all of these would go to.
pub(crate) fn listed(
    read: &impl Read,
    workspace: WorkspaceNo,
    tags: &[TagExpression<'_>],
    wanted: &Wanted,
    asking: Option<AgentNo>,
    now: Timestamp,
) -> Result<Vec<(AgentNo, Agent)>, Failure> {
    if tags.is_empty() {
        return all(read, workspace, wanted);
    }
    let mut found = Vec::new();
    for (no, _) in wearers(read, workspace, tags, asking, now)? {
        found.extend(agents::find(read, (workspace, no))?.filter(|agent| wanted.fits(agent)).map(|agent| (no, agent)));
    }
    Ok(found)
}

fn all(read: &impl Read, workspace: WorkspaceNo, wanted: &Wanted) -> Result<Vec<(AgentNo, Agent)>, Failure> {
    let mut found = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let some = agents::list(read, workspace, after.as_deref(), AT_ONCE)?;
        let is_last = some.len() < AT_ONCE;
        after = some.last().map(|(_, agent)| agent.name.clone());
        let is_listed = |agent: &Agent| agent.retired_at.is_none() && !agent.is_unlisted;
        found.extend(some.into_iter().filter(|(_, agent)| is_listed(agent) && wanted.fits(agent)));
        if is_last {
            return Ok(found);
        }
    }
}
