//! Which repository a checkout is of (I1): a fingerprint of its origin's URL, the same however the URL is written.

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

/// Hexadecimal digits of a fingerprint.
const FINGERPRINT_LEN: usize = 12;

/// What is dropped from the beginning of a URL, one of them.
const SCHEMES: [&str; 4] = ["https://", "http://", "ssh://", "git+ssh://"];

/// The fingerprint of the repository with this origin.
pub(crate) fn fingerprint(origin: &str) -> String {
    let mut text = HEXLOWER.encode(&Sha256::digest(normalized(origin).as_bytes()));
    text.truncate(FINGERPRINT_LEN);
    text
}

/// The origin as it is hashed. The order of the steps is part of the rule, since clients work it out as well: `.git` is
/// dropped before trailing slashes, so `x.git/` keeps it; and a scheme is dropped before `git@` and the first colon are
/// looked for, so `ssh://git@host:22/x` and `git@host:22/x` are one.
fn normalized(origin: &str) -> String {
    let lower = origin.trim().to_lowercase();
    let mut rest = lower.as_str();
    rest = SCHEMES.iter().find_map(|scheme| rest.strip_prefix(scheme)).unwrap_or(rest);
    rest = rest.strip_prefix("git@").unwrap_or(rest);
    let path = rest.replacen(':', "/", 1);
    let path = path.strip_suffix(".git").unwrap_or(&path);
    path.trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::{fingerprint, normalized};

    #[test]
    fn one_repository_however_it_is_written() {
        let cases = [
            ("https://github.com/acme/widgets.git", "github.com/acme/widgets"),
            ("https://github.com/acme/widgets", "github.com/acme/widgets"),
            ("https://github.com/acme/widgets/", "github.com/acme/widgets"),
            ("https://github.com/acme/widgets///", "github.com/acme/widgets"),
            ("http://github.com/acme/widgets", "github.com/acme/widgets"),
            ("git@github.com:acme/widgets.git", "github.com/acme/widgets"),
            ("ssh://git@github.com/acme/widgets.git", "github.com/acme/widgets"),
            ("git+ssh://git@github.com/acme/widgets.git", "github.com/acme/widgets"),
            (" \tHTTPS://GitHub.COM/Acme/Widgets.GIT\n", "github.com/acme/widgets"),
            ("github.com:acme/widgets", "github.com/acme/widgets"),
        ];
        for (origin, expected) in cases {
            assert_eq!(normalized(origin), expected, "{origin:?}");
        }
    }

    #[test]
    fn each_step_is_done_once_and_in_its_place() {
        let cases = [
            ("https://github.com/acme/widgets.git/", "github.com/acme/widgets.git"),
            ("https://github.com/acme/widgets.git.git", "github.com/acme/widgets.git"),
            ("https://ssh://host/x", "ssh///host/x"),
            ("https://http://host/x", "http///host/x"),
            ("git@git@host:x", "git@host/x"),
            ("git@https://host/x", "https///host/x"),
            ("ssh://git@host:2222/acme/x.git", "host/2222/acme/x"),
            ("git@host:2222:x", "host/2222:x"),
            ("https://user:token@host/x", "user/token@host/x"),
            ("file:///srv/git/x.git", "file////srv/git/x"),
            ("/srv/git/x.git", "/srv/git/x"),
            ("c:\\git\\x", "c/\\git\\x"),
            ("git://host/x", "git///host/x"),
            (".git", ""),
            ("///", ""),
            ("", ""),
        ];
        for (origin, expected) in cases {
            assert_eq!(normalized(origin), expected, "{origin:?}");
        }
    }

    /// Worked out by the public client (`repo_fingerprint` of rodmena-agentbus 0.9.105).
    #[test]
    fn the_fingerprints_that_clients_work_out() {
        let cases = [
            ("https://github.com/acme/widgets.git", "f60ecdb16e5e"),
            ("git@github.com:acme/widgets.git", "f60ecdb16e5e"),
            (" SSH://git@GitHub.com/acme/widgets/ ", "f60ecdb16e5e"),
            ("https://github.com/acme/widgets.git/", "fbdf0be95932"),
            ("ssh://git@host:2222/acme/x.git", "528ba21a4504"),
            ("https://user:token@host/x", "b76486b2ec7c"),
            ("/srv/git/x", "5d13374a9de6"),
            ("https://example.org/ÄÖ/ΟΔΟΣ.git", "9dcd60a679d1"),
            ("", "e3b0c44298fc"),
        ];
        for (origin, expected) in cases {
            assert_eq!(fingerprint(origin), expected, "{origin:?}");
        }
    }
}
