//! Texts without differences of case, for finding one in another.

use std::borrow::Cow;

/// The text without differences of case.
#[must_use]
pub fn folded(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        let has_upper = text.bytes().any(|byte| byte.is_ascii_uppercase());
        return if has_upper { Cow::Owned(text.to_ascii_lowercase()) } else { Cow::Borrowed(text) };
    }
    // What a letter is in upper case tells apart less than what it is in lower case.
    Cow::Owned(text.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect())
}
