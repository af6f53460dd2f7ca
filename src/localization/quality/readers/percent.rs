//! Placeholders that begin with a percent sign: `%{x}`, `%<x>f`, `%(x)s`, those of printf, numbered by one digit, and the
//! parts of dates and times.
//!
//! A `%` followed by a blank is none, and `%%` is a percent sign (localization, Q2).

use super::bytes::{at, find, is_name, skip, slice, without_blanks};
use super::placeholder::{Dialect, Placeholder};

/// What a percent sign turned out to be.
pub(super) enum Percent<'a> {
    /// A placeholder.
    Placeholder(Placeholder<'a>),
    /// `%{` without an end.
    Unclosed,
    /// None; what follows it begins there.
    Other(usize),
}

/// What is special about all percent signs of a text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PercentStyle {
    /// They are parts of a date or a time.
    is_time: bool,
    /// `%0` or `%1` is there, so `%2` is a placeholder as well.
    has_digits: bool,
}

impl PercentStyle {
    /// Looks at all percent signs of a text.
    pub(super) fn of(text: &str) -> PercentStyle {
        let mut style = PercentStyle::default();
        let mut place = 0;
        while let Some(sign) = find(text, place, |byte| byte == b'%') {
            let letter = after_time_flag(text, sign + 1);
            let stands_alone = !at(text, letter + 1).is_ascii_alphabetic() && !follows_digit(text, sign);
            style.is_time |= stands_alone && is_time_alone(at(text, letter));
            style.has_digits |= matches!(at(text, sign + 1), b'0' | b'1') && is_single_digit(text, sign + 1);
            place = if at(text, sign + 1) == b'%' { sign + 2 } else { sign + 1 };
        }
        style
    }
}

/// Whether a letter stands for a part of a date or a time and never for a printed argument.
const fn is_time_alone(letter: u8) -> bool {
    matches!(
        letter,
        b'a' | b'A'
            | b'b'
            | b'B'
            | b'H'
            | b'I'
            | b'j'
            | b'k'
            | b'l'
            | b'm'
            | b'M'
            | b'p'
            | b'P'
            | b'y'
            | b'Y'
            | b'Z'
            | b'z'
    )
}

fn after_time_flag(text: &str, place: usize) -> usize {
    place + usize::from(matches!(at(text, place), b'-' | b'_' | b'0' | b'^' | b'#'))
}

fn follows_digit(text: &str, sign: usize) -> bool {
    sign.checked_sub(1).is_some_and(|before| at(text, before).is_ascii_digit())
}

fn is_single_digit(text: &str, place: usize) -> bool {
    let is_precise = at(text, place + 1) == b'.' && at(text, place + 2).is_ascii_digit();
    at(text, place).is_ascii_digit() && !matches!(at(text, place + 1), b'0'..=b'9' | b'$') && !is_precise
}

/// Reads what begins with the percent sign at a place. `argument` is how many arguments came before it.
pub(super) fn percent<'a>(text: &'a str, sign: usize, style: PercentStyle, argument: &mut u32) -> Percent<'a> {
    let read = match at(text, sign + 1) {
        b'%' => return Percent::Other(sign + 2),
        b'{' => return brace(text, sign),
        b'<' => angle(text, sign),
        b'(' => parenthesis(text, sign),
        _ if style.is_time => time(text, sign),
        _ => printf(text, sign, argument).or_else(|| digit(text, sign, style)),
    };
    read.map_or(Percent::Other(sign + 1), Percent::Placeholder)
}

/// `%{x}`
fn brace(text: &str, sign: usize) -> Percent<'_> {
    let end = find(text, sign + 2, |byte| matches!(byte, b'{' | b'}' | b'\n'));
    match end.filter(|end| at(text, *end) == b'}') {
        Some(end) => {
            let name = slice(text, sign + 2, end);
            // `%{0}` is how some languages write `{0}%`, and `%{…}` is about placeholders.
            if !name.bytes().any(|byte| is_name(byte) && !byte.is_ascii_digit()) {
                return Percent::Other(sign + 1);
            }
            let name = without_blanks(name);
            let range = sign..end + 1;
            Percent::Placeholder(Placeholder { range, dialect: Dialect::PercentBrace, name, number: 0, class: "" })
        }
        None => Percent::Unclosed,
    }
}

/// `%<x>.2f`
fn angle(text: &str, sign: usize) -> Option<Placeholder<'_>> {
    let end = skip(text, sign + 2, |byte| is_name(byte) || byte == b'.');
    let format = (end > sign + 2 && at(text, end) == b'>').then(|| format(text, end + 1))??;
    let name = slice(text, sign + 2, end).into();
    let range = sign..format.end;
    Some(Placeholder { range, dialect: Dialect::PercentAngle, name, number: 0, class: format.class })
}

