//! What a decision service answers. It is another system: each member is looked at before it is kept.

use quintet_platform::clock::parse_rfc3339;
use quintet_platform::json::{Json, Limits, parse};

use super::model::{Raised, Reading, Status, Unavailable, WORDS_CHARS_MAX};

/// The longest id of a decision, in characters.
const ID_CHARS_MAX: usize = 200;
/// The longest hash, and the longest address.
const HASH_CHARS_MAX: usize = 200;
/// See [`HASH_CHARS_MAX`].
const URL_CHARS_MAX: usize = 2_048;
/// How deep an answer may nest.
const DEPTH_MAX: usize = 16;

/// Whether a text can be the id of a decision.
#[must_use]
pub fn is_decision_id(text: &str) -> bool {
    !text.is_empty() && text.chars().take(ID_CHARS_MAX + 1).count() <= ID_CHARS_MAX
}

fn strange(what: &str) -> Unavailable {
    Unavailable(format!("its answer is none: {what}"))
}

fn object(body: &[u8]) -> Result<Json, Unavailable> {
    match parse(body, Limits { max_depth: DEPTH_MAX }) {
        Ok(json @ Json::Object(_)) => Ok(json),
        _ => Err(strange("no JSON object")),
    }
}

/// A text of so many characters at most; `None` for everything else.
fn text_of(json: &Json, name: &str, chars_max: usize) -> Option<String> {
    let text = json.get(name)?.as_str()?;
    (text.chars().take(chars_max + 1).count() <= chars_max).then(|| text.to_owned())
}

/// What accepts a decision (localization, W2): an id is enough.
///
/// # Errors
/// There is none.
pub fn read_raised(body: &[u8]) -> Result<Raised, Unavailable> {
    let json = object(body)?;
    let decision_id = text_of(&json, "decision_id", ID_CHARS_MAX).filter(|id| is_decision_id(id));
    Ok(Raised {
        decision_id: decision_id.ok_or_else(|| strange("no decision_id"))?,
        context_hash: text_of(&json, "context_hash", HASH_CHARS_MAX),
        review_url: text_of(&json, "review_url", URL_CHARS_MAX),
    })
}

/// What tells how a decision stands; it must be the one that was asked for.
///
/// # Errors
/// It is not, or says something that it cannot say.
pub fn read_reading(body: &[u8], decision_id: &str) -> Result<Reading, Unavailable> {
    let json = object(body)?;
    if json.get("decision_id").and_then(Json::as_str) != Some(decision_id) {
        return Err(strange("another decision_id"));
    }
    let status = json.get("status").and_then(Json::as_str).and_then(Status::from_name);
    let words = |name: &str| match json.get(name) {
        None | Some(Json::Null) => Ok(None),
        Some(_) => text_of(&json, name, WORDS_CHARS_MAX).map(Some).ok_or_else(|| strange(name)),
    };
    let decided_at = match words("decided_at")? {
        None => None,
        Some(text) => Some(parse_rfc3339(&text).map_err(|_| strange("decided_at"))?),
    };
    Ok(Reading {
        status: status.ok_or_else(|| strange("status"))?,
        decided_by: words("decided_by")?,
        reason: words("reason")?,
        decided_at,
    })
}
