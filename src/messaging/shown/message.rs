//! The records of messages: as rows of an inbox, as deliveries, as parts of a thread.

use quintet_platform::ids::ulid;
use quintet_platform::json::{self, Json, Limits};
use quintet_storage::{Failure, Read};

use super::provenance::provenance;
use super::signature::{State, sha256_of, state};
use crate::identity::Workspace;
use crate::mail::messages;
use crate::mail::model::{Contents, Delivery, Message, Role, Sender, Verdicts};
use crate::model::{AgentNo, DeliveryId, MessageId};
use crate::wire::{instant, instant_or_null, texts};

/// Members of a record, in their order.
type Members = Vec<(&'static str, Json)>;

/// As what a message lies before its reader.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Placed<'a> {
    /// In the reader's inbox, at a place.
    Delivered {
        /// Who reads.
        agent: AgentNo,
        /// Where.
        seq: u64,
        /// The delivery.
        delivery: &'a Delivery,
    },
    /// The reader sent it.
    Sent,
}

/// What a message says, with what its signature is worth.
pub(crate) fn opened(
    read: &impl Read,
    workspace: &Workspace,
    (id, message): (MessageId, &Message),
) -> Result<(Contents, State), Failure> {
    let contents = messages::open(read, workspace, id, &message.kept)?;
    let state = state(read, workspace.no, message, &contents)?;
    Ok((contents, state))
}

/// A row of an inbox. `signature` is only asked for where there is one.
pub(crate) fn row(placed: Placed<'_>, id: MessageId, message: &Message, signature: State) -> Members {
    let (delivery_id, seq, labels, read_at, state, role) = match placed {
        Placed::Delivered { agent, seq, delivery } => (
            Json::from(ulid(DeliveryId { arrived_at: delivery.arrived_at, agent, seq }.to_uuid())),
            Json::from(seq),
            texts(&delivery.labels),
            instant_or_null(delivery.read_at),
            delivery.state(),
            delivery.role.name(),
        ),
        Placed::Sent => {
            (Json::Null, Json::Null, Json::Array(Vec::new()), instant(message.created_at), "read", "sender")
        }
    };
    let source = source(&message.sender);
    vec![
        ("delivery_id", delivery_id),
        ("message_id", ulid(id.0).into()),
        ("thread_id", ulid(message.thread.0).into()),
        ("agent_seq", seq),
        ("subject", message.subject.as_str().into()),
        ("sender_display", message.sender_name.as_str().into()),
        ("sender_address", sender_address(message)),
        ("sender_agent_name", sender_agent_name(message)),
        ("state", state.into()),
        ("labels", labels),
        ("attachment_count", message.attachments.len().into()),
        ("priority", message.priority.name().into()),
        ("direction", message.sender.direction().into()),
        ("inbound_source", source.into()),
        ("signature_state", signature_state(signature)),
        ("sealed", message.is_sealed.into()),
        ("read_at", read_at),
        ("your_role", role.into()),
        ("lane", message.lane.as_deref().into()),
        ("created_at", instant(message.created_at)),
    ]
}

/// A delivery with everything that the message says.
pub(crate) fn delivery(
    placed: Placed<'_>,
    (id, message): (MessageId, &Message),
    (contents, signature): (&Contents, State),
    verdicts: Option<&Verdicts>,
    thread_message_count: u64,
) -> Json {
    let mut members = row(placed, id, message, signature);
    let attachments = message.attachments.iter().map(|attachment| {
        Json::object([
            ("filename", Json::from(attachment.filename.as_str())),
            ("content_type", attachment.content_type.as_str().into()),
            ("size", attachment.value.size_bytes.into()),
        ])
    });
    members.extend([
        ("text_body", Json::from(contents.text.as_str())),
        ("html_body", contents.html.as_deref().into()),
        ("payload", payload(contents)),
        ("payload_schema_ref", contents.payload_schema_ref.as_deref().into()),
        ("attachments", Json::Array(attachments.collect())),
        ("recipients", recipients(&message.recipients)),
        ("auth_verdicts", verdicts.map(auth_verdicts).into()),
        ("body_sha256", body_sha256(contents).into()),
        ("sealed_by", contents.sealed_by.as_deref().into()),
        ("provenance", provenance(message.attestation, signature_of(message, contents, signature))),
        ("lineage", lineage(contents)),
        ("handoff_from", contents.handoff_from.as_deref().into()),
        ("has_claim", message.has_claim.into()),
        ("thread_message_count", thread_message_count.into()),
    ]);
    Json::object(members)
}

