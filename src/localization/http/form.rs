//! Reading bodies: members of an object one by one. A member that is not known decides before one that is wrong, and
//! then the first that is wrong.

use quintet_platform::ids::parse_uuid;
use quintet_platform::json::{FieldError, Fields, FromJson, Given, Json};
use quintet_storage::Uuid;

use crate::refusal::Refusal;

/// The longest tag of a locale in a body, in characters.
pub const LOCALE_CHARS_MAX: usize = 64;

/// An object being read: the first thing that is wrong with it.
pub struct Form {
    fields: Fields,
    wrong: Option<Refusal>,
}

impl Form {
    /// The members of a body.
    ///
    /// # Errors
    /// [`Refusal::InvalidBody`] for what is no object.
    pub fn of_body(json: Json) -> Result<Form, Refusal> {
        match Fields::new(json) {
            Ok(fields) => Ok(Form::new(fields)),
            Err(_) => Err(Refusal::InvalidBody("a JSON object is required")),
        }
    }

    /// The members of an object.
    #[must_use]
    pub fn new(fields: Fields) -> Form {
        Form { fields, wrong: None }
    }

    fn noted<T>(&mut self, outcome: Result<T, FieldError>) -> Option<T> {
        match outcome {
            Ok(value) => Some(value),
            Err(error) => {
                self.wrong.get_or_insert(Refusal::field(error.field, error.problem.to_string()));
                None
            }
        }
    }

    /// A member that must be there.
    pub fn required<T: FromJson>(&mut self, name: &str) -> Option<T> {
        let outcome = self.fields.required(name);
        self.noted(outcome)
    }

    /// A member that may be absent, but not null.
    pub fn optional<T: FromJson>(&mut self, name: &str) -> Option<T> {
        let outcome = self.fields.optional(name);
        self.noted(outcome).flatten()
    }

    /// A member that may be absent or null.
    pub fn nullable<T: FromJson>(&mut self, name: &str) -> Option<T> {
        let outcome = self.fields.nullable(name);
        self.noted(outcome).and_then(Given::value)
    }

    /// A member that may be absent or null, and means another thing in each case. One that is wrong is as if absent.
    pub fn given<T: FromJson>(&mut self, name: &str) -> Given<T> {
        let outcome = self.fields.nullable(name);
        self.noted(outcome).unwrap_or(Given::Absent)
    }

    /// The objects of an array that must be there.
    pub fn objects(&mut self, name: &str) -> Vec<Fields> {
        let outcome = self.fields.required_objects(name);
        self.noted(outcome).unwrap_or_default()
    }

    /// A text of so many characters that must be there.
    pub fn required_text(&mut self, name: &str, least: usize, most: usize) -> Option<String> {
        let text = self.required(name);
        self.demand_chars(name, text, least, most)
    }

    /// An identifier that must be there.
    pub fn required_id(&mut self, name: &str) -> Option<Uuid> {
        let text: Option<String> = self.required(name);
        let id = text.as_deref().map(parse_uuid)?;
        if id.is_none() {
            self.wrong(name, "is a UUID");
        }
        id
    }

    /// A text of so many characters that may be absent, but not null.
    pub fn optional_text(&mut self, name: &str, least: usize, most: usize) -> Option<String> {
        let text = self.optional(name);
        self.demand_chars(name, text, least, most)
    }

    /// A text of so many characters that may be absent or null.
    pub fn nullable_text(&mut self, name: &str, least: usize, most: usize) -> Option<String> {
        let text = self.nullable(name);
        self.demand_chars(name, text, least, most)
    }

    /// A label of so many characters that must be there: people read it in a line.
    pub fn required_line(&mut self, name: &str, most: usize) -> Option<String> {
        let text = self.required_text(name, 0, most);
        self.demand_line(name, text)
    }

    /// A display name or label of so many characters that may be absent, but not null.
    pub fn optional_line(&mut self, name: &str, most: usize) -> Option<String> {
        let text = self.optional_text(name, 0, most);
        self.demand_line(name, text)
    }

    fn demand_line(&mut self, name: &str, text: Option<String>) -> Option<String> {
        if text.as_ref().is_some_and(|text| text.chars().any(char::is_control)) {
            self.wrong(name, "has no control characters");
        }
        text
    }

    fn demand_chars(&mut self, name: &str, text: Option<String>, least: usize, most: usize) -> Option<String> {
        // No further than it must be counted: it may have megabytes.
        let fits = |text: &String| (least..=most).contains(&text.chars().take(most + 1).count());
        if text.as_ref().is_some_and(|text| !fits(text)) {
            self.wrong(name, format!("has {least} to {most} characters"));
        }
        text
    }

    /// Says that a member is wrong.
    pub fn wrong(&mut self, name: &str, problem: impl Into<String>) {
        let field = self.fields.path_of(name);
        self.wrong.get_or_insert(Refusal::field(field, problem));
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// [`Refusal::UnknownField`], then what is wrong with the others.
    pub fn finish(self) -> Result<(), Refusal> {
        if let Err(unknown) = self.fields.finish() {
            let names: Vec<String> = unknown.into_iter().map(|error| error.field).collect();
            return Err(Refusal::UnknownField(names.join(", ")));
        }
        self.wrong.map_or(Ok(()), Err)
    }
}

/// What was read if nothing was wrong; a member that is missing then was noted before.
///
/// # Errors
/// [`Refusal::InvalidBody`], should one be missing all the same.
pub fn read<T>(value: Option<T>) -> Result<T, Refusal> {
    value.ok_or(Refusal::InvalidBody("a member is missing"))
}
