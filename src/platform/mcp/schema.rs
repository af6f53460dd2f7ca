//! What a tool takes, as a JSON schema: made from what its routes declare and from the shapes of `/openapi.json`, so that
//! it cannot say anything else.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::argument::{Argument, Becomes};
use super::tool::{EACH_MAX, Tool};
use crate::service::describe::schemas;
use crate::service::{Content, Dialect, Route};

/// References that lead through more others than this lead in a circle.
const REFERENCES_MAX: usize = 16;

/// The schema of a tool's arguments. Shapes stand where they are used: not every client follows references.
pub(super) fn input_schema<D: Dialect>(tool: &Tool<D>, routes: &[&'static Route], acts: Option<&Argument>) -> Value {
    let (mut properties, needed, takes_more) = match &tool.composed {
        Some(composed) => of_composed(composed.input),
        None => of_routes(tool, routes),
    };
    let mut needed = needed;
    if let Some(chooser) = tool.chooser() {
        let words: Vec<&str> = tool.routes().map(|(word, _)| word).collect();
        properties.insert(chooser.to_owned(), json!({"type": "string", "enum": words}));
        needed.insert(chooser.to_owned());
    }
    for argument in tool.form.arguments.iter().chain(acts) {
        if let Becomes::Field(_) = argument.becomes {
            let schema = json!({"type": "string", "description": argument.about});
            properties.insert(argument.name.to_owned(), schema);
        }
    }
    json!({"type": "object", "properties": properties, "required": needed, "additionalProperties": takes_more})
}

/// Properties, those that must be there, and whether there may be others.
type Taken = (Map<String, Value>, BTreeSet<String>, bool);

/// What is written by hand where a tool is no route.
fn of_composed(input: &str) -> Taken {
    let schema: Value = serde_json::from_str(input).unwrap_or_default();
    let properties = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let needed = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    (properties, needed.filter_map(Value::as_str).map(str::to_owned).collect(), false)
}

/// What its routes take, under the names that the tool has for it. What only some of them need need not be there.
fn of_routes<D: Dialect>(tool: &Tool<D>, routes: &[&'static Route]) -> Taken {
    let shapes = schemas::<D>();
    let (mut properties, mut needed, mut takes_more) = (Map::new(), None::<BTreeSet<String>>, false);
    for route in routes {
        let mut own = in_address(tool, route, &mut properties);
        let (body, is_needed) = match route.body {
            Content::Json(name) => (shapes.get(name), true),
            Content::OptionalJson(name) => (shapes.get(name), false),
            Content::Nothing | Content::Media(_) => (None, false),
        };
        if let Some(body) = body {
            let body = inlined(body, &shapes, 0);
            let members = body.get("properties").and_then(Value::as_object).into_iter().flatten();
            for (name, schema) in members.filter(|(name, _)| !tool.form.left_out.contains(&name.as_str())) {
                properties.insert(name.clone(), of_member(tool, name, schema));
            }
            let members = body.get("required").and_then(Value::as_array).filter(|_| is_needed);
            own.extend(members.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned));
            takes_more |= body.get("additionalProperties") != Some(&json!(false));
        }
        needed = Some(match needed {
            None => own,
            Some(needed) => needed.intersection(&own).cloned().collect(),
        });
    }
    (properties, needed.unwrap_or_default(), takes_more)
}

/// What path and query of a route take; those of them that must be there.
fn in_address<D: Dialect>(tool: &Tool<D>, route: &Route, properties: &mut Map<String, Value>) -> BTreeSet<String> {
    let mut needed = BTreeSet::new();
    let about = |name: &str, otherwise: &str| match tool.form.own_argument(name).map(|argument| argument.about) {
        Some(about) if !about.is_empty() => about.to_owned(),
        _ => otherwise.to_owned(),
    };
    for segment in route.segments {
        let Some(name) = tool.form.argument_for(segment.name) else { continue };
        let mut schema = segment.shape.schema();
        describe(&mut schema, &about(name, &segment.noun.replace('_', " ")));
        if tool.each == name {
            schema =
                json!({"anyOf": [schema, {"type": "array", "items": schema, "minItems": 1, "maxItems": EACH_MAX}]});
        }
        properties.insert(name.to_owned(), schema);
        needed.extend((tool.form.own != segment.name).then(|| name.to_owned()));
    }
    for parameter in route.parameters {
        let Some(name) = tool.form.argument_for(parameter.name) else { continue };
        let mut schema = parameter.schema();
        if parameter.is_repeatable {
            schema = json!({"anyOf": [parameter.shape.schema(), schema]});
        }
        describe(&mut schema, &about(name, parameter.about));
        properties.insert(name.to_owned(), schema);
        needed.extend(parameter.is_required.then(|| name.to_owned()));
    }
    needed
}

/// A member of a body; where a text may stand for a list, that is said.
fn of_member<D: Dialect>(tool: &Tool<D>, name: &str, schema: &Value) -> Value {
    let mut schema = schema.clone();
    let is_list = tool.form.own_argument(name).is_some_and(|argument| argument.becomes == Becomes::List);
    if let (true, Value::Object(members)) = (is_list, &mut schema) {
        let mut types = match members.remove("type") {
            Some(Value::Array(types)) => types,
            Some(one) => vec![one],
            None => Vec::new(),
        };
        types.insert(0, json!("string"));
        members.insert("type".to_owned(), Value::Array(types));
    }
    schema
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
