//! The tokens of JSON (RFC 8259), for whoever reads it: into trees, or to remember where values stand in a file.

use std::borrow::Cow;
use std::ops::Range;

/// What is wrong with a token, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LexError {
    /// The byte offset: of what cannot stand there, or of the escape that cannot be read.
    pub at: usize,
    /// What it is.
    pub problem: LexProblem,
}

/// The kinds of wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LexProblem {
    /// It breaks the grammar.
    Malformed,
    /// An escape of half of a surrogate pair.
    LoneSurrogate,
    /// An escape of the character NUL, where that is refused.
    Nul,
}

/// A place in a text. Offsets are bytes, and always at the start of a character.
#[derive(Clone, Copy, Debug)]
pub struct Lexer<'t> {
    text: &'t str,
    at: usize,
    has_escaped_slashes: bool,
    refuses_nul: bool,
}

impl<'t> Lexer<'t> {
    /// A lexer at an offset of a text; at its end, if it is shorter.
    #[must_use]
    pub fn new(text: &'t str, at: usize) -> Lexer<'t> {
        Lexer { text, at: at.min(text.len()), has_escaped_slashes: false, refuses_nul: false }
    }

    /// The same for those who cannot take the character NUL in a string: unescaped it is none of JSON's anyway.
    #[must_use]
    pub fn refusing_nul(self) -> Lexer<'t> {
        Lexer { refuses_nul: true, ..self }
    }

    /// The offset it stands at.
    #[must_use]
    pub fn at(&self) -> usize {
        self.at
    }

    /// Whether a string that was read had a `\/`.
    #[must_use]
    pub fn has_escaped_slashes(&self) -> bool {
        self.has_escaped_slashes
    }

    /// The byte it stands at; `None` at the end.
    #[must_use]
    pub fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// That what it stands at cannot stand there.
    #[must_use]
    pub fn malformed(&self) -> LexError {
        LexError { at: self.at, problem: LexProblem::Malformed }
    }

    fn rest(&self) -> &'t [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// Steps over white space.
    pub fn skip_blanks(&mut self) {
        self.at += self.rest().iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
    }

