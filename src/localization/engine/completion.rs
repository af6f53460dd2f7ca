//! What an answer of the engine says.

use quintet_platform::json::{Json, Limits, parse};

/// How deep the parts of a completion may nest; real ones do to about eight levels.
const DEPTH_MAX: usize = 32;

/// The JSON document that a content is, a fence of backticks around it taken off (localization, A2); `None` if it is
/// none.
#[must_use]
pub fn document(content: &str) -> Option<Json> {
    parse(unfenced(content).as_bytes(), Limits { max_depth: DEPTH_MAX }).ok()
}

/// A text without the fence around it, whose first line may name a language.
fn unfenced(text: &str) -> &str {
    let text = text.trim();
    if !text.starts_with("```") || !text.ends_with("```") {
        return text;
    }
    let inside = text.trim_matches('`');
    inside.trim_start_matches(|c: char| c.is_ascii_alphanumeric()).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_around_a_document_is_tolerated() {
        for text in [
            r#"{"a": 1}"#,
            " {\"a\": 1}\n",
            "```\n{\"a\": 1}\n```",
            "```json\n{\"a\": 1}\n```\n",
            "```json {\"a\": 1}```",
            "\n````JSON\r\n{\"a\": 1}\r\n````",
        ] {
            let found = document(text).unwrap_or_else(|| panic!("{text:?}"));
            assert_eq!(found.get("a"), Some(&Json::from(1_u32)), "{text:?}");
        }
        for text in ["", "```", "``````", "Gladly: {\"a\": 1}", "```json\n{\"a\": 1}", "{\"a\": 1} {\"a\": 1}"] {
            assert_eq!(document(text), None, "{text:?}");
        }
    }
}
