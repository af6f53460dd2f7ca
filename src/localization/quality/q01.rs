//! Q01, placeholders: the target has those of its source, as often, in whatever dialect; printf's that are counted have the
//! same order and class.

use std::hash::{Hash, Hasher};

use crate::language::{Category, Locale, single_cardinals};

use super::detail::{borrowed, told};
use super::model::{Outcome, Pair, Subject};
use super::occurrences::{Difference, Occurrences, Thing};
use super::readers::{Dialect, Placeholder};
use super::reading::Reading;

/// A placeholder, wherever it is, and the dialect that it is taken for.
#[derive(Clone, Copy, Debug)]
struct Token<'r>(&'r Placeholder<'r>, Dialect);

impl<'r> Token<'r> {
    fn key(self) -> (Dialect, &'r str, u32, &'r str) {
        (self.1, &self.0.name, self.0.number, self.0.class)
    }
}

impl PartialEq for Token<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Token<'_> {}

impl Hash for Token<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl Thing for Token<'_> {
    fn shows(&self, argument: &str) -> bool {
        self.1 == Dialect::Brace && (self.0.name == argument || self.0.name == "#")
    }
}

/// Judges a text.
pub fn judge(subject: &Subject<'_>, pair: &Pair<'_>) -> Outcome {
    let (source, target) = (&pair.source, &pair.target);
    if source.placeholders.is_empty() && target.placeholders.is_empty() {
        return Outcome::Skipped("placeholder");
    }
    if is_broken(source) || is_broken(target) {
        return judge_broken(source, target);
    }
    let style = Style::of(source, target);
    let mut expected = style.count(source, subject.source_locale);
    if let Some(other) = subject.source_of_other(pair) {
        expected.allow(&style.count(other, subject.source_locale));
    }
    let mut difference = expected.difference(&style.count(target, subject.target_locale));
    excuse(subject, pair.category, &style, &mut difference);
    outcome(&difference.missing, source, &difference.extra, target)
}

fn has(reading: &Reading<'_>, dialect: Dialect) -> bool {
    reading.placeholders.iter().any(|found| found.dialect == dialect)
}

/// What both texts together say of how each is read.
struct Style {
    /// Both show a date or a time: which parts of it, and in which order, is for their languages to say.
    shows_time: bool,
    /// The source numbers its arguments `%0`, `%1`. Without that, `%5` is how some languages write five percent.
    has_digits: bool,
    /// The source has `__x__`, which else is only a word between lines.
    has_underscores: bool,
    /// The source has `%{x}`. Without that, it is how some languages write `{x}%`.
    has_percent_braces: bool,
    /// The source has `${x}`. Without that, it is how some languages write `{x} $`.
    has_dollars: bool,
}

impl Style {
    fn of(source: &Reading<'_>, target: &Reading<'_>) -> Style {
        let shows = has(target, Dialect::Time) || has(target, Dialect::Printf);
        Style {
            shows_time: shows && has(source, Dialect::Time),
            has_digits: has(source, Dialect::PercentDigit),
            has_underscores: has(source, Dialect::Underscores),
            has_percent_braces: has(source, Dialect::PercentBrace),
            has_dollars: has(source, Dialect::Dollar),
        }
    }

    fn count<'r>(&self, reading: &'r Reading<'r>, locale: &Locale) -> Occurrences<Token<'r>> {
        let mut is_time_seen = false;
        let tokens = reading.placeholders.iter().filter(|found| match found.dialect {
            Dialect::Time => !self.shows_time && !std::mem::replace(&mut is_time_seen, true),
            Dialect::Printf => !self.shows_time,
            Dialect::PercentDigit => self.has_digits,
            Dialect::Underscores => self.has_underscores,
            _ => true,
        });
        Occurrences::of(tokens.map(|found| (found.range.start, self.token(found))), reading.parts(), locale)
    }

    fn token<'r>(&self, found: &'r Placeholder<'r>) -> Token<'r> {
        match found.dialect {
            Dialect::PercentBrace if !self.has_percent_braces => Token(found, Dialect::Brace),
            Dialect::Dollar if !self.has_dollars => Token(found, Dialect::Brace),
            dialect => Token(found, dialect),
        }
    }
}

/// A form for exactly one number may do without what counts, and without what the source's own `one` does without
/// (localization, Q2).
fn excuse(subject: &Subject<'_>, category: Option<Category>, style: &Style, difference: &mut Difference<Token<'_>>) {
    if difference.missing.is_empty() {
        return;
    }
    let Some(category) = category else { return };
    if !single_cardinals(subject.target_locale).contains(category) {
        return;
    }
    let one = subject.source_one.as_ref().map(|one| style.count(one, subject.source_locale));
    difference.missing.retain(|token| !token.0.counts() && one.as_ref().is_none_or(|one| one.has(token)));
}

/// Whether it is meant as a message and is none.
fn is_broken(reading: &Reading<'_>) -> bool {
    matches!(reading.message, Some(Err(_)))
}

/// Of a broken message nobody knows how often it says what: names are looked for that are nowhere.
fn judge_broken(source: &Reading<'_>, target: &Reading<'_>) -> Outcome {
    let names: std::collections::HashSet<&str> = target.placeholders.iter().map(|found| &*found.name).collect();
    let is_missing =
        |token: &Token<'_>| !token.0.name.is_empty() && !token.0.counts() && !names.contains(&*token.0.name);
    let missing: Vec<Token<'_>> =
        source.placeholders.iter().map(|found| Token(found, found.dialect)).filter(is_missing).collect();
    outcome(&missing, source, &[], target)
}

fn outcome(missing: &[Token<'_>], source: &Reading<'_>, extra: &[Token<'_>], target: &Reading<'_>) -> Outcome {
    if missing.is_empty() && extra.is_empty() {
        return Outcome::Pass;
    }
    let written = |tokens: &[Token<'_>], text: &'_ str| -> Vec<String> {
        tokens.iter().map(|token| text.get(token.0.range.clone()).unwrap_or_default().to_owned()).collect()
    };
    let (missing, extra) = (written(missing, source.text), written(extra, target.text));
    Outcome::Fail(told(&[("missing", &borrowed(&missing)), ("extra", &borrowed(&extra))]))
}