    /// Steps over one byte of ASCII, if it stands there.
    pub fn skip_if(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    /// Steps over one byte of ASCII, which must stand there.
    ///
    /// # Errors
    /// It does not.
    pub fn expect(&mut self, byte: u8) -> Result<(), LexError> {
        if self.skip_if(byte) { Ok(()) } else { Err(self.malformed()) }
    }

    /// Steps over `true`, `false` or `null`, which must stand there.
    ///
    /// # Errors
    /// It does not; told of its first wrong byte.
    pub fn word(&mut self, word: &str) -> Result<(), LexError> {
        word.bytes().try_for_each(|byte| self.expect(byte))
    }

    /// Steps over a number: `-`, an integer without leading zeros, a fraction, an exponent. Where it stands.
    ///
    /// # Errors
    /// There is none.
    pub fn number(&mut self) -> Result<Range<usize>, LexError> {
        let start = self.at;
        self.skip_if(b'-');
        if !self.skip_if(b'0') {
            self.digits()?;
        }
        if self.skip_if(b'.') {
            self.digits()?;
        }
        if self.skip_if(b'e') || self.skip_if(b'E') {
            if !self.skip_if(b'+') {
                self.skip_if(b'-');
            }
            self.digits()?;
        }
        Ok(start..self.at)
    }

    /// One digit or more.
    fn digits(&mut self) -> Result<(), LexError> {
        let count = self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        if count == 0 { Err(self.malformed()) } else { Ok(()) }
    }

    /// Reads a string with its quotes; borrowed where nothing in it is escaped.
    ///
    /// # Errors
    /// There is none, it does not end, or an escape in it cannot be read.
    pub fn string(&mut self) -> Result<Cow<'t, str>, LexError> {
        self.expect(b'"')?;
        let mut decoded: Option<String> = None;
        loop {
            let start = self.at;
            let plain = self.rest().iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20));
            self.at += plain.unwrap_or(self.rest().len());
            let text = self.text.get(start..self.at).unwrap_or_default();
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(match decoded {
                        None => Cow::Borrowed(text),
                        Some(before) => Cow::Owned(before + text),
                    });
                }
                Some(b'\\') => {
                    let decoded = decoded.get_or_insert_default();
                    decoded.push_str(text);
                    decoded.push(self.escape()?);
                }
                _ => return Err(self.malformed()),
            }
        }
    }

    /// Reads an escape; at one that cannot be read it stays.
    fn escape(&mut self) -> Result<char, LexError> {
        let escaped = match self.rest().get(1) {
            Some(c @ (b'"' | b'\\')) => char::from(*c),
            Some(b'/') => {
                self.has_escaped_slashes = true;
                '/'
            }
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            _ => return Err(self.malformed()),
        };
        self.at += 2;
        Ok(escaped)
    }

    /// `\uXXXX`, or a pair of them that is one character.
    fn unicode_escape(&mut self) -> Result<char, LexError> {
        let high = self.utf16_unit(0).ok_or_else(|| self.malformed())?;
        let (code, length) = match (high, self.utf16_unit(6)) {
            (0xD800..0xDC00, Some(low @ 0xDC00..0xE000)) => (0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00), 12),
            (code, _) => (code, 6),
        };
        let lone = LexError { at: self.at, problem: LexProblem::LoneSurrogate };
        let escaped = char::from_u32(code).ok_or(lone)?;
        if escaped == '\0' && self.refuses_nul {
            return Err(LexError { at: self.at, problem: LexProblem::Nul });
        }
        self.at += length;
        Ok(escaped)
    }

    /// The four hexadecimal digits of a `\u` that begins `ahead` bytes from here.
    fn utf16_unit(&self, ahead: usize) -> Option<u32> {
        let hex = self.rest().get(ahead..ahead + 6)?.strip_prefix(b"\\u")?;
        hex.iter().try_fold(0, |unit, &byte| Some(unit * 16 + char::from(byte).to_digit(16)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings() {
        for (text, expected) in [
            (r#""""#, ""),
            (r#""abc" rest"#, "abc"),
            (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
            (r#""\u00e9\ud83d\ude00x\u0000""#, "\u{e9}\u{1f600}x\0"),
            ("\"\u{e9}\u{7f}\"", "\u{e9}\u{7f}"),
        ] {
            assert_eq!(Lexer::new(text, 0).string().as_deref(), Ok(expected), "{text}");
        }
        let mut lexer = Lexer::new(r#""a\/b""#, 0);
        assert_eq!((lexer.string().is_ok(), lexer.has_escaped_slashes(), lexer.at()), (true, true, 6));
        assert!(matches!(Lexer::new(r#""plain""#, 0).string(), Ok(Cow::Borrowed("plain"))));
    }

    #[test]
    fn what_is_no_string() {
        use LexProblem::{LoneSurrogate, Malformed};
        for (text, at, problem) in [
            ("", 0, Malformed),
            ("x", 0, Malformed),
            (r#""abc"#, 4, Malformed),
            ("\"a\nb\"", 2, Malformed),
            (r#""a\x""#, 2, Malformed),
            (r#""a\u12g4""#, 2, Malformed),
            (r#""a\u12"#, 2, Malformed),
            (r#""a\"#, 2, Malformed),
            (r#""a\ud800""#, 2, LoneSurrogate),
            (r#""a\ud800\u0041""#, 2, LoneSurrogate),
            (r#""a\udc00""#, 2, LoneSurrogate),
        ] {
            assert_eq!(Lexer::new(text, 0).string(), Err(LexError { at, problem }), "{text}");
        }
        let nul = LexError { at: 2, problem: LexProblem::Nul };
        assert_eq!(
            Lexer::new(r#""a\u0000\x""#, 0).refusing_nul().string(),
            Err(nul),
            "the first that is wrong is told"
        );
    }

    #[test]
    fn numbers_and_words() {
        for (text, end) in [("0", 1), ("-0.5e+10,", 8), ("10", 2), ("1E5", 3), ("01", 1)] {
            assert_eq!(Lexer::new(text, 0).number(), Ok(0..end), "{text}");
        }
        for (text, at) in [("", 0), ("-", 1), ("1.", 2), (".5", 0), ("1e", 2), ("+1", 0)] {
            assert_eq!(Lexer::new(text, 0).number().map_err(|error| error.at), Err(at), "{text}");
        }
        assert_eq!(Lexer::new("nul", 0).word("null").map_err(|error| error.at), Err(3));
        assert_eq!(Lexer::new(" \t\r\nx", 9).peek(), None);
    }
}
