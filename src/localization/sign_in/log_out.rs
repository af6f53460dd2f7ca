//! The identity provider ends sessions.

use quintet_platform::identity::{is_spent, spend};
use quintet_platform::sessions::{AtProvider, end_sessions_at_provider};
use quintet_storage::{Abort, Timestamp, Uuid, WriteTx};

use crate::audit::{Actor, ActorKind};
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::session_events::record_ends;

/// Sessions that one transaction ends.
const SLICE_SESSIONS: usize = 100;

/// What one transaction has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedOut {
    /// How many sessions it ended.
    pub revoked: usize,
    /// Whether there may be more of them: only the last transaction spends the token, so that one that is sent again after a
    /// crash goes on.
    pub is_done: bool,
}

/// Ends sessions that a logout token names, in whichever tenants they are; none, if the token was taken before.
///
/// # Errors
/// Only the store's.
pub fn log_out(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    named: AtProvider,
    token: u128,
    token_ends_at: Timestamp,
    request_id: &str,
) -> Result<LoggedOut, Abort<Refusal>> {
    if is_spent(tx, token)? {
        return Ok(LoggedOut { revoked: 0, is_done: true });
    }
    let ended = end_sessions_at_provider(tx, named, SLICE_SESSIONS)?;
    let actor = provider(request_id);
    record_ends(tx, now, &actor, &ended, "provider")?;
    let is_done = ended.len() < SLICE_SESSIONS;
    if is_done {
        spend(tx, token, token_ends_at)?;
    }
    Ok(LoggedOut { revoked: ended.len(), is_done })
}

/// Who ends them; in which tenant each session says.
fn provider(request_id: &str) -> Actor {
    let tenant_id = TenantId(Uuid::nil());
    let request_id = request_id.to_owned();
    Actor { tenant_id, kind: ActorKind::System, principal_id: Uuid::nil(), request_id, uid: None }
}
