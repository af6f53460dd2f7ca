//! Which checkout an agent works in (design, "Identity"): a key of device, repository and path, the same whenever it is
//! worked out again. Device and path go in and are not kept (I3).

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

/// Hexadecimal digits of a session key and of a path's hash.
const KEY_LEN: usize = 16;

/// Hexadecimal digits of a session key that the names of its agents end with.
const SUFFIX_LEN: usize = 6;

/// What all agents of one checkout share: 16 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SessionKey(String);

impl SessionKey {
    /// The key of these, or `None` if there are none of them. What is absent or empty is left out, so that an agent
    /// without a repository has a key as well.
    ///
    /// `fingerprint` is the [`origin`](super::origin)'s, `path` the checkout's own, unhashed.
    pub(crate) fn of(device_id: Option<&str>, fingerprint: Option<&str>, path: Option<&str>) -> Option<SessionKey> {
        let path_hash = path.filter(|path| !path.is_empty()).map(path_hash);
        let parts = [device_id, fingerprint, path_hash.as_deref()];
        let parts: Vec<&str> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
        if parts.is_empty() { None } else { Some(SessionKey(short_digest(&parts.join(":")))) }
    }

    /// The key as it is stored.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// What names end with: `<role>-<suffix>`, with the same suffix for every role.
    pub(crate) fn suffix(&self) -> &str {
        self.0.get(..SUFFIX_LEN).unwrap_or_default()
    }
}

/// The whole digest of a device's id, by which a phonebook tells agents of one machine (I3).
pub(crate) fn device_hash(device_id: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(device_id.as_bytes()))
}

/// The hash of an absolute path without the separators at its end; the root's own is that of `/`.
fn path_hash(path: &str) -> String {
    let bare = path.trim_end_matches(['/', '\\']);
    short_digest(if bare.is_empty() { "/" } else { bare })
}

fn short_digest(text: &str) -> String {
    let mut digest = HEXLOWER.encode(&Sha256::digest(text.as_bytes()));
    digest.truncate(KEY_LEN);
    digest
}

#[cfg(test)]
mod tests {
    use super::{SessionKey, device_hash, path_hash};

    const DEVICE: &str = "716759a2-0839-4c39-870b-8b8ea4741840";
    const REPOSITORY: &str = "0a1b2c3d4e5f";
    const PATH: &str = "/home/dev/widgets";

    /// Worked out by the public client (`session_key` of rodmena-agentbus 0.9.105).
    #[test]
    fn the_keys_that_clients_work_out() {
        let cases = [
            (Some(DEVICE), Some(REPOSITORY), Some(PATH), Some("c8239c39d1ad1375")),
            (Some(DEVICE), Some(REPOSITORY), Some("/home/dev/widgets/"), Some("c8239c39d1ad1375")),
            (Some(DEVICE), None, Some(PATH), Some("53c7acd2fd1240ff")),
            (Some(DEVICE), Some(""), Some(PATH), Some("53c7acd2fd1240ff")),
            (Some(DEVICE), Some(REPOSITORY), None, Some("6048c94922aa61a4")),
            (Some(DEVICE), Some(REPOSITORY), Some(""), Some("6048c94922aa61a4")),
            (Some(DEVICE), None, None, Some("86b8b4755a901c6e")),
            (None, Some(REPOSITORY), Some("/x"), Some("a9bcbb05893aa2aa")),
            (None, None, None, None),
            (Some(""), Some(""), Some(""), None),
        ];
        for (device, repository, path, expected) in cases {
            let key = SessionKey::of(device, repository, path);
            assert_eq!(key.as_ref().map(SessionKey::as_str), expected, "{device:?} {repository:?} {path:?}");
        }
    }

    #[test]
    fn the_hashes_of_paths() {
        let cases = [
            ("/home/dev/widgets", "7bfd95b470933c2d"),
            ("/home/dev/widgets/", "7bfd95b470933c2d"),
            ("/", "8a5edab282632443"),
            ("///", "8a5edab282632443"),
            ("C:\\git\\x\\", "d360b8fc9283b7b5"),
            ("/a/\\/", "6a50dc8584134c7d"),
        ];
        for (path, expected) in cases {
            assert_eq!(path_hash(path), expected, "{path:?}");
        }
    }

    #[test]
    fn the_suffix_is_the_key_s_beginning() {
        let key = SessionKey::of(Some(DEVICE), Some(REPOSITORY), Some(PATH)).unwrap();
        assert_eq!(key.suffix(), "c8239c");
    }

    #[test]
    fn a_device_is_hashed_whole() {
        assert_eq!(device_hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}
