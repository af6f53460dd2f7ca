//! Taking named members out of an object, with types, and naming what was left over.

use std::fmt;

use super::{Json, Number};
use crate::http::shown_name;

/// The most left-over members that are named.
const UNKNOWN_NAMED_MAX: usize = 20;

/// What is wrong with one member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// The member's path, such as `entries[3].amount`; empty for the document itself. Names are shortened and
    /// printable.
    pub field: String,
    /// What is wrong.
    pub problem: FieldProblem,
}

/// The kinds of wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldProblem {
    /// It is required and absent.
    Missing,
    /// It has another type (or is null); says which was expected, with its article.
    WrongType(&'static str),
    /// It is a number outside the range of its type.
    OutOfRange,
    /// The interface does not know it.
    Unknown,
}

impl fmt::Display for FieldProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FieldProblem::Missing => f.write_str("is required"),
            FieldProblem::WrongType(expected) => write!(f, "must be {expected}"),
            FieldProblem::OutOfRange => f.write_str("is out of range"),
            FieldProblem::Unknown => f.write_str("is not known here"),
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = if self.field.is_empty() { "the body" } else { &self.field };
        write!(f, "{field} {}", self.problem)
    }
}

impl std::error::Error for FieldError {}

/// A member that may be absent or null, and means another thing in each case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given<T> {
    /// Not there.
    Absent,
    /// Explicitly null.
    Null,
    /// A value.
    Value(T),
}

impl<T> Given<T> {
    /// The value, with absent and null taken as one.
    pub fn value(self) -> Option<T> {
        match self {
            Given::Value(value) => Some(value),
            Given::Absent | Given::Null => None,
        }
    }
}

/// A type that a JSON value can be read as, without any conversion between kinds.
pub trait FromJson: Sized {
    /// Reads the value.
    ///
    /// # Errors
    /// What is wrong with it.
    fn from_json(json: Json) -> Result<Self, FieldProblem>;
}

impl FromJson for Json {
    fn from_json(json: Json) -> Result<Self, FieldProblem> {
        Ok(json)
    }
}

impl FromJson for String {
    fn from_json(json: Json) -> Result<Self, FieldProblem> {
        match json {
            Json::String(text) => Ok(text),
            _ => Err(FieldProblem::WrongType("a string")),
        }
    }
}

impl FromJson for bool {
    fn from_json(json: Json) -> Result<Self, FieldProblem> {
        match json {
            Json::Bool(value) => Ok(value),
            _ => Err(FieldProblem::WrongType("a boolean")),
        }
    }
}

impl FromJson for Number {
    fn from_json(json: Json) -> Result<Self, FieldProblem> {
        match json {
            Json::Number(number) => Ok(number),
            _ => Err(FieldProblem::WrongType("a number")),
        }
    }
}

macro_rules! integer_from_json {
    ($($int:ty),*) => {$(
        impl FromJson for $int {
            fn from_json(json: Json) -> Result<Self, FieldProblem> {
                match json {
                    Json::Number(number) if number.is_integer() => {
                        let value = number.as_i128().ok_or(FieldProblem::OutOfRange)?;
                        <$int>::try_from(value).map_err(|_| FieldProblem::OutOfRange)
                    }
                    _ => Err(FieldProblem::WrongType("an integer")),
                }
            }
        }
    )*};
}
integer_from_json!(u8, u16, u32, u64, usize, i32, i64);

/// An array; what is wrong with an element is reported for the whole (read `Vec<Json>` to do better).
impl<T: FromJson> FromJson for Vec<T> {
    fn from_json(json: Json) -> Result<Self, FieldProblem> {
        match json {
            Json::Array(values) => values.into_iter().map(T::from_json).collect(),
            _ => Err(FieldProblem::WrongType("an array")),
        }
    }
}

/// An object's members, in their order.
impl FromJson for Vec<(String, Json)> {
    fn from_json(json: Json) -> Result<Self, FieldProblem> {
        match json {
            Json::Object(members) => Ok(members),
            _ => Err(FieldProblem::WrongType("an object")),
        }
    }
}

