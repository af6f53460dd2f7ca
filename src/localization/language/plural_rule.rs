//! CLDR's plural rules: reading them and asking them about a number (UTS 35, part 3, section 5.1).
//!
//! ```text
//! condition = conjunction ("or" conjunction)*
//! conjunction = relation ("and" relation)*
//! relation = operand ("%" number)? ("=" | "!=") range ("," range)*
//! range = number | number ".." number
//! operand = "n" | "i" | "v" | "w" | "f" | "t" | "c" | "e"
//! ```

use std::sync::OnceLock;

use super::category::{Categories, Category};
use super::number::{Magnitude, Number};

/// What a number may be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operand {
    /// The number itself, fraction and all.
    Whole,
    /// The digits before the point.
    Integer,
    /// How many digits there are after the point, with trailing zeros.
    FractionLength,
    /// The same without trailing zeros.
    TrimmedFractionLength,
    /// The digits after the point, with trailing zeros.
    Fraction,
    /// The same without trailing zeros.
    TrimmedFraction,
    /// The compact exponent.
    Exponent,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Relation {
    operand: Operand,
    modulus: Option<u64>,
    equal: bool,
    /// First and last number of each range, both included.
    ranges: Vec<(u64, u64)>,
}

/// When a number has a category: any of the conjunctions, each of which needs all of its relations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Condition(Vec<Vec<Relation>>);

impl Condition {
    /// Reads a condition; nothing at all is one that always holds. `None`: the text does not follow the grammar.
    pub(super) fn read(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self(vec![Vec::new()]));
        }
        let conjunctions = text.split(" or ").map(|part| part.split(" and ").map(relation).collect());
        conjunctions.collect::<Option<Vec<_>>>().map(Self)
    }

    fn holds(&self, number: &Number) -> bool {
        self.0.iter().any(|conjunction| conjunction.iter().all(|relation| relation.holds(number)))
    }
}

fn relation(text: &str) -> Option<Relation> {
    let (expression, ranges, equal) = match text.split_once(" != ") {
        Some((expression, ranges)) => (expression, ranges, false),
        None => text.split_once(" = ").map(|(expression, ranges)| (expression, ranges, true))?,
    };
    let (operand, modulus) = match expression.split_once(" % ") {
        Some((operand, modulus)) => (operand, Some(modulus.parse().ok().filter(|modulus| *modulus > 0)?)),
        None => (expression, None),
    };
    let operand = match operand {
        "n" => Operand::Whole,
        "i" => Operand::Integer,
        "v" => Operand::FractionLength,
        "w" => Operand::TrimmedFractionLength,
        "f" => Operand::Fraction,
        "t" => Operand::TrimmedFraction,
        "c" | "e" => Operand::Exponent,
        _ => return None,
    };
    let range = |text: &str| {
        let (first, last) = text.split_once("..").unwrap_or((text, text));
        Some((first.parse().ok()?, last.parse().ok()?)).filter(|(first, last): &(u64, u64)| first <= last)
    };
    let ranges = ranges.split(',').map(range).collect::<Option<Vec<_>>>()?;
    Some(Relation { operand, modulus, equal, ranges })
}

impl Relation {
    fn holds(&self, number: &Number) -> bool {
        // Ranges are of whole numbers, and a remainder keeps its fraction.
        let whole = self.operand != Operand::Whole || number.is_whole();
        let value = match self.operand {
            Operand::Whole | Operand::Integer => number.integer,
            Operand::FractionLength => Magnitude::from(number.fraction_length),
            Operand::TrimmedFractionLength => Magnitude::from(number.trimmed_fraction_length),
            Operand::Fraction => number.fraction,
            Operand::TrimmedFraction => number.trimmed_fraction,
            Operand::Exponent => Magnitude::from(number.exponent),
        };
        let value = match self.modulus {
            Some(modulus) => Some(value.remainder(modulus)),
            None => value.exact(),
        };
        let within = whole
            && value.is_some_and(|value| self.ranges.iter().any(|(first, last)| (*first..=*last).contains(&value)));
        within == self.equal
    }
}

/// The rules of one locale, for cardinal or for ordinal numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct PluralRules {
    rules: Vec<(Category, Condition)>,
    /// The categories that exactly one whole number has, once somebody asked.
    single: OnceLock<Categories>,
}

impl PluralRules {
    /// Adds a category; `false` if it is there already.
    pub(super) fn add(&mut self, category: Category, condition: Condition) -> bool {
        let new = !self.categories().contains(category);
        self.rules.push((category, condition));
        // The first that holds is the answer, and `other` always holds.
        self.rules.sort_by_key(|(category, _)| *category);
        self.single = OnceLock::new();
        new
    }

    pub(super) fn categories(&self) -> Categories {
        self.rules.iter().map(|(category, _)| *category).collect()
    }

    pub(super) fn select(&self, number: &Number) -> Category {
        let found = self.rules.iter().find(|(_, condition)| condition.holds(number));
        found.map_or(Category::Other, |(category, _)| *category)
    }

    /// The categories that exactly one whole number has. Numbers are tried: those up to 220, which go through every
    /// remainder of a hundred more than twice, and some on either side of the powers of ten that rules name.
    pub(super) fn of_one_number(&self) -> Categories {
        *self.single.get_or_init(|| {
            let powers = [1_000, 10_000, 100_000, 1_000_000, 10_000_000];
            let around = powers.into_iter().flat_map(|power| (1..=3).flat_map(move |n| n * power..=n * power + 3));
            let tried: Vec<Category> = (0..=220).chain(around).map(|n| self.select(&Number::whole(n))).collect();
            let times = |category: &Category| tried.iter().filter(|found| *found == category).take(2).count();
            self.categories().iter().filter(|category| times(category) == 1).collect()
        })
    }
}
