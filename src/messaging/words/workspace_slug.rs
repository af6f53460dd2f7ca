//! How a workspace is written in commands and addresses (design, "Command line"): its slug, unique in the appliance.

use super::spelling::Spelling;

/// `[a-z0-9][a-z0-9-]{0,39}`: no dot and no plus, which end it in an [`address`](super::address).
const SPELLING: Spelling = Spelling { punctuation: "-", chars_max: 40 };

/// What a slug is, for who gave none.
pub(crate) const RULE: &str = "must have 1 to 40 of a-z, 0-9 and \"-\", and begin with a letter or digit";

/// Whether a text is a slug.
pub(crate) fn is_slug(text: &str) -> bool {
    SPELLING.fits(text)
}

#[cfg(test)]
mod tests {
    use super::is_slug;

    #[test]
    fn slugs() {
        for good in ["a", "0", "acme", "acme-eu-1", &"a".repeat(40)] {
            assert!(is_slug(good), "{good}");
        }
        for bad in ["", "-a", "a.b", "a+b", "a_b", "Acme", "a b", &"a".repeat(41)] {
            assert!(!is_slug(bad), "{bad:?}");
        }
    }
}
