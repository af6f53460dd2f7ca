//! Joining with a token (6-messaging.md, K4): one new agent, with a key of its own.

use quintet_storage::{Abort, Timestamp, WriteTx};

use super::model::{Registered, Registration};
use super::register::make;
use crate::identity::keys::PreparedKey;
use crate::identity::{Key, Scope, Workspace, agents};
use crate::invites;
use crate::keys::{NewKey, issue};
use crate::refusal::Refusal;
use crate::words::agent_name::AgentName;

/// What the keys of those who joined are called.
const LABEL: &str = "join";

/// Has somebody join under a name. Where it is refused, the token stays good.
///
/// # Errors
/// The token is not good; somebody has the name, retired or not; a limit is reached.
pub(crate) fn join(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    token: &str,
    name: AgentName,
    mut registration: Registration,
    prepared: PreparedKey,
) -> Result<(Workspace, Registered, Key), Abort<Refusal>> {
    let invite = invites::redeem(tx, now, token)?;
    let workspace = invite.workspace;
    if agents::by_name(tx, workspace.no, name.as_str())?.is_some() {
        return Err(Refusal::NameTaken(name.as_str().to_owned()).into());
    }
    registration.role = registration.role.or(invite.role);
    let bound = vec![name.as_str().to_owned()];
    let registered = make(tx, now, &workspace, name, &registration)?;
    let new = NewKey { prepared, scope: Scope::Send, agents: bound, label: LABEL.to_owned() };
    let key = issue(tx, now, workspace.no, new)?;
    Ok((workspace, registered, key))
}
