//! Where mail from outside came from: rows of it, found by the message and by what others call it.

use quintet_storage::seal::{self, Erased, KeyOwner};
use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, Uuid, WriteTx, large};
use sha2::{Digest as _, Sha256};

use super::messages::{unerased, unerased_upload, whole};
use super::model::{Kept, Origin};
use super::post::Said;
use super::tables::{ORIGINS, OUTSIDE_IDS, OriginRow};
use crate::identity::Workspace;
use crate::model::{Mark, MessageId, MessageKey, WorkspaceNo};

/// Where a message came from. `None`: from inside.
pub(crate) fn find(read: &impl Read, key: MessageKey) -> Result<Option<Origin>, Failure> {
    Ok(read.get(&ORIGINS, &key)?.map(|row| row.into_parts().0))
}

/// Keeps where a message came from, with all that came: in the row, or as a value that is adopted.
pub(crate) fn put(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    message: MessageId,
    (origin, raw): (Origin, Said),
) -> Result<(), Failure> {
    let key = (workspace.no, message);
    let raw = match raw {
        Said::Here(bytes) => {
            let owner = KeyOwner::Tenant(workspace.tenant_id);
            Kept::Here(seal::seal(tx, owner, &ORIGINS, &key, &bytes).map_err(unerased)?)
        }
        Said::Large(value) => {
            large::adopt(tx, now, &value).map_err(unerased_upload)?;
            Kept::Large(value)
        }
    };
    if let Some(id) = &origin.message_id {
        tx.put(&OUTSIDE_IDS, &(workspace.no, digest(id), message), &Mark)?;
    }
    tx.put(&ORIGINS, &key, &OriginRow::of(origin, raw))
}

/// The messages that others call so, the newest first, `most` at the most.
pub(crate) fn called(
    read: &impl Read,
    workspace: WorkspaceNo,
    id: &str,
    most: usize,
) -> Result<Vec<MessageId>, Failure> {
    let scan = Scan::prefix(&(workspace, digest(id))).newest_first().limit(most);
    let rows = read.scan(&OUTSIDE_IDS, scan)?;
    Ok(rows.into_iter().map(|((_, _, message), Mark)| message).collect())
}

/// All that came of a message from outside; `None`: it came from inside. Of an erased tenant's nothing can be read any more.
pub(crate) fn raw(read: &impl Read, workspace: &Workspace, message: MessageId) -> Result<Option<Vec<u8>>, Failure> {
    let key = (workspace.no, message);
    let Some(row) = read.get(&ORIGINS, &key)? else { return Ok(None) };
    let bytes = match row.into_parts().1 {
        Kept::Here(sealed) => match seal::open(read, KeyOwner::Tenant(workspace.tenant_id), &ORIGINS, &key, &sealed) {
            Ok(bytes) => bytes.to_vec(),
            Err(Abort::Refused(Erased)) => Vec::new(),
            Err(Abort::Failed(failure)) => return Err(failure),
        },
        Kept::Large(value) => whole(read, &value)?,
    };
    Ok(Some(bytes))
}

/// What an id of somebody else's is found by.
pub(super) fn digest(id: &str) -> Uuid {
    let whole: [u8; 32] = Sha256::digest(id).into();
    let mut first = [0; 16];
    first.copy_from_slice(whole.split_at(16).0);
    Uuid::from_bytes(first)
}
