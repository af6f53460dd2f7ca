//! Whom tags mean: one rule for recipients and for the phonebook, so that as many get a message as the phonebook shows
//! (6-messaging.md, T2).

use quintet_storage::{Failure, Read, Timestamp};

use crate::blocks;
use crate::identity::{Mailbox, agents, mailboxes};
use crate::model::{AgentKey, AgentNo, WorkspaceNo};
use crate::words::tag::TagExpression;

/// The agents that all of these expressions mean, by name, each with its mailbox: active and listed ones that wear each of
/// the tags and do not block the one that asks. Who asks is one of them if it wears the tags, too. No expression at all
/// means nobody.
pub(crate) fn wearers(
    read: &impl Read,
    workspace: WorkspaceNo,
    expressions: &[TagExpression<'_>],
    asking: Option<AgentNo>,
    now: Timestamp,
) -> Result<Vec<(AgentNo, Mailbox)>, Failure> {
    let Some((first, rest)) = expressions.split_first() else { return Ok(Vec::new()) };
    let mut meant = agents::by_label(read, workspace, first.key, first.value)?;
    for expression in rest {
        if meant.is_empty() {
            return Ok(Vec::new());
        }
        let mut wearing = agents::by_label(read, workspace, expression.key, expression.value)?;
        wearing.sort_unstable();
        meant.retain(|no| wearing.binary_search(no).is_ok());
    }
    let blockers = blockers_of(read, workspace, asking, now)?;
    let mut wearers = Vec::with_capacity(meant.len());
    for no in meant.into_iter().filter(|no| !blockers.contains(no)) {
        let mailbox = mailboxes::get(read, (workspace, no))?;
        if is_reached_by_tags(&mailbox) {
            wearers.push((no, mailbox));
        }
    }
    wearers.sort_unstable_by(|(_, one), (_, other)| one.name.cmp(&other.name));
    Ok(wearers)
}

/// Whether tags can mean an agent, and the phonebook shows it.
pub(crate) fn is_reached_by_tags(mailbox: &Mailbox) -> bool {
    !mailbox.is_retired && !mailbox.is_unlisted
}

/// The agents that take nothing from the one that asks; of nobody, none.
fn blockers_of(
    read: &impl Read,
    workspace: WorkspaceNo,
    asking: Option<AgentNo>,
    now: Timestamp,
) -> Result<Vec<AgentNo>, Failure> {
    let asking: Option<AgentKey> = asking.map(|no| (workspace, no));
    asking.map_or(Ok(Vec::new()), |asking| blocks::blockers_of(read, asking, now))
}
