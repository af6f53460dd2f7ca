//! Names of those who decide: a quorum counts people, so that one name is not to pass for two.

use icu_normalizer::ComposingNormalizerBorrowed;

use crate::principals::is_visible;

/// Whether a name holds what nobody sees, but for spaces.
pub(super) fn is_hidden(name: &str) -> bool {
    name.chars().any(|character| character != ' ' && !is_visible(character))
}

/// Whether two names are one, however they are written: case, width and composition tell nobody apart.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    let plain = |name: &str| {
        let compatible = ComposingNormalizerBorrowed::new_nfkc().normalize(name).into_owned();
        // What a letter is in upper case tells apart less than what it is in lower case.
        let folded: String = compatible
            .chars()
            .filter(|character| *character == ' ' || is_visible(*character))
            .flat_map(char::to_uppercase)
            .flat_map(char::to_lowercase)
            .collect();
        folded.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    plain(one) == plain(other)
}
