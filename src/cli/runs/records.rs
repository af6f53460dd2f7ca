//! Records of tenants, for people.

use serde_json::{Map, Value};

use crate::cli::output;

/// A member of a record, for people.
pub fn cell(record: &Map<String, Value>, name: &str) -> String {
    match record.get(name) {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => output::plain(text),
        Some(Value::Array(items)) => {
            let texts = items.iter().map(|item| output::plain(item.as_str().unwrap_or(&item.to_string())));
            texts.collect::<Vec<_>>().join(", ")
        }
        Some(other) => output::plain(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_turns_or_commands_the_terminal_wherever_it_stands() {
        let hostile = "a\u{9b}31m\u{202e}b\u{200b}";
        let record = json!({"text": hostile, "list": [hostile, {"in": hostile}], "object": {hostile: [hostile]}});
        let Value::Object(record) = record else { panic!() };
        for name in ["text", "list", "object"] {
            let cell = cell(&record, name);
            let is_raw = |c| matches!(c, '\u{9b}' | '\u{202e}' | '\u{200b}');
            assert!(!cell.contains(is_raw) && cell.contains("\\u{202e}"), "{cell}");
        }
    }
}
