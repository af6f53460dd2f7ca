//! What is done before the transaction: what a message says is looked at, and what is large is stored, so that the
//! transaction is a small one. What was stored goes again, unless the transaction takes it.

use quintet_platform::json::to_compact;
use quintet_platform::service::{Fault, failed};
use quintet_storage::large::{StagedValue, Upload, UploadRefusal};
use quintet_storage::seal::KeyOwner;
use quintet_storage::{Abort, Failure, Read};

use super::check::{check, directed};
use super::model::{Asked, Author, Faults, Given, Ready, Spoken};
use super::payload::Judged;
use crate::context::Context;
use crate::dialect::WRITER_TIME;
use crate::identity::Workspace;
use crate::inbox::find::find;
use crate::limits::{ATTACHMENT_BYTES, MESSAGE_BYTES};
use crate::mail::messages::{HERE_BYTES_MAX, encode};
use crate::mail::model::{Attachment, Contents};
use crate::mail::post::Said;
use crate::model::MailId;
use crate::refusal::Refusal;
use crate::words::sealed::is_as_it_must_be;

/// For how long what was stored is kept until it is posted, in seconds.
const LIFETIME_SECONDS: i64 = 1_800;

/// Makes a message ready, with what must live until it is posted or refused.
///
/// # Errors
/// Before anything large is stored, the first check that says no; the store's.
pub(super) async fn prepare(
    context: &Context,
    author: &Author,
    asked: Asked,
    spoken: Spoken,
) -> Result<(Ready, Vec<StagedValue>), Refusal> {
    let faults = faults(&author.workspace, &spoken);
    let payload = judged(context, author, &asked, &spoken).await?;
    let mut contents =
        contents(&context.store.read(), author, &spoken).map_err(|failure| failed::<Refusal>(&failure))?;
    contents.payload_schema_ref = payload.as_ref().and_then(Judged::schema_ref);
    let bytes = encode(&contents).map_err(|failure| failed::<Refusal>(&failure))?;
    let mut ready = Ready {
        asked,
        is_sealed: spoken.is_sealed,
        is_signed: contents.signature.is_some(),
        has_claim: contents.claim.is_some(),
        said: Said::Here(Vec::new()),
        attachments: Vec::new(),
        payload,
        faults,
    };
    if ready.asked.is_ephemeral || (spoken.attachments.is_empty() && bytes.len() <= HERE_BYTES_MAX) {
        ready.said = Said::Here(bytes);
        return Ok((ready, Vec::new()));
    }
    // Nothing is stored for what would be refused. The transaction looks again.
    let checked = check(&context.store.read(), context.now(), author, &ready, &context.attendance);
    checked.map_err(quintet_platform::service::refusal_of)?;
    let mut staged = Vec::with_capacity(spoken.attachments.len() + 1);
    for Given { filename, content_type, content, .. } in spoken.attachments {
        let stored = store(context, &author.workspace, &content).await?;
        ready.attachments.push(Attachment { filename, content_type, value: stored.value().clone() });
        staged.push(stored);
    }
    if bytes.len() <= HERE_BYTES_MAX {
        ready.said = Said::Here(bytes);
    } else {
        let stored = store(context, &author.workspace, &bytes).await?;
        ready.said = Said::Large(stored.value().clone());
        staged.push(stored);
    }
    Ok((ready, staged))
}

/// What the rooms say of a payload that it goes to, in its turn. Where it cannot go anywhere, that is said later.
async fn judged(context: &Context, author: &Author, asked: &Asked, spoken: &Spoken) -> Result<Option<Judged>, Refusal> {
    let Some(payload) = spoken.payload.clone() else { return Ok(None) };
    let (store, now) = (context.store.clone(), context.now());
    let (author, course) = (author.clone(), asked.course.clone());
    let tenant_id = author.workspace.tenant_id;
    let work = move || -> Result<Judged, Failure> {
        let read = store.read();
        let rooms = match directed(&read, now, &author, &course) {
            Ok(cleared) => cleared.resolved.rooms,
            Err(Abort::Refused(_)) => Vec::new(),
            Err(Abort::Failed(failure)) => return Err(failure),
        };
        Judged::of(&read, author.workspace.no, payload, &rooms)
    };
    let judged = context.lookers.take(tenant_id, work).await?;
    judged.map(Some).map_err(|failure| failed(&failure))
}

