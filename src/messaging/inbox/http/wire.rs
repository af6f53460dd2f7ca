//! Writing pages of an inbox.

use quintet_platform::json::{Json, to_compact};
use quintet_storage::{Failure, Read};

use super::super::page::Page;
use crate::identity::Workspace;
use crate::mail::messages;
use crate::mail::model::{Kept, Message};
use crate::model::AgentNo;
use crate::shown::{Placed, State, opened, row};

/// What a page may cost: about the bytes that are read for it. It is cut behind the row that exceeds them.
const COST_MAX: u64 = 2 << 20;
/// About the bytes of a message's row without its contents and its recipients.
const ROW_BYTES: u64 = 1 << 10;
/// About the bytes of a recipient in a row.
const RECIPIENT_BYTES: u64 = 32;

/// A page of an agent's inbox, which begins behind `cursor`.
pub(super) fn write_page(
    read: &impl Read,
    workspace: &Workspace,
    agent: AgentNo,
    (cursor, mut page): (u64, Page),
) -> Result<String, Failure> {
    let (mut rows, mut cost) = (Vec::with_capacity(page.rows.len()), 0);
    for (seq, delivery) in &page.rows {
        if cost > COST_MAX {
            page.next = seq.saturating_sub(1);
            break;
        }
        let message = messages::get(read, (workspace.no, delivery.message))?;
        cost += cost_of(&message);
        let signature = match message.is_signed {
            true => opened(read, workspace, (delivery.message, &message))?.1,
            false => State::Unsigned,
        };
        rows.push(Json::object(row(
            Placed::Delivered { agent, seq: *seq, delivery },
            delivery.message,
            &message,
            signature,
        )));
    }
    let count = rows.len();
    let told = [
        ("messages", Json::Array(rows)),
        ("count", count.into()),
        ("cursor", cursor.into()),
        ("next_cursor", page.next.into()),
    ];
    Ok(to_compact(&Json::object(told)))
}

/// About the bytes that are read to show a message in a list.
fn cost_of(message: &Message) -> u64 {
    let contents = match (&message.kept, message.is_signed) {
        (Kept::Large(value), true) => value.size_bytes,
        _ => 0,
    };
    ROW_BYTES + RECIPIENT_BYTES * message.recipients.len() as u64 + contents
}
