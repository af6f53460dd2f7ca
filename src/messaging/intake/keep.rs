//! The one transaction that has a mail from outside: a message in each workspace that it is for, in the thread that it
//! answers, held like all others; or a report of mail that did not arrive, which is told and is no message.

use std::collections::BTreeMap;

use quintet_platform::ids::ulid;
use quintet_storage::{Abort, Failure, Timestamp, WriteTx};

use super::model::{NotTaken, Read, Recipient};
use super::thread;
use crate::identity::{Attestation, Priority, Status, Workspace, mailboxes, workspaces};
use crate::mail::model::{Addressee, Attachment, Origin, Role, Sender, Verdicts};
use crate::mail::post::{From, Letter, Said, post, system};
use crate::mail::uses::AUTOMATIC;
use crate::mail::{deliver as deliveries, ingress, labels, messages, origins};
use crate::model::{AgentNo, MessageId, WorkspaceNo};
use crate::outbox::{self, Undeliverable, note_undeliverable};
use crate::usage::{self, Daily};
use crate::words::address;
use crate::words::subject::SUBJECT_BYTES_MAX;

/// A mail that is to be kept.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    /// What it goes by in its own header, and with whoever handed it in.
    pub(super) id: String,
    /// Where reports go to; empty: nobody wants any, and nobody wrote it.
    pub(super) sender: String,
    /// What stands in it, but for its text and files.
    pub(super) read: Read,
    /// Whether it comes from where it says.
    pub(super) verdicts: Verdicts,
    /// What each workspace keeps.
    pub(super) parcels: BTreeMap<WorkspaceNo, Parcels>,
}

/// What one workspace keeps of a mail.
#[derive(Clone, Debug)]
pub(super) struct Parcels {
    /// Whom it is for there.
    pub(super) recipients: Vec<Recipient>,
    /// What it says.
    pub(super) said: Said,
    /// All of it, as it came.
    pub(super) raw: Said,
    /// The files with it, not adopted yet.
    pub(super) attachments: Vec<Attachment>,
}

/// Keeps a mail, for all of its recipients or for none.
///
/// # Errors
/// Nobody of a workspace is there any more, or it takes none, or none any more today.
pub(super) fn keep(tx: &mut WriteTx<'_>, now: Timestamp, domain: &str, kept: Kept) -> Result<(), Abort<NotTaken>> {
    let Kept { sender, read, verdicts, parcels, .. } = kept;
    for (no, parcel) in parcels {
        let workspace = workspaces::find(tx, no)?.ok_or(NotTaken::Nobody)?;
        if workspaces::status(tx, &workspace)? != Status::Active {
            return Err(NotTaken::Nobody.into());
        }
        usage::count(tx, now, &workspace, Daily::ExternalIn, 1).map_err(|abort| match abort {
            Abort::Failed(failure) => Abort::Failed(failure),
            Abort::Refused(_) => Abort::Refused(NotTaken::DayIsFull),
        })?;
        let (reports, recipients): (Vec<Recipient>, Vec<Recipient>) = parcel
            .recipients
            .iter()
            .cloned()
            .partition(|recipient| recipient.bounce_of.is_some() && is_report(&sender, &read));
        for report in &reports {
            reported(tx, now, &workspace, report, &read)?;
        }
        if !recipients.is_empty() {
            deliver(tx, now, (&workspace, domain), (&sender, &read, &verdicts), parcel, &recipients)?;
        }
    }
    Ok(())
}

/// Whether mail to the address that a message was sent from says that the message did not arrive: it comes from nobody, and
/// is neither the answer of somebody who is away (RFC 3834, 4) nor a report of anything else. All other mail is mail.
fn is_report(sender: &str, read: &Read) -> bool {
    sender.is_empty() && !read.is_auto_reply && read.report.as_ref().is_none_or(|report| report.is_failure)
}

/// Delivers a mail to agents of a workspace.
fn deliver(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    (workspace, domain): (&Workspace, &str),
    (sender, read, verdicts): (&str, &Read, &Verdicts),
    parcel: Parcels,
    recipients: &[Recipient],
) -> Result<(), Abort<NotTaken>> {
    if ingress::refusal(workspace, true).is_some() {
        return Err(NotTaken::Closed.into());
    }
    let agents = addressees(tx, workspace, domain, read, recipients)?;
    let author = read.from.clone().unwrap_or_else(|| (String::new(), sender.to_owned()));
    let numbers: Vec<AgentNo> = agents.iter().map(|addressee| addressee.no).collect();
    let thread = match thread::of(tx, (workspace, domain), read, &author.1, &numbers)? {
        None => thread::of_sent(tx, workspace, recipients)?,
        found => found,
    };
    let is_automatic = read.is_automatic || sender.is_empty();
    let letter = Letter {
        thread: thread.map(|(thread, _)| thread),
        in_reply_to: thread.map(|(_, message)| message),
        from: from(author),
        subject: read.subject.clone(),
        to: typed(workspace, domain, &read.to, &agents, Role::To),
        cc: typed(workspace, domain, &read.cc, &agents, Role::Cc),
        agents,
        outside: Vec::new(),
        rooms: Vec::new(),
        priority: Priority::Normal,
        is_sealed: false,
        is_signed: false,
        has_claim: false,
        said: parcel.said,
        attachments: parcel.attachments,
    };
    let posted = post(tx, now, workspace, letter)?;
    let origin = Origin { message_id: read.message_id.clone(), is_automatic, verdicts: verdicts.clone() };
    origins::put(tx, now, workspace, posted.message, (origin, parcel.raw))?;
    if is_automatic {
        label(tx, workspace, posted.message, &numbers)?;
    }
    Ok(())
}

