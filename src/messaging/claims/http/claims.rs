//! Reading a claim with its verdicts, and giving one.

use quintet_platform::ids::ulid;
use quintet_platform::json::{self, Fields, Json, Limits, to_compact};
use quintet_platform::service::{Answer, Content, KeyRule, Route, failed, json as success};
use quintet_storage::{Failure, Read, Timestamp, Uuid, WriteTx};

use super::super::tables::{Given, Observed, Outcome};
use super::super::verdicts::{self, Verdict};
use crate::dialect::{ACTING, Answered, Call};
use crate::form::{self, MESSAGE};
use crate::identity::Workspace;
use crate::mail::messages;
use crate::mail::model::Message;
use crate::mail::whereabouts::{concerns, has_got};
use crate::model::{MailId, MessageId, MessageKey};
use crate::refusal::Refusal;
use crate::wire::instant;

/// The most characters of what was observed.
const OUTPUT_CHARS_MAX: usize = 4_000;
/// The most characters of a note, or of a version.
const NOTE_CHARS_MAX: usize = 1_000;

pub(super) const GET: Route = Route::get("get_claim", "/v1/messages/{message_id}/claim")
    .permission("read")
    .marks(&[ACTING])
    .summary("What a message claims, and what its recipients found")
    .segments(&[MESSAGE])
    .successes(&[success(200, "ClaimView")])
    .codes(&["busy"]);
pub(super) const JUDGE: Route = Route::post("judge_claim", "/v1/messages/{message_id}/claim/verdict")
    .permission("send")
    .marks(&[ACTING])
    .summary("Say what came of trying a claim: for recipients of the message")
    .segments(&[MESSAGE])
    .body(Content::Json("VerdictNew"))
    .successes(&[success(201, "Verdict")])
    .key(KeyRule::Optional)
    .codes(&["busy", "limit_reached"]);

fn no_message() -> Refusal {
    Refusal::NotFound("message with this id that is for this agent".to_owned())
}

fn no_claim() -> Refusal {
    Refusal::NotFound("claim of this message".to_owned())
}

/// The message that the path names, if it concerns the agent.
fn message_of(call: &Call) -> Result<(MessageId, Message), Refusal> {
    let (agent, _) = call.caller.acting()?;
    let Some(MailId::Message(id)) = call.segment(MESSAGE.name) else { return Err(no_message()) };
    let read = call.snapshot();
    let found = || -> Result<Option<Message>, Failure> {
        let Some(message) = messages::find(&read, (agent.0, id))? else { return Ok(None) };
        Ok(if concerns(&read, agent, (id, &message))? { Some(message) } else { None })
    };
    let message = found().map_err(|failure| failed::<Refusal>(&failure))?;
    Ok((id, message.ok_or_else(no_message)?))
}

pub(super) async fn get(call: Call) -> Answered {
    let (id, message) = message_of(&call)?;
    let (context, workspace) = (call.context.clone(), call.caller.workspace.clone());
    let look = move || Ok(view(&context.store.read(), &workspace, id, &message)?);
    Ok(Answer::json(200, call.in_turn(&call.context.lookers, look).await?))
}

fn view(read: &impl Read, workspace: &Workspace, id: MessageId, message: &Message) -> Result<String, Failure> {
    let claim = if message.has_claim { claim(read, workspace, id, message)? } else { Json::Null };
    let all = verdicts::list(read, workspace, id)?;
    // A sender can be among its own recipients: that it stands by what it says proves nothing.
    let is_other = |verdict: &Verdict| verdict.runner != message.sender_name;
    let is_verified = all.iter().any(|(_, _, verdict)| verdict.outcome == Outcome::Verified && is_other(verdict))
        && !all.iter().any(|(_, _, verdict)| verdict.outcome == Outcome::Refuted);
    let note = match (all.is_empty(), message.has_claim) {
        (false, _) => None,
        (true, true) => Some("No recipient has tried this claim yet: it is what its sender says."),
        (true, false) => Some("The message makes no claim."),
    };
    let rows = all.iter().map(|(id, at, verdict)| record(*id, *at, verdict)).collect::<Vec<_>>();
    let told = [("claim", claim), ("verdicts", rows.into()), ("verified", is_verified.into()), ("note", note.into())];
    Ok(to_compact(&Json::object(told)))
}

