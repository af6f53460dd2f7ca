//! ICU MessageFormat: `{count, plural, offset:1 =0 {none} one {# file} other {# files}}`, `select`, `selectordinal`, with
//! texts within texts.
//!
//! ```text
//! message = (text | "#" | argument)*
//! argument = "{" name "}" | "{" name "," type ("," style)? "}" | "{" name "," complex "," ("offset:" number)? branch+ "}"
//! branch = ("=" number | keyword) "{" message "}"
//! ```
//!
//! An apostrophe before a brace (within a plural before `#`, too) begins what is meant literally, up to the next apostrophe;
//! two apostrophes are one. A closing brace without an opening one is a fault here, though ICU shows it.

use std::collections::HashSet;
use std::ops::Range;

use super::bytes::{at, find, is_name, skip, skip_blank, slice};

/// How deep texts may lie within texts. Deeper ones are a fault, so that nothing can make the reader run out of stack.
const DEPTH_MAX: usize = 24;

/// What an argument chooses its text by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Complex {
    /// A number that counts.
    Plural,
    /// A number that says a place in an order.
    SelectOrdinal,
    /// A word.
    Select,
}

impl Complex {
    /// The keyword of the type.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Complex::Plural => "plural",
            Complex::SelectOrdinal => "selectordinal",
            Complex::Select => "select",
        }
    }

    fn from_name(name: &str) -> Option<Complex> {
        [Complex::Plural, Complex::SelectOrdinal, Complex::Select].into_iter().find(|complex| complex.name() == name)
    }
}

/// A part of a message that is no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// `{x}` or `{x, number, …}`; the class is the type, if one is said.
    Argument {
        /// Its name or its number.
        name: &'a str,
        /// `number`, `date` and so on, or nothing.
        class: &'a str,
    },
    /// `#`, which stands for the number of the plural around it.
    Number {
        /// The name of the argument; `#` where an offset is subtracted from it.
        name: &'a str,
    },
    /// The beginning of an argument that chooses a text.
    Open {
        /// Its name.
        name: &'a str,
        /// What it chooses by.
        complex: Complex,
        /// What a plural subtracts, as it is written; empty if nothing.
        offset: &'a str,
    },
    /// A selector and the brace of its text.
    Branch {
        /// `one`, `=0`, `female`.
        selector: &'a str,
    },
    /// The brace that closes a branch.
    EndBranch,
    /// The brace that closes the argument.
    Close,
}

/// A part and where it is, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Where it is.
    pub range: Range<usize>,
    /// What it is.
    pub part: Part<'a>,
}

/// A message that chooses a text somewhere, and keeps to the grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// All parts that are no text, in order.
    pub pieces: Vec<Piece<'a>>,
}

/// What is wrong with a message, in a few words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageFault(pub String);

/// Reads a text as a message. `None`: nowhere does an argument of it choose a text, so that it is none.
#[must_use]
pub fn message(text: &str) -> Option<Result<Message<'_>, MessageFault>> {
    if !chooses(text) {
        return None;
    }
    let mut parser = Parser { text, place: 0, pieces: Vec::new() };
    let read = parser.text(None, 0).and_then(|()| match parser.place {
        end if end == text.len() => Ok(()),
        _ => fault("unexpected }"),
    });
    if let Err(fault) = read {
        return Some(Err(fault));
    }
    // It may all be meant literally.
    let is_chosen = parser.pieces.iter().any(|piece| matches!(piece.part, Part::Open { .. }));
    is_chosen.then_some(Ok(Message { pieces: parser.pieces }))
}

/// Whether there is `{`, a name, a comma and the type of an argument that chooses.
fn chooses(text: &str) -> bool {
    let mut place = 0;
    while let Some(brace) = find(text, place, |byte| byte == b'{') {
        let name = skip_blank(text, brace + 1);
        let comma = skip_blank(text, skip(text, name, is_argument));
        // Two braces are another dialect's; what lies within a message has that around it.
        let is_double = brace.checked_sub(1).is_some_and(|before| at(text, before) == b'{');
        if at(text, comma) == b',' && comma > name && !is_double {
            let class = skip_blank(text, comma + 1);
            let end = skip(text, class, |byte| byte.is_ascii_alphabetic());
            if Complex::from_name(slice(text, class, end)).is_some() {
                return true;
            }
        }
        place = brace + 1;
    }
    false
}

const fn is_argument(byte: u8) -> bool {
    is_name(byte) || matches!(byte, b'.' | b'-')
}

/// The plural around a text: what its `#` stands for.
type Around<'a> = Option<&'a str>;

struct Parser<'a> {
    text: &'a str,
    place: usize,
    pieces: Vec<Piece<'a>>,
}

