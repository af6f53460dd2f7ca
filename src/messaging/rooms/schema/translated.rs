//! The regular expressions of ECMA-262 (as the `u` flag has them) in the dialect of the engine.
//!
//! Character by character: what both write alike passes, what only one has is written as what it means, and nothing that
//! the engine would read as something else comes through. So a class is written anew from its characters, since the
//! engine has classes within classes and differences of them.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

type Problem = Cow<'static, str>;

/// What `\d`, `\w` and `\s` mean, without the brackets; the engine's own are wider.
const DIGITS: &str = "0-9";
const WORDS: &str = "0-9A-Za-z_";
const BLANKS: &str =
    r"\t\n\x0B\x0C\r\x20\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}";

/// A dot means no end of a line, of which the engine knows one alone.
const DOT: &str = r"[^\n\r\x{2028}\x{2029}]";

const NOTHING: &str = r"[^\x00-\x{10FFFF}]";
const ANYTHING: &str = r"[\x00-\x{10FFFF}]";

/// A pattern in the engine's dialect.
#[derive(Debug)]
pub(super) struct Translated {
    /// The pattern.
    pub(super) text: String,
    /// How many characters it has when its counts are written out: how many places of it the engine may have to think of
    /// for each byte of a text.
    pub(super) width: u64,
}

/// Translates a pattern.
///
/// # Errors
/// It has something that no linear engine has, or that means nothing; a sentence without its subject.
pub(super) fn translated(pattern: &str) -> Result<Translated, Problem> {
    let mut out = String::with_capacity(pattern.len() * 2);
    let mut widths = Widths::default();
    let mut rest = pattern.chars().peekable();
    while let Some(char) = rest.next() {
        match char {
            '\\' => match escape(&mut rest)? {
                Escape::Char(char) => literal(char, &mut out),
                Escape::Class { inner, is_negated: false } => out.extend(["[", &inner, "]"]),
                Escape::Class { inner, is_negated: true } => out.extend(["[^", &inner, "]"]),
                Escape::Boundary => out.push_str(r"(?-u:\b)"),
            },
            '[' => class(&mut rest, &mut out)?,
            '(' => {
                group(&mut rest, &mut out)?;
                widths.open();
                continue;
            }
            ')' => {
                out.push(char);
                widths.close();
                continue;
            }
            '{' => {
                if let Some(times) = count(&mut rest, &mut out) {
                    widths.repeat(times);
                    continue;
                }
            }
            '.' => out.push_str(DOT),
            '^' | '$' | '|' | '*' | '+' | '?' => out.push(char),
            other => literal(other, &mut out),
        }
        widths.add();
    }
    Ok(Translated { text: out, width: widths.whole() })
}

/// How wide a pattern is so far: a sum for each group that is open, and the width of what a count would repeat.
#[derive(Default)]
struct Widths {
    around: Vec<u64>,
    sum: u64,
    last: u64,
}

impl Widths {
    fn add(&mut self) {
        (self.sum, self.last) = (self.sum + 1, 1);
    }

    fn open(&mut self) {
        self.around.push(self.sum);
        (self.sum, self.last) = (0, 0);
    }

    fn close(&mut self) {
        // One that closes nothing is told of by the engine.
        let around = self.around.pop().unwrap_or_default();
        (self.sum, self.last) = (around.saturating_add(self.sum), self.sum);
    }

    fn repeat(&mut self, times: u64) {
        let wide = self.last.saturating_mul(times.max(1));
        self.sum = self.sum.saturating_sub(self.last).saturating_add(wide);
        self.last = wide;
    }

    fn whole(&self) -> u64 {
        self.around.iter().fold(self.sum, |sum, around| sum.saturating_add(*around))
    }
}

/// What stands behind a backslash.
enum Escape {
    Char(char),
    /// A class, as it stands between brackets.
    Class {
        inner: Cow<'static, str>,
        is_negated: bool,
    },
    Boundary,
}

