//! What a call becomes: the message that its agent gets (6-messaging.md, H5, E3).

use data_encoding::BASE64;
use http::{HeaderMap, HeaderName};
use quintet_platform::json::{Json, Limits, parse, to_compact};
use quintet_storage::Failure;

use super::model::Endpoint;
use super::signature::Form;
use crate::identity::{Attestation, Mailbox, Priority, Workspace};
use crate::mail::messages::encode;
use crate::mail::model::{Addressee, Contents, Role, Sender};
use crate::mail::post::{From, Letter, Said};
use crate::model::AgentNo;
use crate::refusal::Refusal;
use crate::words::sealed::is_sealed_text;
use crate::words::subject::SUBJECT_BYTES_MAX;

const X_AGENTBUS_SUBJECT: HeaderName = HeaderName::from_static("x-agentbus-subject");
const X_SVC_EVENT: HeaderName = HeaderName::from_static("x-svc-event");

/// What a call is about that does not say so.
const SUBJECT: &str = "Inbound call";
/// How deep a body may be that programs get as JSON.
const PAYLOAD: Limits = Limits { max_depth: 32 };

/// What a call says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spoken {
    pub(super) subject: String,
    pub(super) contents: Contents,
    pub(super) is_sealed: bool,
}

/// What a call says. `is_from_within`: this appliance makes it itself.
///
/// # Errors
/// The workspace is encrypted, and it is not sealed.
pub(super) fn spoken(
    workspace: &Workspace,
    headers: &HeaderMap,
    form: Form,
    body: &[u8],
    is_from_within: bool,
) -> Result<Spoken, Refusal> {
    let subject = subject(headers, form);
    let text = std::str::from_utf8(body).ok();
    if workspace.is_encrypted {
        let sealed = text.filter(|text| is_sealed_text(text));
        let text = match (sealed, is_from_within) {
            (Some(text), _) => text.to_owned(),
            (None, true) => without_output(body),
            (None, false) => return Err(Refusal::SealingRequired("body")),
        };
        let contents = Contents { text, ..Contents::default() };
        return Ok(Spoken { subject, contents, is_sealed: sealed.is_some() });
    }
    let payload = text.and_then(|text| parse(text.as_bytes(), PAYLOAD).ok()).filter(|payload| *payload != Json::Null);
    let text =
        text.map_or_else(|| format!("The body is no UTF-8 text. In base64:\n{}", BASE64.encode(body)), str::to_owned);
    let contents = Contents { text, payload: payload.as_ref().map(to_compact), ..Contents::default() };
    Ok(Spoken { subject, contents, is_sealed: false })
}

/// What it is about: in one line, as others' subjects are.
fn subject(headers: &HeaderMap, form: Form) -> String {
    let said = |name: &HeaderName| {
        let text = String::from_utf8_lossy(headers.get(name)?.as_bytes()).into_owned();
        let mut text: String = text.chars().filter(|character| !character.is_control()).collect();
        text.truncate(text.floor_char_boundary(SUBJECT_BYTES_MAX));
        let text = text.trim().to_owned();
        if text.is_empty() { None } else { Some(text) }
    };
    let own = said(&X_AGENTBUS_SUBJECT);
    let event = || if form == Form::Service { said(&X_SVC_EVENT) } else { None };
    own.or_else(event).unwrap_or_else(|| SUBJECT.to_owned())
}

/// Members of an event's data that say what happened to which thing, and nothing that somebody wrote or that a command printed.
const TOLD: [&str; 22] = [
    "track_id",
    "workflow_id",
    "timer_id",
    "schedule_id",
    "approval_id",
    "request_id",
    "decision_id",
    "project_id",
    "workspace_id",
    "endpoint_id",
    "message_id",
    "thread_id",
    "delivery_id",
    "state",
    "outcome",
    "submitted_at",
    "started_at",
    "finished_at",
    "scheduled_at",
    "fire_at",
    "fired_at",
    "late_seconds",
];
/// The same of what a run has come to.
const TOLD_OF_RESULT: [&str; 2] = ["exit_code", "duration_seconds"];
/// The members of an event that stay; `data` is looked through.
const TOLD_OF_EVENT: [&str; 5] = ["event_id", "event_type", "type", "occurred_at", "resource"];

/// An event of this appliance in an encrypted workspace: what happened, without what came out of it.
fn without_output(body: &[u8]) -> String {
    let Ok(event) = parse(body, PAYLOAD) else { return String::new() };
    let mut told = only(&event, &TOLD_OF_EVENT);
    let mut data = member(&event, "data").map_or_else(Vec::new, |data| only(data, &TOLD));
    if let Some(result) = member(&event, "data").and_then(|data| member(data, "result")) {
        data.push(("result".to_owned(), Json::Object(only(result, &TOLD_OF_RESULT))));
    }
    told.push(("data".to_owned(), Json::Object(data)));
    to_compact(&Json::Object(told))
}

fn member<'j>(json: &'j Json, name: &str) -> Option<&'j Json> {
    let Json::Object(members) = json else { return None };
    members.iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

/// Of an object's members these.
fn only(json: &Json, names: &[&str]) -> Vec<(String, Json)> {
    let Json::Object(members) = json else { return Vec::new() };
    members.iter().filter(|(name, _)| names.contains(&name.as_str())).cloned().collect()
}

impl Spoken {
    /// What of it rows keep.
    pub(super) fn encoded(&self) -> Result<Vec<u8>, Failure> {
        encode(&self.contents)
    }

    /// The message to an agent, in a thread of its own.
    pub(super) fn letter(&self, endpoint: &Endpoint, (no, mailbox): (AgentNo, Mailbox), said: Said) -> Letter {
        let source = endpoint.source();
        Letter {
            thread: None,
            in_reply_to: None,
            from: From {
                name: source.clone(),
                sender: Sender::Ingress(source),
                address: String::new(),
                lane: None,
                attestation: Attestation::External,
            },
            subject: self.subject.clone(),
            to: vec![mailbox.name.clone()],
            cc: Vec::new(),
            agents: vec![Addressee { no, role: Role::To, mailbox }],
            outside: Vec::new(),
            rooms: Vec::new(),
            priority: Priority::Normal,
            is_sealed: self.is_sealed,
            is_signed: false,
            has_claim: false,
            said,
            attachments: Vec::new(),
        }
    }
}
