//! What is sealed: the form of an age file, version 1, whose header anybody can read (E2). Nothing is opened here.
//!
//! A header is a line that says what follows, at least one stanza, and a line with a MAC; behind it come a nonce of 16 bytes
//! and chunks, each with a tag of 16. As text the whole is armored: base64 in lines of 64 between two lines of their own.

use data_encoding::{BASE64, BASE64_NOPAD};

const VERSION_LINE: &[u8] = b"age-encryption.org/v1";
/// The lines between which armor stands.
pub(crate) const BEGIN: &str = "-----BEGIN AGE ENCRYPTED FILE-----";
pub(crate) const END: &str = "-----END AGE ENCRYPTED FILE-----";

/// Characters of a full line of base64.
const COLUMNS: usize = 64;
/// Bytes of a MAC.
const MAC_BYTES: usize = 32;
/// Behind the header stand a nonce and the tag of the last chunk, at least.
const PAYLOAD_BYTES_MIN: usize = 16 + 16;
/// A header with more stanzas has more readers than a workspace has agents.
const STANZAS_MAX: usize = 10_000;

/// Whether a text is sealed: armor, with nothing but blanks around it, that decodes to a file.
pub(crate) fn is_sealed_text(text: &str) -> bool {
    unarmored(text).is_some_and(|bytes| is_file(&bytes))
}

/// Whether a text may come as it does, of a message, a draft or anything else: what says to be sealed is, and on an encrypted
/// workspace everything that is not empty (E1).
pub(crate) fn is_as_it_must_be(is_encrypted: bool, text: &str, says_sealed: bool) -> bool {
    text.is_empty() || if says_sealed { is_sealed_text(text) } else { !is_encrypted }
}

/// Whether bytes are sealed: a file as it is, or armored.
pub(crate) fn is_sealed(bytes: &[u8]) -> bool {
    bytes.starts_with(VERSION_LINE) && is_file(bytes) || std::str::from_utf8(bytes).is_ok_and(is_sealed_text)
}

/// What stands between the lines of armor.
fn unarmored(text: &str) -> Option<Vec<u8>> {
    let inner = text.trim().strip_prefix(BEGIN)?.strip_suffix(END)?;
    let inner = inner.strip_prefix("\r\n").or_else(|| inner.strip_prefix('\n'))?;
    let inner = inner.strip_suffix("\r\n").or_else(|| inner.strip_suffix('\n'))?;
    let mut base64 = String::with_capacity(inner.len());
    let mut is_over = false;
    for line in inner.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)) {
        // All lines are full but the last.
        if is_over || line.is_empty() || line.len() > COLUMNS {
            return None;
        }
        is_over = line.len() < COLUMNS;
        base64.push_str(line);
    }
    // Padding stands at the end alone: the decoder would take one piece of base64 behind another.
    if base64.trim_end_matches('=').contains('=') {
        return None;
    }
    BASE64.decode(base64.as_bytes()).ok()
}

/// Whether bytes are a file.
fn is_file(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    if line(&mut rest) != Some(VERSION_LINE) {
        return false;
    }
    let mut stanzas = 0;
    loop {
        let Some(next) = line(&mut rest) else { return false };
        if let Some(mac) = next.strip_prefix(b"--- ") {
            let is_mac = BASE64_NOPAD.decode(mac).is_ok_and(|mac| mac.len() == MAC_BYTES);
            return stanzas > 0 && is_mac && rest.len() >= PAYLOAD_BYTES_MIN;
        }
        stanzas += 1;
        if stanzas > STANZAS_MAX || !is_stanza(next, &mut rest) {
            return false;
        }
    }
}

/// Whether a line begins a stanza, whose body stands in the lines that follow: all full but the last, which may be empty.
fn is_stanza(first: &[u8], rest: &mut &[u8]) -> bool {
    let Some(arguments) = first.strip_prefix(b"-> ") else { return false };
    let is_argument = |argument: &[u8]| !argument.is_empty() && argument.iter().all(u8::is_ascii_graphic);
    if !arguments.split(|byte| *byte == b' ').all(is_argument) {
        return false;
    }
    loop {
        let Some(body) = line(rest) else { return false };
        if body.len() > COLUMNS || BASE64_NOPAD.decode(body).is_err() {
            return false;
        }
        if body.len() < COLUMNS {
            return true;
        }
    }
}

/// The next line, without its end.
fn line<'b>(rest: &mut &'b [u8]) -> Option<&'b [u8]> {
    let (line, behind) = rest.split_at_checked(rest.iter().position(|byte| *byte == b'\n')?)?;
    *rest = behind.get(1..).unwrap_or_default();
    Some(line)
}

#[cfg(test)]
pub(crate) mod tests {
    use data_encoding::BASE64;
    use proptest::prelude::*;

    use super::{BEGIN, COLUMNS, END, is_file, is_sealed, is_sealed_text, unarmored};

    fn file(header: &str) -> Vec<u8> {
        let mut bytes = header.as_bytes().to_vec();
        bytes.extend_from_slice(&[7; 40]);
        bytes
    }

    fn armor(bytes: &[u8]) -> String {
        let base64 = BASE64.encode(bytes);
        let lines: Vec<&str> =
            base64.as_bytes().chunks(COLUMNS).map(|line| std::str::from_utf8(line).unwrap()).collect();
        format!("{BEGIN}\n{}\n{END}\n", lines.join("\n"))
    }

    const MAC: &str = "--- AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n";
    const X25519: &str =
        "-> X25519 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\nBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA\n";

    /// A text that has the form of a sealed one; nobody can open it.
    pub(crate) fn sealed_text() -> String {
        armor(&file(&format!("age-encryption.org/v1\n{X25519}{MAC}")))
    }

