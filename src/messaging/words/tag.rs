//! Tags: what agents wear, and the expressions that mean those who wear one (T2, T6).
//!
//! A tag is a key with a value, which may be empty. An expression with a `=` means one value of a key, one without means
//! the key at any value. So `skill:playwright` and `skill=playwright` mean different tags, of the keys `skill:playwright`
//! and `skill`: an agent that wears one does not wear the other.

use super::spelling::Spelling;

/// The most characters of a key and of a value (T6).
pub(crate) const KEY_CHARS_MAX: usize = 128;
/// See [`KEY_CHARS_MAX`].
pub(crate) const VALUE_CHARS_MAX: usize = 256;

/// Keys as they are worn: `[a-z0-9][a-z0-9:._-]*` (D3), which leaves out `=`, so that an expression can mean every one.
const KEY_SPELLING: Spelling = Spelling { punctuation: ":._-", chars_max: KEY_CHARS_MAX };

/// What a worn tag's key and value are, for who gave none.
pub(crate) const KEY_RULE: &str =
    "must have 1 to 128 of a-z, 0-9, \":\", \".\", \"_\", \"-\", and begin with a letter or digit";
/// See [`KEY_RULE`].
pub(crate) const VALUE_RULE: &str = "must have at most 256 characters, none of them a control character";

/// Whether an agent may wear a tag with this key.
pub(crate) fn is_key(text: &str) -> bool {
    KEY_SPELLING.fits(text)
}

/// Whether an agent may wear a tag with this value.
pub(crate) fn is_value(text: &str) -> bool {
    text.chars().count() <= VALUE_CHARS_MAX && !text.chars().any(char::is_control)
}

/// What tags are meant, wherever they are asked for: recipients and the phonebook read one expression the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TagExpression<'a> {
    /// The key, whole: it may have colons.
    pub(crate) key: &'a str,
    /// The value, or `None` for any.
    pub(crate) value: Option<&'a str>,
}

/// A text that is no expression of tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TagFault {
    /// Nothing stands before the `=`, or nothing at all.
    #[error("a tag is KEY or KEY=VALUE, and the key is missing")]
    NoKey,
    /// The key is longer than any that is worn.
    #[error("a tag's key has at most 128 characters")]
    KeyTooLong,
    /// The value is longer than any that is worn.
    #[error("a tag's value has at most 256 characters")]
    ValueTooLong,
}

impl<'a> TagExpression<'a> {
    /// Reads an expression, without the `tag:` that recipients have before it. It is split at its first `=`. A key that
    /// nobody could wear is an expression like others, which means nobody.
    ///
    /// # Errors
    /// It has no key, or something is too long.
    pub(crate) fn parse(text: &'a str) -> Result<TagExpression<'a>, TagFault> {
        let (key, value) = match text.split_once('=') {
            Some((key, value)) => (key, Some(value)),
            None => (text, None),
        };
        if key.is_empty() {
            return Err(TagFault::NoKey);
        }
        if key.chars().count() > KEY_CHARS_MAX {
            return Err(TagFault::KeyTooLong);
        }
        if value.is_some_and(|value| value.chars().count() > VALUE_CHARS_MAX) {
            return Err(TagFault::ValueTooLong);
        }
        Ok(TagExpression { key, value })
    }
}

#[cfg(test)]
mod tests {
    use super::{TagExpression, TagFault, is_key, is_value};

    #[test]
    fn expressions() {
        let cases = [
            ("skill", ("skill", None)),
            ("skill:playwright", ("skill:playwright", None)),
            ("skill=playwright", ("skill", Some("playwright"))),
            ("skill:playwright=1.4", ("skill:playwright", Some("1.4"))),
            ("a=b=c", ("a", Some("b=c"))),
            ("a==", ("a", Some("="))),
            ("a=", ("a", Some(""))),
            ("a =b", ("a ", Some("b"))),
            ("Skill", ("Skill", None)),
        ];
        for (text, (key, value)) in cases {
            assert_eq!(TagExpression::parse(text), Ok(TagExpression { key, value }), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_expression() {
        let long_key = "ä".repeat(129);
        let long_value = format!("a={}", "ä".repeat(257));
        let cases = [
            ("", TagFault::NoKey),
            ("=x", TagFault::NoKey),
            ("=", TagFault::NoKey),
            (&long_key, TagFault::KeyTooLong),
            (&long_value, TagFault::ValueTooLong),
        ];
        for (text, fault) in cases {
            assert_eq!(TagExpression::parse(text), Err(fault), "{text:?}");
        }
        assert!(TagExpression::parse(&"ä".repeat(128)).is_ok(), "characters are counted, not bytes");
        assert!(TagExpression::parse(&format!("a={}", "ä".repeat(256))).is_ok());
    }

    #[test]
    fn what_is_worn() {
        for good in ["skill", "skill:playwright", "os.linux", "7", &"k".repeat(128)] {
            assert!(is_key(good), "{good}");
        }
        for bad in ["", "a=b", "a b", "Skill", ":a", "ä", &"k".repeat(129)] {
            assert!(!is_key(bad), "{bad:?}");
        }
        for good in ["", "a b", "a=b", "Ä", &"ä".repeat(256)] {
            assert!(is_value(good), "{good:?}");
        }
        for bad in ["a\nb", "\u{0}", "\u{85}", &"ä".repeat(257)] {
            assert!(!is_value(bad), "{bad:?}");
        }
    }
}
