//! Mail from outside is taken in: what is large is stored, then one transaction has it with all its recipients.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use quintet_platform::ids::ulid;
use quintet_storage::large::{LargeValue, StagedValue, Upload, UploadRefusal};
use quintet_storage::seal::KeyOwner;
use quintet_storage::{Abort, Failure, Timestamp, Uuid, WriteTx};

use super::content;
use super::keep::{Kept, Parcels, keep};
use super::model::{Arrived, NotTaken, Read, Recipient};
use super::{trace, verdicts};
use crate::context::Context;
use crate::dialect::WRITER_TIME;
use crate::mail::messages::{HERE_BYTES_MAX, encode};
use crate::mail::model::{Attachment, Contents, Verdicts};
use crate::mail::post::Said;
use crate::model::WorkspaceNo;
use crate::outbox::{Undeliverable, note_undeliverable};

/// For how long what was stored is kept until it is posted, in seconds.
const LIFETIME_SECONDS: i64 = 1_800;
/// A mail up to this size lies in a row of its own, in bytes.
const RAW_HERE_BYTES_MAX: usize = 16 << 10;
/// A mail of more bytes is read off the threads that serve everybody.
const READ_HERE_BYTES_MAX: usize = 16 << 10;
/// More servers than this have passed on what goes round and round (6-messaging.md, M2).
const RECEIVED_MAX: usize = 25;

/// Takes a mail in: it is on the disk when this returns, for all of its recipients, or for none. The id that it goes by
/// here.
///
/// # Errors
/// Why it was not taken; the operator of each recipient's workspace is told, where that is for good.
pub(crate) async fn take(context: &Context, arrived: Arrived) -> Result<String, NotTaken> {
    let arrived = Arc::new(arrived);
    let outcome = taken(context, &arrived).await;
    match &outcome {
        Ok(_) => context.mail_figures.received.fetch_add(1, Ordering::Relaxed),
        Err(_) => context.mail_figures.refused.fetch_add(1, Ordering::Relaxed),
    };
    if let Err(why) = &outcome {
        refused(context, &arrived, *why).await;
    }
    outcome
}

/// Tells of a mail that is refused, as far as it was read, if not of too many an hour: anybody can send what is refused.
pub(crate) async fn refused(context: &Context, arrived: &Arrived, why: NotTaken) {
    let (code, status, words) = why.reply();
    if code < 500 {
        // It will be sent again.
        return;
    }
    let mut workspaces: BTreeMap<WorkspaceNo, Vec<&Recipient>> = BTreeMap::new();
    for recipient in &arrived.envelope.recipients {
        workspaces.entry(recipient.workspace).or_default().push(recipient);
    }
    let now = context.now();
    workspaces.retain(|workspace, _| context.refused_mails.note(*workspace, now));
    if workspaces.is_empty() {
        return;
    }
    let subject = content::subject_of(&arrived.bytes);
    let lines = workspaces.into_iter().map(|(workspace, recipients)| {
        let first = recipients.first().map(|first| first.address.clone()).unwrap_or_default();
        let recipient = match recipients.len() {
            0 | 1 => first,
            more => format!("{first} and {} more", more - 1),
        };
        let (reason, sender) = (format!("refused: {code} {status} {words}"), arrived.envelope.sender.clone());
        (workspace, reason, sender, recipient, subject.clone())
    });
    let lines: Vec<_> = lines.collect();
    let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| -> Result<(), Abort<NotTaken>> {
        for (workspace, reason, sender, recipient, subject) in lines {
            note_undeliverable(tx, workspace, Undeliverable { received_at: now, reason, sender, recipient, subject })?;
        }
        Ok(())
    };
    if let Err(abort) = context.write(WRITER_TIME, verb).await {
        tracing::warn!(?abort, "that mail was refused cannot be noted");
    }
}

async fn taken(context: &Context, arrived: &Arc<Arrived>) -> Result<String, NotTaken> {
    let read = read(arrived).await;
    if read.received > RECEIVED_MAX {
        return Err(NotTaken::Loops);
    }
    let name_servers = context.settings.mail.name_servers.as_ref();
    let verdicts = verdicts::found(name_servers, &context.unanswered, context.domain(), arrived).await;
    let mut staged = Vec::new();
    let kept = prepare(context, arrived, read, verdicts, &mut staged).await?;
    let (domain, id) = (context.domain().to_owned(), kept.id.clone());
    let outcome = context.write(WRITER_TIME, move |tx, now| keep(tx, now, &domain, kept)).await;
    drop(staged);
    outcome.map(|()| id).map_err(|abort| match abort {
        Abort::Refused(why) => why,
        Abort::Failed(failure) => failed(&failure),
    })
}

