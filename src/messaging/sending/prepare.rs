//! What is done before the transaction: what a message says is looked at, and what is large is stored, so that the
//! transaction is a small one. What was stored goes again, unless the transaction takes it.

use std::sync::Arc;

use quintet_platform::json::to_compact;
use quintet_platform::service::{Answer, Change, Fault, failed};
use quintet_storage::large::{StagedValue, Upload, UploadRefusal};
use quintet_storage::seal::KeyOwner;
use quintet_storage::{Abort, Failure, Read, Timestamp, WriteTx};

use super::check::{check, directed};
use super::ephemeral::begin;
use super::model::{Asked, Author, Faults, Given, Ready, Spoken};
use super::payload::Judged;
use crate::context::Context;
use crate::dialect::{Answered, Messaging, WRITER_TIME};
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

/// How often a payload is held against what rooms want, for one message.
const JUDGED_MAX: usize = 4;

/// A message that is ready, with what must live until it is posted or refused.
pub(super) struct Prepared {
    context: Context,
    author: Arc<Author>,
    ready: Arc<Ready>,
    contents: Contents,
    staged: Vec<StagedValue>,
}

/// Makes a message ready.
///
/// # Errors
/// Before anything large is stored, the first check that says no; the store's.
pub(super) async fn prepare(
    context: &Context,
    author: &Arc<Author>,
    asked: Asked,
    mut spoken: Spoken,
) -> Result<Prepared, Refusal> {
    let mut faults = faults(&author.workspace, &spoken);
    let event = match asked.is_ephemeral.then(|| begin(author, &asked, &spoken)) {
        Some(Err(refusal)) => {
            faults.size = Some(refusal);
            None
        }
        event => event.and_then(Result::ok),
    };
    let contents = contents(&context.store.read(), author, &spoken).map_err(|failure| failed::<Refusal>(&failure))?;
    let ready = Ready {
        asked,
        is_sealed: spoken.is_sealed,
        is_signed: contents.signature.is_some(),
        has_claim: contents.claim.is_some(),
        said: Said::Here(Vec::new()),
        attachments: Vec::new(),
        payload: spoken.payload.take().map(Judged::new),
        event,
        faults,
    };
    let (context, author, ready) = (context.clone(), Arc::clone(author), Arc::new(ready));
    let mut prepared = Prepared { context, author, ready, contents, staged: Vec::new() };
    prepared.judge().await?;
    if !prepared.ready.asked.is_ephemeral {
        prepared.store(spoken.attachments).await?;
    }
    Ok(prepared)
}

impl Prepared {
    /// Writes it: what `verb` does with what is ready. Where what rooms want is not what it was judged by, it is judged
    /// anew, which the transaction has no time for.
    ///
    /// # Errors
    /// What `verb` refuses; [`Refusal::PayloadUnjudged`] where that went on and on.
    pub(super) async fn write(
        mut self,
        change: Change<Messaging>,
        verb: impl Fn(&mut WriteTx<'_>, Timestamp, &Ready) -> Result<Answer, Abort<Refusal>> + Clone + Send + 'static,
    ) -> Answered {
        let mut judged = 1;
        loop {
            let (ready, verb) = (Arc::clone(&self.ready), verb.clone());
            let written = change.try_write(move |tx, now| verb(tx, now, &ready).map(Some)).await;
            match written {
                Ok(answer) => return answer.ok_or_else(|| Refusal::from(Fault::Internal).into()),
                Err(Refusal::PayloadUnjudged) if judged < JUDGED_MAX => judged += 1,
                Err(refusal) => return Err(refusal.into()),
            }
            self.judge().await?;
            if !self.ready.asked.is_ephemeral {
                self.store_said().await?;
            }
        }
    }

    /// Has the rooms that it goes to say what they say of its payload, in their turn. Where it cannot go anywhere, that is
    /// said later.
    async fn judge(&mut self) -> Result<(), Refusal> {
        let Some(mut payload) = self.ready.payload.clone() else { return Ok(()) };
        let (store, now, author) = (self.context.store.clone(), self.context.now(), Arc::clone(&self.author));
        let (ready, tenant_id) = (Arc::clone(&self.ready), author.workspace.tenant_id);
        let work = move || -> Result<Judged, Failure> {
            let read = store.read();
            match directed(&read, now, &author, &ready.asked.course) {
                Ok(cleared) => payload.ask(&read, author.workspace.no, &cleared.resolved.rooms)?,
                Err(Abort::Refused(_)) => {}
                Err(Abort::Failed(failure)) => return Err(failure),
            }
            Ok(payload)
        };
        let judged = self.context.lookers.take(tenant_id, work).await?;
        let judged = judged.map_err(|failure| failed::<Refusal>(&failure))?;
        self.contents.payload_schema_ref = judged.schema_ref();
        Arc::make_mut(&mut self.ready).payload = Some(judged);
        Ok(())
    }

    /// Stores what does not fit into rows. Nothing is stored for what would be refused: the transaction looks again.
    async fn store(&mut self, attachments: Vec<Given>) -> Result<(), Refusal> {
        if attachments.is_empty() && self.encoded()?.len() <= HERE_BYTES_MAX {
            return self.store_said().await;
        }
        let Prepared { context, author, ready, .. } = &*self;
        let checked = check(&context.store.read(), context.now(), author, ready, &context.attendance);
        match checked.map_err(quintet_platform::service::refusal_of) {
            // It is judged anew after the transaction has said so.
            Ok(_) | Err(Refusal::PayloadUnjudged) => {}
            Err(refusal) => return Err(refusal),
        }
        for Given { filename, content_type, content, .. } in attachments {
            let stored = store(&self.context, &self.author.workspace, &content).await?;
            let attachment = Attachment { filename, content_type, value: stored.value().clone() };
            Arc::make_mut(&mut self.ready).attachments.push(attachment);
            self.staged.push(stored);
        }
        self.store_said().await
    }

    /// Stores what it says, where that does not fit into a row.
    async fn store_said(&mut self) -> Result<(), Refusal> {
        let bytes = self.encoded()?;
        let said = if bytes.len() <= HERE_BYTES_MAX {
            Said::Here(bytes)
        } else {
            let stored = store(&self.context, &self.author.workspace, &bytes).await?;
            let said = Said::Large(stored.value().clone());
            self.staged.push(stored);
            said
        };
        Arc::make_mut(&mut self.ready).said = said;
        Ok(())
    }

    fn encoded(&self) -> Result<Vec<u8>, Refusal> {
        encode(&self.contents).map_err(|failure| failed(&failure))
    }
}

/// Stores what does not fit into a row. It goes again, unless the transaction takes it.
///
/// # Errors
/// The store's.
pub(crate) async fn store(context: &Context, workspace: &Workspace, bytes: &[u8]) -> Result<StagedValue, Refusal> {
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