/// `%(x)s`
fn parenthesis(text: &str, sign: usize) -> Option<Placeholder<'_>> {
    let end = find(text, sign + 2, |byte| matches!(byte, b'(' | b')' | b'{' | b'}' | b'%' | b'\n'))?;
    let format = (end > sign + 2 && at(text, end) == b')').then(|| format(text, end + 1))??;
    let name = without_blanks(slice(text, sign + 2, end));
    let range = sign..format.end;
    Some(Placeholder { range, dialect: Dialect::PercentParenthesis, name, number: 0, class: format.class })
}

/// `%Y`, `%-d`
fn time(text: &str, sign: usize) -> Option<Placeholder<'_>> {
    let letter = after_time_flag(text, sign + 1);
    let is_part = at(text, letter).is_ascii_alphabetic() && !follows_digit(text, sign);
    let range = sign..letter + 1;
    is_part.then(|| Placeholder { range, dialect: Dialect::Time, name: "".into(), number: 0, class: "" })
}

/// `%0`, in a text that counts so.
fn digit(text: &str, sign: usize, style: PercentStyle) -> Option<Placeholder<'_>> {
    let is_one = style.has_digits && is_single_digit(text, sign + 1);
    let number = u32::from(at(text, sign + 1).wrapping_sub(b'0'));
    let range = sign..sign + 2;
    is_one.then(|| Placeholder { range, dialect: Dialect::PercentDigit, name: "".into(), number, class: "" })
}

/// `%s`, `%-5.2f`, `%2$d`
fn printf<'a>(text: &'a str, sign: usize, argument: &mut u32) -> Option<Placeholder<'a>> {
    let digits = skip(text, sign + 1, |byte| byte.is_ascii_digit());
    let place = slice(text, sign + 1, digits).parse::<u16>().ok().filter(|_| at(text, digits) == b'$');
    let format = match place {
        Some(_) => format(text, digits + 1).or_else(|| java_time(text, digits + 1))?,
        None => format(text, sign + 1)?,
    };
    // `50%discount` is no placeholder.
    let is_bare = format.end == sign + 2;
    if is_bare && follows_digit(text, sign) && at(text, format.end).is_ascii_alphabetic() {
        return None;
    }
    let number = place.map_or_else(
        || {
            // Java's line feed takes no argument.
            if format.class == LINE {
                return 0;
            }
            *argument = argument.saturating_add(1 + format.stars);
            *argument
        },
        u32::from,
    );
    let range = sign..format.end;
    Some(Placeholder { range, dialect: Dialect::Printf, name: "".into(), number, class: format.class })
}

struct Format {
    class: &'static str,
    /// How many arguments say how wide it is.
    stars: u32,
    end: usize,
}

/// The class of `%n`: a line feed of Java's; C writes through it, so none may come in.
const LINE: &str = "n";

/// Flags, width, precision, length and conversion.
fn format(text: &str, start: usize) -> Option<Format> {
    let flags = skip(text, start, |byte| matches!(byte, b'-' | b'+' | b'#' | b','));
    let flags = skip(text, flags, |byte| byte == b'0');
    let (width, star) = width(text, flags);
    let (precision, other_star) = if at(text, width) == b'.' { self::width(text, width + 1) } else { (width, 0) };
    let length = skip(text, precision, |byte| matches!(byte, b'h' | b'l' | b'L' | b'z' | b'j')).min(precision + 2);
    let class = match at(text, length) {
        b'd' | b'i' | b'u' => "d",
        b'o' | b'x' | b'X' => "x",
        b'e' | b'E' | b'f' | b'F' | b'g' | b'G' => "f",
        b'c' | b'C' => "c",
        b's' | b'S' => "s",
        b'@' => "@",
        b'r' | b'v' | b'q' if length == start => "v",
        b'n' if length == start && !is_letter(at(text, length + 1)) => LINE,
        _ => return None,
    };
    Some(Format { class, stars: star + other_star, end: length + 1 })
}

/// Whether a byte may be of a letter or digit; those of other scripts begin beyond ASCII.
const fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

fn width(text: &str, start: usize) -> (usize, u32) {
    if at(text, start) == b'*' {
        return (start + 1, 1);
    }
    (skip(text, start, |byte| byte.is_ascii_digit()), 0)
}

/// A part of a date as Java prints it: `%1$tY`.
fn java_time(text: &str, start: usize) -> Option<Format> {
    let is_part = matches!(at(text, start), b't' | b'T') && at(text, start + 1).is_ascii_alphabetic();
    is_part.then_some(Format { class: "t", stars: 0, end: start + 2 })
}
