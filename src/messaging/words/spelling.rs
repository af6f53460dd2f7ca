//! What the rules for names share: a first character of one kind, further ones of another, and a longest length.

/// How names of one kind are written, in ASCII alone.
#[derive(Clone, Copy)]
pub(super) struct Spelling {
    /// What may stand behind letters and digits as well, such as `._-`.
    pub(super) punctuation: &'static str,
    /// The most characters.
    pub(super) chars_max: usize,
}

impl Spelling {
    /// Whether a text is written so: a lower-case letter or a digit first, then those and the punctuation.
    pub(super) fn fits(self, text: &str) -> bool {
        text.len() <= self.chars_max
            && text.bytes().next().is_some_and(is_plain)
            && text.bytes().all(|byte| is_plain(byte) || self.punctuation.as_bytes().contains(&byte))
    }

    /// The text that is written so and nearest to another one: in lower case, a hyphen for each run of what is not
    /// allowed, without what may not stand at its beginning or is left over at its end, cut to the longest length. Empty
    /// if nothing is left.
    pub(super) fn nearest(self, text: &str) -> String {
        let mut near = String::new();
        for char in text.chars().flat_map(char::to_lowercase) {
            if near.len() == self.chars_max {
                break;
            }
            if char.is_ascii() && (is_plain(char as u8) || (self.punctuation.contains(char) && !near.is_empty())) {
                near.push(char);
            } else if !near.is_empty() && !near.ends_with('-') {
                near.push('-');
            }
        }
        near.truncate(near.trim_end_matches(|char: char| !char.is_ascii_alphanumeric()).len());
        near
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::Spelling;

    const DOTTED: Spelling = Spelling { punctuation: "._-", chars_max: 8 };

    #[test]
    fn what_fits() {
        for good in ["a", "0", "a.b_c-d", "a---", "12345678"] {
            assert!(DOTTED.fits(good), "{good}");
        }
        for bad in ["", "A", "-a", ".a", "_", "a b", "a:b", "ä", "a\n", "123456789"] {
            assert!(!DOTTED.fits(bad), "{bad:?}");
        }
    }

    #[test]
    fn the_nearest_text() {
        let cases = [
            ("Builder", "builder"),
            ("a b", "a-b"),
            ("  a  b  ", "a-b"),
            ("--a", "a"),
            ("a--", "a"),
            ("a.-_b", "a.-_b"),
            ("a/b/c", "a-b-c"),
            ("Änne", "nne"),
            ("añb", "a-b"),
            ("123456789", "12345678"),
            ("1234567 9", "1234567"),
            ("ＡＢ", ""),
            ("", ""),
            ("...", ""),
            ("a\u{212a}b", "akb"),
        ];
        for (text, near) in cases {
            assert_eq!(DOTTED.nearest(text), near, "{text:?}");
            assert!(near.is_empty() || DOTTED.fits(near), "{near}");
        }
    }
}
