//! What programs tell terminals: sequences that colour text and move the cursor. A page has no terminal, and drops them.

/// A text without such sequences (ECMA-48): control sequences, strings such as titles and links, and short escapes. One that
/// is cut off ends with the text.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\u{9b}' => skip_control(&mut chars),
            '\u{1b}' => match chars.next() {
                Some('[') => skip_control(&mut chars),
                Some(']' | 'P' | 'X' | '^' | '_') => skip_string(&mut chars),
                // Bytes between go on until the one that ends it.
                Some(' '..='/') => {
                    while chars.next_if(|char| (' '..='/').contains(char)).is_some() {}
                    chars.next();
                }
                _ => {}
            },
            char => out.push(char),
        }
    }
    out
}

type Chars<'t> = std::iter::Peekable<std::str::Chars<'t>>;

/// Parameters, then one character that ends it. What belongs to no sequence is left.
fn skip_control(chars: &mut Chars<'_>) {
    while chars.next_if(|char| (' '..='?').contains(char)).is_some() {}
    chars.next_if(|char| ('@'..='~').contains(char));
}

/// Anything up to the bell, or to the sequence that ends strings.
fn skip_string(chars: &mut Chars<'_>) {
    while let Some(char) = chars.next() {
        match char {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                chars.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_sequences_are_dropped() {
        for (written, expected) in [
            ("plain ä\t[31m", "plain ä\t[31m"),
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{1b}[?25lhidden\u{1b}[2K", "hidden"),
            ("\u{9b}31mred", "red"),
            ("\u{1b}]0;title\u{7}after", "after"),
            ("\u{1b}]8;;http://x/\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}(Bset\u{1b}7save\u{1b}=x", "setsavex"),
            ("cut \u{1b}[31", "cut "),
            ("cut \u{1b}]0;never ends", "cut "),
            ("\u{1b}", ""),
            ("\u{1b}[31\u{202e}m", "\u{202e}m"),
        ] {
            assert_eq!(plain(written), expected, "{written:?}");
        }
    }
}
