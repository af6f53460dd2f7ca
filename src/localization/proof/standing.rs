//! What the operator is told of audit chains: the key that checks them, and how their anchors are.

use quintet_storage::{Failure, Read};

use crate::audit::{PublicKey, public_key, unanchored};
use crate::context::Context;

/// More anchors than this are not counted.
const COUNTED_MAX: usize = 1_000;

/// How the anchors are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditStanding {
    /// The file, if one is configured.
    pub anchor_file: Option<String>,
    /// How many checkpoints are not in it yet; a thousand stands for more.
    pub waiting: u64,
    /// Why it could not be written the last time, if it could not.
    pub complaint: Option<String>,
}

/// How the anchors are.
///
/// # Errors
/// Only the store's.
pub fn audit_standing(context: &Context) -> Result<AuditStanding, Failure> {
    let Some(file) = context.anchoring.file() else { return Ok(AuditStanding::default()) };
    let waiting = unanchored(&context.store.read(), COUNTED_MAX)?.len() as u64;
    Ok(AuditStanding { anchor_file: Some(file.name().to_owned()), waiting, complaint: context.anchoring.complaint() })
}

/// The key that checks checkpoints; `None`: it is not made yet.
///
/// # Errors
/// Only the store's.
pub fn audit_key(read: &impl Read) -> Result<Option<PublicKey>, Failure> {
    public_key(read)
}