type Read<T = ()> = Result<T, MessageFault>;

fn fault<T>(what: &str) -> Read<T> {
    Err(MessageFault(what.to_owned()))
}

impl<'a> Parser<'a> {
    fn push(&mut self, range: Range<usize>, part: Part<'a>) {
        self.place = range.end;
        self.pieces.push(Piece { range, part });
    }

    fn byte(&self) -> u8 {
        at(self.text, self.place)
    }

    fn skip_blank(&mut self) {
        self.place = skip_blank(self.text, self.place);
    }

    /// What goes on while bytes are of a kind.
    fn take(&mut self, like: impl Fn(u8) -> bool) -> &'a str {
        let start = self.place;
        self.place = skip(self.text, start, like);
        slice(self.text, start, self.place)
    }

    /// A text, up to the brace that closes it or the end.
    fn text(&mut self, around: Around<'a>, depth: usize) -> Read {
        if depth > DEPTH_MAX {
            return fault("nested too deep");
        }
        while let Some(place) = find(self.text, self.place, |byte| matches!(byte, b'{' | b'}' | b'#' | b'\'')) {
            self.place = place;
            match (self.byte(), around) {
                (b'}', _) => return Ok(()),
                (b'{', _) => self.argument(around, depth)?,
                (b'#', Some(name)) => self.push(place..place + 1, Part::Number { name }),
                (b'#', None) => self.place += 1,
                _ => self.apostrophe(around.is_some()),
            }
        }
        self.place = self.text.len();
        Ok(())
    }

    /// Goes past what an apostrophe makes literal.
    fn apostrophe(&mut self, in_plural: bool) {
        self.place += 1;
        match self.byte() {
            b'\'' => self.place += 1,
            b'{' | b'}' => self.quoted(),
            b'#' if in_plural => self.quoted(),
            _ => {}
        }
    }

    fn quoted(&mut self) {
        loop {
            let Some(end) = find(self.text, self.place, |byte| byte == b'\'') else {
                self.place = self.text.len();
                return;
            };
            self.place = end + 1;
            if self.byte() != b'\'' {
                return;
            }
            self.place += 1;
        }
    }

    /// What begins with a brace.
    fn argument(&mut self, around: Around<'a>, depth: usize) -> Read {
        let start = self.place;
        self.place += 1;
        self.skip_blank();
        let name = self.take(is_argument);
        self.skip_blank();
        match self.byte() {
            _ if name.is_empty() => fault("no argument name behind {"),
            b'}' => {
                self.push(start..self.place + 1, Part::Argument { name, class: "" });
                Ok(())
            }
            b',' => {
                self.place += 1;
                self.skip_blank();
                let class = self.take(|byte| byte.is_ascii_alphabetic());
                self.skip_blank();
                match Complex::from_name(class) {
                    Some(complex) => self.complex(start, name, complex, around, depth),
                    None => self.simple(start, name, class),
                }
            }
            _ => fault(&format!("{{{name} not closed")),
        }
    }

    /// The rest of `{x, number, …}`: a style is not looked into, but for its braces.
    fn simple(&mut self, start: usize, name: &'a str, class: &'a str) -> Read {
        let mut open = 1_usize;
        if class.is_empty() || !matches!(self.byte(), b',' | b'}') {
            return fault(&format!("no type behind {{{name},"));
        }
        while let Some(place) = find(self.text, self.place, |byte| matches!(byte, b'{' | b'}' | b'\'')) {
            self.place = place + 1;
            match at(self.text, place) {
                b'{' => open += 1,
                b'}' => open -= 1,
                _ if matches!(self.byte(), b'{' | b'}') => self.quoted(),
                _ => {}
            }
            if open == 0 {
                self.push(start..self.place, Part::Argument { name, class });
                return Ok(());
            }
        }
        fault(&format!("{{{name}, {class} not closed"))
    }

    /// The rest of an argument that chooses.
    fn complex(&mut self, start: usize, name: &'a str, complex: Complex, around: Around<'a>, depth: usize) -> Read {
        let is_told = |what: &str| format!("{what} {{{name}, {}}}", complex.name());
        if self.byte() != b',' {
            return fault(&is_told("no branches in"));
        }
        self.place += 1;
        self.skip_blank();
        let offset = if complex == Complex::Select { "" } else { self.offset() };
        self.push(start..self.place, Part::Open { name, complex, offset });
        let around = match complex {
            Complex::Select => around,
            _ if offset.is_empty() => Some(name),
            _ => Some("#"),
        };
        let mut selectors = HashSet::new();
        loop {
            self.skip_blank();
            if self.byte() == b'}' {
                break;
            }
            let selector = self.branch(complex, around, depth, &is_told)?;
            if !selectors.insert(selector) {
                return fault(&is_told(&format!("{selector} twice in")));
            }
        }
        self.push(self.place..self.place + 1, Part::Close);
        if selectors.contains("other") { Ok(()) } else { fault(&is_told("no other in")) }
    }

    /// `offset:1`, if it is there.
    fn offset(&mut self) -> &'a str {
        const WORD: &str = "offset:";
        if self.text.get(self.place..).is_none_or(|rest| !rest.starts_with(WORD)) {
            return "";
        }
        self.place += WORD.len();
        self.skip_blank();
        let offset = self.take(|byte| byte.is_ascii_digit());
        self.skip_blank();
        offset
    }

    /// A selector and its text. `is_told` names the argument in a fault.
    fn branch(
        &mut self,
        complex: Complex,
        around: Around<'a>,
        depth: usize,
        is_told: &dyn Fn(&str) -> String,
    ) -> Read<&'a str> {
        let start = self.place;
        let is_number = self.byte() == b'=' && complex != Complex::Select;
        self.place += usize::from(is_number);
        let word = self.take(|byte| if is_number { byte.is_ascii_digit() } else { is_argument(byte) });
        let selector = slice(self.text, start, self.place);
        self.skip_blank();
        if word.is_empty() {
            return fault(&is_told(if self.place == self.text.len() { "not closed" } else { "no selector in" }));
        }
        if self.byte() != b'{' {
            return fault(&is_told(&format!("no text behind {selector} in")));
        }
        self.push(start..self.place + 1, Part::Branch { selector });
        self.text(around, depth + 1)?;
        if self.byte() != b'}' {
            return fault(&is_told(&format!("{selector} not closed in")));
        }
        self.push(self.place..self.place + 1, Part::EndBranch);
        Ok(selector)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault_of(text: &str) -> String {
        message(text).expect("it chooses").expect_err("it is wrong").0
    }

    #[test]
    fn what_chooses_is_a_message() {
        for text in
            ["", "{n}", "{n, number}", "{{count, plural}}", "plural, {0}", "{ , plural, other {}}", "{n plural,"]
        {
            assert_eq!(message(text), None, "{text}");
        }
        for text in [
            "{n, plural, other {}}",
            "{n,plural,one{#}other{#}}",
            "a {0, plural, offset:1 =0 {it''s '{'none'}'} =12{x} one {#} other {{n, number, #.#} # '#'}} b",
            "{g, select, male {{n, selectordinal, one {#st} other {#th}}} other {}}",
            "{n, plural, other {{0,choice,0#none|1<{0} of}}}",
            "it's {n, plural, other {don't}}",
            "{n, plural, other {'{ never closed}}",
        ] {
            assert_eq!(text.contains("never"), matches!(message(text), Some(Err(_))), "{text}: {:?}", message(text));
        }
    }

    #[test]
    fn a_number_sign_is_the_argument_around_it() {
        let names = |text: &str| -> Vec<String> {
            let pieces = message(text).expect("it chooses").expect("it is right").pieces;
            let number = |piece: &Piece<'_>| match piece.part {
                Part::Number { name } => Some(name.to_owned()),
                _ => None,
            };
            pieces.iter().filter_map(number).collect()
        };
        assert_eq!(
            names("# {n, plural, other {# {g, select, other {#}}}} {m, plural, offset:2 other {#}}"),
            ["n", "n", "#"]
        );
    }

    #[test]
    fn faults_say_where_they_are() {
        for (text, what) in [
            ("{n, plural, one {x}}", "no other in {n, plural}"),
            ("{n, plural}", "no branches in {n, plural}"),
            ("{n, plural, }", "no other in {n, plural}"),
            ("{n, plural, other {x}", "not closed {n, plural}"),
            ("{n, plural, other {x", "other not closed in {n, plural}"),
            ("{n, plural, other x}", "no text behind other in {n, plural}"),
            ("{n, plural, one {a} one {b} other {}}", "one twice in {n, plural}"),
            ("{n, plural, =x {a} other {}}", "no selector in {n, plural}"),
            ("{n, plural, other {}} }", "unexpected }"),
            ("{n, plural, other {{}}}", "no argument name behind {"),
            ("{n, plural, other {{a b}}}", "{a not closed"),
        ] {
            assert_eq!(fault_of(text), what, "{text}");
        }
        let deep = |levels: usize| "{n, select, other {".repeat(levels) + &"}}".repeat(levels);
        assert!(matches!(message(&deep(DEPTH_MAX)), Some(Ok(_))));
        assert!(fault_of(&deep(DEPTH_MAX + 1)).starts_with("nested too deep"));
    }
}
