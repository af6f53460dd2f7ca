//! Globs: texts in which `*` stands for any characters, or none, and everything else for itself.

/// Whether a text fits a glob, in a time that grows with their lengths and no faster: what stands between two stars is
/// looked for once, from where the last was found.
pub(super) fn fits(glob: &str, text: &str) -> bool {
    let Some((first, rest)) = glob.split_once('*') else { return glob == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let (between, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in between.split('*') {
        match text.find(part) {
            Some(at) => text = text.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    text.ends_with(last)
}

/// Whether a glob says what it seems to: other patterns' marks would be taken for themselves.
pub(super) fn is_plain(glob: &str) -> bool {
    !glob.is_empty() && !glob.contains(['?', '[', ']', '{', '}', '\\']) && !glob.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_anything() {
        for (glob, text) in [
            ("Bash", "Bash"),
            ("*", ""),
            ("*", "Bash"),
            ("mcp__*", "mcp__files__read"),
            ("*__read", "mcp__files__read"),
            ("mcp__*__read", "mcp____read"),
            ("a*b*c", "aXbXbXc"),
            ("**", "x"),
            ("*a*a*", "aa"),
            ("é*ü", "é漢ü"),
        ] {
            assert!(fits(glob, text), "{glob} {text}");
        }
        for (glob, text) in [
            ("Bash", "bash"),
            ("Bash", "BashOutput"),
            ("", "x"),
            ("a*a", "a"),
            ("ab*ba", "aba"),
            ("a*b*c", "acb"),
            ("*a*a*", "a"),
            ("x*", "ax"),
        ] {
            assert!(!fits(glob, text), "{glob} {text}");
        }
    }

    /// Against the textbook's recursion.
    fn naive(glob: &[u8], text: &[u8]) -> bool {
        match glob {
            [] => text.is_empty(),
            [b'*', rest @ ..] => (0..=text.len()).any(|from| naive(rest, &text[from..])),
            [first, rest @ ..] => text.first() == Some(first) && naive(rest, &text[1..]),
        }
    }

    #[test]
    fn it_agrees_with_the_naive_one() {
        let mut random = fastrand::Rng::with_seed(11);
        let mut word = |letters: &[u8], most| -> String {
            (0..random.usize(0..most)).map(|_| char::from(letters[random.usize(0..letters.len())])).collect()
        };
        for _ in 0..20_000 {
            let (glob, text) = (word(b"ab*", 8), word(b"ab", 10));
            assert_eq!(fits(&glob, &text), naive(glob.as_bytes(), text.as_bytes()), "{glob} {text}");
        }
    }

    /// A pattern that costs others their evening.
    #[test]
    fn it_takes_no_longer_than_it_must() {
        let (glob, text) = (format!("{}b", "*a".repeat(100)), "a".repeat(1 << 20));
        assert!(!fits(&glob, &text));
    }
}