fn escape(rest: &mut Peekable<Chars<'_>>) -> Result<Escape, Problem> {
    let class = |inner: &'static str, is_negated| Ok(Escape::Class { inner: inner.into(), is_negated });
    match rest.next() {
        None => Err("is no pattern: nothing stands behind its last backslash".into()),
        Some('d') => class(DIGITS, false),
        Some('D') => class(DIGITS, true),
        Some('w') => class(WORDS, false),
        Some('W') => class(WORDS, true),
        Some('s') => class(BLANKS, false),
        Some('S') => class(BLANKS, true),
        Some(letter @ ('p' | 'P')) => property(rest, letter == 'P'),
        Some('b') => Ok(Escape::Boundary),
        // The engine has it for the words of all languages alone, and needs long for them.
        Some('B') => Err(r"has \B, which is not read here: write which characters may stand there".into()),
        Some('t') => Ok(Escape::Char('\t')),
        Some('n') => Ok(Escape::Char('\n')),
        Some('v') => Ok(Escape::Char('\u{b}')),
        Some('f') => Ok(Escape::Char('\u{c}')),
        Some('r') => Ok(Escape::Char('\r')),
        Some('0') if !rest.peek().is_some_and(char::is_ascii_digit) => Ok(Escape::Char('\0')),
        Some('c') => match rest.next() {
            Some(letter) if letter.is_ascii_alphabetic() => Ok(Escape::Char(char::from(letter as u8 & 0x1f))),
            _ => Err(r"is no pattern: behind \c stands a letter".into()),
        },
        Some('x') => hexadecimal(rest, 2)?.map(Escape::Char).ok_or_else(no_character),
        Some('u') => unicode(rest).map(Escape::Char),
        Some('1'..='9' | 'k') => {
            Err("looks back at a group, which takes more than linear time: write it without".into())
        }
        Some(other) if other.is_ascii_alphanumeric() => {
            Err(format!(r"is no pattern: \{other} means nothing in a regular expression of ECMA-262").into())
        }
        Some(other) => Ok(Escape::Char(other)),
    }
}

/// `\p{…}`: the engine knows general categories, scripts and binary properties by the same names.
fn property(rest: &mut Peekable<Chars<'_>>, is_negated: bool) -> Result<Escape, Problem> {
    let known = |char: &char| char.is_ascii_alphanumeric() || matches!(char, '_' | '=');
    let mut name = String::new();
    if rest.next_if_eq(&'{').is_some() {
        name.extend(std::iter::from_fn(|| rest.next_if(known)));
    }
    if name.is_empty() || rest.next() != Some('}') {
        return Err(r"is no pattern: behind \p stands a property in braces, such as \p{L}".into());
    }
    Ok(Escape::Class { inner: format!(r"\p{{{name}}}").into(), is_negated })
}

/// So many hexadecimal digits. `None` if they are those of half a pair, or of no character.
fn hexadecimal(rest: &mut Peekable<Chars<'_>>, digits: usize) -> Result<Option<char>, Problem> {
    code(rest, digits).map(char::from_u32)
}

fn code(rest: &mut Peekable<Chars<'_>>, digits: usize) -> Result<u32, Problem> {
    (0..digits).try_fold(0, |code, _| {
        let digit = rest.next().and_then(|char| char.to_digit(16)).ok_or_else(no_character)?;
        Ok(code * 16 + digit)
    })
}

/// `\uD83D\uDC32`, `\u00e9` or `\u{1F432}`, behind the `u`.
fn unicode(rest: &mut Peekable<Chars<'_>>) -> Result<char, Problem> {
    if rest.next_if_eq(&'{').is_some() {
        let mut code: u32 = 0;
        loop {
            match rest.next() {
                Some('}') => return char::from_u32(code).ok_or_else(no_character),
                digit => {
                    let digit = digit.and_then(|char| char.to_digit(16)).ok_or_else(no_character)?;
                    code = code.saturating_mul(16).saturating_add(digit);
                }
            }
        }
    }
    let first = code(rest, 4)?;
    if !(0xd800..0xdc00).contains(&first) {
        return char::from_u32(first).ok_or_else(no_character);
    }
    if rest.next() != Some('\\') || rest.next() != Some('u') {
        return Err(no_character());
    }
    let second = code(rest, 4)?;
    if !(0xdc00..0xe000).contains(&second) {
        return Err(no_character());
    }
    char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)).ok_or_else(no_character)
}

