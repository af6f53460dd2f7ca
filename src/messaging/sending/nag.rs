//! What falls due of an acknowledgement that is owed: whoever owes it is reminded, in the thread; when its time is over,
//! whoever is owed it is told. Where the one who owes it has blocked him meanwhile, it ends without a word.

use quintet_platform::clock::rfc3339;
use quintet_platform::ids::ulid;
use quintet_storage::{Failure, Timestamp, WriteTx};

use crate::acks::{self, Owed};
use crate::blocks;
use crate::due::{self, Due};
use crate::identity::{Priority, Status, Workspace, mailboxes, workspaces};
use crate::mail::messages;
use crate::mail::model::Message;
use crate::mail::post::{Letter, post, system};
use crate::mail::whereabouts::delivery_of;
use crate::model::{AgentKey, AgentNo, MessageId, WorkspaceNo};
use crate::words::subject::SUBJECT_BYTES_MAX;

/// Does what is due of an acknowledgement.
pub(crate) fn nag(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    (no, debtor, message): (WorkspaceNo, AgentNo, MessageId),
) -> Result<(), Failure> {
    let key = (no, debtor);
    let Some(owed) = acks::find(tx, key, message)? else { return Ok(()) };
    // An earlier time of it.
    if owed.looked_at > now {
        return Ok(());
    }
    let workspace = workspaces::find(tx, no)?.filter(|workspace| workspace.status != Status::Deleted);
    let Some(workspace) = workspace else {
        acks::forget(tx, key, message, &owed);
        return Ok(());
    };
    if workspaces::status(tx, &workspace)? == Status::Suspended {
        // Its time goes on meanwhile: what is over when the workspace is active again is told then.
        return due::park(tx, now, no, (owed.looked_at, Due::Nag((no, debtor, message))));
    }
    // Who takes nothing from somebody owes him nothing either, and nobody is told of a block.
    if blocks::blockers_of(tx, (no, owed.sender), now)?.contains(&debtor) {
        acks::forget(tx, key, message, &owed);
        return Ok(());
    }
    let sent = messages::get(tx, (no, message))?;
    if owed.is_over(now) {
        acks::forget(tx, key, message, &owed);
        return tell_sender(tx, now, &workspace, key, (message, &sent), &owed);
    }
    let was_reminded = remind(tx, now, &workspace, key, (message, &sent), &owed)?;
    acks::put_off(tx, key, message, owed.looked(now, was_reminded))
}

/// Reminds whoever owes it; `false`: the message has not reached him yet, or he is retired.
fn remind(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    debtor: AgentKey,
    (id, sent): (MessageId, &Message),
    owed: &Owed,
) -> Result<bool, Failure> {
    let mailbox = mailboxes::get(tx, debtor)?;
    if mailbox.is_retired || delivery_of(tx, debtor, &mailbox, (id, sent))?.is_none() {
        return Ok(false);
    }
    let text = format!(
        "{} waits until {} for you to acknowledge the message {}. Acknowledge or answer it.",
        sent.sender_name,
        rfc3339(owed.required_by),
        ulid(id.0),
    );
    // Whoever wants an answer is no more urgent than his message.
    tell(tx, now, workspace, sent, (subject("Acknowledgement due", sent), text, sent.priority), debtor.1)?;
    Ok(true)
}

fn tell_sender(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    debtor: AgentKey,
    (id, sent): (MessageId, &Message),
    owed: &Owed,
) -> Result<(), Failure> {
    let name = mailboxes::get(tx, debtor)?.name;
    let text = format!(
        "{name} did not acknowledge the message {} until {}, and was reminded {} times. It is not waited for any more.",
        ulid(id.0),
        rfc3339(owed.required_by),
        owed.attempts,
    );
    tell(tx, now, workspace, sent, (subject("Not acknowledged", sent), text, Priority::Urgent), owed.sender)
}

fn tell(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    sent: &Message,
    (subject, text, priority): (String, String, Priority),
    to: AgentNo,
) -> Result<(), Failure> {
    let letter = Letter { priority, ..system(tx, workspace, sent.thread, subject, text, &[to])? };
    // Nobody hears what is told to a retired agent.
    if letter.agents.is_empty() { Ok(()) } else { post(tx, now, workspace, letter).map(drop) }
}

fn subject(what: &str, sent: &Message) -> String {
    let mut subject = format!("{what}: {}", sent.subject);
    subject.truncate(subject.floor_char_boundary(SUBJECT_BYTES_MAX));
    subject
}
