//! Publishing a key, and revoking it (6-messaging.md, Q4).

use quintet_storage::{Abort, Failure, Timestamp, WriteTx};

use super::model::{Algorithm, KEYS_MAX, Pubkey, REVOKED_MAX, fingerprint};
use super::rows::{forget, of_agent, put};
use crate::model::AgentKey;
use crate::refusal::Refusal;

/// Publishes a key. Again: it gets the label that is given.
///
/// # Errors
/// It is no key, or was revoked; or the agent has as many as it may.
pub(super) fn publish(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    agent: AgentKey,
    algorithm: Algorithm,
    text: &str,
    label: Option<String>,
) -> Result<Pubkey, Abort<Refusal>> {
    let bytes = algorithm.read(text).ok_or_else(|| Refusal::field("public_key", algorithm.rule()))?;
    let fingerprint = fingerprint(&bytes);
    let all = of_agent(tx, agent)?;
    let known = all.iter().find(|key| (key.algorithm, &key.fingerprint) == (algorithm, &fingerprint));
    let key = match known {
        Some(known) if known.revoked_at.is_some() => {
            return Err(Refusal::field("public_key", "was revoked, which is for good; publish another").into());
        }
        Some(known) => Pubkey { label: label.or_else(|| known.label.clone()), ..known.clone() },
        None if all.iter().filter(|key| key.revoked_at.is_none()).count() >= KEYS_MAX => {
            return Err(Refusal::LimitReached("public_keys", KEYS_MAX as u64).into());
        }
        None => {
            let text = text.to_ascii_lowercase();
            Pubkey { algorithm, fingerprint, text, label, created_at: now, revoked_at: None, reason: None }
        }
    };
    put(tx, agent, &key)?;
    Ok(key)
}

/// Revokes what an agent has published under a fingerprint, and says since when it is, and whether it was before. `None`: it
/// has published no such key.
pub(super) fn revoke(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    agent: AgentKey,
    fingerprint: &str,
    reason: Option<&str>,
) -> Result<Option<(Timestamp, bool)>, Failure> {
    let all = of_agent(tx, agent)?;
    let (valid, revoked): (Vec<&Pubkey>, Vec<&Pubkey>) =
        all.iter().filter(|key| key.fingerprint == fingerprint).partition(|key| key.revoked_at.is_none());
    if valid.is_empty() {
        return Ok(revoked.iter().find_map(|key| key.revoked_at).map(|at| (at, true)));
    }
    // The same bytes can be published for both.
    for key in valid {
        let key = Pubkey { revoked_at: Some(now), reason: reason.map(str::to_owned), ..key.clone() };
        put(tx, agent, &key)?;
    }
    let mut revoked: Vec<&Pubkey> = all.iter().filter(|key| key.revoked_at.is_some()).collect();
    revoked.sort_by_key(|key| key.revoked_at);
    let over = (revoked.len() + 1).saturating_sub(REVOKED_MAX);
    for key in revoked.into_iter().take(over) {
        forget(tx, agent, key);
    }
    Ok(Some((now, false)))
}