fn no_character() -> Problem {
    r"is no pattern: behind \x, \u or \u{ stand no hexadecimal digits of a character".into()
}

/// A character as itself, whatever it is: what might mean something is written as its number.
fn literal(char: char, out: &mut String) {
    if char.is_ascii_alphanumeric() || !char.is_ascii() {
        out.push(char);
    } else {
        // Writing to a string cannot fail.
        let _ = write!(out, r"\x{{{:X}}}", u32::from(char));
    }
}

/// One member of a class.
enum Member {
    Char(char),
    /// As it stands between brackets.
    Set(String),
}

/// A class, behind its bracket.
fn class(rest: &mut Peekable<Chars<'_>>, out: &mut String) -> Result<(), Problem> {
    let is_negated = rest.next_if_eq(&'^').is_some();
    let mut inner = String::new();
    while rest.next_if_eq(&']').is_none() {
        let member = class_member(rest)?;
        let Member::Char(first) = member else {
            write_member(&member, &mut inner);
            continue;
        };
        // A hyphen between two characters means all that lie between them; anywhere else it means itself.
        let mut ahead = rest.clone();
        if ahead.next() != Some('-') || matches!(ahead.peek(), Some(']') | None) {
            literal(first, &mut inner);
            continue;
        }
        *rest = ahead;
        match class_member(rest)? {
            Member::Char(last) if first > last => {
                return Err("is no pattern: a range of a class ends before it begins".into());
            }
            Member::Char(last) => {
                literal(first, &mut inner);
                inner.push('-');
                literal(last, &mut inner);
            }
            set @ Member::Set(_) => {
                literal(first, &mut inner);
                literal('-', &mut inner);
                write_member(&set, &mut inner);
            }
        }
    }
    match (inner.is_empty(), is_negated) {
        (true, false) => out.push_str(NOTHING),
        (true, true) => out.push_str(ANYTHING),
        (false, false) => out.extend(["[", &inner, "]"]),
        (false, true) => out.extend(["[^", &inner, "]"]),
    }
    Ok(())
}

fn class_member(rest: &mut Peekable<Chars<'_>>) -> Result<Member, Problem> {
    match rest.next() {
        None => Err("is no pattern: a bracket is not closed".into()),
        Some('\\') => Ok(match escape(rest)? {
            Escape::Char(char) => Member::Char(char),
            Escape::Class { inner, is_negated: false } => Member::Set(inner.into_owned()),
            Escape::Class { inner, is_negated: true } => Member::Set(format!("[^{inner}]")),
            // In a class it is what the key of that name writes.
            Escape::Boundary => Member::Char('\u{8}'),
        }),
        Some(other) => Ok(Member::Char(other)),
    }
}

fn write_member(member: &Member, out: &mut String) {
    match member {
        Member::Char(char) => literal(*char, out),
        Member::Set(set) => out.push_str(set),
    }
}

/// The beginning of a group, behind its parenthesis. What a group held is never asked for.
fn group(rest: &mut Peekable<Chars<'_>>, out: &mut String) -> Result<(), Problem> {
    out.push_str("(?:");
    if rest.next_if_eq(&'?').is_none() {
        return Ok(());
    }
    match rest.next() {
        Some(':') => Ok(()),
        Some('<') if !matches!(rest.peek(), Some('=' | '!')) => {
            match rest.find(|char| !(char.is_alphanumeric() || matches!(char, '_' | '$'))) {
                Some('>') => Ok(()),
                _ => Err("is no pattern: the name of a group is not closed".into()),
            }
        }
        Some('=' | '!' | '<') => {
            Err("looks ahead or behind, which takes more than linear time: write it without (?=, (?!, (?<=, (?<!"
                .into())
        }
        _ => Err("is no pattern: behind (? stands :, or <NAME>".into()),
    }
}

