//! Finding public keys.

use quintet_storage::{Failure, Read, Scan, WriteTx};

use super::model::{Algorithm, Pubkey};
use super::tables::{PUBKEYS, PubkeyRow, code};
use crate::model::{AgentKey, AgentNo, WorkspaceNo};

/// All keys of an agent, revoked ones too.
pub(crate) fn of_agent(read: &impl Read, agent: AgentKey) -> Result<Vec<Pubkey>, Failure> {
    let rows = read.scan(&PUBKEYS, Scan::prefix(&(agent.0, agent.1)))?;
    Ok(rows.into_iter().map(|((_, _, _, fingerprint), row)| row.into_pubkey(fingerprint)).collect())
}

/// The keys of an agent for something that are not revoked, the oldest first.
pub(crate) fn valid(read: &impl Read, agent: AgentKey, algorithm: Algorithm) -> Result<Vec<Pubkey>, Failure> {
    let rows = read.scan(&PUBKEYS, Scan::prefix(&(agent.0, agent.1, code(algorithm))))?;
    let keys = rows.into_iter().map(|((_, _, _, fingerprint), row)| row.into_pubkey(fingerprint));
    let mut keys: Vec<Pubkey> = keys.filter(|key| key.revoked_at.is_none()).collect();
    keys.sort_by_key(|key| key.created_at);
    Ok(keys)
}

/// The bytes of the key that an agent has published for something under a fingerprint and not revoked.
pub(crate) fn bytes(
    read: &impl Read,
    agent: AgentKey,
    algorithm: Algorithm,
    fingerprint: &str,
) -> Result<Option<[u8; 32]>, Failure> {
    let row = read.get(&PUBKEYS, &(agent.0, agent.1, code(algorithm), fingerprint.to_owned()))?;
    let key = row.map(|row| row.into_pubkey(fingerprint.to_owned())).filter(|key| key.revoked_at.is_none());
    Ok(key.and_then(|key| algorithm.read(&key.text)))
}

/// All keys of a workspace, each with its agent.
pub(crate) fn of_workspace(read: &impl Read, workspace: WorkspaceNo) -> Result<Vec<(AgentNo, Pubkey)>, Failure> {
    let rows = read.scan(&PUBKEYS, Scan::prefix(&(workspace,)))?;
    Ok(rows.into_iter().map(|((_, agent, _, fingerprint), row)| (agent, row.into_pubkey(fingerprint))).collect())
}

/// Keeps a key.
pub(super) fn put(tx: &mut WriteTx<'_>, agent: AgentKey, key: &Pubkey) -> Result<(), Failure> {
    tx.put(&PUBKEYS, &(agent.0, agent.1, code(key.algorithm), key.fingerprint.clone()), &PubkeyRow::of(key))
}

/// Forgets a key.
pub(super) fn forget(tx: &mut WriteTx<'_>, agent: AgentKey, key: &Pubkey) {
    tx.delete(&PUBKEYS, &(agent.0, agent.1, code(key.algorithm), key.fingerprint.clone()));
}
