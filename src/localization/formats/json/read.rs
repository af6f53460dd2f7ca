//! Reading JSON: a scanner that remembers where things stand.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use quintet_platform::json::{LexError, LexProblem, Lexer};

use super::plurals;
use crate::formats::budget::Budget;
use crate::formats::limits::DEPTH_MAX;
use crate::formats::model::{Leaf, Member, Path, Scan, Style, expected_values};
use crate::formats::refusal::{Code, Offence};

/// Reads a file whose text begins at byte `start`.
pub fn scan(text: &str, start: usize, budget: &mut Budget) -> Result<Scan, Offence> {
    let mut scanner = Scanner::new(text, start, budget);
    scanner.document()?;
    let Scanner { lexer, suffixed, mut found, .. } = scanner;
    found.plurals = suffixed.into_plurals();
    found.escaped_slashes = lexer.has_escaped_slashes();
    Ok(found)
}

/// What a string says that was read before.
pub fn decode(written: &str) -> String {
    Lexer::new(written, 0).string().map_or(String::new(), Cow::into_owned)
}

struct Scanner<'t, 'd> {
    lexer: Lexer<'t>,
    budget: &'d mut Budget,
    path: Path,
    /// The names of all members, each with its object.
    names: HashSet<(usize, Cow<'t, str>)>,
    objects: usize,
    suffixed: plurals::Suffixed,
    found: Scan,
}

/// Where a value stands: the name before it, if it has one, and its member.
struct Place {
    key: Range<usize>,
    member: Option<usize>,
}

impl<'t, 'd> Scanner<'t, 'd> {
    fn new(text: &'t str, start: usize, budget: &'d mut Budget) -> Self {
        let expected = expected_values(text.len());
        Scanner {
            lexer: Lexer::new(text, start).refusing_nul(),
            budget,
            path: Path::default(),
            names: HashSet::with_capacity(expected),
            objects: 0,
            suffixed: plurals::Suffixed::default(),
            found: Scan {
                leaves: Vec::with_capacity(expected),
                members: Vec::with_capacity(expected),
                ..Scan::default()
            },
        }
    }

    fn document(&mut self) -> Result<(), Offence> {
        self.lexer.skip_blanks();
        match self.lexer.peek() {
            Some(b'{') => self.object(1)?,
            Some(b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => {
                return Err(self.offence(Code::UnsupportedConstruct));
            }
            _ => return Err(self.offence(Code::Malformed)),
        }
        self.lexer.skip_blanks();
        if self.lexer.peek().is_some() { Err(self.offence(Code::Malformed)) } else { Ok(()) }
    }

    fn object(&mut self, depth: usize) -> Result<(), Offence> {
        self.open(depth, b'{')?;
        let object = self.objects;
        self.objects += 1;
        let base = self.path.len();
        if self.lexer.skip_if(b'}') {
            return Ok(());
        }
        loop {
            let key = self.lexer.at();
            let name = self.lexer.string().map_err(as_key)?;
            let key = key..self.lexer.at();
            if !self.names.insert((object, name.clone())) {
                return Err(Offence::new(Code::DuplicateKey, key.start));
            }
            self.lexer.skip_blanks();
            self.lexer.expect(b':').map_err(as_value)?;
            self.lexer.skip_blanks();
            let member = self.found.members.len();
            self.found.members.push(Member { object, start: key.start, end: 0, comma: None });
            self.path.set(base, depth == 1, &name);
            let leaf = self.value(depth, Place { key, member: Some(member) })?;
            self.suffixed.add(object, &name, leaf);
            let end = self.lexer.at();
            self.lexer.skip_blanks();
            let comma = self.lexer.at();
            let comma = self.lexer.skip_if(b',').then_some(comma);
            if let Some(member) = self.found.members.get_mut(member) {
                member.end = end;
                member.comma = comma;
            }
            if comma.is_none() {
                return self.lexer.expect(b'}').map_err(as_value);
            }
            self.lexer.skip_blanks();
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), Offence> {
        self.open(depth, b'[')?;
        let base = self.path.len();
        if self.lexer.skip_if(b']') {
            return Ok(());
        }
        for index in 0_usize.. {
            self.path.set(base, false, &index.to_string());
            let at = self.lexer.at();
            self.value(depth, Place { key: at..at, member: None })?;
            self.lexer.skip_blanks();
            if !self.lexer.skip_if(b',') {
                break;
            }
            self.lexer.skip_blanks();
        }
        self.lexer.expect(b']').map_err(as_value)
    }

    /// Reads the bracket or brace that it stands at and the white space behind it.
    fn open(&mut self, depth: usize, bracket: u8) -> Result<(), Offence> {
        if depth > DEPTH_MAX {
            return Err(self.offence(Code::NestingTooDeep));
        }
        self.lexer.expect(bracket).map_err(as_value)?;
        self.lexer.skip_blanks();
        Ok(())
    }

    /// Reads a value; the leaf it became, if it is a string.
    fn value(&mut self, depth: usize, place: Place) -> Result<Option<usize>, Offence> {
        self.budget.value(self.lexer.at())?;
        match self.lexer.peek() {
            Some(b'{') => self.object(depth + 1)?,
            Some(b'[') => self.array(depth + 1)?,
            Some(b'"') => return self.leaf(place).map(Some),
            Some(b't') => self.lexer.word("true").map_err(as_value)?,
            Some(b'f') => self.lexer.word("false").map_err(as_value)?,
            Some(b'n') => self.lexer.word("null").map_err(as_value)?,
            _ => self.lexer.number().map(drop).map_err(as_value)?,
        }
        Ok(None)
    }

    fn leaf(&mut self, Place { key, member }: Place) -> Result<usize, Offence> {
        let path = self.path.checked().ok_or(Offence::new(Code::KeyTooLong, key.start))?.into_owned();
        if path.is_empty() {
            return Err(Offence::new(Code::KeyInvalid, key.start));
        }
        let start = self.lexer.at();
        self.budget.unit(start, path.len())?;
        let text = self.lexer.string().map_err(as_value)?.into_owned();
        let value = start..self.lexer.at();
        self.found.leaves.push(Leaf { path, text, key, value, style: Style::Json { member } });
        Ok(self.found.leaves.len() - 1)
    }

    fn offence(&self, code: Code) -> Offence {
        Offence::new(code, self.lexer.at())
    }
}

/// A token that cannot be read.
fn as_value(error: LexError) -> Offence {
    let code = match error.problem {
        LexProblem::Malformed => Code::Malformed,
        LexProblem::LoneSurrogate | LexProblem::Nul => Code::ValueUnrepresentable,
    };
    Offence::new(code, error.at)
}

/// What makes a value unrepresentable makes a key invalid.
fn as_key(error: LexError) -> Offence {
    match as_value(error) {
        Offence { code: Code::ValueUnrepresentable, at } => Offence::new(Code::KeyInvalid, at),
        offence => offence,
    }
}
