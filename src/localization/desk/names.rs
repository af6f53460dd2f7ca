//! Names of those who decide: a quorum counts people, so that one name is not to pass for two.

use icu_normalizer::ComposingNormalizerBorrowed;
use icu_properties::CodePointMapData;
use icu_properties::props::GeneralCategory;

/// Whether a name holds what nobody sees: controls, what formats, white space that is no space, and what is no character.
pub(super) fn is_hidden(name: &str) -> bool {
    use GeneralCategory::{Control, Format, PrivateUse, Surrogate, Unassigned};
    let categories = CodePointMapData::<GeneralCategory>::new();
    name.chars().any(|character| {
        let is_nothing = matches!(categories.get(character), Control | Format | PrivateUse | Surrogate | Unassigned);
        is_nothing || (character.is_whitespace() && character != ' ')
    })
}

/// Whether two names are one, however they are written: case, width and composition tell nobody apart.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    let plain = |name: &str| {
        let compatible = ComposingNormalizerBorrowed::new_nfkc().normalize(name).into_owned();
        // What a letter is in upper case tells apart less than what it is in lower case.
        let folded: String = compatible.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
        folded.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    plain(one) == plain(other)
}