    #[test]
    fn what_is_sealed() {
        let full = "A".repeat(64);
        let headers = [
            format!("age-encryption.org/v1\n{X25519}{MAC}"),
            format!("age-encryption.org/v1\n{X25519}{X25519}{MAC}"),
            format!("age-encryption.org/v1\n-> x-grease ! a{}\n{full}\n\n{X25519}{MAC}", '~'),
            format!("age-encryption.org/v1\n-> other\n\n{MAC}"),
        ];
        for header in headers {
            let bytes = file(&header);
            assert!(is_sealed(&bytes), "{header}");
            let text = armor(&bytes);
            assert!(is_sealed_text(&text) && is_sealed(text.as_bytes()), "{header}");
            assert!(is_sealed_text(text.trim_end()) && is_sealed_text(&format!("\n  {text}")));
            assert!(is_sealed_text(&text.replace('\n', "\r\n")));
        }
        assert!(!is_sealed_text(std::str::from_utf8(&file("age-encryption.org/v1\n")).unwrap()));
        let mut bytes = file(&format!("age-encryption.org/v1\n{X25519}{MAC}"));
        bytes.resize(bytes.len().next_multiple_of(3) + 1, 7);
        let padded = armor(&bytes);
        assert!(is_sealed_text(&padded) && padded.contains("==\n"));
        assert!(!is_sealed_text(&padded.replace("==\n", "==AAAA\n")), "padding stands at the end alone");
    }

    #[test]
    fn what_is_not() {
        let headers = [
            String::new(),
            format!("age-encryption.org/v1\n{MAC}"),
            format!("age-encryption.org/v2\n{X25519}{MAC}"),
            format!("age-encryption.org/v1\r\n{X25519}{MAC}"),
            format!("age-encryption.org/v1\n{X25519}"),
            format!("age-encryption.org/v1\n{X25519}--- AAAA\n"),
            format!("age-encryption.org/v1\n-> \n\n{MAC}"),
            format!("age-encryption.org/v1\n-> X25519  a\n\n{MAC}"),
            format!("age-encryption.org/v1\n-> X25519 a\n?\n{MAC}"),
            format!("age-encryption.org/v1\n-> X25519 a\n{}\n\n{MAC}", "A".repeat(65)),
        ];
        for header in headers {
            let bytes = file(&header);
            assert!(!is_sealed(&bytes) && !is_sealed_text(&armor(&bytes)), "{header}");
        }
        let short = format!("age-encryption.org/v1\n{X25519}{MAC}short").into_bytes();
        assert!(!is_sealed(&short), "nothing behind the header");
        let good = sealed_text();
        let bad = [
            good.replace("BEGIN", "begin"),
            good.replace(END, ""),
            good.replacen('\n', "", 1),
            format!("x{good}"),
            format!("{good}x"),
            good.replacen("YWdl", "YW=l", 1),
            good.replacen("\n", "\n\n", 1),
            "plain words".to_owned(),
            String::new(),
        ];
        for text in bad {
            assert!(!is_sealed_text(&text), "{text}");
        }
    }

    /// What happens to a sealed text on its way: at a place, something is taken out, put in, changed or doubled.
    fn damaged(text: &[u8], (place, bytes, kind): &(usize, Vec<u8>, u8)) -> Vec<u8> {
        let place = place % (text.len() + 1);
        let (before, behind) = text.split_at(place);
        let behind = match kind % 3 {
            0 => &behind[bytes.len().min(behind.len())..],
            1 => behind,
            _ => &text[place / 2..],
        };
        [before, if kind % 3 == 0 { &[] } else { bytes }, behind].concat()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        /// Whatever was done to it: what is taken says the same as its own bytes armored again, so that nothing else stands in
        /// it; and bytes that are no text, or no file, are never taken.
        #[test]
        fn what_is_taken_is_armor_and_nothing_else(
            stanzas in 1_usize..40,
            payload in prop::collection::vec(any::<u8>(), 0..200),
            damages in prop::collection::vec(
                (any::<usize>(), prop::collection::vec(prop_oneof![Just(b'='), Just(b'\n'), Just(b'\r'), Just(b'A'), any::<u8>()], 0..4), any::<u8>()),
                0..3,
            ),
        ) {
            let header = format!("age-encryption.org/v1\n{}{MAC}", X25519.repeat(stanzas));
            let file = [header.as_bytes(), &payload].concat();
            prop_assert_eq!(is_sealed(&file), payload.len() >= 32);
            let bytes = damages.iter().fold(armor(&file).into_bytes(), |text, damage| damaged(&text, damage));
            let is_taken = is_sealed(&bytes);
            let Ok(text) = String::from_utf8(bytes) else {
                prop_assert!(!is_taken);
                return Ok(());
            };
            prop_assert_eq!(is_taken, is_sealed_text(&text));
            if damages.is_empty() {
                prop_assert_eq!(is_taken, payload.len() >= 32);
            }
            if is_taken {
                let file = unarmored(&text).unwrap();
                prop_assert!(is_file(&file));
                let again = armor(&file);
                prop_assert_eq!(again.trim(), text.trim().replace("\r\n", "\n"));
            }
        }

        /// Bytes that nobody sealed, and headers cut anywhere, end in a plain no.
        #[test]
        fn anything_at_all_is_answered(bytes in prop::collection::vec(any::<u8>(), 0..400), cut in 0_usize..200) {
            prop_assert!(!is_sealed(&bytes));
            let header = format!("age-encryption.org/v1\n{X25519}{MAC}");
            let cut = cut.min(header.len());
            let _ = is_sealed(&[&header.as_bytes()[..cut], &bytes].concat());
            let _ = is_sealed_text(&format!("{BEGIN}\n{}\n{END}", String::from_utf8_lossy(&bytes)));
        }
    }
}
