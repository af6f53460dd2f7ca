//! Certificates that are taken, refused and replaced.

use super::*;
use crate::testing::{Authority, Issued, tls_of};

const FAR: i32 = 2099;

/// What is said of a pair of files with these contents; nothing if it is taken.
fn said(cert: Option<&str>, key: Option<&str>) -> String {
    let directory = tempfile::tempdir().unwrap();
    let files = Files { cert: directory.path().join("c"), key: directory.path().join("k") };
    for (path, content) in [(&files.cert, cert), (&files.key, key)] {
        content.iter().for_each(|content| std::fs::write(path, content).unwrap());
    }
    let error = tls_of(&files).err().map(|error| error.to_string()).unwrap_or_default();
    error.replace(&format!("{}/", directory.path().display()), "")
}

#[test]
fn pairs_are_checked_with_file_and_reason() {
    let authority = Authority::new();
    let Issued { cert, key } = authority.issue("a.example", FAR);
    let Issued { key: other, .. } = authority.issue("a.example", FAR);
    let chain = format!("{cert}{}", authority.pem);
    let truncated = cert.replace("-----END CERTIFICATE-----", "");
    let bent = cert.replacen("MII", "M!I", 1);
    let no_certificate = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n";
    let encrypted =
        key.replace("BEGIN PRIVATE", "BEGIN ENCRYPTED PRIVATE").replace("END PRIVATE", "END ENCRYPTED PRIVATE");
    let no_key = "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n";
    let mixed_up = "are tls.cert and tls.key mixed up?";
    let cases: &[(Option<&str>, Option<&str>, &str)] = &[
        (Some(&cert), Some(&key), ""),
        (Some(&chain), Some(&key), ""),
        (None, Some(&key), "tls.cert: c cannot be read: No such file or directory (os error 2)"),
        (Some(&cert), None, "tls.key: k cannot be read: No such file or directory (os error 2)"),
        (Some(""), Some(&key), "tls.cert: c holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)"),
        (Some("\u{0}\u{1}"), Some(&key), "tls.cert: c holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)"),
        (Some(&truncated), Some(&key), "tls.cert: c is not well-formed PEM"),
        (Some(&bent), Some(&key), "tls.cert: c is not well-formed PEM"),
        (Some(no_certificate), Some(&key), "tls.cert: c is not well-formed: its certificate 1 cannot be read"),
        (Some(&key), Some(&key), &format!("tls.cert: c holds a private key and no certificate: {mixed_up}")),
        (Some(&cert), Some(&cert), &format!("tls.key: k holds a certificate and no private key: {mixed_up}")),
        (Some(&cert), Some("x"), "tls.key: k holds no private key in PEM form (-----BEGIN PRIVATE KEY-----)"),
        (
            Some(&cert),
            Some(&encrypted),
            "tls.key: k is encrypted: write it out without a passphrase, `openssl pkey -in OLD -out NEW`",
        ),
        (
            Some(&cert),
            Some(no_key),
            "tls.key: k holds a key that cannot be used; use RSA (2048 bits or more), ECDSA or Ed25519",
        ),
        (Some(&cert), Some(&other), "tls.key: k holds another key than that of the certificate in c"),
        (Some(&"x".repeat((1 << 20) + 1)), Some(&key), "tls.cert: c is too large for a certificate or a key"),
    ];
    for (cert, key, expected) in cases {
        assert_eq!(said(*cert, *key), *expected);
    }
}

