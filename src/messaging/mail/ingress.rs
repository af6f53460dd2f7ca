//! Whether mail from outside comes in (6-messaging.md, M1): one rule for what is told of a workspace, and for who can be
//! written to from another one.

use crate::identity::Workspace;

/// Whether anything here listens for mail from outside. Nothing does, whatever operators set for the day that something
/// will.
const LISTENS: bool = false;

/// Why a workspace takes no mail from outside; `None`: it does.
pub(crate) fn refusal(workspace: &Workspace) -> Option<&'static str> {
    match (workspace.is_encrypted, LISTENS && workspace.is_ingress_open) {
        (true, _) => Some("encrypted_workspace"),
        (false, false) => Some("ingress_closed"),
        (false, true) => None,
    }
}