/// What the message claims, with who claims it.
fn claim(read: &impl Read, workspace: &Workspace, id: MessageId, message: &Message) -> Result<Json, Failure> {
    let contents = messages::open(read, workspace, id, &message.kept)?;
    let limits = Limits { max_depth: Limits::DEPTH_MAX };
    let told = contents.claim.as_deref().and_then(|text| json::parse(text.as_bytes(), limits).ok());
    let Some(Json::Object(told)) = told else { return Ok(Json::Null) };
    let mut members: Vec<(String, Json)> =
        ["assert_text", "repro", "interpreter", "expect", "context"].map(|name| (name.to_owned(), Json::Null)).into();
    for (name, value) in told {
        if let Some(member) = members.iter_mut().find(|(known, _)| *known == name) {
            member.1 = value;
        }
    }
    members.push(("claimed_by".to_owned(), message.sender_name.as_str().into()));
    members.push(("created_at".to_owned(), instant(message.created_at)));
    Ok(Json::Object(members))
}

pub(super) async fn judge(call: Call) -> Answered {
    let (id, message) = message_of(&call)?;
    let (agent, acting) = call.caller.acting()?;
    let (name, attestation) = (acting.name.clone(), call.caller.attestation());
    let is_recipient = has_got(&call.snapshot(), agent, (id, &message));
    if !is_recipient.map_err(|failure| failed::<Refusal>(&failure))? {
        return Err(Refusal::Denied("recipients of a message judge what it claims, and nobody else").into());
    }
    if !message.has_claim {
        return Err(no_claim().into());
    }
    let workspace = call.caller.workspace.clone();
    let mut change = call.change().await?;
    change.begin()?;
    let known = listed_before(&change.call, (workspace.no, id)).await?;
    let mut fields = form::members(&mut change)?;
    let result: String = form::required(&mut fields, "result")?;
    let outcome = Outcome::named(&result);
    let outcome = outcome.ok_or_else(|| Refusal::field("result", "must be one of verified, refuted, error"))?;
    let observed_exit = form::optional::<i64>(&mut fields, "observed_exit")?;
    let observed = Observed {
        output: text(&mut fields, "observed_output", OUTPUT_CHARS_MAX)?,
        client_version: text(&mut fields, "client_version", NOTE_CHARS_MAX)?,
        env_note: text(&mut fields, "env_note", NOTE_CHARS_MAX)?,
    };
    let verdict = Verdict { runner: name, attestation, outcome, observed_exit, observed };
    let verb = move |tx: &mut WriteTx<'_>, now| {
        let verdict_id = verdicts::give(tx, now, &workspace, id, (&verdict, known))?;
        // What it says is sealed where it lies, so it is where the answer is remembered.
        Ok(Answer::json(201, to_compact(&record(verdict_id, now, &verdict))).secret())
    };
    change.write(verb).await
}

/// Which verdicts a message has, before the transaction. Those of an earlier version are looked through in their turn, once.
async fn listed_before(call: &Call, message: MessageKey) -> Result<Vec<Given>, Refusal> {
    match verdicts::listed(&call.snapshot(), message).map_err(|failure| failed::<Refusal>(&failure))? {
        Some(all) => Ok(all),
        None => {
            let context = call.context.clone();
            let look = move || Ok(verdicts::found(&context.store.read(), message)?);
            call.in_turn(&call.context.lookers, look).await
        }
    }
}

/// A text that may be absent, of so many characters.
fn text(fields: &mut Fields, name: &str, most: usize) -> Result<Option<String>, Refusal> {
    let text = form::optional::<String>(fields, name)?;
    match text {
        Some(text) if text.chars().count() > most => {
            Err(Refusal::field(name, format!("must have at most {most} characters")))
        }
        text => Ok(text),
    }
}

fn record(id: Uuid, at: Timestamp, verdict: &Verdict) -> Json {
    let Verdict { runner, attestation, outcome, observed_exit, observed } = verdict;
    Json::object([
        ("verdict_id", Json::from(ulid(id))),
        ("result", outcome.name().into()),
        ("runner", runner.as_str().into()),
        ("attestation", attestation.name().into()),
        ("observed_exit", (*observed_exit).into()),
        ("observed_output", observed.output.as_deref().into()),
        ("client_version", observed.client_version.as_deref().into()),
        ("env_note", observed.env_note.as_deref().into()),
        ("created_at", instant(at)),
    ])
}