#[test]
fn what_callers_would_refuse_is_told() {
    let authority = Authority::new();
    let at = |text: &str| quintet_platform::clock::parse_rfc3339(text).unwrap();
    let facts = |pem: &str, key: &str| {
        let directory = tempfile::tempdir().unwrap();
        let issued = Issued { cert: pem.to_owned(), key: key.to_owned() };
        tls_of(&issued.put(directory.path())).unwrap().standing().facts
    };
    let Issued { cert, key } = authority.issue("a.example", 2030);
    let alone = facts(&cert, &key);
    assert_eq!(alone.names, ["a.example"]);
    assert_eq!(alone.complaint(at("2026-01-01T00:00:00Z")), None);
    assert_eq!(alone.complaint(at("2030-12-16T23:59:59Z")), None);
    for (now, expected) in [
        ("2019-12-31T00:00:00Z", "The certificate is not valid before 2020-01-01T00:00:00Z: callers refuse it."),
        ("2030-12-17T00:00:00Z", "The certificate expires on 2030-12-31T00:00:00Z."),
        ("2030-12-31T00:00:00Z", "The certificate expired on 2030-12-31T00:00:00Z: callers refuse it."),
    ] {
        assert_eq!(alone.complaint(at(now)).as_deref(), Some(expected), "{now}");
    }
    let now = at("2026-01-01T00:00:00Z");
    assert_eq!(facts(&format!("{cert}{}", authority.pem), &key).complaint(now), None);
    let stranger = Authority::new();
    let Issued { cert: other, .. } = stranger.issue("b.example", 2030);
    assert_eq!(
        facts(&format!("{cert}{other}"), &key).complaint(now).as_deref(),
        Some("Certificate 2 of the file did not sign the one before it: many callers refuse such a chain.")
    );
}

#[test]
fn problems_have_their_place_in_the_configuration() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("q.toml");
    std::fs::write(&file, "[tls]\ncert = \"/no/cert.pem\"\nkey = \"/no/key.pem\"\n").unwrap();
    let sources = crate::config::Sources { file: Some(file.clone()), ..Default::default() };
    let told = problems(&Config::load(&sources).unwrap());
    let expected = "tls.cert: /no/cert.pem cannot be read: No such file or directory (os error 2)";
    assert_eq!(told.to_string(), format!("{}:2: {expected}", file.display()));
    assert_eq!(Tls::open(&Config::load(&sources).unwrap()).unwrap_err(), told);
    std::fs::write(&file, "").unwrap();
    assert!(Tls::open(&Config::load(&sources).unwrap()).unwrap().is_none());
}

#[test]
fn only_files_that_rest_are_looked_into() {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    let files = authority.issue("a.example", FAR).put(directory.path());
    let first = Watcher::look(&files);
    let mut watcher = Watcher { taken: first, seen: first };
    assert!(!watcher.has_new(&files));
    let next = authority.issue("a.example", FAR);
    std::fs::write(&files.cert, &next.cert).unwrap();
    assert!(!watcher.has_new(&files), "it has just changed");
    std::fs::write(&files.key, &next.key).unwrap();
    assert!(!watcher.has_new(&files), "and so has the other");
    assert!(watcher.has_new(&files));
    assert!(!watcher.has_new(&files), "once is enough");
    std::fs::remove_file(&files.key).unwrap();
    assert!(!watcher.has_new(&files));
    assert!(watcher.has_new(&files), "that is told, too");
    // A file of the same size and time in its place is another one.
    let stamp = Stamp::of(&files.cert).unwrap();
    let twin = directory.path().join("twin");
    std::fs::copy(&files.cert, &twin).unwrap();
    let modified = std::fs::metadata(&files.cert).unwrap().modified().unwrap();
    std::fs::File::options().write(true).open(&twin).unwrap().set_modified(modified).unwrap();
    std::fs::rename(&twin, &files.cert).unwrap();
    assert_ne!(Stamp::of(&files.cert).unwrap(), stamp);
}

#[test]
fn a_bad_pair_leaves_the_one_before_and_a_good_one_clears_it() {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    let files = authority.issue("first.example", FAR).put(directory.path());
    let tls = tls_of(&files).unwrap();
    std::fs::write(&files.key, "nonsense").unwrap();
    tls.reload();
    let standing = tls.standing();
    assert_eq!(standing.facts.names, ["first.example"]);
    assert!(standing.refused.unwrap().1.to_string().contains("holds no private key"));
    authority.issue("second.example", FAR).put(directory.path());
    tls.reload();
    let standing = tls.standing();
    assert_eq!((standing.facts.names, standing.refused), (vec!["second.example".to_owned()], None));
}
