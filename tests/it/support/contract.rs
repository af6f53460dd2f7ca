//! What holds for the contract of every service: answers fit their schemas.

use serde_json::{Value, json};

use crate::support::appliance::{Appliance, Setup};

/// An appliance whose authorization system does not answer: nobody listens on its port any more.
pub fn without_authorization() -> Appliance {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    Setup::new()
        .env("QUINTET_AUTHORIZATION__URL", &format!("http://127.0.0.1:{port}"))
        .env("QUINTET_AUTHORIZATION__API_KEY", "own")
        .env("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.0/8")
        .start()
}

/// What of a value does not fit its schema: types, required and further members, choices and references. The parts of
/// JSON Schema that the description uses for answers, and no others.
pub fn faults(document: &Value, schema: &Value, value: &Value, place: &str) -> Vec<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = document.pointer(reference.strip_prefix('#').unwrap()).unwrap();
        return faults(document, target, value, place);
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let all = choices.iter().map(|choice| faults(document, choice, value, place));
        return all.min_by_key(Vec::len).unwrap_or_default();
    }
    let mut found = Vec::new();
    if let Some(choices) = schema["enum"].as_array()
        && !choices.contains(value)
    {
        found.push(format!("{place}: {value} is none of {choices:?}"));
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().map(|one| one.as_str().unwrap()).collect(),
        _ => Vec::new(),
    };
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let is_fit = types.contains(&kind) || (kind == "integer" && types.contains(&"number"));
    if !types.is_empty() && !is_fit {
        found.push(format!("{place}: {kind} is none of {types:?}"));
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        found.extend(faults(document, &schema["items"], item, &format!("{place}[{index}]")));
    }
    if let (Some(members), Some(properties)) = (value.as_object(), schema["properties"].as_object()) {
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !members.contains_key(name) {
                found.push(format!("{place}.{name} is missing"));
            }
        }
        for (name, member) in members {
            match properties.get(name) {
                Some(schema) => found.extend(faults(document, schema, member, &format!("{place}.{name}"))),
                None if schema["additionalProperties"] == false => found.push(format!("{place}.{name} is unknown")),
                None => {}
            }
        }
    }
    found
}

#[test]
fn a_wrong_answer_would_be_noticed() {
    let document = json!({"a": {"type": "string"}});
    let schema = json!({
        "type": "object", "required": ["x", "y"], "additionalProperties": false,
        "properties": {"x": {"$ref": "#/a"}, "y": {"enum": ["1", null]}, "z": {"type": "array", "items": {"type": "integer"}}},
    });
    let faults = |value: Value| faults(&document, &schema, &value, "").len();
    assert_eq!(faults(json!({"x": "", "y": null, "z": [1]})), 0);
    for wrong in [
        json!({"x": "", "y": 1}),
        json!({"x": 1, "y": "1"}),
        json!({"y": "1"}),
        json!({"x": "", "y": "1", "more": 1}),
        json!({"x": "", "y": "1", "z": ["1"]}),
        json!([]),
    ] {
        assert_eq!(faults(wrong.clone()), 1, "{wrong}");
    }
}