/// `{n}`, `{n,}` or `{n,m}` is a count, and says how often at most something is written out; any other brace is itself.
fn count(rest: &mut Peekable<Chars<'_>>, out: &mut String) -> Option<u64> {
    let mut ahead = rest.clone();
    let least = digits_of(&mut ahead);
    let most = if ahead.next_if_eq(&',').is_some() { Some(digits_of(&mut ahead)) } else { None };
    if least.is_empty() || ahead.next() != Some('}') {
        literal('{', out);
        return None;
    }
    *rest = ahead;
    out.extend(["{", &least]);
    if let Some(most) = &most {
        out.extend([",", most]);
    }
    out.push('}');
    // What is too large to be read the engine refuses.
    let times = |digits: &str| digits.parse().unwrap_or(u64::MAX);
    Some(times(&least).max(most.as_deref().filter(|most| !most.is_empty()).map_or(0, times)))
}

fn digits_of(rest: &mut Peekable<Chars<'_>>) -> String {
    std::iter::from_fn(|| rest.next_if(char::is_ascii_digit)).collect()
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::translated;

    fn is_found(pattern: &str, text: &str) -> bool {
        let translated = translated(pattern).unwrap_or_else(|problem| panic!("{pattern}: {problem}")).text;
        Regex::new(&translated).unwrap_or_else(|error| panic!("{pattern}: {translated}: {error}")).is_match(text)
    }

    #[test]
    fn what_patterns_mean() {
        // A pattern, texts in which it is found, texts in which it is not.
        let cases: [(&str, &[&str], &[&str]); 40] = [
            ("", &["", "a"], &[]),
            ("^a*$", &["", "aaa"], &["b", "a\n"]),
            ("a+", &["xaay"], &["b"]),
            (r"^\d$", &["5"], &["٣", "x", ""]),
            (r"^\D$", &["٣", "x"], &["5"]),
            (r"^\w$", &["a", "Z", "_", "0"], &["é", "-"]),
            (r"^\W$", &["é", "-"], &["a"]),
            (r"^\s$", &[" ", "\u{a0}", "\u{feff}", "\u{2029}", "\u{b}"], &["\u{85}", "a"]),
            (r"^\S$", &["\u{85}", "a"], &["\u{feff}"]),
            (r"^[\d\-x]$", &["5", "-", "x"], &["y"]),
            (r"^[^\d]$", &["x"], &["5"]),
            (r"^[\D]$", &["x"], &["5"]),
            (r"^[^\D]$", &["5"], &["x"]),
            (r"^[\w.+-]+@[\w-]+\.[\w.-]+$", &["a.b+c@d-e.fg"], &["a@b", "é@d.fg"]),
            (r"^.$", &["a", "é", "🐲"], &["\n", "\r", "\u{2028}", ""]),
            (r"^[[]$", &["["], &["]"]),
            (r"^[a&&b]$", &["a", "b", "&"], &["c"]),
            (r"^[a-z&&[aeiou]$", &["a", "&", "["], &["]"]),
            (r"^[!--]$", &["!", "+", "-"], &["a"]),
            (r"^[+--]$", &["+", ",", "-"], &["."]),
            (r"^[~~^]$", &["~", "^"], &["a"]),
            (r"^[-a]$", &["-", "a"], &["b"]),
            (r"^[a-]$", &["-", "a"], &["b"]),
            (r"^[\w-a]$", &["-", "b"], &["!"]),
            (r"^[]$", &[], &["", "a"]),
            (r"^[^]$", &["a", "\n", "🐲"], &[""]),
            (r"^[\b]$", &["\u{8}"], &["b"]),
            (r"\bfoo\b", &["a foo b", "éfoo"], &["foobar"]),
            (r"^\cA\x41\u0042\u{1F432}\ud83d\udc32$", &["\u{1}AB🐲🐲"], &["A"]),
            (r"^\0\t\n\v\f\r$", &["\0\t\n\u{b}\u{c}\r"], &[]),
            (r"^\/api\/v1\.\-$", &["/api/v1.-"], &["/api/v1x-"]),
            (r"^a{2}$", &["aa"], &["a", "aaa"]),
            (r"^a{2,}$", &["aa", "aaa"], &["a"]),
            (r"^a{1,2}?$", &["a", "aa"], &["aaa"]),
            (r"^a{,2}$", &["a{,2}"], &["a"]),
            (r"^{a}]$", &["{a}]"], &["a"]),
            (r"^(?:ab|(c)|(?<d>e))+$", &["abce"], &["f"]),
            (r"^\p{L}\p{Letter}\p{Script=Greek}\P{Lu}$", &["aéπx"], &["aépx", "aéπX"]),
            (r"^# (&~ )-$", &["# &~ -"], &["#&~-"]),
            (r"^(a|)$", &["", "a"], &["b"]),
        ];
        for (pattern, found, not_found) in cases {
            for text in found {
                assert!(is_found(pattern, text), "{pattern} in {text:?}");
            }
            for text in not_found {
                assert!(!is_found(pattern, text), "{pattern} not in {text:?}");
            }
        }
    }

    #[test]
    fn how_wide_patterns_are() {
        for (pattern, width) in [
            ("", 0),
            ("abc", 3),
            ("^[a-z]{2,8}$", 10),
            ("a{3}", 3),
            ("a{3,}", 3),
            ("a{0}", 1),
            ("a{,3}", 5),
            ("ab{3}c", 5),
            ("(ab){3}c", 7),
            ("((a{10}b){10}c){10}", 1110),
            (r"\p{L}{5}\d", 6),
            ("(?<n>ab|c)*", 5),
            ("(a{4}", 4),
            ("a){4}", 4),
            ("(((a{99999}){99999}){99999}){99999}", u64::MAX),
            ("a{99999999999999999999999}", u64::MAX),
        ] {
            assert_eq!(translated(pattern).unwrap().width, width, "{pattern}");
        }
    }

    #[test]
    fn what_is_refused() {
        for pattern in [
            "\\",
            r"\B",
            r"a{18446744073709551616}[",
            r"(a)\1",
            r"(?<a>b)\k<a>",
            "a(?=b)",
            "a(?!b)",
            "(?<=a)b",
            "(?<!a)b",
            "(?i)a",
            "(?i:a)",
            "(?P<a>b)",
            "(?<a",
            "(?<a b>c)",
            "[a",
            "[b-a]",
            r"[\B]",
            r"\a",
            r"\z",
            r"\Z",
            r"\A",
            r"\h",
            r"\xg0",
            r"\x4",
            r"\u12",
            r"\u{110000}",
            r"\u{",
            r"\ud800",
            r"\ud800\u0041",
            r"\pL",
            r"\p{",
            r"\p{}",
            r"\p{L",
            r"\c1",
            r"\01",
            r"[\",
            r"[a-\",
        ] {
            assert!(translated(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn whatever_is_read_is_one_for_the_engine_or_refused_by_it() {
        let mut random = fastrand::Rng::with_seed(fastrand::u64(..));
        let seed = random.get_seed();
        let alphabet: Vec<char> = r"\()[]{}^$.|?*+-&~#<>=!:,/ dDwWsSbBpPuUxXcCkabz0159éπ🐲".chars().collect();
        for _ in 0..20_000 {
            let pattern: String = (0..random.usize(..12)).map(|_| random.choice(&alphabet).unwrap()).collect();
            if let Ok(translated) = translated(&pattern) {
                // Never a flag, a comment, a difference of classes.
                if let Ok(regex) = Regex::new(&translated.text) {
                    assert_eq!(regex.captures_len(), 1, "{pattern} {translated:?} (seed {seed})");
                }
            }
        }
    }
}
