//! Whether mail from outside comes in (6-messaging.md, M1): one rule for what is told of a workspace, and for who can be
//! written to from another one.

use crate::identity::Workspace;

/// Why a workspace takes no mail from outside; `None`: it does. `listens`: whether anything here listens for it.
pub(crate) fn refusal(workspace: &Workspace, listens: bool) -> Option<&'static str> {
    match (workspace.is_encrypted, listens && workspace.is_ingress_open) {
        (true, _) => Some("encrypted_workspace"),
        (false, false) => Some("ingress_closed"),
        (false, true) => None,
    }
}
