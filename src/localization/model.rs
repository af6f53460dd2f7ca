//! The words of localization and their pure rules.

use bincode::{Decode, Encode};
use quintet_platform::secrets::digest_parts;
use quintet_storage::{Uuid, key_newtype};

key_newtype!(
    /// A tenant.
    pub TenantId(Uuid)
);
key_newtype!(
    /// A workspace of a tenant.
    pub WorkspaceId(Uuid)
);
key_newtype!(
    /// A project of a workspace.
    pub ProjectId(Uuid)
);
key_newtype!(
    /// A file of a project: a path and all its versions.
    pub FileId(Uuid)
);
key_newtype!(
    /// A string key of a file.
    pub KeyId(Uuid)
);
key_newtype!(
    /// A grant.
    pub GrantId(Uuid)
);

/// The longest name of a workspace or project, in characters.
pub const NAME_CHARS_MAX: usize = 200;
/// The longest slug, in characters; the pattern of the contract.
pub const SLUG_CHARS_MAX: usize = 63;
/// The most legal prefixes of a project, and the longest, in characters.
pub const LEGAL_PREFIXES_MAX: usize = 50;
/// See [`LEGAL_PREFIXES_MAX`].
pub const LEGAL_PREFIX_CHARS_MAX: usize = 200;
/// The most target locales of a project.
pub const LOCALES_MAX: usize = 100;
/// The longest locale in a request's body, in characters.
pub const LOCALE_CHARS_MAX: usize = 64;

/// Whether a text is a slug: `^[a-z0-9][a-z0-9-]{1,62}$`.
#[must_use]
pub fn is_slug(text: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let (Some(first), rest) = (text.bytes().next(), text.get(1..).unwrap_or_default()) else { return false };
    known(first) && (1..SLUG_CHARS_MAX).contains(&rest.len()) && rest.bytes().all(|byte| known(byte) || byte == b'-')
}

/// Characters of a short id.
const SHORT_ID_CHARS: usize = 10;
/// RFC 4648's base 32, in lower case.
const SHORT_ID_ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// The short id a thing would like to have at its `attempt`-th attempt: 10 lower-case base-32 characters out of its id,
/// which stand for it in permissions. It depends on nothing else, so that a replay finds the same.
#[must_use]
pub fn short_id(id: Uuid, attempt: u32) -> String {
    let digest = digest_parts(&[b"quintet short id", id.as_bytes(), &attempt.to_be_bytes()]);
    let character = |byte: &u8| SHORT_ID_ALPHABET.get(usize::from(byte & 31)).copied().map_or('a', char::from);
    digest.iter().take(SHORT_ID_CHARS).map(character).collect()
}

/// A locale as a project stores it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct StoredLocale {
    /// Its content form.
    pub tag: String,
    /// What makes two spellings one locale.
    pub identity_key: String,
}

/// Which versions of a key's source a number counts: that of the file.
pub type FileVersion = u32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs() {
        for good in ["ab", "a-", "0a", "a--b", &"a".repeat(63)] {
            assert!(is_slug(good), "{good}");
        }
        for bad in ["", "a", "-a", "A1", "a_b", "a b", "é1", "aé", &"a".repeat(64)] {
            assert!(!is_slug(bad), "{bad}");
        }
    }

    #[test]
    fn short_ids_are_short_and_differ() {
        let (one, other) = (short_id(Uuid::from_u128(1), 0), short_id(Uuid::from_u128(1), 1));
        assert_ne!(one, other);
        assert_eq!(one, short_id(Uuid::from_u128(1), 0));
        for id in [one, other] {
            assert_eq!(id.len(), 10);
            assert!(id.bytes().all(|byte| SHORT_ID_ALPHABET.contains(&byte)), "{id}");
        }
    }
}
