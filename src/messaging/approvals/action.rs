//! What an approval is about: the action that is proposed, in its canonical form, with the digest of that, and what is said
//! of it.

use bincode::{Decode, Encode};
use quintet_platform::json::{Json, to_compact, to_jcs};
use quintet_platform::secrets::{Digest, digest};

use super::model::ACTION_BYTES_MAX;
use crate::refusal::Refusal;

/// What an approval is about; sealed for the tenant where it lies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Matter {
    /// What the agent says of it; `None`: nothing.
    pub(crate) summary: Option<String>,
    /// The canonical form (RFC 8785) of the object that is proposed; empty: its tenant has been erased.
    pub(crate) action: String,
    /// The object that it is to be understood from, as JSON.
    pub(crate) context: String,
}

impl Matter {
    /// What is proposed, with its digest. What is no object is none, and so is what has no canonical form.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn of(summary: Option<String>, action: &Json, context: &Json) -> Result<(Matter, Digest), Refusal> {
        for (name, value) in [("proposed_action", action), ("context", context)] {
            if !matches!(value, Json::Object(_)) {
                return Err(Refusal::field(name, "must be an object"));
            }
        }
        let action = to_jcs(action).map_err(|inexact| Refusal::field("proposed_action", inexact.to_string()))?;
        let context = to_compact(context);
        if action.len() + context.len() > ACTION_BYTES_MAX {
            let problem = format!("must have at most {ACTION_BYTES_MAX} bytes together with context");
            return Err(Refusal::field("proposed_action", problem));
        }
        let digest = digest(action.as_bytes());
        Ok((Matter { summary, action, context }, digest))
    }
}

#[cfg(test)]
mod tests {
    use quintet_platform::json::{Limits, parse};

    use super::*;

    fn read(text: &str) -> Json {
        parse(text.as_bytes(), Limits::default()).unwrap()
    }

    #[test]
    fn the_digest_is_that_of_the_canonical_form() {
        let empty = read("{}");
        let (matter, one) = Matter::of(None, &read(r#"{"b": 1.0, "a": "\u00e9"}"#), &empty).unwrap();
        assert_eq!(matter.action, r#"{"a":"é","b":1}"#);
        let (_, other) = Matter::of(None, &read(r#"{"a":"é","b":1e0}"#), &empty).unwrap();
        assert_eq!((one, other), (digest(matter.action.as_bytes()), one));
    }

    #[test]
    fn what_cannot_be_proposed() {
        let (empty, list) = (read("{}"), read("[]"));
        assert!(Matter::of(None, &list, &empty).is_err());
        assert!(Matter::of(None, &empty, &list).is_err());
        assert!(Matter::of(None, &read(r#"{"n": 9007199254740993}"#), &empty).is_err());
        let text = |chars: usize| read(&format!("{{\"a\":\"{}\"}}", "x".repeat(chars)));
        assert!(Matter::of(None, &text(ACTION_BYTES_MAX - 10), &empty).is_ok());
        assert!(Matter::of(None, &text(ACTION_BYTES_MAX - 9), &empty).is_err());
    }
}
