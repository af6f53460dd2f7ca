//! What bodies of all folders are read with.

use quintet_platform::json::{FieldError, FieldProblem, Fields, FromJson, Given};

use crate::refusal::Refusal;

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
