//! Text that others wrote, on a page: never markup, and nothing in it that cannot be seen or that
//! turns around what stands beside it. Such characters are shown by their numbers.

use std::fmt::Write as _;

use super::html::escape;

/// Adds foreign text: what is invisible in it can be seen.
pub fn visible(text: &str, out: &mut String) {
    let mut plain_from = 0;
    for (at, char) in text.char_indices() {
        if !is_hidden(char) {
            continue;
        }
        escape(text.get(plain_from..at).unwrap_or_default(), out);
        plain_from = at + char.len_utf8();
        // Writing to a string cannot fail.
        let _ = write!(out, "<span class=\"char\">U+{:04X}</span>", u32::from(char));
    }
    escape(text.get(plain_from..).unwrap_or_default(), out);
}

/// Whether a character shows nothing, or changes how others are shown: controls (but for line ends and tabs), formatting
/// and direction (Unicode's Cf), fillers, separators of lines, and what is set aside for private use or as no character.
fn is_hidden(char: char) -> bool {
    matches!(char,
        '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{115f}' | '\u{1160}'
        | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{e000}'..='\u{f8ff}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let mut out = String::new();
        visible(text, &mut out);
        out
    }

    #[test]
    fn what_cannot_be_seen_is_shown() {
        for plain in ["", "plain", "ä漢字 🙂\n\ttwo", "שלום", "e\u{301}"] {
            assert_eq!(shown(plain), plain);
        }
        assert_eq!(shown("<b>&\"'"), "&lt;b&gt;&amp;&quot;&#39;");
        assert_eq!(shown("pay \u{202e}001"), "pay <span class=\"char\">U+202E</span>001");
        for hidden in ['\0', '\r', '\u{1b}', '\u{85}', '\u{ad}', '\u{200b}', '\u{2066}', '\u{feff}', '\u{e0041}'] {
            assert!(shown(&format!("a{hidden}b")).contains("class=\"char\""), "{hidden:?}");
        }
    }
}
