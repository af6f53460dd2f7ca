//! Who would get a message: asked before each send, with the whole of what is to be sent. Only whom it is addressed to is
//! read; nothing is kept (6-messaging.md, E5).

use std::sync::Arc;

use quintet_platform::json::{Fields, Json, to_compact};
use quintet_platform::service::{Answer, Content, KeyRule, Route, json as success, refusal_of};
use quintet_storage::{Abort, Failure, Read};

use super::super::check::{Cleared, directed};
use super::super::model::{Author, Course};
use super::body::take;
use super::form::{read_course, subject, typed};
use super::messages::{author, counted};
use crate::dialect::{ACTING, Answered, BODY_BYTES_MAX, Call, SMALL_BODY_BYTES_MAX};
use crate::form::required;
use crate::identity::{Scope, Workspace};
use crate::mail::model::Addressee;
use crate::mail::recipients::{Asker, Resolved, Typed, resolve as resolve_all};
use crate::model::MailId;
use crate::pubkeys::{Algorithm, valid};
use crate::refusal::Refusal;
use crate::wire::texts;

/// What is refused of what is addressed.
const CODES: &[&str] =
    &["blocked_by_recipient", "busy", "too_many_recipients", "unknown_recipient", "unmatched_capability"];

pub(super) const RESOLVE: Route = Route::post("resolve_recipients", "/v1/recipients/resolve")
    .permission("read")
    .summary("Who would get a message, and with which keys it is sealed for them; nothing of it is kept")
    .body(Content::Json("MessageSend"))
    .successes(&[success(200, "Resolved")])
    .key(KeyRule::Optional)
    .codes(CODES);
pub(super) const RESOLVE_REPLY: Route = Route::post("resolve_reply", "/v1/recipients/resolve-reply")
    .permission("read")
    .marks(&[ACTING])
    .summary("The same of an answer, whose recipients and subject follow from its parent")
    .body(Content::Json("ReplyResolve"))
    .successes(&[success(200, "ReplyResolved")])
    .key(KeyRule::Optional)
    .codes(CODES);

pub(super) async fn resolve(call: Call) -> Answered {
    let acting = author(&call).ok();
    let may_send = call.caller.key.scope >= Scope::Send;
    let name = acting.as_ref().map_or_else(String::new, |author| author.name.clone());
    // Clients send the whole of what is to be sent, attachments too.
    let mut taken = take(call, BODY_BYTES_MAX).await?;
    let read = move |fields: &mut Fields| {
        let typed = typed(fields, &name)?;
        subject(fields).map(|_| typed)
    };
    let typed = taken.read(read).await?;
    let call = &taken.change.call;
    let workspace = &call.caller.workspace;
    let (agent, listens) = (acting.as_ref().map(|author| author.no), call.context.listens_for_mail());
    let asker = Asker { workspace, agent, domain: call.context.domain(), listens };
    let snapshot = call.snapshot();
    let outcome = resolve_all(&snapshot, call.now(), asker, &typed)
        .and_then(|resolved| Ok(members(&snapshot, workspace, &typed, &resolved)?))
        .map(|members| Answer::json(200, to_compact(&Json::object(members))))
        .map_err(|abort| refusal_of(abort).into());
    match acting.filter(|_| may_send) {
        Some(author) => counted(&call.context, call.caller.basis(false), &Arc::new(author), outcome).await,
        None => outcome,
    }
}

pub(super) async fn resolve_reply(call: Call) -> Answered {
    let author = author(&call)?;
    let may_send = call.caller.key.scope >= Scope::Send;
    let mut taken = take(call, SMALL_BODY_BYTES_MAX).await?;
    let read = |fields: &mut Fields| {
        let id: String = required(fields, "message_id")?;
        let parent = quintet_platform::ids::parse_ulid(&id).map(MailId::of);
        let no_message = || Refusal::NotFound("message with this id that is for this agent".to_owned());
        read_course(fields, parent.ok_or_else(no_message)?)
    };
    let reply = taken.read(read).await?;
    let call = &taken.change.call;
    let snapshot = call.snapshot();
    let outcome = directed(&snapshot, call.now(), &author, &Course::Reply(reply))
        .and_then(|cleared| reply_members(&snapshot, &author, cleared))
        .map(|members| Answer::json(200, to_compact(&Json::object(members))))
        .map_err(|abort| refusal_of(abort).into());
    match may_send {
        true => counted(&call.context, call.caller.basis(false), &Arc::new(author), outcome).await,
        false => outcome,
    }
}

fn reply_members(
    read: &impl Read,
    author: &Author,
    cleared: Cleared,
) -> Result<Vec<(&'static str, Json)>, Abort<Refusal>> {
    let mut all = members(read, &author.workspace, &cleared.typed, &cleared.resolved)?;
    all.push(("subject", cleared.subject.into()));
    all.push(("skipped_retired", texts(cleared.skipped_retired.unwrap_or_default())));
    Ok(all)
}

/// `to` and `cc` as typed, for they are signed so; what they stand for in `recipients`.
fn members(
    read: &impl Read,
    workspace: &Workspace,
    typed: &Typed,
    resolved: &Resolved,
) -> Result<Vec<(&'static str, Json)>, Failure> {
    let names = resolved.agents.iter().map(|addressee| addressee.mailbox.name.as_str());
    let outside = resolved.outside.iter().map(|(address, _)| address.as_str());
    let (keys, missing) =
        if workspace.is_encrypted { keys(read, workspace, &resolved.agents)? } else { Default::default() };
    Ok(vec![
        ("encrypted", workspace.is_encrypted.into()),
        ("to", texts(&typed.to)),
        ("cc", texts(&typed.cc)),
        ("recipients", texts(names.chain(outside.clone()))),
        ("keys", Json::Object(keys)),
        ("missing_keys", texts(missing)),
        ("external", texts(outside)),
    ])
}

type Keys = (Vec<(String, Json)>, Vec<String>);

/// The keys of recipients, and those who have none.
fn keys(read: &impl Read, workspace: &Workspace, agents: &[Addressee]) -> Result<Keys, Failure> {
    let (mut keys, mut missing) = (Vec::new(), Vec::new());
    for Addressee { no, mailbox, .. } in agents {
        let own = valid(read, (workspace.no, *no), Algorithm::AgeX25519)?;
        if own.is_empty() {
            missing.push(mailbox.name.clone());
            continue;
        }
        let shown = own.iter().map(|key| {
            Json::object([
                ("public_key", Json::from(key.text.as_str())),
                ("fingerprint", key.fingerprint.as_str().into()),
            ])
        });
        keys.push((mailbox.name.clone(), Json::Array(shown.collect())));
    }
    Ok((keys, missing))
}