async fn store(context: &Context, workspace: &Workspace, bytes: &[u8]) -> Result<StagedValue, Refusal> {
    let owner = KeyOwner::Tenant(workspace.tenant_id);
    let stored = async {
        let mut upload = Upload::begin_sealed(&context.store, owner, LIFETIME_SECONDS, WRITER_TIME).await?;
        upload.push(bytes).await?;
        upload.stage().await
    };
    stored.await.map_err(|abort| match abort {
        Abort::Failed(failure) => failed(&failure),
        Abort::Refused(UploadRefusal::Expired) => Fault::Busy.into(),
        // Whoever still has a key of an erased tenant is turned away before this.
        Abort::Refused(UploadRefusal::Erased) => Refusal::WorkspaceDeleted,
    })
}

/// What rows keep of what it says.
fn contents(read: &impl Read, author: &Author, spoken: &Spoken) -> Result<Contents, Failure> {
    let mut derived_from = Vec::with_capacity(spoken.derived_from.len());
    for text in &spoken.derived_from {
        let id = quintet_platform::ids::parse_ulid(text).map(MailId::of);
        let could_read = id.map_or(Ok(None), |id| find(read, author.key(), id))?.is_some();
        derived_from.push((text.clone(), could_read));
    }
    let claim = spoken.claim.as_ref().and_then(|claim| claim.as_ref().ok());
    Ok(Contents {
        text: spoken.text.clone(),
        html: spoken.html.clone(),
        payload: spoken.payload.as_ref().map(to_compact),
        payload_schema_ref: None,
        sealed_by: if spoken.is_sealed { Some(author.name.clone()) } else { None },
        signature: spoken.signature.clone(),
        claim: claim.map(to_compact),
        derived_from,
        handoff_from: spoken.handoff_from.clone(),
    })
}

/// What is wrong with what it says.
fn faults(workspace: &Workspace, spoken: &Spoken) -> Faults {
    let claim = spoken.claim.as_ref().and_then(|claim| claim.as_ref().err());
    Faults {
        sealing: unsealed(workspace, spoken).map(Refusal::SealingRequired),
        size: oversized(workspace, spoken),
        claim: claim.cloned(),
    }
}

/// The first member that must be sealed and is not.
fn unsealed(workspace: &Workspace, spoken: &Spoken) -> Option<&'static str> {
    if !is_as_it_must_be(workspace.is_encrypted, &spoken.text, spoken.is_sealed) {
        return Some("text");
    }
    if !workspace.is_encrypted {
        return None;
    }
    // These cannot be.
    let others =
        [("html", spoken.html.is_some()), ("payload", spoken.payload.is_some()), ("claim", spoken.claim.is_some())];
    let other = others.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name);
    let is_any_open = || spoken.attachments.iter().any(|given| !given.is_sealed);
    other.or_else(|| if is_any_open() { Some("attachments") } else { None })
}

/// An attachment counts as base64 where it is sealed, for clients know it so, and decoded where it is not (E4).
fn oversized(workspace: &Workspace, spoken: &Spoken) -> Option<Refusal> {
    let (one_max, all_max) = (workspace.limit(ATTACHMENT_BYTES), workspace.limit(MESSAGE_BYTES));
    let size = |given: &Given| if given.is_sealed { given.base64_bytes } else { given.content.len() };
    if spoken.attachments.iter().any(|given| size(given) as u64 > one_max) {
        return Some(Refusal::TooLarge("attachments", one_max));
    }
    let all: u64 = spoken.attachments.iter().map(|given| given.content.len() as u64).sum();
    if all > all_max { Some(Refusal::TooLarge("attachments", all_max)) } else { None }
}