fn failed(failure: &Failure) -> NotTaken {
    match failure {
        Failure::StorageFull => NotTaken::NoRoom,
        failure => {
            tracing::warn!(%failure, "mail could not be kept");
            NotTaken::Failed
        }
    }
}

/// What stands in it. What its reader cannot bear is a mail like others: it is kept as it came.
async fn read(arrived: &Arc<Arrived>) -> Read {
    let mail = Arc::clone(arrived);
    let reading = move || std::panic::catch_unwind(AssertUnwindSafe(|| content::read(&mail.bytes))).ok();
    let read = match arrived.bytes.len() {
        0..=READ_HERE_BYTES_MAX => reading(),
        _ => tokio::task::spawn_blocking(reading).await.ok().flatten(),
    };
    read.unwrap_or_else(|| {
        tracing::error!(bytes = arrived.bytes.len(), "a mail could not be taken apart; it is kept as it came");
        content::as_it_came(&arrived.bytes)
    })
}

/// Stores what does not fit into rows, for each workspace by itself: it is sealed for each.
async fn prepare(
    context: &Context,
    arrived: &Arrived,
    read: Read,
    verdicts: Verdicts,
    staged: &mut Vec<StagedValue>,
) -> Result<Kept, NotTaken> {
    let id = ulid(Uuid::from_bytes(quintet_platform::secrets::random_bytes()));
    let trace = trace::headers(arrived, context.domain(), &id, context.now());
    let contents = Contents { text: read.text.clone(), html: read.html.clone(), ..Contents::default() };
    let said = encode(&contents).map_err(|failure| failed(&failure))?;
    let mut parcels: BTreeMap<WorkspaceNo, Parcels> = BTreeMap::new();
    for recipient in &arrived.envelope.recipients {
        if let Some(parcel) = parcels.get_mut(&recipient.workspace) {
            parcel.recipients.push(recipient.clone());
            continue;
        }
        let owner = KeyOwner::Tenant(recipient.tenant_id);
        let mut attachments = Vec::with_capacity(read.files.len());
        for file in &read.files {
            let value = stored(context, owner, &[&file.bytes], staged).await?;
            attachments.push(Attachment {
                filename: file.name.clone(),
                content_type: file.content_type.clone(),
                value,
            });
        }
        let parcel = Parcels {
            recipients: vec![recipient.clone()],
            said: placed(context, owner, &[&said], HERE_BYTES_MAX, staged).await?,
            raw: placed(context, owner, &[&trace, &arrived.bytes], RAW_HERE_BYTES_MAX, staged).await?,
            attachments,
        };
        parcels.insert(recipient.workspace, parcel);
    }
    let sender = arrived.envelope.sender.clone();
    Ok(Kept {
        id,
        sender,
        read: Read { files: Vec::new(), text: String::new(), html: None, ..read },
        verdicts,
        parcels,
    })
}

/// Bytes that come in parts, where they belong by how many they are.
async fn placed(
    context: &Context,
    owner: KeyOwner,
    parts: &[&[u8]],
    here_max: usize,
    staged: &mut Vec<StagedValue>,
) -> Result<Said, NotTaken> {
    if parts.iter().map(|part| part.len()).sum::<usize>() <= here_max {
        return Ok(Said::Here(parts.concat()));
    }
    Ok(Said::Large(stored(context, owner, parts, staged).await?))
}

async fn stored(
    context: &Context,
    owner: KeyOwner,
    parts: &[&[u8]],
    staged: &mut Vec<StagedValue>,
) -> Result<LargeValue, NotTaken> {
    let storing = async {
        let mut upload = Upload::begin_sealed(&context.store, owner, LIFETIME_SECONDS, WRITER_TIME).await?;
        for part in parts {
            upload.push(part).await?;
        }
        upload.stage().await
    };
    let value = storing.await.map_err(|abort: Abort<UploadRefusal>| match abort {
        Abort::Refused(UploadRefusal::Erased) => NotTaken::Nobody,
        Abort::Refused(UploadRefusal::Expired) => NotTaken::Failed,
        Abort::Failed(failure) => failed(&failure),
    })?;
    let kept = value.value().clone();
    staged.push(value);
    Ok(kept)
}
