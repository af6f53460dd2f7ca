//! What contradicts itself in the rows of messaging (6-messaging.md, S4).

use quintet_storage::{Failure, Snapshot};

/// Everything that does; the first hundred findings or so.
pub(crate) fn verify(_read: &Snapshot) -> Result<Vec<String>, Failure> {
    Ok(Vec::new())
}
