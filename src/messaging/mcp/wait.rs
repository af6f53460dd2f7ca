//! Waiting for mail: what is unread at once, else what comes.

use quintet_platform::json::Json;
use quintet_platform::mcp::{Ended, Steps, Told};

use super::given::Given;
use crate::dialect::Messaging;

pub(super) const INPUT: &str = r#"{"properties": {
    "seconds": {"type": "integer", "minimum": 1, "maximum": 50, "default": 25, "description": "How long to wait"},
    "cursor": {"type": "integer", "minimum": 0, "description": "Only what is behind this agent_seq"}
}}"#;

const USUAL_SECONDS: u64 = 25;

/// What the answer of the inbox begins with where it has nothing.
const NOTHING: &[u8] = br#"{"messages":[]"#;

pub(super) async fn wait(steps: &Steps<'_, Messaging>, arguments: Vec<(String, Json)>) -> Ended<Messaging> {
    let mut given = Given::of(arguments, &["seconds", "cursor"])?;
    let seconds = given.number("seconds", 1..=50)?.unwrap_or(USUAL_SECONDS);
    let mut asked =
        vec![("unread".to_owned(), Json::from("true")), ("wait".to_owned(), Json::from(seconds.to_string()))];
    asked.extend(given.take("cursor").map(|cursor| ("cursor".to_owned(), cursor)));
    let answer = steps.call("GET /v1/inbox", asked).await?;
    let waited_out = answer.body().starts_with(NOTHING);
    let mut body = answer.body().strip_suffix(b"}").unwrap_or_default().to_vec();
    body.extend_from_slice(format!(r#","waited_out":{waited_out}}}"#).as_bytes());
    Ok(Told::success(body))
}
