//! Which characters XML 1.0 knows, and which make names (fifth edition, 2.2 and 2.3).

/// Whether a document can hold the character at all, even as a reference.
pub(super) const fn is_character(character: char) -> bool {
    !matches!(character, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}')
}

/// Whether XML can hold a text: most control characters it cannot, not even as references.
#[must_use]
pub fn is_writable(text: &str) -> bool {
    // U+FFFE and U+FFFF begin with 0xEF.
    !text.bytes().any(|byte| byte < b' ' || byte == 0xEF) || text.chars().all(is_character)
}

/// White space between markup.
pub(super) const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

const fn begins_name(character: char) -> bool {
    matches!(character,
        'A'..='Z' | 'a'..='z' | '_' | ':'
        | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2ff}' | '\u{370}'..='\u{37d}'
        | '\u{37f}'..='\u{1fff}' | '\u{200c}'..='\u{200d}' | '\u{2070}'..='\u{218f}' | '\u{2c00}'..='\u{2fef}'
        | '\u{3001}'..='\u{d7ff}' | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}' | '\u{10000}'..='\u{effff}')
}

const fn goes_on_in_name(character: char) -> bool {
    begins_name(character)
        || matches!(character, '-' | '.' | '0'..='9' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}'..='\u{2040}')
}

/// Whether a text is a name.
pub(super) fn is_name(text: &str) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':');
    if text.as_bytes().iter().all(is_plain) {
        return text
            .as_bytes()
            .first()
            .is_some_and(|first| first.is_ascii_alphabetic() || matches!(first, b'_' | b':'));
    }
    let mut characters = text.chars();
    characters.next().is_some_and(begins_name) && characters.all(goes_on_in_name)
}

/// Prefix and local part of a name that has at most one colon, with something on both its sides; no prefix is empty.
pub(super) fn split_name(name: &str) -> Option<(&str, &str)> {
    if !is_name(name) {
        return None;
    }
    match name.split_once(':') {
        None => Some(("", name)),
        Some((prefix, local)) => {
            (!prefix.is_empty() && is_name(local) && !local.contains(':')).then_some((prefix, local))
        }
    }
}

/// What a reference stands for: one of the five entities, or a character by its number.
pub(super) fn referred(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let (digits, radix) = match name.strip_prefix("#x") {
                Some(digits) => (digits, 16),
                None => (name.strip_prefix('#')?, 10),
            };
            // A sign would be read as part of a number.
            if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return None;
            }
            let number = u32::from_str_radix(digits, radix).ok()?;
            char::from_u32(number).filter(|character| is_character(*character))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for good in ["a", "_", "é", "a-b.c1", "a:b", "日本"] {
            assert!(split_name(good).is_some(), "{good}");
        }
        for bad in ["", "1", "-a", "a b", "a:b:c", ":a", "a:", "a:1", "a/b", "a\u{d7}"] {
            assert_eq!(split_name(bad), None, "{bad}");
        }
        assert_eq!(split_name("xml:lang"), Some(("xml", "lang")));
    }

    #[test]
    fn references() {
        assert_eq!(referred("amp"), Some('&'));
        assert_eq!(referred("#65"), Some('A'));
        assert_eq!(referred("#x1F600"), Some('😀'));
        for bad in
            ["", "#", "#x", "#+65", "#x-1", "#0", "#1", "#xD800", "#xFFFE", "#x110000", "nbsp", "AMP", "#99999999999"]
        {
            assert_eq!(referred(bad), None, "{bad}");
        }
    }

    #[test]
    fn control_characters_cannot_be_written() {
        assert!(is_writable("a\t\n\r\u{7f}\u{85}\u{fffd}ﬁ日"));
        for bad in ['\0', '\u{1}', '\u{b}', '\u{1f}', '\u{fffe}', '\u{ffff}'] {
            assert!(!is_writable(&format!("a{bad}")), "{bad:?}");
        }
    }
}
