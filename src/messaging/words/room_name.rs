//! The names of rooms (T1).

use super::spelling::Spelling;

/// `[a-z0-9][a-z0-9._:-]{0,79}`
const SPELLING: Spelling = Spelling { punctuation: "._:-", chars_max: 80 };

/// What a room's name is, for who gave none.
pub(crate) const RULE: &str =
    "must have 1 to 80 of a-z, 0-9, \".\", \"_\", \":\", \"-\", and begin with a letter or digit";

/// Whether a text is a room's name.
pub(crate) fn is_room_name(text: &str) -> bool {
    SPELLING.fits(text)
}

/// The room that all checkouts of a repository share, by the repository's `origin::fingerprint`.
pub(crate) fn of_repository(fingerprint: &str) -> String {
    format!("repo:{fingerprint}")
}

#[cfg(test)]
mod tests {
    use super::super::origin::fingerprint;
    use super::{is_room_name, of_repository};

    #[test]
    fn names_of_rooms() {
        for good in ["a", "0", "build", "repo:f60ecdb16e5e", "a.b_c:d-e", &"a".repeat(80)] {
            assert!(is_room_name(good), "{good}");
        }
        for bad in ["", ":a", "-a", "a b", "A", "a/b", "ä", "a@b", &"a".repeat(81)] {
            assert!(!is_room_name(bad), "{bad:?}");
        }
    }

    #[test]
    fn a_repository_s_room() {
        let room = of_repository(&fingerprint("git@github.com:acme/widgets.git"));
        assert_eq!(room, "repo:f60ecdb16e5e");
        assert!(is_room_name(&room));
    }
}
