//! What contradicts itself in the rows of public keys.

use quintet_platform::verify::each;
use quintet_storage::{Failure, Read};

use super::model::fingerprint;
use super::tables::{PUBKEYS, code};
use crate::identity::mailboxes;

/// Everything that does.
pub(crate) fn verify(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    each(read, &PUBKEYS, findings, |(workspace, no, number, print), row, findings| {
        let key = row.into_pubkey(print);
        let is_its_own = key.algorithm.read(&key.text).is_some_and(|bytes| fingerprint(&bytes) == key.fingerprint);
        if !is_its_own || code(key.algorithm) != number {
            findings.push(format!("the public key {} is not the one that it says to be", key.fingerprint));
        }
        if mailboxes::find(read, (workspace, no))?.is_none() {
            findings.push(format!("the public key {} is of an agent {no:?} that is not there", key.fingerprint));
        }
        Ok(())
    })
}
