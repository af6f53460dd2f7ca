//! What bodies of all folders are read with.

use quintet_platform::clock::parse_rfc3339;
use quintet_platform::json::{FieldError, FieldProblem, Fields, FromJson, Given, Json};
use quintet_storage::Timestamp;

use crate::refusal::Refusal;

/// The longest name and the longest label, in characters.
pub(crate) const NAME_CHARS_MAX: usize = 128;
/// The most labels.
pub(crate) const TAGS_MAX: usize = 50;

/// A member that is wrong.
pub(crate) fn field(error: FieldError) -> Refusal {
    Refusal::field(error.field, error.problem.to_string())
}

/// What is told of members that nobody knows: the first.
pub(crate) fn first(errors: Vec<FieldError>, refusal: impl Fn(FieldError) -> Refusal) -> Refusal {
    let nothing = FieldError { field: String::new(), problem: FieldProblem::Unknown };
    refusal(errors.into_iter().next().unwrap_or(nothing))
}

/// A member that may be absent or null.
pub(crate) fn optional<T: FromJson>(fields: &mut Fields, name: &str) -> Result<Option<T>, Refusal> {
    fields.nullable(name).map(Given::value).map_err(field)
}

/// A list of texts; absent and null are the empty one.
pub(crate) fn texts(fields: &mut Fields, name: &str, most: usize) -> Result<Vec<String>, Refusal> {
    let items = match fields.take(name) {
        None | Some(Json::Null) => return Ok(Vec::new()),
        Some(Json::Array(items)) => items,
        Some(_) => return Err(Refusal::field(fields.path_of(name), "must be an array of strings")),
    };
    if items.len() > most {
        return Err(Refusal::field(fields.path_of(name), format!("must have at most {most} items")));
    }
    let text = |item| match item {
        Json::String(text) => Ok(text),
        _ => Err(Refusal::field(fields.path_of(name), "must be an array of strings")),
    };
    items.into_iter().map(text).collect()
}

/// A name or a label.
pub(crate) fn label(name: &str, text: &str) -> Result<(), Refusal> {
    if text.is_empty() || text.chars().count() > NAME_CHARS_MAX || text.chars().any(char::is_control) {
        return Err(Refusal::field(name, "must have 1 to 128 characters, none of them a control character"));
    }
    Ok(())
}

/// Labels, each once.
pub(crate) fn tags(fields: &mut Fields) -> Result<Vec<String>, Refusal> {
    let tags = texts(fields, "tags", TAGS_MAX)?;
    for tag in &tags {
        label("tags", tag)?;
    }
    let mut unique = Vec::with_capacity(tags.len());
    for tag in tags {
        if !unique.contains(&tag) {
            unique.push(tag);
        }
    }
    Ok(unique)
}

/// An instant in UTC; its Z cannot be left out.
pub(crate) fn instant(fields: &mut Fields, name: &str) -> Result<Option<Timestamp>, Refusal> {
    let Some(text) = optional::<String>(fields, name)? else { return Ok(None) };
    let instant = if text.ends_with('Z') { parse_rfc3339(&text).ok() } else { None };
    instant.map(Some).ok_or_else(|| {
        Refusal::field(name, "must be an ISO 8601 instant in UTC that ends in Z, such as 2026-01-31T09:00:00Z")
    })
}

/// An instant that may be absent, and null.
pub(crate) fn nullable_instant(fields: &mut Fields, name: &str) -> Result<Option<Option<Timestamp>>, Refusal> {
    match fields.take(name) {
        None => Ok(None),
        Some(Json::Null) => Ok(Some(None)),
        Some(given) => {
            let mut only = Fields::new(Json::object([(name, given)])).map_err(field)?;
            instant(&mut only, name).map(Some)
        }
    }
}
