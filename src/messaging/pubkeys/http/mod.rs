//! Public keys over HTTP.

use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{
    Answer, Content, Endpoint, KeyRule, Parameter, Route, Segment, Shape, json as success,
};
use quintet_storage::{Abort, Timestamp, WriteTx};

use super::change::{publish, revoke};
use super::model::{Algorithm, Pubkey};
use super::rows::{of_workspace, valid};
use crate::dialect::{Answered, Call, Messaging, challenged};
use crate::form::{AGENT, agent_of, line, members, optional, required};
use crate::identity::agents;
use crate::refusal::Refusal;
use crate::wire::{instant, instant_or_null};

/// Characters of a label, and of a reason.
const LABEL_CHARS_MAX: usize = 200;
const REASON_CHARS_MAX: usize = 500;
const FINGERPRINT: Segment = Segment::new("fingerprint", Shape::ANY);
const ALGORITHM: Parameter = Parameter::new(
    "algorithm",
    Shape::Word(&[Algorithm::AgeX25519.name(), Algorithm::Ed25519.name()], Algorithm::AgeX25519.name()),
    "Keys for this: sealing, or checking signatures.",
);
const REASON: Parameter =
    Parameter::new("reason", Shape::Text { min: 0, max: REASON_CHARS_MAX }, "Why it is revoked, in the agent's words.");

const PUBLISH: Route = Route::post("publish_pubkey", "/v1/agents/{name}/pubkey")
    .permission("send")
    .summary("Publish a public key of the agent; again: it gets the label that is given")
    .segments(&[AGENT])
    .body(Content::Json("PubkeyNew"))
    .successes(&[success(201, "Pubkey")])
    .key(KeyRule::Optional)
    .codes(&["limit_reached", "permission_denied"]);
const LIST: Route = Route::get("list_pubkeys", "/v1/agents/{name}/pubkey")
    .permission("read")
    .summary("The keys that an agent has published for something, without those it has revoked")
    .segments(&[AGENT])
    .parameters(&[ALGORITHM])
    .successes(&[success(200, "Pubkeys")]);
const REVOKE: Route = Route::delete("revoke_pubkey", "/v1/agents/{name}/pubkey/{fingerprint}")
    .permission("send")
    .summary("Revoke a public key of the agent, for good")
    .segments(&[AGENT, FINGERPRINT])
    .parameters(&[REASON])
    .successes(&[success(200, "PubkeyRevoked")])
    .codes(&["permission_denied"]);
const OF_WORKSPACE: Route = Route::get("list_workspace_pubkeys", "/v1/workspace/pubkeys")
    .permission("read")
    .summary("Whether the workspace is encrypted, and all keys that its agents have published, revoked ones too")
    .successes(&[success(200, "WorkspacePubkeys")])
    .codes(&["busy"]);

/// What is served of public keys.
pub(crate) const ENDPOINTS: &[Endpoint<Messaging>] = &[
    Endpoint::new(&PUBLISH, |call| Box::pin(challenged(call, post))),
    Endpoint::new(&LIST, |call| Box::pin(challenged(call, list))),
    Endpoint::new(&REVOKE, |call| Box::pin(challenged(call, delete))),
    Endpoint::new(&OF_WORKSPACE, |call| Box::pin(challenged(call, list_all))),
];

fn written(agent: &str, key: &Pubkey) -> Json {
    Json::object([
        ("agent", Json::from(agent)),
        ("public_key", key.text.as_str().into()),
        ("fingerprint", key.fingerprint.as_str().into()),
        ("algorithm", key.algorithm.name().into()),
        ("label", key.label.as_deref().into()),
        ("created_at", instant(key.created_at)),
        ("revoked_at", instant_or_null(key.revoked_at)),
    ])
}

async fn post(call: Call) -> Answered {
    let (no, name) = agent_of(&call)?;
    call.caller.may_change(no)?;
    let agent = (call.caller.workspace.no, no);
    let mut change = call.change().await?;
    change.begin()?;
    let mut fields = members(&mut change)?;
    let text: String = required(&mut fields, "public_key")?;
    let label = optional::<String>(&mut fields, "label")?.filter(|label| !label.is_empty());
    let label = label.map(|label| line("label", label, LABEL_CHARS_MAX)).transpose()?;
    let algorithm = match optional::<String>(&mut fields, "algorithm")? {
        Some(name) => {
            Algorithm::named(&name).ok_or_else(|| Refusal::field("algorithm", "must be one of age-x25519, ed25519"))?
        }
        None => Algorithm::AgeX25519,
    };
    let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| {
        let key = publish(tx, now, agent, algorithm, &text, label)?;
        Ok(Answer::json(201, to_compact(&written(&name, &key))))
    };
    change.write(verb).await
}

async fn list(mut call: Call) -> Answered {
    let (no, name) = agent_of(&call)?;
    let algorithm = call.word(&ALGORITHM)?.and_then(Algorithm::named).unwrap_or(Algorithm::AgeX25519);
    let agent = (call.caller.workspace.no, no);
    call.answer(200, |read| {
        let keys: Vec<Json> = valid(read, agent, algorithm)?.iter().map(|key| written(&name, key)).collect();
        let count = Json::from(keys.len());
        let told = [("agent", Json::from(name.as_str())), ("keys", Json::from(keys)), ("count", count)];
        Ok(to_compact(&Json::object(told)).into())
    })
}

async fn delete(mut call: Call) -> Answered {
    let (no, _) = agent_of(&call)?;
    call.caller.may_change(no)?;
    let agent = (call.caller.workspace.no, no);
    let fingerprint: String = call.segment(FINGERPRINT.name).unwrap_or_default();
    let reason = call.text(&REASON)?;
    let change = call.change().await?;
    let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| {
        let revoked = revoke(tx, now, agent, &fingerprint, reason.as_deref())?;
        let (revoked_at, already) = revoked.ok_or_else(|| Refusal::NotFound("such public key".to_owned()))?;
        let told = [
            ("fingerprint", Json::from(fingerprint.as_str())),
            ("revoked_at", instant(revoked_at)),
            ("already", already.into()),
        ];
        Ok(Answer::json(200, to_compact(&Json::object(told))))
    };
    change.freeing(true).write(verb).await
}

async fn list_all(call: Call) -> Answered {
    let (read, workspace) = (call.snapshot(), call.caller.workspace.clone());
    let work = move || -> Result<Vec<u8>, Abort<Refusal>> {
        let (mut told, mut last) = (Vec::new(), None);
        for (no, key) in of_workspace(&read, workspace.no)? {
            // The keys of an agent stand together.
            let name = match last.take() {
                Some((known, name)) if known == no => Some(name),
                _ => agents::find(&read, (workspace.no, no))?.map(|agent| agent.name),
            };
            told.extend(name.as_deref().map(|name| written(name, &key)));
            last = name.map(|name| (no, name));
        }
        let told = [("encrypted", Json::from(workspace.is_encrypted)), ("keys", Json::from(told))];
        Ok(to_compact(&Json::object(told)).into())
    };
    let body = call.in_turn(&call.context.lookers, work).await?;
    Ok(Answer::json(200, body))
}
