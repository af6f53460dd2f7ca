//! From text to tokens, by the patterns of TaskJuggler's own scanner (its file `ProjectFileScanner.rb`).

use super::error::ShiftError;

/// What a piece of the text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `mon`, `workinghours`, the id of a shift.
    Word,
    /// `plan:`, which says for which scenario an attribute is.
    Scenario,
    /// `2026-12-24`, with or without time and offset.
    Date,
    /// `9:00`.
    Time,
    /// `3`, `1.5`.
    Number,
    /// `"…"` or `'…'`.
    Quoted,
    /// Any other character.
    Mark,
    /// The end of the text.
    End,
}

/// A piece of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'t> {
    /// What it is.
    pub kind: Kind,
    /// Its first byte in the text.
    pub at: usize,
    /// As it stands in the text; a scenario without its colon.
    pub text: &'t str,
}

impl Token<'_> {
    /// Whether this is the word `word`.
    pub fn is_word(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text == word
    }

    /// Whether this is the character `mark`.
    pub fn is_mark(&self, mark: &str) -> bool {
        self.kind == Kind::Mark && self.text == mark
    }

    /// What a quoted text says: without its quotes, with `\"` for a quote.
    pub fn unquoted(&self) -> String {
        let mut inner = self.text.chars();
        let quote = inner.next().unwrap_or('"');
        inner.next_back();
        inner.as_str().replace(&format!("\\{quote}"), &quote.to_string())
    }
}

/// Reads tokens one by one. Each byte is looked at a few times at most.
pub(super) struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Scanner<'t> {
    pub fn new(text: &'t str) -> Self {
        Scanner { text, at: 0 }
    }

    /// The whole text.
    pub fn text(&self) -> &'t str {
        self.text
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn take(&mut self, kind: Kind, length: usize) -> Token<'t> {
        let at = self.at;
        let end = at.saturating_add(length).min(self.text.len());
        self.at = end;
        Token { kind, at, text: self.text.get(at..end).unwrap_or_default() }
    }

    /// The next token; at the end always [`Kind::End`].
    ///
    /// # Errors
    /// A comment or quoted text that does not end, or one with a macro call.
    pub fn next(&mut self) -> Result<Token<'t>, ShiftError> {
        self.skip_blanks()?;
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return Ok(Token { kind: Kind::End, at: self.text.len(), text: "the end of the text" });
        };
        if first == '"' || first == '\'' {
            return self.quoted(first);
        }
        if let Some(length) = word(rest) {
            if rest.as_bytes().get(length) == Some(&b':') {
                let token = self.take(Kind::Scenario, length);
                self.at = self.at.saturating_add(1);
                return Ok(token);
            }
            return Ok(self.take(Kind::Word, length));
        }
        let found = date(rest)
            .map(|length| (Kind::Date, length))
            .or_else(|| time(rest).map(|length| (Kind::Time, length)))
            .or_else(|| number(rest).map(|length| (Kind::Number, length)));
        let (kind, length) = found.unwrap_or((Kind::Mark, first.len_utf8()));
        Ok(self.take(kind, length))
    }

    /// Steps over white space and comments. A `/* … */` ends with the last `*/` of the first line that has one, so that
    /// what stands between two of them on one line is a comment, too: this is how TaskJuggler reads it.
    fn skip_blanks(&mut self) -> Result<(), ShiftError> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches([' ', '\t', '\r', '\n', '\x0b', '\x0c']);
            self.at = self.text.len().saturating_sub(trimmed.len());
            if trimmed.starts_with('#') || trimmed.starts_with("//") {
                self.at = self.at.saturating_add(line_length(trimmed));
            } else if trimmed.starts_with("/*") {
                let start = self.at;
                self.at = self.at.saturating_add(2);
                loop {
                    let line = self.rest();
                    if line.is_empty() {
                        let expected = "`*/`, the end of the comment that begins here";
                        return Err(ShiftError::new(self.text, start, "/*", expected));
                    }
                    let length = line_length(line);
                    let end = line.get(..length).unwrap_or_default().rfind("*/");
                    self.at = self.at.saturating_add(end.map_or(length, |end| end.saturating_add(2)));
                    if end.is_some() {
                        break;
                    }
                }
            } else {
                return Ok(());
            }
        }
    }

    fn quoted(&mut self, quote: char) -> Result<Token<'t>, ShiftError> {
        let rest = self.rest();
        let mut escaped = false;
        for (at, character) in rest.char_indices().skip(1) {
            if character == quote && !escaped {
                let token = self.take(Kind::Quoted, at.saturating_add(1));
                if token.text.contains("${") || token.text.contains("$(") {
                    let expected = "a text without `${` and `$(`: macros and environment variables are not expanded";
                    return Err(ShiftError::new(self.text, token.at, token.text, expected));
                }
                return Ok(token);
            }
            escaped = character == '\\';
        }
        Err(ShiftError::new(self.text, self.at, rest, format!("a text that ends with {quote}")))
    }
}

