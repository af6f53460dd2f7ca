//! What an answer of the engine says.

use quintet_platform::json::{Json, Limits, parse};

/// How deep the parts of a completion may nest; real ones do to about eight levels.
const DEPTH_MAX: usize = 32;

/// `choices[0].message.content` of a chat completion; `None` for everything that is none.
#[must_use]
pub fn content(body: &[u8]) -> Option<String> {
    let completion = parse(body, Limits { max_depth: DEPTH_MAX }).ok()?;
    let Json::Array(choices) = completion.get("choices")? else { return None };
    Some(choices.first()?.get("message")?.get("content")?.as_str()?.to_owned())
}

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
    fn only_a_chat_completion_has_content() {
        let completion = r#"{"id": "x", "choices": [{"message": {"role": "assistant", "content": "{}"}}]}"#;
        assert_eq!(content(completion.as_bytes()).as_deref(), Some("{}"));
        let deep = format!(r#"{{"choices": {}"#, "[".repeat(100_000));
        for other in [
            "",
            "{}",
            "[]",
            "null",
            r#"{"choices": []}"#,
            r#"{"choices": {}}"#,
            r#"{"choices": [{"message": {"content": null}}]}"#,
            r#"{"choices": [{"message": {"content": 7}}]}"#,
            r#"{"choices": [{"message": {"content": "{}"}}"#,
            "<html></html>",
            "\u{0}",
            &deep,
        ] {
            assert_eq!(content(other.as_bytes()), None, "{other:.40}");
        }
        assert_eq!(content(b"\x1f\x8b\x08\x00"), None, "what is compressed is not unpacked");
    }

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
