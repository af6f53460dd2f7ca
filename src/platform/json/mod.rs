//! JSON (RFC 8259) as the product's rules want it: numbers keep their exact text, a name occurs once in an object,
//! nesting is bounded, strings are real Unicode, and errors say where and never what.
//!
//! [`parse`] reads bytes into a [`Json`] tree; [`Fields`] takes named members out of an object and says which were
//! left over; [`to_canonical`], [`to_compact`] and [`to_jcs`] write. [`Lexer`] is for those who read JSON in another way.

mod fields;
mod jcs;
mod lexer;
mod read;
mod write;

#[cfg(test)]
mod tests;

pub use fields::{FieldError, FieldProblem, Fields, FromJson, Given};
pub use jcs::{InexactNumber, to_jcs};
pub use lexer::{LexError, LexProblem, Lexer};
pub use read::parse;
pub use write::{to_canonical, to_compact, write_string};

/// Bounds on what is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How deep arrays and objects may nest; a root that is one is level 1. At most [`Limits::DEPTH_MAX`] whatever
    /// is asked for.
    pub max_depth: usize,
}

impl Limits {
    /// No document nests deeper than this, whatever `max_depth` says: trees are dropped and written by functions
    /// that call themselves.
    pub const DEPTH_MAX: usize = 256;
    /// No document has more values than this, so that its tree stays within a few tens of megabytes.
    pub const VALUES_MAX: usize = 250_000;
    /// No number's text is longer, in bytes.
    pub const NUMBER_LEN_MAX: usize = 1024;
}

impl Default for Limits {
    /// 64 levels, the limit of the ledger's contract.
    fn default() -> Self {
        Limits { max_depth: 64 }
    }
}

/// Why bytes are no document. Nothing of their content is in here except, in `DuplicateKey`, shortened names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// There is nothing but white space.
    #[error("the document is empty")]
    Empty,
    /// It is not UTF-8, which RFC 8259 (8.1) demands.
    #[error("the document is not UTF-8")]
    NotUtf8,
    /// It breaks the grammar, or a string holds half of a surrogate pair.
    #[error("malformed JSON at line {line}, column {column}")]
    Malformed {
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
    },
    /// Arrays and objects nest deeper than allowed.
    #[error("JSON nested too deep")]
    TooDeep,
    /// More values than any request needs.
    #[error("JSON with too many values")]
    TooManyValues,
    /// A number of absurd length.
    #[error("a JSON number with too many digits")]
    NumberTooLong,
    /// An object names a member twice (compared after escapes are resolved).
    #[error("a JSON object names a member twice: {path}")]
    DuplicateKey {
        /// Where: member names joined by `.`, array places as `[0]`; names shortened and made printable.
        path: String,
    },
}

/// A JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as written.
    Number(Number),
    /// A string, escapes resolved.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object: its members in the order they were written, each name once.
    Object(Vec<(String, Json)>),
}

/// A number's exact text: `1.50` stays `1.50`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Number(Box<str>);

impl Number {
    /// The text as written; it follows the grammar of RFC 8259.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The value if it is written as an integer (no fraction, no exponent) and fits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        self.0.parse().ok()
    }

    /// The value if it is written as an integer (no fraction, no exponent) and fits.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        let digits = if &*self.0 == "-0" { "0" } else { &self.0 };
        digits.parse().ok()
    }

    /// The value if it is written as an integer (no fraction, no exponent) and fits.
    #[must_use]
    pub fn as_i128(&self) -> Option<i128> {
        self.0.parse().ok()
    }

    /// Whether it is written as an integer: no fraction, no exponent.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        self.0.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit())
    }
}

impl Json {
    /// A member of an object, by name; `None` if there is none or this is no object.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members.iter().find(|(known, _)| known == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The text of a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::String(text) => Some(text),
            _ => None,
        }
    }

    /// An object from its members. The caller names each once.
    pub fn object<N: Into<String>>(members: impl IntoIterator<Item = (N, Json)>) -> Json {
        Json::Object(members.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }
}

macro_rules! from_integer {
    ($($int:ty),*) => {$(
        impl From<$int> for Json {
            fn from(value: $int) -> Json {
                Json::Number(Number(value.to_string().into()))
            }
        }
    )*};
}
from_integer!(u8, u16, u32, u64, usize, i16, i32, i64, i128);

impl From<bool> for Json {
    fn from(value: bool) -> Json {
        Json::Bool(value)
    }
}

impl From<String> for Json {
    fn from(value: String) -> Json {
        Json::String(value)
    }
}

impl From<&str> for Json {
    fn from(value: &str) -> Json {
        Json::String(value.to_owned())
    }
}

impl From<Vec<Json>> for Json {
    fn from(values: Vec<Json>) -> Json {
        Json::Array(values)
    }
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Json {
        value.map_or(Json::Null, Into::into)
    }
}
