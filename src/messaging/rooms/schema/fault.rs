//! What is wrong: with a schema, and with a payload that must fit one. Both say where, as a JSON pointer (RFC 6901).

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use quintet_platform::json::JsonError;

/// The most characters of a pointer that is told, and of a text that is repeated.
const POINTER_CHARS_MAX: usize = 256;
const SHOWN_CHARS_MAX: usize = 100;

/// Why a text is no schema that payloads are checked with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SchemaFault {
    /// It has more bytes than a schema may have.
    #[error("a schema has at most {0} bytes")]
    TooLong(usize),
    /// It is no JSON.
    #[error("the schema is no JSON document: {0}")]
    Json(#[from] JsonError),
    /// It is JSON, and something in it is no schema.
    #[error("{}: {problem}", Located(pointer))]
    At {
        /// Where; empty for the whole.
        pointer: String,
        /// What is wrong there, as a sentence without its subject: `must be a string`.
        problem: Cow<'static, str>,
    },
}

/// What of a payload does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Misfit {
    /// Where in the payload; empty for the whole.
    pub(crate) path: String,
    /// What is wrong there, as a sentence without its subject: `must be a string`. Of the payload it says nothing, of the
    /// schema what is asked for.
    pub(crate) message: String,
}

struct Located<'a>(&'a str);

impl fmt::Display for Located<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("the schema") } else { write!(f, "{} of the schema", self.0) }
    }
}

/// A step from a value to one that it holds.
#[derive(Clone, Copy)]
pub(super) enum Step<'a> {
    Member(&'a str),
    Item(usize),
}

/// The pointer of these steps, cut if it is longer than anybody reads.
pub(super) fn pointer<'a>(steps: impl IntoIterator<Item = Step<'a>>) -> String {
    let mut text = String::new();
    for step in steps {
        text.push('/');
        match step {
            Step::Member(name) => {
                for char in name.chars().take(POINTER_CHARS_MAX) {
                    match char {
                        '~' => text.push_str("~0"),
                        '/' => text.push_str("~1"),
                        other => text.push(other),
                    }
                }
            }
            Step::Item(place) => {
                // Writing to a string cannot fail.
                let _ = write!(text, "{place}");
            }
        }
        if text.len() > POINTER_CHARS_MAX * 4 {
            break;
        }
    }
    cut(text, POINTER_CHARS_MAX)
}

/// A text of a schema as a sentence repeats it.
pub(super) fn shown(text: &str) -> String {
    cut(text.chars().take(SHOWN_CHARS_MAX + 1).collect(), SHOWN_CHARS_MAX)
}

fn cut(mut text: String, chars_max: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(chars_max) {
        text.truncate(end);
        text.push_str("...");
    }
    text
}
