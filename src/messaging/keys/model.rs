//! What a key is to be, as far as it can be told without looking at anything.

use crate::identity::Scope;
use crate::refusal::Refusal;
use crate::words::agent_name::AgentName;

/// Agents that one key is bound to, at the most.
pub(crate) const AGENTS_MAX: usize = 25;
/// Characters of a label.
pub(crate) const LABEL_CHARS_MAX: usize = 200;
/// A key can be fetched at its one-time address for so long, in seconds (6-messaging.md, K2).
pub(crate) const ADDRESS_SECONDS: i64 = 900;

/// The scope that somebody names.
///
/// # Errors
/// There is none of this name.
pub(crate) fn scope_of(name: &str) -> Result<Scope, Refusal> {
    let names = Scope::ALL.map(Scope::name).join(", ");
    Scope::named(name).ok_or_else(|| Refusal::field("scope", format!("must be one of {names}")))
}

/// The agents that a key is to be bound to, each once. They need not be there yet: a key may be made for the agent that
/// will register with it.
///
/// # Errors
/// One is no name, they are too many, or the scope wants one and there is none.
pub(crate) fn agents_of(scope: Scope, names: Vec<String>) -> Result<Vec<String>, Refusal> {
    if names.len() > AGENTS_MAX {
        return Err(Refusal::field("agents", format!("must have at most {AGENTS_MAX} items")));
    }
    if names.is_empty() && scope == Scope::Send {
        return Err(Refusal::field("agents", "must name an agent: a key of scope send is bound to those it acts as"));
    }
    let mut agents: Vec<String> = Vec::with_capacity(names.len());
    for (place, name) in names.into_iter().enumerate() {
        AgentName::parse(&name).map_err(|fault| Refusal::field(format!("agents[{place}]"), fault.to_string()))?;
        if !agents.contains(&name) {
            agents.push(name);
        }
    }
    Ok(agents)
}
