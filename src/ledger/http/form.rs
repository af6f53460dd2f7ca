//! What the ledger reads: bodies as forms.
//!
//! A body is read to its end even when something is wrong, so that `INVALID_REQUEST` can name every field whose
//! shape is wrong. Only when all shapes are right does the first value that breaks a rule decide the code.

use quintet_platform::clock::{TimeParseError, parse_rfc3339};
use quintet_platform::json::{FieldError, Fields, FromJson, Given, Json, to_canonical};
use quintet_platform::service::{Fault, Problem};
use quintet_storage::Timestamp;

use crate::accounts::FloorInput;
use crate::model::METADATA_BYTES_MAX;
use crate::money::{Amount, parse_minor};
use crate::refusal::Refusal;

/// The most problems one refusal names: a body can hold thousands.
const PROBLEMS_NAMED_MAX: usize = 20;

/// An object being read: what is wrong with shapes, all of it, and the first broken rule.
pub(super) struct Form {
    pub(super) fields: Fields,
    pub(super) problems: Vec<Problem>,
    pub(super) refusal: Option<Refusal>,
}

impl Form {
    pub(super) fn new(fields: Fields) -> Form {
        Form { fields, problems: Vec::new(), refusal: None }
    }

    pub(super) fn of_body(json: Json) -> Result<Form, Refusal> {
        Ok(Form::new(Fields::new(json).map_err(|error| Refusal::Fault(Fault::Shape(vec![Problem::from(&error)])))?))
    }

    pub(super) fn noted<T>(&mut self, outcome: Result<T, FieldError>) -> Option<T> {
        match outcome {
            Ok(value) => Some(value),
            Err(error) => {
                self.problems.push(Problem::from(&error));
                None
            }
        }
    }

    pub(super) fn required<T: FromJson>(&mut self, name: &str) -> Option<T> {
        let outcome = self.fields.required(name);
        self.noted(outcome)
    }

    /// Absent and null are the same.
    pub(super) fn optional<T: FromJson>(&mut self, name: &str) -> Option<T> {
        let outcome = self.fields.nullable(name);
        self.noted(outcome).and_then(Given::value)
    }

    /// A name out of a closed list; `None` is wrong.
    pub(super) fn chosen<T>(&mut self, name: &str, choices: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let text: String = self.required(name)?;
        let chosen = parse(&text);
        if chosen.is_none() {
            self.problem(name, format!("must be one of {choices}"));
        }
        chosen
    }

    pub(super) fn problem(&mut self, name: &str, problem: impl Into<String>) {
        let field = self.fields.path_of(name);
        self.problems.push(Problem::new(field, problem));
    }

    /// The value, or the first rule it breaks.
    pub(super) fn ruled<T>(&mut self, outcome: Result<T, Refusal>) -> Option<T> {
        match outcome {
            Ok(value) => Some(value),
            Err(refusal) => {
                self.refusal.get_or_insert(refusal);
                None
            }
        }
    }

    /// Metadata; absent, null and the empty object are the same.
    pub(super) fn metadata(&mut self) -> Option<String> {
        match self.fields.take("metadata") {
            None | Some(Json::Null) => None,
            Some(value) => self.ruled(canonical_metadata(&value)).filter(|canonical| canonical != "{}"),
        }
    }

    /// Metadata in a PATCH: the empty object is a change like any other, and null is no object.
    pub(super) fn replaced_metadata(&mut self) -> Option<String> {
        let value = self.fields.take("metadata")?;
        self.ruled(canonical_metadata(&value))
    }

    /// A floor: absent, null, a decimal string or an integer of minor units.
    pub(super) fn floor(&mut self) -> Option<FloorInput> {
        let outcome = match self.fields.take("balance_floor")? {
            Json::Null => Ok(FloorInput::Unbounded),
            Json::String(text) => Amount::parse_signed(&text)
                .map(FloorInput::Decimal)
                .map_err(|_| Refusal::InvalidFloor("not a decimal number of at most 28 digits")),
            Json::Number(number) => parse_minor(number.as_str())
                .map(FloorInput::Minor)
                .map_err(|_| Refusal::InvalidFloor("a number must be an integer of minor units of at most 28 digits")),
            _ => Err(Refusal::InvalidFloor("neither a decimal string, nor an integer, nor null")),
        };
        self.ruled(outcome)
    }

    /// An instant with an explicit offset; absent and null are the same.
    pub(super) fn instant(&mut self, name: &str, refusal: fn(&'static str) -> Refusal) -> Option<Timestamp> {
        let outcome = match self.fields.take(name) {
            None | Some(Json::Null) => return None,
            Some(Json::String(text)) => parse_rfc3339(&text).map_err(|error| refusal(instant_problem(error))),
            Some(_) => Err(refusal("not a string")),
        };
        self.ruled(outcome)
    }

    /// Ends the reading: nothing left over, nothing wrong.
    pub(super) fn finish(self) -> Result<(), Refusal> {
        let Form { fields, mut problems, refusal } = self;
        if let Err(unknown) = fields.finish() {
            problems.extend(unknown.iter().map(Problem::from));
        }
        problems.truncate(PROBLEMS_NAMED_MAX);
        if problems.is_empty() { refusal.map_or(Ok(()), Err) } else { Err(Fault::Shape(problems).into()) }
    }
}

fn canonical_metadata(value: &Json) -> Result<String, Refusal> {
    if !matches!(value, Json::Object(_)) {
        return Err(Refusal::InvalidMetadata("not an object"));
    }
    let canonical = to_canonical(value);
    if canonical.len() > METADATA_BYTES_MAX {
        return Err(Refusal::InvalidMetadata("larger than 16 KiB as canonical JSON"));
    }
    Ok(canonical)
}

pub(super) fn instant_problem(error: TimeParseError) -> &'static str {
    match error {
        TimeParseError::Malformed => "not an RFC 3339 date and time",
        TimeParseError::NoOffset => "without an explicit UTC offset",
        TimeParseError::OutOfRange => "outside the years 0000 to 9999",
    }
}

/// Every value was read, or [`Form::finish`] has said what is wrong; so this does not happen.
pub(super) fn complete<T>(read: Option<T>) -> Result<T, Refusal> {
    read.ok_or_else(Refusal::internal)
}

/// A body that must be absent or an empty object.
pub(super) fn nothing(json: Option<Json>) -> Result<(), Refusal> {
    json.map_or(Ok(()), |json| Form::of_body(json)?.finish())
}

pub(super) fn limited(form: &mut Form, name: &str, min: usize, max: usize, refusal: Refusal) -> Option<String> {
    let text: String = form.optional(name)?;
    let within = (min..=max).contains(&text.chars().count());
    form.ruled(if within { Ok(text) } else { Err(refusal) })
}
