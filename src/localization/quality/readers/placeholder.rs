//! A placeholder: what a program puts something else in place of.

use std::borrow::Cow;
use std::ops::Range;

/// How a placeholder is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// `{{x}}`, also `{{{x}}}`.
    Mustache,
    /// `$t(x)`: another text of the same file.
    Nesting,
    /// `__x__`: what i18next began with, and what some programs still set it to.
    Underscores,
    /// `${x}`.
    Dollar,
    /// `%{x}`.
    PercentBrace,
    /// `%<x>f`.
    PercentAngle,
    /// `%(x)s`.
    PercentParenthesis,
    /// `%s`, `%2$d`.
    Printf,
    /// `%0`, `%1` of programs that count their arguments so.
    PercentDigit,
    /// A part of a date or a time, `%Y`: which ones there are and in which order is for the language to say.
    Time,
    /// `{x}`, `{0}`, `{x, number}`, and the `#` of a plural.
    Brace,
}

/// A placeholder of a text. Two are the same if all but their ranges is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placeholder<'a> {
    /// Where it is, in bytes.
    pub range: Range<usize>,
    /// How it is written.
    pub dialect: Dialect,
    /// What it stands for, without white space; empty if it is counted.
    pub name: Cow<'a, str>,
    /// Which argument it takes, from 1; 0 if it has a name.
    pub number: u32,
    /// What it is formatted as, empty if nothing is said: `d` for every kind of integer, `f`, `x`, `s`, `c`, `@`; of `{x, date}`
    /// the `date`.
    pub class: &'a str,
}

impl Placeholder<'_> {
    /// Whether it says how many there are (localization, Q2): by its name, or as a number that is printed.
    #[must_use]
    pub fn counts(&self) -> bool {
        if self.dialect == Dialect::Printf {
            return matches!(self.class, "d" | "f" | "x");
        }
        let name = self.name.split([',', '|', ':']).next().unwrap_or_default();
        matches!(name.trim_start_matches('-'), "count" | "n" | "num" | "number" | "#")
    }
}
