//! Handing a message on: as the client does it, a message of its own with the words of the other one quoted and its
//! attachments.

use data_encoding::BASE64;
use quintet_platform::json::Json;
use quintet_platform::mcp::{Ended, Steps, Told};
use quintet_platform::service::Stop;

use super::attachment::size_of;
use super::given::{FILES_BYTES_MAX, Given, bytes, member, read};
use crate::dialect::Messaging;
use crate::refusal::Refusal;
use crate::words::subject::of_forward;

pub(super) const INPUT: &str = r#"{"properties": {
    "delivery_id": {"type": "string", "description": "The delivery, or the message, that is handed on with its attachments"},
    "to": {"type": ["string", "array"], "items": {"type": "string"}, "description": "One recipient, or a list of them"},
    "cc": {"type": ["string", "array", "null"], "items": {"type": "string"}},
    "text": {"type": ["string", "null"], "description": "What stands before it"},
    "priority": {"enum": ["urgent", "normal", "background", null]}
}, "required": ["delivery_id", "to"]}"#;

pub(super) async fn forward(steps: &Steps<'_, Messaging>, arguments: Vec<(String, Json)>) -> Ended<Messaging> {
    let mut given = Given::of(arguments, &["delivery_id", "to", "cc", "text", "priority"])?;
    let id: Vec<(String, Json)> =
        given.take("delivery_id").map(|id| ("delivery_id".to_owned(), id)).into_iter().collect();
    let note = given.text("text")?.unwrap_or_default();
    let record = read(&steps.look("GET /v1/deliveries/{delivery_id}", id.clone()).await?)?;
    // Who can open it can seal it for others; here it is neither.
    if record.get("sealed") == Some(&Json::Bool(true)) {
        return Err(Refusal::SealingRequired("text").into());
    }
    let files = attached(steps, &id, &record).await?;
    let mut message = vec![
        ("subject".to_owned(), Json::from(of_forward(text_of(&record, "subject")))),
        ("text".to_owned(), Json::from(quoted(&note, &record))),
        ("attachments".to_owned(), Json::Array(files)),
    ];
    for name in ["to", "cc"] {
        message.extend(given.take(name).map(|value| (name.to_owned(), listed(value))));
    }
    message.extend(given.take("priority").map(|value| ("priority".to_owned(), value)));
    let answer = steps.call("POST /v1/messages", message).await?;
    Ok(Told::success(answer.into_whole().unwrap_or_default()))
}

/// The attachments of a message, as one that is sent has them.
async fn attached(
    steps: &Steps<'_, Messaging>,
    id: &[(String, Json)],
    record: &Json,
) -> Result<Vec<Json>, Stop<Refusal>> {
    let Some(Json::Array(files)) = record.get("attachments") else { return Ok(Vec::new()) };
    if files.iter().map(size_of).sum::<u64>() > FILES_BYTES_MAX {
        return Err(Refusal::TooLarge("attachments", FILES_BYTES_MAX).into());
    }
    let mut all = Vec::with_capacity(files.len());
    for (index, file) in files.iter().enumerate() {
        let asked = id.iter().cloned().chain([("index".to_owned(), Json::from(index.to_string()))]).collect();
        let content = steps.call("GET /v1/deliveries/{delivery_id}/attachments/{index}", asked).await?;
        let content = BASE64.encode(&bytes(content).await?);
        // One from outside may have no name, which one that is sent must have.
        let filename = Some(text_of(file, "filename")).filter(|name| !name.is_empty()).unwrap_or("attachment");
        all.push(Json::object([
            ("filename", Json::from(filename)),
            ("content_type", member(file, "content_type")),
            ("content_base64", Json::from(content)),
        ]));
    }
    Ok(all)
}

/// A text is a list of one.
fn listed(value: Json) -> Json {
    match value {
        text @ Json::String(_) => Json::Array(vec![text]),
        value => value,
    }
}

fn text_of<'r>(record: &'r Json, name: &str) -> &'r str {
    record.get(name).and_then(Json::as_str).unwrap_or_default()
}

/// What the message says: the note, whose words follow, and those.
fn quoted(note: &str, record: &Json) -> String {
    let mut text = String::new();
    if !note.is_empty() {
        text.push_str(note);
        text.push_str("\n\n");
    }
    let from = match text_of(record, "sender_address") {
        "" => text_of(record, "sender_display").to_owned(),
        address => format!("{} <{address}>", text_of(record, "sender_display")),
    };
    text.push_str(&format!(
        "Forwarded from {from}, {}\nSubject: {}\n\n",
        text_of(record, "created_at"),
        text_of(record, "subject")
    ));
    for line in text_of(record, "text_body").lines() {
        text.push_str(if line.is_empty() { ">" } else { "> " });
        text.push_str(line);
        text.push('\n');
    }
    text
}