/// An object whose members are taken out one by one.
#[derive(Clone, Debug)]
pub struct Fields {
    path: String,
    members: Vec<(String, Json)>,
}

impl Fields {
    /// The members of a document's root.
    ///
    /// # Errors
    /// [`FieldProblem::WrongType`] if it is no object.
    pub fn new(json: Json) -> Result<Fields, FieldError> {
        Fields::at(String::new(), json)
    }

    /// The members of an object at `path`, which stands in front of every name that is reported.
    ///
    /// # Errors
    /// [`FieldProblem::WrongType`] if it is no object.
    pub fn at(path: impl Into<String>, json: Json) -> Result<Fields, FieldError> {
        let path = path.into();
        match <Vec<(String, Json)>>::from_json(json) {
            Ok(members) => Ok(Fields { path, members }),
            Err(problem) => Err(FieldError { field: path, problem }),
        }
    }

    /// The path of a member, for errors of the caller's own rules.
    #[must_use]
    pub fn path_of(&self, name: &str) -> String {
        let name = shown_name(name);
        if self.path.is_empty() { name } else { format!("{}.{name}", self.path) }
    }

    /// Takes a member out as it is.
    pub fn take(&mut self, name: &str) -> Option<Json> {
        let place = self.members.iter().position(|(known, _)| known == name)?;
        Some(self.members.swap_remove(place).1)
    }

    /// Takes a member that must be there.
    ///
    /// # Errors
    /// It is absent, or of another type (null is another type).
    pub fn required<T: FromJson>(&mut self, name: &str) -> Result<T, FieldError> {
        match self.optional(name)? {
            Some(value) => Ok(value),
            None => Err(FieldError { field: self.path_of(name), problem: FieldProblem::Missing }),
        }
    }

    /// Takes a member that may be absent, but not null.
    ///
    /// # Errors
    /// It is of another type (null is another type).
    pub fn optional<T: FromJson>(&mut self, name: &str) -> Result<Option<T>, FieldError> {
        match self.take(name) {
            None => Ok(None),
            Some(json) => match T::from_json(json) {
                Ok(value) => Ok(Some(value)),
                Err(problem) => Err(FieldError { field: self.path_of(name), problem }),
            },
        }
    }

    /// Takes a member that may be absent or null.
    ///
    /// # Errors
    /// It is of another type.
    pub fn nullable<T: FromJson>(&mut self, name: &str) -> Result<Given<T>, FieldError> {
        match self.take(name) {
            None => Ok(Given::Absent),
            Some(Json::Null) => Ok(Given::Null),
            Some(json) => match T::from_json(json) {
                Ok(value) => Ok(Given::Value(value)),
                Err(problem) => Err(FieldError { field: self.path_of(name), problem }),
            },
        }
    }

    /// Takes an array of objects, each with its own path.
    ///
    /// # Errors
    /// It is absent, no array, or an element is no object.
    pub fn required_objects(&mut self, name: &str) -> Result<Vec<Fields>, FieldError> {
        let path = self.path_of(name);
        let values: Vec<Json> = self.required(name)?;
        values.into_iter().enumerate().map(|(place, value)| Fields::at(format!("{path}[{place}]"), value)).collect()
    }

    /// Ends the reading: nothing may be left.
    ///
    /// # Errors
    /// The members nobody took, by name; at most 20 of them.
    pub fn finish(self) -> Result<(), Vec<FieldError>> {
        if self.members.is_empty() {
            return Ok(());
        }
        let unknown =
            |(name, _): &(String, Json)| FieldError { field: self.path_of(name), problem: FieldProblem::Unknown };
        let mut errors: Vec<FieldError> = self.members.iter().map(unknown).collect();
        errors.sort_by(|one, other| one.field.cmp(&other.field));
        errors.truncate(UNKNOWN_NAMED_MAX);
        Err(errors)
    }
}