/// What was found out of where mail comes from.
fn auth_verdicts(verdicts: &Verdicts) -> Json {
    let Verdicts { spf, dkim, dmarc, source } = verdicts;
    let members = [("spf", spf), ("dkim", dkim), ("dmarc", dmarc), ("source", source)];
    Json::object(members.map(|(name, word)| (name, Json::from(word.as_str()))))
}

/// A message as a part of its thread, or of what was said in a room.
pub(crate) fn in_thread(id: MessageId, message: &Message, (contents, signature): (&Contents, State)) -> Members {
    vec![
        ("id", Json::from(ulid(id.0))),
        ("thread_id", ulid(message.thread.0).into()),
        ("subject", message.subject.as_str().into()),
        ("sender_display", message.sender_name.as_str().into()),
        ("sender_address", sender_address(message)),
        ("sender_agent_name", sender_agent_name(message)),
        ("created_at", instant(message.created_at)),
        ("priority", message.priority.name().into()),
        ("attachment_count", message.attachments.len().into()),
        ("text_body", contents.text.as_str().into()),
        ("payload", payload(contents)),
        ("sealed", message.is_sealed.into()),
        ("body_sha256", body_sha256(contents).into()),
        ("signature_state", signature_state(signature)),
        ("provenance", provenance(message.attestation, signature_of(message, contents, signature))),
    ]
}

/// SHA-256 of the text as it is stored, in hexadecimal.
fn body_sha256(contents: &Contents) -> String {
    sha256_of(&contents.text)
}

/// The recipients that a signature is over.
pub(crate) fn signed_recipients(message: &Message) -> Json {
    Json::object([("to", texts(&message.to)), ("cc", texts(&message.cc))])
}

/// Through what a message comes that is from outside.
fn source(sender: &Sender) -> Option<&str> {
    match sender {
        Sender::Agent(_) | Sender::System => None,
        Sender::Ingress(source) => Some(source),
        Sender::External(_) => Some("mail"),
    }
}

/// Null where there is none: the platform has no address.
fn sender_address(message: &Message) -> Json {
    let address = Some(message.sender_address.as_str());
    address.filter(|address| !address.is_empty()).into()
}

fn sender_agent_name(message: &Message) -> Json {
    match message.sender {
        Sender::Agent(_) => message.sender_name.as_str().into(),
        Sender::System | Sender::Ingress(_) | Sender::External(_) => Json::Null,
    }
}

/// In lists what is not signed has no state.
fn signature_state(state: State) -> Json {
    match state {
        State::Unsigned => Json::Null,
        state => state.name().into(),
    }
}

fn signature_of(message: &Message, contents: &Contents, state: State) -> Json {
    let signed = contents.signature.as_ref();
    let fingerprint = signed.and_then(|(_, fingerprint)| fingerprint.as_deref());
    let verify = signed.map(|_| {
        Json::object([
            ("canonical_form", Json::from("agentbus-sig-v1")),
            ("signed_recipients", signed_recipients(message)),
        ])
    });
    Json::object([
        ("signed", Json::from(signed.is_some())),
        ("state", state.name().into()),
        ("key_fingerprint", fingerprint.into()),
        ("signature", signed.map(|(signature, _)| signature.as_str()).into()),
        ("verify_yourself", verify.into()),
    ])
}

fn recipients(all: &[(String, Role)]) -> Json {
    let told = all
        .iter()
        .map(|(name, role)| Json::object([("recipient", Json::from(name.as_str())), ("kind", role.name().into())]));
    Json::Array(told.collect())
}

/// What a message carries for programs. It was read when it came: that it cannot be read again would be damage.
fn payload(contents: &Contents) -> Json {
    let text = contents.payload.as_deref();
    text.and_then(|text| json::parse(text.as_bytes(), Limits { max_depth: Limits::DEPTH_MAX }).ok()).into()
}

fn lineage(contents: &Contents) -> Json {
    if contents.derived_from.is_empty() {
        return Json::Null;
    }
    let from = contents.derived_from.iter().map(|(id, could_read)| {
        Json::object([("message_id", Json::from(id.as_str())), ("sender_could_read", Json::from(*could_read))])
    });
    Json::object([
        ("declared_by_sender", Json::from(true)),
        ("attested_by_platform", false.into()),
        ("derived_from", Json::Array(from.collect())),
    ])
}