/// Puts the label on what has arrived; what is held gets it when it arrives.
fn label(tx: &mut WriteTx<'_>, workspace: &Workspace, message: MessageId, agents: &[AgentNo]) -> Result<(), Failure> {
    for no in agents {
        let agent = (workspace.no, *no);
        let seq = mailboxes::get(tx, agent)?.last_seq;
        let delivery = deliveries::find(tx, agent, seq)?;
        if delivery.is_some_and(|delivery| delivery.message == message) {
            labels::mark(tx, (agent, seq), AUTOMATIC)?;
        }
    }
    Ok(())
}

/// The agents that it is for, each once: as those who are to know of it where the mail says so. If one of them is there no
/// more, nobody gets it: whoever sent it has been told that all do.
fn addressees(
    tx: &WriteTx<'_>,
    workspace: &Workspace,
    domain: &str,
    read: &Read,
    recipients: &[Recipient],
) -> Result<Vec<Addressee>, Abort<NotTaken>> {
    let mut all: Vec<Addressee> = Vec::with_capacity(recipients.len());
    for recipient in recipients {
        let mailbox = mailboxes::get(tx, (workspace.no, recipient.agent))?;
        if mailbox.is_retired {
            return Err(NotTaken::Nobody.into());
        }
        if all.iter().any(|known| known.no == recipient.agent) {
            continue;
        }
        let own = address::of_agent(&workspace.slug, &mailbox.name, domain);
        let names = |list: &[String]| list.iter().any(|text| text.eq_ignore_ascii_case(&own));
        let role = if names(&read.cc) && !names(&read.to) { Role::Cc } else { Role::To };
        all.push(Addressee { no: recipient.agent, role, mailbox });
    }
    Ok(all)
}

fn from((name, address): (String, String)) -> From {
    // A report comes from nobody: what stands for him must not be empty.
    let address = if address.is_empty() { "<>".to_owned() } else { address };
    let name = if name.is_empty() { address.clone() } else { name };
    From { sender: Sender::External(address.clone()), name, address, lane: None, attestation: Attestation::External }
}

/// Whom it says it is for, as one would type it: agents of the workspace by their names, and who is not named there and got
/// it all the same.
fn typed(workspace: &Workspace, domain: &str, said: &[String], agents: &[Addressee], role: Role) -> Vec<String> {
    let named = |text: &String| {
        let own = address::Mailbox::read(text, domain).filter(|own| own.workspace == workspace.slug);
        own.filter(|own| own.bounce_of.is_none()).map_or_else(|| text.clone(), |own| own.agent.as_str().to_owned())
    };
    let mut all: Vec<String> = said.iter().map(named).collect();
    for addressee in agents.iter().filter(|addressee| addressee.role == role) {
        if !all.contains(&addressee.mailbox.name) {
            all.push(addressee.mailbox.name.clone());
        }
    }
    let mut seen: Vec<String> = Vec::with_capacity(all.len());
    all.retain(|text| {
        let is_new = !seen.contains(text);
        seen.push(text.clone());
        is_new
    });
    all
}

/// A report that mail did not arrive: told once to the agent whose mail it was, in its thread, and to the operator. It is
/// no message, and nothing answers it.
fn reported(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    workspace: &Workspace,
    report: &Recipient,
    read: &Read,
) -> Result<(), Abort<NotTaken>> {
    let Some(id) = report.bounce_of else { return Ok(()) };
    let key = (workspace.no, id.0);
    let (Some(mut outgoing), Some(message)) = (outbox::find(tx, key)?, messages::find(tx, (workspace.no, id))?) else {
        return Err(NotTaken::Nobody.into());
    };
    let went_to: Vec<&str> = outgoing.bound.iter().map(|bound| bound.address.as_str()).collect();
    let went_to = went_to.join(", ");
    let reason = format!("a mail server reports that it was not delivered: {}", read.subject);
    note_undeliverable(
        tx,
        workspace.no,
        Undeliverable {
            received_at: now,
            reason,
            sender: message.sender_address.clone(),
            recipient: went_to.clone(),
            subject: message.subject.clone(),
        },
    )?;
    if std::mem::replace(&mut outgoing.is_reported, true) {
        return Ok(());
    }
    outbox::put(tx, key, outgoing)?;
    let mut text = format!(
        "A mail server reports that the message {} did not arrive everywhere. It went to {went_to}. Nothing more is sent \
         of it.",
        ulid(id.0),
    );
    let failed = read.report.iter().flat_map(|report| &report.failed);
    failed.for_each(|line| text.push_str(&format!("\n{line}")));
    let mut subject = format!("Not delivered: {}", message.subject);
    subject.truncate(subject.floor_char_boundary(SUBJECT_BYTES_MAX));
    let letter = system(tx, workspace, message.thread, subject, text, &[report.agent])?;
    if !letter.agents.is_empty() {
        post(tx, now, workspace, Letter { priority: Priority::Normal, ..letter })?;
    }
    Ok(())
}
