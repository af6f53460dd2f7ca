//! Labels of mail (D3): words that an agent sorts its deliveries by.

use super::spelling::Spelling;

/// `[a-z0-9][a-z0-9:._-]{0,63}`
const SPELLING: Spelling = Spelling { punctuation: ":._-", chars_max: 64 };

/// What a label is, for who gave none.
pub(crate) const RULE: &str =
    "must have 1 to 64 of a-z, 0-9, \":\", \".\", \"_\", \"-\", and begin with a letter or digit";

/// Whether a text is a label.
pub(crate) fn is_label(text: &str) -> bool {
    SPELLING.fits(text)
}

#[cfg(test)]
mod tests {
    use super::is_label;

    #[test]
    fn labels() {
        for good in ["a", "done", "prio:1", "a.b_c-d", "7", &"l".repeat(64)] {
            assert!(is_label(good), "{good}");
        }
        for bad in ["", "Done", ":a", "a b", "a=b", "a/b", "é", &"l".repeat(65)] {
            assert!(!is_label(bad), "{bad:?}");
        }
    }
}
