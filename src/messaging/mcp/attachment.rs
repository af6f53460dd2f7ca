//! One attachment, as text that a model can have.

use std::time::Duration;

use data_encoding::BASE64;
use quintet_platform::json::Json;
use quintet_platform::mcp::{Ended, Steps, Told};

use super::given::{FILES_BYTES_MAX, Given, bytes, member, read};
use crate::dialect::Messaging;
use crate::refusal::Refusal;

pub(super) const INPUT: &str = r#"{"properties": {
    "delivery_id": {"type": "string", "description": "The delivery, or the message"},
    "index": {"type": "integer", "minimum": 0, "default": 0, "description": "Which one, counted from 0"}
}, "required": ["delivery_id"]}"#;

/// A larger one is held only when it has its turn, as large bodies are.
const SMALL_BYTES: u64 = 256 << 10;
/// How long one waits for that.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) async fn attachment(steps: &Steps<'_, Messaging>, arguments: Vec<(String, Json)>) -> Ended<Messaging> {
    let mut given = Given::of(arguments, &["delivery_id", "index"])?;
    let id = given.take("delivery_id").map(|id| ("delivery_id".to_owned(), id));
    let id: Vec<(String, Json)> = id.into_iter().collect();
    let index = given.number("index", 0..=u64::MAX)?.unwrap_or(0);
    let record = read(&steps.look("GET /v1/deliveries/{delivery_id}", id.clone()).await?)?;
    let file = usize::try_from(index).ok().and_then(|index| match record.get("attachments") {
        Some(Json::Array(files)) => files.get(index).cloned(),
        _ => None,
    });
    let file = file.unwrap_or(Json::Null);
    let size = size_of(&file);
    if size > FILES_BYTES_MAX {
        return Err(Refusal::TooLarge("attachment", FILES_BYTES_MAX).into());
    }
    let turn = match size > SMALL_BYTES {
        true => Some(steps.context.large_bodies.hold(steps.tenant_id, 1, PATIENCE).await.map_err(Refusal::from)?),
        false => None,
    };
    let asked = id.into_iter().chain([("index".to_owned(), Json::from(index.to_string()))]).collect();
    let content = bytes(steps.call("GET /v1/deliveries/{delivery_id}/attachments/{index}", asked).await?).await?;
    let mut told = vec![
        ("delivery_id", member(&record, "delivery_id")),
        ("message_id", member(&record, "message_id")),
        ("index", Json::from(index)),
        ("filename", member(&file, "filename")),
        ("content_type", member(&file, "content_type")),
        ("size", Json::from(content.len())),
        ("content_base64", Json::from(BASE64.encode(&content))),
    ];
    told.extend(legible(&content).map(|text| ("text", Json::from(text))));
    let told = Told::value(&Json::object(told));
    Ok(match turn {
        Some(turn) => told.holding(turn),
        None => told,
    })
}

/// How many bytes an attachment has, by the record of its delivery.
pub(super) fn size_of(file: &Json) -> u64 {
    match file.get("size") {
        Some(Json::Number(size)) => size.as_u64().unwrap_or(0),
        _ => 0,
    }
}

/// The text that a small attachment is, for models that cannot decode; `None`: it is none.
fn legible(content: &[u8]) -> Option<&str> {
    let is_small = u64::try_from(content.len()).is_ok_and(|size| size <= SMALL_BYTES);
    let text = if is_small { std::str::from_utf8(content).ok()? } else { return None };
    if text.contains('\0') { None } else { Some(text) }
}
