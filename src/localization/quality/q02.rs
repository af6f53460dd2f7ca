//! Q02, message syntax: what the source chooses by, the target chooses by, in words its language has; and nothing opens that
//! is never closed, nor is hidden by an apostrophe.
//!
//! Whether a simple argument is there is the business of Q01 (localization, Q3).

use std::collections::{HashMap, HashSet};

use crate::content::Format;
use crate::language::{Category, Locale};

use super::detail::{borrowed, told};
use super::model::{Outcome, Pair, Subject};
use super::readers::{Complex, Dialect, Message, Part, Placeholder};
use super::reading::Reading;

/// Judges a text.
pub fn judge(subject: &Subject<'_>, pair: &Pair<'_>) -> Outcome {
    let (source, target) = (&pair.source, &pair.target);
    if matches!(source.message, Some(Err(_))) {
        return Outcome::Skipped("syntax");
    }
    if let Some(Err(fault)) = &target.message {
        return Outcome::Fail(told(&[("fault", &[&fault.0])]));
    }
    if source.message.is_some() || target.message.is_some() {
        return judge_message(source.parts(), target.parts(), subject.target_locale);
    }
    let is_java = subject.format == Format::Properties && [source, target].iter().any(|text| has_apostrophe(text));
    let is_opened =
        [source, target].iter().any(|text| !text.unclosed.is_empty() || text.placeholders.iter().any(opens));
    if !is_java && !is_opened {
        return Outcome::Skipped("syntax");
    }
    let unclosed = unclosed(source, target);
    let hidden = if is_java && hidden(source).is_empty() { hidden(target) } else { Vec::new() };
    if unclosed.is_empty() && hidden.is_empty() {
        return Outcome::Pass;
    }
    Outcome::Fail(told(&[("unclosed", &unclosed), ("hidden", &hidden)]))
}

/// Whether it is of a dialect whose brackets are looked at.
fn opens(placeholder: &Placeholder<'_>) -> bool {
    matches!(placeholder.dialect, Dialect::Mustache | Dialect::Nesting | Dialect::PercentBrace)
}

/// What opens in the target and is never closed, and not so in the source.
fn unclosed(source: &Reading<'_>, target: &Reading<'_>) -> Vec<&'static str> {
    let count = |text: &Reading<'_>, opener: &str| text.unclosed.iter().filter(|found| **found == opener).count();
    let openers = ["{{", "$t(", "%{"].into_iter();
    openers.filter(|opener| count(target, opener) > count(source, opener)).collect()
}

/// Whether Java would take some of the text as it is meant and some literally.
fn has_apostrophe(text: &Reading<'_>) -> bool {
    text.text.contains('\'') && text.placeholders.iter().any(is_numbered)
}

/// `{0}`, which is what `java.text.MessageFormat` has.
fn is_numbered(placeholder: &Placeholder<'_>) -> bool {
    let name = &placeholder.name;
    placeholder.dialect == Dialect::Brace && !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
}

/// The arguments that Java takes literally: those behind an apostrophe and before the next one. Two are one that is meant.
fn hidden<'a>(text: &Reading<'a>) -> Vec<&'a str> {
    let mut hidden = Vec::new();
    let mut is_quoted = false;
    let mut apostrophes = text.text.match_indices('\'').map(|(at, _)| at).peekable();
    for placeholder in text.placeholders.iter().filter(|found| is_numbered(found)) {
        while let Some(at) = apostrophes.next_if(|at| *at < placeholder.range.start) {
            let is_double = apostrophes.next_if(|next| *next == at + 1).is_some();
            is_quoted ^= !is_double;
        }
        if is_quoted {
            hidden.extend(text.text.get(placeholder.range.clone()));
        }
    }
    hidden
}

/// What a message chooses by: the argument and how, `{n, plural}`.
type Argument<'a> = (&'a str, Complex, &'a str);

fn label(argument: &Argument<'_>) -> String {
    let (name, complex, offset) = argument;
    let offset = if offset.is_empty() { String::new() } else { format!(", offset:{offset}") };
    format!("{{{name}, {}{offset}}}", complex.name())
}

/// The arguments of a message, each once in order of first occurrence.
fn arguments<'a>(message: Option<&Message<'a>>) -> Vec<Argument<'a>> {
    let pieces = message.map_or(&[][..], |message| &message.pieces);
    let mut seen = HashSet::new();
    let argument = |part: Part<'a>| match part {
        Part::Open { name, complex, offset } => Some((name, complex, offset)),
        _ => None,
    };
    pieces.iter().filter_map(|piece| argument(piece.part)).filter(|argument| seen.insert(*argument)).collect()
}

fn judge_message(source: Option<&Message<'_>>, target: Option<&Message<'_>>, locale: &Locale) -> Outcome {
    let (wanted, found) = (arguments(source), arguments(target));
    let lacks = |these: &[Argument<'_>], those: &[Argument<'_>]| -> Vec<String> {
        let those: HashSet<&Argument<'_>> = those.iter().collect();
        these.iter().filter(|argument| !those.contains(argument)).map(label).collect()
    };
    let missing = lacks(&wanted, &found);
    let extra = lacks(&found, &wanted);
    let words = target.map(|target| unknown_words(source, target, locale)).unwrap_or_default();
    if missing.is_empty() && extra.is_empty() && words.is_empty() {
        return Outcome::Pass;
    }
    let [missing, extra, words] = [&missing, &extra, &words].map(|items| borrowed(items));
    Outcome::Fail(told(&[("missing", &missing), ("extra", &extra), ("unknown", &words)]))
}

/// The selectors of every argument, in order.
fn selectors<'a>(message: &Message<'a>) -> Vec<(Argument<'a>, &'a str)> {
    let mut open: Vec<Argument<'a>> = Vec::new();
    let mut found = Vec::new();
    for piece in &message.pieces {
        match piece.part {
            Part::Open { name, complex, offset } => open.push((name, complex, offset)),
            Part::Branch { selector } => found.extend(open.last().map(|argument| (*argument, selector))),
            Part::Close => drop(open.pop()),
            _ => {}
        }
    }
    found
}

/// Selectors that are never chosen: plural categories that the language has not, words that the source has not.
fn unknown_words(source: Option<&Message<'_>>, target: &Message<'_>, locale: &Locale) -> Vec<String> {
    let mut words: HashMap<&str, HashSet<&str>> = HashMap::new();
    for ((name, complex, _), selector) in source.map(selectors).unwrap_or_default() {
        if complex == Complex::Select {
            words.entry(name).or_default().insert(selector);
        }
    }
    let is_known = |(name, complex, _): &Argument<'_>, selector: &str| {
        let categories = match complex {
            Complex::Plural => locale.cardinal(),
            Complex::SelectOrdinal => locale.ordinal(),
            Complex::Select => return words.get(name).is_none_or(|words| words.contains(selector)),
        };
        selector.starts_with('=') || Category::from_name(selector).is_some_and(|found| categories.contains(found))
    };
    let unknown = selectors(target).into_iter().filter(|(argument, selector)| !is_known(argument, selector));
    unknown.map(|(argument, selector)| format!("{selector} in {}", label(&argument))).collect()
}
