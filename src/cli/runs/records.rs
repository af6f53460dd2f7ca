//! Records of tenants, for people.

use serde_json::{Map, Value};

use crate::cli::output;

/// A member of a record, for people.
pub fn cell(record: &Map<String, Value>, name: &str) -> String {
    match record.get(name) {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => output::plain(text),
        Some(Value::Array(items)) => {
            let texts = items.iter().map(|item| item.as_str().map_or_else(|| item.to_string(), output::plain));
            texts.collect::<Vec<_>>().join(", ")
        }
        Some(other) => other.to_string(),
    }
}