/// How long the line is with which the text begins, its end included.
fn line_length(text: &str) -> usize {
    text.find('\n').map_or(text.len(), |end| end.saturating_add(1))
}

/// `[a-zA-Z_]\w*`
fn word(text: &str) -> Option<usize> {
    let first = text.bytes().next()?;
    if !(first.is_ascii_alphabetic() || first == b'_') {
        return None;
    }
    Some(text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count())
}

/// A cursor over ASCII that gives up with `None`.
struct Pattern<'t> {
    bytes: &'t [u8],
    at: usize,
}

impl Pattern<'_> {
    fn digits(&mut self, least: usize, most: usize) -> Option<()> {
        let rest = self.bytes.get(self.at..)?;
        let count = rest.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
        self.at = self.at.saturating_add(count);
        (count >= least).then_some(())
    }

    fn byte(&mut self, wanted: u8) -> Option<()> {
        (self.bytes.get(self.at) == Some(&wanted)).then(|| self.at = self.at.saturating_add(1))
    }
}

/// `\d{4}-\d{1,2}-\d{1,2}(-\d{1,2}:\d{1,2}(:\d{1,2})?(-[-+]?\d{4})?)?`
fn date(text: &str) -> Option<usize> {
    let mut pattern = Pattern { bytes: text.as_bytes(), at: 0 };
    pattern.digits(4, 4)?;
    pattern.byte(b'-')?;
    pattern.digits(1, 2)?;
    pattern.byte(b'-')?;
    pattern.digits(1, 2)?;
    let mut end = pattern.at;
    let time = |pattern: &mut Pattern<'_>| {
        pattern.byte(b'-')?;
        pattern.digits(1, 2)?;
        pattern.byte(b':')?;
        pattern.digits(1, 2)
    };
    if time(&mut pattern).is_none() {
        return Some(end);
    }
    end = pattern.at;
    if pattern.byte(b':').and_then(|()| pattern.digits(1, 2)).is_some() {
        end = pattern.at;
    }
    pattern.at = end;
    let offset = |pattern: &mut Pattern<'_>| {
        pattern.byte(b'-')?;
        if pattern.byte(b'-').is_none() {
            let _ = pattern.byte(b'+');
        }
        pattern.digits(4, 4)
    };
    if offset(&mut pattern).is_some() {
        end = pattern.at;
    }
    Some(end)
}

/// `\d{1,2}:\d{2}`
fn time(text: &str) -> Option<usize> {
    let mut pattern = Pattern { bytes: text.as_bytes(), at: 0 };
    pattern.digits(1, 2)?;
    pattern.byte(b':')?;
    pattern.digits(2, 2)?;
    Some(pattern.at)
}

/// `\d*\.\d+` or `\d+`
fn number(text: &str) -> Option<usize> {
    let mut pattern = Pattern { bytes: text.as_bytes(), at: 0 };
    pattern.digits(0, usize::MAX)?;
    let whole = pattern.at;
    if pattern.byte(b'.').and_then(|()| pattern.digits(1, usize::MAX)).is_some() {
        return Some(pattern.at);
    }
    (whole > 0).then_some(whole)
}
