//! What a tool takes, as a JSON schema: made from what its routes declare and from the shapes of `/openapi.json`, so that
//! it cannot say anything else.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::tool::Tool;
use crate::service::describe::schemas;
use crate::service::{Content, Dialect, Route};

/// References that lead through more others than this lead in a circle.
const REFERENCES_MAX: usize = 16;

/// The schema of a tool's arguments. Shapes stand where they are used: not every client follows references.
pub(super) fn input_schema<D: Dialect>(tool: &Tool<D>, routes: &[&'static Route]) -> Value {
    let shapes = schemas::<D>();
    let (mut properties, mut needed) = (Map::new(), None::<BTreeSet<String>>);
    let mut takes_more = false;
    for route in routes {
        let mut own = BTreeSet::new();
        for segment in route.segments {
            let mut schema = segment.shape.schema();
            describe(&mut schema, &segment.noun.replace('_', " "));
            properties.insert(segment.name.to_owned(), schema);
            own.insert(segment.name.to_owned());
        }
        for parameter in route.parameters.iter().filter(|parameter| !tool.leaves_out(parameter.name)) {
            let mut schema = parameter.schema();
            describe(&mut schema, parameter.about);
            properties.insert(parameter.name.to_owned(), schema);
            own.extend(parameter.is_required.then(|| parameter.name.to_owned()));
        }
        let (body, is_needed) = match route.body {
            Content::Json(name) => (shapes.get(name), true),
            Content::OptionalJson(name) => (shapes.get(name), false),
            Content::Nothing | Content::Media(_) => (None, false),
        };
        if let Some(body) = body {
            let body = inlined(body, &shapes, 0);
            properties.extend(body.get("properties").and_then(Value::as_object).cloned().unwrap_or_default());
            let members = body.get("required").and_then(Value::as_array).filter(|_| is_needed);
            own.extend(members.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned));
            takes_more |= body.get("additionalProperties") != Some(&json!(false));
        }
        needed = Some(match needed {
            None => own,
            Some(needed) => needed.intersection(&own).cloned().collect(),
        });
    }
    let mut needed = needed.unwrap_or_default();
    if let Some(chooser) = tool.chooser() {
        let words: Vec<&str> = tool.routes().map(|(word, _)| word).collect();
        properties.insert(chooser.to_owned(), json!({"type": "string", "enum": words}));
        needed.insert(chooser.to_owned());
    }
    json!({"type": "object", "properties": properties, "required": needed, "additionalProperties": takes_more})
}

fn describe(schema: &mut Value, about: &str) {
    if let Value::Object(members) = schema {
        members.insert("description".to_owned(), json!(about));
    }
}

/// A shape with what it refers to in its place. What stands beside a reference counts as well.
fn inlined(schema: &Value, shapes: &Map<String, Value>, references: usize) -> Value {
    match schema {
        Value::Object(members) => {
            let within = |members: &Map<String, Value>| {
                let inner = |(name, value): (&String, &Value)| (name.clone(), inlined(value, shapes, references));
                members.iter().filter(|(name, _)| *name != "$ref").map(inner).collect::<Map<_, _>>()
            };
            let named = members.get("$ref").and_then(Value::as_str).and_then(|reference| reference.rsplit('/').next());
            match named.and_then(|name| shapes.get(name)).filter(|_| references < REFERENCES_MAX) {
                None => Value::Object(within(members)),
                Some(shape) => match inlined(shape, shapes, references + 1) {
                    Value::Object(mut shape) => {
                        shape.extend(within(members));
                        Value::Object(shape)
                    }
                    other => other,
                },
            }
        }
        Value::Array(items) => items.iter().map(|item| inlined(item, shapes, references)).collect(),
        plain => plain.clone(),
    }
}
