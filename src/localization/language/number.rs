//! A number as it is written, as far as plural rules look at it.

/// The most characters of a number that is read.
const NUMBER_LENGTH_MAX: usize = 256;

/// The greatest compact exponent that is read.
const EXPONENT_MAX: usize = 99;

/// How many of the last digits of a number are kept. Every modulus of CLDR's rules divides this power of ten.
const DIGITS_KEPT: u32 = 18;

/// A number as it is written, since trailing zeros matter: `1` and `1.0` differ in English.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    pub(super) integer: Magnitude,
    pub(super) fraction: Magnitude,
    pub(super) fraction_length: u64,
    pub(super) trimmed_fraction: Magnitude,
    pub(super) trimmed_fraction_length: u64,
    pub(super) exponent: u64,
}

/// The text is no decimal number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a decimal number, or too long for one")]
pub struct NumberIllFormed;

impl Number {
    /// Reads a decimal number such as `5`, `1.50`, `-3` or, with a compact exponent, `1.2c6`, which is read 1.2
    /// million. The sign has no bearing.
    ///
    /// # Errors
    ///
    /// The text is no such number, has more than 256 characters or an exponent above 99.
    pub fn parse(text: &str) -> Result<Self, NumberIllFormed> {
        read(text).ok_or(NumberIllFormed)
    }

    /// A whole number.
    #[must_use]
    pub const fn whole(value: u64) -> Self {
        Self {
            integer: Magnitude::of(value),
            fraction: Magnitude::of(0),
            fraction_length: 0,
            trimmed_fraction: Magnitude::of(0),
            trimmed_fraction_length: 0,
            exponent: 0,
        }
    }

    /// Whether there is nothing but zeros after the point.
    pub(super) const fn is_whole(&self) -> bool {
        self.trimmed_fraction_length == 0
    }
}

fn read(text: &str) -> Option<Number> {
    if text.len() > NUMBER_LENGTH_MAX {
        return None;
    }
    let text = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['c', 'e']) {
        Some((mantissa, exponent)) => {
            (mantissa, digits(exponent).filter(|exponent| exponent.len() <= 2)?.parse().ok()?)
        }
        None => (text, 0),
    };
    let (integer, fraction) = match mantissa.split_once('.') {
        Some((integer, fraction)) => (digits(integer)?, digits(fraction)?),
        None => (digits(mantissa)?, ""),
    };
    debug_assert!(exponent <= EXPONENT_MAX);
    // The exponent moves the point to the right; what it finds no digits for are zeros.
    let moved = fraction.get(..exponent.min(fraction.len()))?;
    let integer = format!("{integer}{moved:0<exponent$}");
    let fraction = fraction.get(moved.len()..)?;
    let trimmed = fraction.trim_end_matches('0');
    Some(Number {
        integer: Magnitude::read(&integer)?,
        fraction: Magnitude::read(fraction)?,
        fraction_length: fraction.len() as u64,
        trimmed_fraction: Magnitude::read(trimmed)?,
        trimmed_fraction_length: trimmed.len() as u64,
        exponent: exponent as u64,
    })
}

/// The text, if it is one digit or more.
fn digits(text: &str) -> Option<&str> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then_some(text)
}

/// A whole number of any size, as far as plural rules can tell one from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Magnitude {
    /// The last 18 digits.
    low: u64,
    /// Whether there are others before them.
    beyond: bool,
}

impl Magnitude {
    const LIMIT: u64 = 10_u64.pow(DIGITS_KEPT);

    const fn of(value: u64) -> Self {
        Self { low: value % Self::LIMIT, beyond: value >= Self::LIMIT }
    }

    /// Reads digits; none are zero.
    fn read(digits: &str) -> Option<Self> {
        let (high, low) = digits.split_at_checked(digits.len().saturating_sub(DIGITS_KEPT as usize))?;
        let low = if low.is_empty() { 0 } else { low.parse().ok()? };
        Some(Self { low, beyond: high.bytes().any(|digit| digit != b'0') })
    }

    /// The number itself, unless it is beyond any that a rule names.
    pub(super) const fn exact(self) -> Option<u64> {
        if self.beyond { None } else { Some(self.low) }
    }

    /// What is left over after dividing by a number that divides a power of ten.
    pub(super) const fn remainder(self, modulus: u64) -> u64 {
        self.low % modulus
    }
}

impl From<u64> for Magnitude {
    fn from(value: u64) -> Self {
        Self::of(value)
    }
}
