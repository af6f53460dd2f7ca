//! Addresses that a picture may lead to: http, https, mailto, and those relative to where the picture lies.
//!
//! What counts is what a browser reads, not what the source says: the SVG is decoded before it is an address, and of an
//! address blanks and line ends are dropped before its scheme is looked for. So an address is decoded here, judged, and
//! then written as plain text, of which nothing is decoded but what the writer encoded.

use crate::text::decode_xml;
use crate::warnings::Warnings;

/// Schemes that are followed.
const SCHEMES: [&str; 3] = ["http", "https", "mailto"];

/// How often an address may be encoded over itself. Nobody writes that; whoever goes on was made to hide something.
const ENCODED_AT_MOST: usize = 4;

/// Names of characters that could begin, end or hide a scheme, as HTML knows them, in small letters.
const NAMES: [(&str, char); 12] = [
    ("amp", '&'),
    ("apos", '\''),
    ("colon", ':'),
    ("gt", '>'),
    ("lt", '<'),
    ("newline", '\n'),
    ("num", '#'),
    ("quest", '?'),
    ("quot", '"'),
    ("semi", ';'),
    ("sol", '/'),
    ("tab", '\t'),
];

/// The address that `written` leads to, if it may be followed; if not, the user is told.
pub(super) fn followed(written: &str, warnings: &mut Warnings) -> Option<String> {
    let address = safe(written);
    if address.is_none() {
        warnings.push(format!("the link {written} is left out: only http, https, mailto and relative ones are drawn"));
    }
    address
}

/// The address that `written` leads to, a text with references to characters as XML has them. `None` if it has another
/// scheme than those that are followed, or could be read with one by whoever decodes it again.
fn safe(written: &str) -> Option<String> {
    let address = stripped(&decode_xml(written));
    let mut reading = address.clone();
    for _ in 0..=ENCODED_AT_MOST {
        if !is_safe(&reading) {
            return None;
        }
        let next = stripped(&decoded(&reading));
        if next == reading {
            return Some(address);
        }
        reading = next;
    }
    None
}

/// Whether an address, as it stands, has no scheme, or one that is followed.
fn is_safe(address: &str) -> bool {
    let end = address.find(['/', '?', '#']).unwrap_or(address.len());
    let head = address.get(..end).unwrap_or_default();
    match head.split_once(':') {
        None => true,
        Some((scheme, _)) => SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known)),
    }
}

/// What is left of an address when it is read: no line ends and tabs anywhere, no blanks and controls around it.
fn stripped(address: &str) -> String {
    let whole: String = address.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r')).collect();
    whole.trim_matches(|c: char| c.is_control() || c.is_whitespace()).to_owned()
}

/// Decodes references to characters once, more kindly than any reader: without semicolons, and in whatever case.
fn decoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('&') {
        out.push_str(before);
        let Some((c, after)) = number(behind).or_else(|| name(behind)) else {
            out.push('&');
            rest = behind;
            continue;
        };
        out.push(c);
        rest = after.strip_prefix(';').unwrap_or(after);
    }
    out.push_str(rest);
    out
}

/// The character of `#106` or `#x6a`, and what follows it.
fn number(text: &str) -> Option<(char, &str)> {
    let digits = text.strip_prefix('#')?;
    let (digits, radix) = digits.strip_prefix(['x', 'X']).map_or((digits, 10), |digits| (digits, 16));
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let (digits, after) = digits.split_at_checked(end).filter(|(digits, _)| !digits.is_empty())?;
    // However many zeros stand before it; what is no character is a letter like any other.
    let code = u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
    Some((code.unwrap_or(char::REPLACEMENT_CHARACTER), after))
}

/// The character of `colon`, and what follows it.
fn name(text: &str) -> Option<(char, &str)> {
    let end = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (word, after) = text.split_at_checked(end)?;
    let (_, c) = NAMES.iter().find(|(name, _)| word.eq_ignore_ascii_case(name))?;
    Some((*c, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_browser_may_follow_is_kept() {
        for (written, address) in [
            ("http://a/b", "http://a/b"),
            ("HTTPS://x", "HTTPS://x"),
            ("mailto:a@b", "mailto:a@b"),
            ("x.html", "x.html"),
            ("/a:b", "/a:b"),
            ("#c", "#c"),
            ("?q=javascript:", "?q=javascript:"),
            ("a/b:c", "a/b:c"),
            ("//host/x", "//host/x"),
            ("", ""),
            (" a\tb\n", "ab"),
            ("http&#58;//a", "http://a"),
            ("http://a/?b=1&amp;c=2", "http://a/?b=1&c=2"),
            ("http://a/?b=1&c=2&lt=3", "http://a/?b=1&c=2&lt=3"),
            ("?b=1&#38;c=2&copy=3", "?b=1&c=2&copy=3"),
            // References that XML does not know stay what they are.
            ("a&nbsp;b", "a&nbsp;b"),
            ("&eacute;.html", "&eacute;.html"),
        ] {
            assert_eq!(safe(written).as_deref(), Some(address), "{written}");
        }
    }

    #[test]
    fn what_a_browser_may_read_a_scheme_in_is_not() {
        for written in [
            "javascript:alert(1)",
            " javascript:x",
            "JaVaScript:x",
            "\u{1}data:text/html,x",
            "\u{1}\u{1f} javascript:x",
            "java\tscript:x",
            "java\nscript:x",
            "java\u{1}script:x",
            "file:///etc",
            "x:y",
            "&#106;avascript:alert(1)",
            "&#x6A;avascript:alert(1)",
            "&#X6a;avascript:alert(1)",
            "&#106avascript:alert(1)",
            "&#0000000000000000106;avascript:alert(1)",
            "java&#9;script:alert(1)",
            "java&#10;script:alert(1)",
            "java&#13;script:alert(1)",
            "javascript&#58;alert(1)",
            "javascript&#58alert(1)",
            "javascript&#x3a;alert(1)",
            "javascript&colon;alert(1)",
            "javascript&COLON;alert(1)",
            "java&Tab;script&colon;alert(1)",
            "java&NewLine;script&#58;alert(1)",
            "&#32;&#1;javascript:alert(1)",
            "&Tab;javascript&colon;alert(1)",
            "&amp;#106;avascript:alert(1)",
            "&amp;amp;#106;avascript:alert(1)",
            "&amp#106;avascript:alert(1)",
            "&#38;#106;avascript:alert(1)",
            "&amp;num;106;avascript:alert(1)",
            "&#x26;colon;&amp;#106;avascript&amp;colon;x",
            "javascript&amp;colon;alert(1)",
            "&sol;&#106;avascript:x",
            // Encoded more often than anybody decodes.
            &format!("&{}#106;avascript:alert(1)", "amp;".repeat(1_000)),
        ] {
            assert_eq!(safe(written), None, "{written}");
        }
    }
}
