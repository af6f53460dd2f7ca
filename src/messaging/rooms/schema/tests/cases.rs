//! What is told of schemas that are none, and of payloads that do not fit.

use super::*;

/// What does not fit: where, and what is said of it.
fn misfits(schema: &str, payload: &str) -> Vec<(String, String)> {
    let schema = Schema::compile(schema).unwrap_or_else(|fault| panic!("{fault}: {schema}"));
    let found = schema.check(&json(payload)).err().unwrap_or_default();
    found.into_iter().map(|Misfit { path, message }| (path, message)).collect()
}

fn fault(schema: &str) -> String {
    Schema::compile(schema).err().unwrap_or_else(|| panic!("no fault: {schema}")).to_string()
}

/// A schema, a payload, and the places and sentences that are told.
type Case = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

#[test]
fn what_is_told_of_a_payload() {
    let cases: [Case; 36] = [
        (r#"{"type": "string"}"#, "1", &[("", "must be a string")]),
        (r#"{"type": ["string", "null"]}"#, "1", &[("", "must be a string or null")]),
        (r#"{"type": "integer"}"#, "1.5", &[("", "must be a whole number")]),
        (r#"{"enum": ["todo", "done"]}"#, r#""x""#, &[("", r#"must be one of "todo", "done""#)]),
        (r#"{"enum": []}"#, "1", &[("", "must be one of the 0 values that the schema names")]),
        (r#"{"const": {"b": 1, "a": 2}}"#, r#"{"a": 2}"#, &[("", r#"must be {"b":1,"a":2}"#)]),
        (r#"{"minimum": 5, "multipleOf": 2}"#, "3", &[("", "must be at least 5"), ("", "must be a multiple of 2")]),
        (r#"{"exclusiveMinimum": 5}"#, "5", &[("", "must be more than 5")]),
        (
            r#"{"maximum": 1e1, "exclusiveMaximum": 9.5}"#,
            "11",
            &[("", "must be at most 1e1"), ("", "must be less than 9.5")],
        ),
        (r#"{"minimum": 0}"#, "1e99999999999999", &[("", "has an exponent beyond all that is counted with")]),
        (r#"{"minLength": 1}"#, r#""""#, &[("", "must have at least 1 character")]),
        (r#"{"maxLength": 2}"#, r#""äöü""#, &[("", "must have at most 2 characters")]),
        (r#"{"pattern": "^[a-z]+$"}"#, r#""A""#, &[("", "must match the pattern ^[a-z]+$")]),
        (r#"{"required": ["a", "b"]}"#, r#"{"b": 1}"#, &[("", r#"must have the member "a""#)]),
        (r#"{"properties": {"a/b~": {"type": "null"}}}"#, r#"{"a/b~": 1}"#, &[("/a~1b~0", "must be null")]),
        (r#"{"items": {"type": "null"}}"#, "[null, 1, 2]", &[("/1", "must be null"), ("/2", "must be null")]),
        (
            r#"{"prefixItems": [true, {"type": "null"}], "items": false}"#,
            "[1, 2, 3]",
            &[("/1", "must be null"), ("/2", "is not allowed here")],
        ),
        (r#"{"additionalProperties": false}"#, r#"{"a": 1}"#, &[("/a", "is not allowed here")]),
        (
            r#"{"patternProperties": {"^x": {"type": "null"}}, "additionalProperties": false}"#,
            r#"{"x1": 1, "y": 1}"#,
            &[("/x1", "must be null"), ("/y", "is not allowed here")],
        ),
        (
            r#"{"propertyNames": {"maxLength": 1}}"#,
            r#"{"ab": 1}"#,
            &[("", r#"must not have a member with the name "ab""#)],
        ),
        (r#"{"minProperties": 1}"#, "{}", &[("", "must have at least 1 member")]),
        (r#"{"maxProperties": 0}"#, r#"{"a": 1}"#, &[("", "must have at most 0 members")]),
        (r#"{"minItems": 2, "maxItems": 3}"#, "[1]", &[("", "must have at least 2 items")]),
        (r#"{"maxItems": 1}"#, "[1, 2]", &[("", "must have at most 1 item")]),
        (r#"{"uniqueItems": true}"#, "[1, 2, 1.0]", &[("", "must not have an item twice")]),
        (r#"{"contains": {"type": "null"}}"#, "[1]", &[("", "must have at least 1 item that fit contains")]),
        (
            r#"{"contains": {"type": "null"}, "maxContains": 1}"#,
            "[null, null]",
            &[("", "must have at most 1 item that fit contains")],
        ),
        (
            r#"{"dependentRequired": {"a": ["b"]}}"#,
            r#"{"a": 1}"#,
            &[("", r#"must have the member "b", since it has "a""#)],
        ),
        (r#"{"dependentSchemas": {"a": {"required": ["c"]}}}"#, r#"{"a": 1}"#, &[("", r#"must have the member "c""#)]),
        (r#"{"anyOf": [{"type": "null"}, {"minimum": 5}]}"#, "1", &[("", "fits none of the 2 schemas of anyOf")]),
        (r#"{"oneOf": [{"type": "null"}]}"#, "1", &[("", "does not fit the one schema of oneOf")]),
        (r#"{"oneOf": [true, true, false]}"#, "1", &[("", "fits 2 of the schemas of oneOf, not one alone")]),
        (r#"{"not": {"type": "number"}}"#, "1", &[("", "fits what the schema says it must not (not)")]),
        (
            r#"{"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}}"#,
            "{}",
            &[("", r#"must have the member "c""#)],
        ),
        (
            r#"{"properties": {"a": true}, "unevaluatedProperties": false}"#,
            r#"{"a": 1, "b": 1}"#,
            &[("/b", "is not allowed here")],
        ),
        (
            r##"{"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"x": {"$ref": "#"}}, "type": "object"}}}"##,
            r#"{"x": {"x": 1}}"#,
            &[("/x/x", "must be an object")],
        ),
    ];
    for (schema, payload, expected) in cases {
        let found = misfits(schema, payload);
        let found: Vec<(&str, &str)> = found.iter().map(|(path, message)| (path.as_str(), message.as_str())).collect();
        assert_eq!(found, expected, "{schema} {payload}");
    }
}

#[test]
fn at_most_twenty_things_are_told() {
    let payload = format!("[{}]", vec!["1"; 100].join(","));
    let found = misfits(r#"{"items": {"type": "null"}}"#, &payload);
    assert_eq!((found.len(), found[19].0.as_str()), (20, "/19"));
}

#[test]
fn long_names_are_cut() {
    let name = "n".repeat(5000);
    let found = misfits(r#"{"additionalProperties": false}"#, &format!(r#"{{"{name}": 1}}"#));
    assert!(found[0].0.starts_with("/nnn") && found[0].0.ends_with("...") && found[0].0.len() < 300, "{}", found[0].0);
    let found = misfits(&format!(r#"{{"required": ["{name}"], "pattern": "{}"}}"#, "a".repeat(900)), "{}");
    assert!(found[0].1.len() < 150, "{}", found[0].1);
}

#[test]
fn what_is_told_of_a_schema() {
    let cases = [
        ("", "the schema is no JSON document: the document is empty"),
        ("[", "the schema is no JSON document: malformed JSON at line 1, column 2"),
        ("1", "the schema: must be a schema: an object, true or false"),
        (
            r#"{"type": "text"}"#,
            "/type of the schema: must be of null, boolean, integer, number, string, array, object",
        ),
        (r#"{"type": 1}"#, "/type of the schema: must be an array of strings, each once"),
        (r#"{"type": []}"#, "/type of the schema: must have at least one type"),
        (
            r#"{"properties": {"a": {"minLength": -1}}}"#,
            "/properties/a/minLength of the schema: must be a whole number from 0",
        ),
        (r#"{"properties": {"a/b": 1}}"#, "/properties/a~1b of the schema: must be a schema: an object, true or false"),
        (r#"{"properties": []}"#, "/properties of the schema: must be an object of schemas"),
        (r#"{"allOf": [{}, {"not": 1}]}"#, "/allOf/1/not of the schema: must be a schema: an object, true or false"),
        (r#"{"allOf": []}"#, "/allOf of the schema: must have at least one schema"),
        (r#"{"anyOf": {}}"#, "/anyOf of the schema: must be an array of schemas"),
        (
            r#"{"items": [{}]}"#,
            "/items of the schema: must be one schema, for all items; those of the first items stand in prefixItems",
        ),
        (r#"{"required": "a"}"#, "/required of the schema: must be an array of strings, each once"),
        (r#"{"required": ["a", "a"]}"#, "/required of the schema: must be an array of strings, each once"),
        (
            r#"{"dependentRequired": {"a": "b"}}"#,
            "/dependentRequired of the schema: must be an object of arrays of strings, each string once",
        ),
        (r#"{"enum": 1}"#, "/enum of the schema: must be an array"),
        (r#"{"uniqueItems": 1}"#, "/uniqueItems of the schema: must be true or false"),
        (r#"{"exclusiveMinimum": true}"#, "/exclusiveMinimum of the schema: must be a number"),
        (r#"{"multipleOf": 0}"#, "/multipleOf of the schema: must be more than 0"),
        (r#"{"multipleOf": 1.00000000000000000001}"#, "/multipleOf of the schema: must have fewer than 20 digits"),
        (r#"{"minimum": 1e9999999999999}"#, "/minimum of the schema: has an exponent beyond all that is counted with"),
        (r#"{"minContains": 0.5}"#, "/minContains of the schema: must be a whole number from 0"),
        (
            r#"{"pattern": "("}"#,
            "/pattern of the schema: is no pattern: its brackets, counts or classes are not those of a regular expression",
        ),
        (
            r#"{"patternProperties": {"(?=a)": true}}"#,
            "/patternProperties of the schema: looks ahead or behind, which takes more than linear time: write it without (?=, (?!, (?<=, (?<!",
        ),
        (
            r#"{"pattern": "[ab]{9999}{9999}"}"#,
            "/pattern of the schema: is a pattern that takes more than 256 KiB when it is made ready: it counts too far, or has too many parts",
        ),
        (
            r#"{"$schema": "http://json-schema.org/draft-07/schema#"}"#,
            "/$schema of the schema: must be https://json-schema.org/draft/2020-12/schema, or be left out",
        ),
        (r##"{"$id": "a#b"}"##, "/$id of the schema: must have no fragment: a place is named with $anchor"),
        (
            r#"{"$defs": {"a": {"$id": "x"}, "b": {"$id": "x"}}}"#,
            "/$defs/b/$id of the schema: is the identifier of another schema here",
        ),
        (
            r#"{"$anchor": "a b"}"#,
            "/$anchor of the schema: must be a name: letters, digits, \"-\", \"_\" and \".\", a letter or \"_\" first",
        ),
        (
            r#"{"$anchor": "a", "$defs": {"b": {"$dynamicAnchor": "a"}}}"#,
            "/$defs/b/$dynamicAnchor of the schema: is the name of another schema here",
        ),
        (
            r#"{"$ref": "other.json"}"#,
            "/$ref of the schema: leads to \"schema:///other.json\", which is not part of this schema; nothing is fetched",
        ),
        (
            r##"{"items": {"$ref": "#/nowhere"}}"##,
            "/items/$ref of the schema: leads to \"#/nowhere\", which is not there",
        ),
        (r##"{"$ref": "#nobody"}"##, "/$ref of the schema: leads to \"#nobody\", which is not there"),
        (r##"{"$ref": "#/%zz"}"##, "/$ref of the schema: leads to \"#/%zz\", which is not there"),
        (r##"{"$ref": "#/x", "x": 5}"##, "/x of the schema: must be a schema: an object, true or false"),
        (r##"{"$ref": "#"}"##, "/$ref of the schema: leads back to itself without going deeper into the value"),
        (
            r##"{"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [true, {"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}}}"##,
            "/$defs/b/not/$ref of the schema: leads back to itself without going deeper into the value",
        ),
        (
            r##"{"$dynamicAnchor": "a", "if": {"$dynamicRef": "#a"}}"##,
            "/if/$dynamicRef of the schema: leads back to itself without going deeper into the value",
        ),
    ];
    for (schema, expected) in cases {
        assert_eq!(fault(schema), expected, "{schema}");
    }
}

#[test]
fn bounds_of_a_schema() {
    let long = format!(r#"{{"title": "{}"}}"#, "x".repeat(SCHEMA_BYTES_MAX));
    assert_eq!(Schema::compile(&long).err(), Some(SchemaFault::TooLong(SCHEMA_BYTES_MAX)));
    let deep = format!("{}{}", r#"{"not":"#.repeat(65), "}".repeat(65));
    assert!(matches!(Schema::compile(&deep), Err(SchemaFault::Json(_))));
    let patterns = |count: usize| {
        let all: Vec<String> = (0..count).map(|at| format!(r#""^{at}$": true"#)).collect();
        format!(r#"{{"patternProperties": {{{}}}}}"#, all.join(","))
    };
    assert!(Schema::compile(&patterns(100)).is_ok());
    assert!(fault(&patterns(101)).ends_with("is one pattern too many: a schema has at most 100"));
    let large: Vec<String> = (0..10).map(|at| format!(r#"{{"pattern": "[ab]{{3000}}{at}"}}"#)).collect();
    let large = fault(&format!(r#"{{"anyOf": [{}]}}"#, large.join(",")));
    assert!(large.ends_with("all patterns of a schema take at most 1 MiB made ready"), "{large}");
    let pattern = fault(&format!(r#"{{"pattern": "{}"}}"#, "a".repeat(1025)));
    assert!(pattern.ends_with("must have at most 1,024 bytes, as a pattern"), "{pattern}");
}

#[test]
fn annotations_ask_for_nothing() {
    let schema = r#"{"format": "date", "contentMediaType": "text/html", "contentSchema": false, "title": 1, "minContains": 5,
        "then": false, "whatever": {"type": "null"}, "default": {}, "deprecated": true, "$comment": "x"}"#;
    assert_eq!(misfits(schema, r#""no date""#), []);
}
