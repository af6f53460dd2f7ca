//! Mail that was given up, for the operator.

use quintet_storage::{Failure, Read, Scan, WriteTx};

use super::model::Undeliverable;
use super::tables::{OLD, OLD_UNDELIVERABLE, UNDELIVERABLE, UndeliverableRow};
use crate::model::{Mark, WorkspaceNo};

/// How long it is known, in seconds (6-messaging.md, M5).
pub(crate) const KEPT_SECONDS: i64 = 30 * 86_400;
/// The most characters of a reason, of a subject, of an address.
const REASON_CHARS_MAX: usize = 400;
const TEXT_CHARS_MAX: usize = 300;

/// Notes that mail was given up.
pub(crate) fn note(tx: &mut WriteTx<'_>, workspace: WorkspaceNo, undeliverable: Undeliverable) -> Result<(), Failure> {
    let Undeliverable { received_at, reason, sender, recipient, subject } = undeliverable;
    let id = tx.new_id();
    let forgotten_at = received_at.plus_seconds(KEPT_SECONDS);
    tx.falls_due(OLD.spec().tag, forgotten_at);
    tx.put(&OLD, &(forgotten_at, workspace, OLD_UNDELIVERABLE, id), &Mark)?;
    let row = Undeliverable {
        received_at,
        reason: shortened(&reason, REASON_CHARS_MAX),
        sender: shortened(&sender, TEXT_CHARS_MAX),
        recipient: shortened(&recipient, TEXT_CHARS_MAX),
        subject: shortened(&subject, TEXT_CHARS_MAX),
    };
    tx.put(&UNDELIVERABLE, &(workspace, id), &UndeliverableRow::of(row))
}

/// A text of somebody outside: without what nobody sees, and no longer than that.
fn shortened(text: &str, chars_max: usize) -> String {
    text.chars().map(|char| if char.is_control() { ' ' } else { char }).take(chars_max).collect()
}

/// What was given up in a workspace, the newest first, `most` at the most.
pub(crate) fn list(read: &impl Read, workspace: WorkspaceNo, most: usize) -> Result<Vec<Undeliverable>, Failure> {
    let scan = Scan::prefix(&(workspace,)).newest_first().limit(most);
    Ok(read.scan(&UNDELIVERABLE, scan)?.into_iter().map(|(_, row)| row.into_undeliverable()).collect())
}
