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

/// Whether a character shows nothing, changes how others are shown, or looks like a blank and is none.
fn is_hidden(char: char) -> bool {
    let after = HIDDEN.partition_point(|(first, _)| *first <= char);
    let range = after.checked_sub(1).and_then(|at| HIDDEN.get(at));
    // The last two of each plane are no characters.
    range.is_some_and(|(_, last)| char <= *last) || u32::from(char) & 0xfffe == 0xfffe
}

/// The first and the last of each range, in order, from Unicode 15: controls but for line ends and tabs (Cc), formatting and
/// direction (Cf), what is to be ignored where it is not known, variation selectors among it (`Default_Ignorable_Code_Point`),
/// blanks but for the usual one (Zs), separators of lines (Zl, Zp), the empty pattern of Braille, and what is set aside for
/// private use or as no character.
const HIDDEN: &[(char, char)] = &[
    ('\0', '\u{8}'),
    ('\u{b}', '\u{1f}'),
    ('\u{7f}', '\u{a0}'),
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{1680}', '\u{1680}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{2000}', '\u{200f}'),
    ('\u{2028}', '\u{202f}'),
    ('\u{205f}', '\u{206f}'),
    ('\u{2800}', '\u{2800}'),
    ('\u{3000}', '\u{3000}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{e000}', '\u{f8ff}'),
    ('\u{fdd0}', '\u{fdef}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{10ffff}'),
];

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

    /// The ranges as Unicode's own tables have them.
    #[test]
    fn whole_classes_of_unicode_are_hidden_and_nothing_beside_them() {
        const IGNORABLE: &[(u32, u32)] = &[
            (0xad, 0xad),
            (0x34f, 0x34f),
            (0x61c, 0x61c),
            (0x115f, 0x1160),
            (0x17b4, 0x17b5),
            (0x180b, 0x180f),
            (0x200b, 0x200f),
            (0x202a, 0x202e),
            (0x2060, 0x206f),
            (0x3164, 0x3164),
            (0xfe00, 0xfe0f),
            (0xfeff, 0xfeff),
            (0xffa0, 0xffa0),
            (0xfff0, 0xfff8),
            (0x1bca0, 0x1bca3),
            (0x1d173, 0x1d17a),
            (0xe0000, 0xe0fff),
        ];
        const FORMAT: &[(u32, u32)] = &[
            (0x600, 0x605),
            (0x6dd, 0x6dd),
            (0x70f, 0x70f),
            (0x890, 0x891),
            (0x8e2, 0x8e2),
            (0x180e, 0x180e),
            (0x2060, 0x2064),
            (0x2066, 0x206f),
            (0xfff9, 0xfffb),
            (0x110bd, 0x110bd),
            (0x110cd, 0x110cd),
            (0x13430, 0x1343f),
            (0xe0001, 0xe0001),
            (0xe0020, 0xe007f),
        ];
        const BLANKS: &[(u32, u32)] =
            &[(0xa0, 0xa0), (0x1680, 0x1680), (0x2000, 0x200a), (0x202f, 0x202f), (0x205f, 0x205f), (0x3000, 0x3000)];
        const OTHERS: &[(u32, u32)] = &[
            (0x0, 0x8),
            (0xb, 0x1f),
            (0x7f, 0x9f),
            (0x2028, 0x2029),
            (0x2800, 0x2800),
            (0xe000, 0xf8ff),
            (0xfdd0, 0xfdef),
            (0xe1000, 0x10ffff),
        ];
        let is_in =
            |table: &[(u32, u32)], code: u32| table.iter().any(|(first, last)| (*first..=*last).contains(&code));
        for char in '\0'..=char::MAX {
            let code = u32::from(char);
            let is_none = code & 0xfffe == 0xfffe;
            let expected = is_none || [IGNORABLE, FORMAT, BLANKS, OTHERS].iter().any(|table| is_in(table, code));
            assert_eq!(is_hidden(char), expected, "U+{code:04X}");
        }
        assert!(HIDDEN.iter().all(|(first, last)| first <= last));
        assert!(HIDDEN.windows(2).all(|pair| pair[0].1 < pair[1].0), "in order");
    }
}
