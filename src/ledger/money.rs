//! Money as text and as integer minor units.
//!
//! An amount travels as a decimal string and is kept as a count of the asset's smallest units in 128 bits. No
//! floating point is involved anywhere. The text is read before the asset is known, so reading has two steps:
//! [`Amount::parse`] checks the shape, [`Amount::to_minor`] applies an asset's scale. Counters are 128-bit integers of
//! minor units, which hold what a [`Decimal`] of 96 bits does not.

use std::fmt::Write as _;

use rust_decimal::Decimal;

/// The most significant digits an amount or a floor may have.
pub const SIGNIFICANT_DIGITS_MAX: usize = 28;

/// The largest number of minor units any counter, amount or floor may hold. A quarter of the type's range, so
/// that sums and differences of a few of them cannot overflow.
pub const MINOR_MAX: i128 = i128::MAX / 4;

/// A decimal number as it was written, with as many fraction digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount(Decimal);

/// Why a text is no amount, or does not fit its asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoneyError {
    /// Not a plain decimal number: a sign where none may be, an exponent, blanks, too many digits, zero.
    Malformed,
    /// More fraction digits than the asset's scale.
    TooPrecise,
    /// More minor units than a counter can hold.
    TooLarge,
}

impl Amount {
    /// Reads the amount of an entry: ASCII digits, at most one point between digits, no sign, above zero.
    ///
    /// # Errors
    /// [`MoneyError::Malformed`] for anything else.
    pub fn parse(text: &str) -> Result<Amount, MoneyError> {
        let amount = parse_unsigned(text)?;
        if amount.is_zero() { Err(MoneyError::Malformed) } else { Ok(Amount(amount)) }
    }

    /// Reads a floor: like an amount, but it may be zero and may carry a sign.
    ///
    /// # Errors
    /// [`MoneyError::Malformed`] for anything else.
    pub fn parse_signed(text: &str) -> Result<Amount, MoneyError> {
        let (is_negative, digits) = match text.as_bytes().first() {
            Some(b'-') => (true, text.get(1..)),
            Some(b'+') => (false, text.get(1..)),
            _ => (false, Some(text)),
        };
        let amount = parse_unsigned(digits.ok_or(MoneyError::Malformed)?)?;
        Ok(Amount(if is_negative { -amount } else { amount }))
    }

    /// The number in minor units of an asset with `scale` fraction digits.
    ///
    /// # Errors
    /// [`MoneyError::TooPrecise`] if it has more fraction digits than `scale`, even if they are zeros;
    /// [`MoneyError::TooLarge`] beyond [`MINOR_MAX`].
    pub fn to_minor(self, scale: u8) -> Result<i128, MoneyError> {
        let missing = u32::from(scale).checked_sub(self.0.scale()).ok_or(MoneyError::TooPrecise)?;
        let power = 10_i128.checked_pow(missing).ok_or(MoneyError::TooLarge)?;
        within_range(self.0.mantissa().checked_mul(power).ok_or(MoneyError::TooLarge)?)
    }
}

/// Digits, at most one point between them, and no more significant ones than money may have. (The crate's own reader
/// takes signs, underscores and points at the ends.)
fn parse_unsigned(text: &str) -> Result<Decimal, MoneyError> {
    let (whole, fraction) = match text.split_once('.') {
        Some((_, "")) => return Err(MoneyError::Malformed),
        Some(parts) => parts,
        None => (text, ""),
    };
    if whole.is_empty() || !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
        return Err(MoneyError::Malformed);
    }
    let significant = whole.bytes().chain(fraction.bytes()).skip_while(|digit| *digit == b'0').count();
    if significant > SIGNIFICANT_DIGITS_MAX {
        return Err(MoneyError::Malformed);
    }
    if fraction.len() > SIGNIFICANT_DIGITS_MAX {
        // More fraction digits than any asset has; how many more is all the same, but whether it is zero is not.
        let mantissa = i128::from(significant > 0);
        return Ok(Decimal::from_i128_with_scale(mantissa, Decimal::MAX_SCALE));
    }
    let whole = whole.trim_start_matches('0');
    let digits = format!("{}.{fraction}", if whole.is_empty() { "0" } else { whole });
    Decimal::from_str_exact(digits.trim_end_matches('.')).map_err(|_| MoneyError::Malformed)
}

/// Reads a floor given as a JSON integer of minor units, from the number's source text.
///
/// # Errors
/// [`MoneyError::Malformed`] if the number has a fraction or an exponent, or more digits than a decimal may have.
pub fn parse_minor(source: &str) -> Result<i128, MoneyError> {
    let Amount(integer) = Amount::parse_signed(source)?;
    if integer.scale() == 0 { Ok(integer.mantissa()) } else { Err(MoneyError::Malformed) }
}

fn within_range(minor: i128) -> Result<i128, MoneyError> {
    if (-MINOR_MAX..=MINOR_MAX).contains(&minor) { Ok(minor) } else { Err(MoneyError::TooLarge) }
}

/// Writes minor units as a decimal with exactly `scale` fraction digits.
#[must_use]
pub fn format_minor(minor: i128, scale: u8) -> String {
    let scale = usize::from(scale);
    let mut text = String::with_capacity(scale + 24);
    if minor < 0 {
        text.push('-');
    }
    let sign = text.len();
    // Writing to a String cannot fail.
    let _ = write!(text, "{:0width$}", minor.unsigned_abs(), width = scale + 1);
    if scale > 0 {
        let point = text.len().saturating_sub(scale).max(sign);
        text.insert(point, '.');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// text, scale, expected minor units
    const AMOUNTS: &[(&str, u8, Result<i128, MoneyError>)] = &[
        ("1", 2, Ok(100)),
        ("1.5", 2, Ok(150)),
        ("1.50", 2, Ok(150)),
        ("0.01", 2, Ok(1)),
        ("007.10", 2, Ok(710)),
        ("12", 0, Ok(12)),
        ("0.000000000001", 12, Ok(1)),
        ("1.500", 2, Err(MoneyError::TooPrecise)),
        ("1.0", 0, Err(MoneyError::TooPrecise)),
        ("0.001", 2, Err(MoneyError::TooPrecise)),
        ("0", 2, Err(MoneyError::Malformed)),
        ("0.00", 2, Err(MoneyError::Malformed)),
        ("", 2, Err(MoneyError::Malformed)),
        (".", 2, Err(MoneyError::Malformed)),
        (".5", 2, Err(MoneyError::Malformed)),
        ("5.", 2, Err(MoneyError::Malformed)),
        ("1.2.3", 2, Err(MoneyError::Malformed)),
        ("-1", 2, Err(MoneyError::Malformed)),
        ("+1", 2, Err(MoneyError::Malformed)),
        (" 1", 2, Err(MoneyError::Malformed)),
        ("1 ", 2, Err(MoneyError::Malformed)),
        ("1e3", 2, Err(MoneyError::Malformed)),
        ("1E3", 2, Err(MoneyError::Malformed)),
        ("0x10", 2, Err(MoneyError::Malformed)),
        ("1,000", 2, Err(MoneyError::Malformed)),
        ("1_000", 2, Err(MoneyError::Malformed)),
        ("NaN", 2, Err(MoneyError::Malformed)),
        ("Infinity", 2, Err(MoneyError::Malformed)),
        ("\u{0661}\u{0662}", 2, Err(MoneyError::Malformed)),
        ("\u{ff11}", 2, Err(MoneyError::Malformed)),
        ("9999999999999999999999999999", 0, Ok(9_999_999_999_999_999_999_999_999_999)),
        ("99999999999999999999999999.99", 2, Ok(9_999_999_999_999_999_999_999_999_999)),
        ("99999999999999999999999999999", 0, Err(MoneyError::Malformed)),
        ("10000000000000000000000000000", 0, Err(MoneyError::Malformed)),
        ("9999999999999999999999999999", 12, Err(MoneyError::TooLarge)),
        ("0.0000000000000000000000000000001", 12, Err(MoneyError::TooPrecise)),
        ("0.0000000000000000000000000000000", 12, Err(MoneyError::Malformed)),
        ("1.0000000000000000000000000000", 12, Err(MoneyError::Malformed)),
        ("1.000000000000000000000000000", 12, Err(MoneyError::TooPrecise)),
        ("00000000000000000000000000000000000000000000000001", 0, Ok(1)),
    ];

    #[test]
    fn amounts_are_read_exactly() {
        for (text, scale, expected) in AMOUNTS {
            let got = Amount::parse(text).and_then(|amount| amount.to_minor(*scale));
            assert_eq!(got, *expected, "{text:?} at scale {scale}");
        }
    }

    #[test]
    fn floors_take_a_sign_and_zero() {
        let read = |text: &str| Amount::parse_signed(text).and_then(|amount| amount.to_minor(2));
        assert_eq!(read("-100.00"), Ok(-10_000));
        assert_eq!(read("+1"), Ok(100));
        assert_eq!(read("-0"), Ok(0));
        assert_eq!(read("0.00"), Ok(0));
        for bad in ["", "-", "+", "--1", "-+1", "- 1", "1-", "-.5", "-1.005"] {
            assert!(read(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn integer_floors_are_minor_units() {
        assert_eq!(parse_minor("500"), Ok(500));
        assert_eq!(parse_minor("-500"), Ok(-500));
        assert_eq!(parse_minor("-0"), Ok(0));
        assert_eq!(parse_minor("1.5"), Err(MoneyError::Malformed));
        assert_eq!(parse_minor("1e2"), Err(MoneyError::Malformed));
        assert_eq!(parse_minor("1.0"), Err(MoneyError::Malformed));
        assert_eq!(parse_minor("9999999999999999999999999999"), Ok(9_999_999_999_999_999_999_999_999_999));
        assert_eq!(parse_minor("-9999999999999999999999999999"), Ok(-9_999_999_999_999_999_999_999_999_999));
        for digits in [29, 38, 400] {
            assert_eq!(parse_minor(&"9".repeat(digits)), Err(MoneyError::Malformed), "{digits} digits");
        }
    }

    #[test]
    fn money_goes_out_with_exactly_scale_digits() {
        let lines = [
            (0, 2, "0.00"),
            (0, 0, "0"),
            (5, 2, "0.05"),
            (-5, 2, "-0.05"),
            (12_345, 2, "123.45"),
            (-12_345, 0, "-12345"),
            (1, 12, "0.000000000001"),
            (-100, 2, "-1.00"),
        ];
        for (minor, scale, expected) in lines {
            assert_eq!(format_minor(minor, scale), expected);
        }
    }

    #[test]
    fn what_goes_out_comes_back() {
        let mut minor: i128 = 1;
        while minor <= 9_999_999_999_999_999_999_999_999_999 {
            for scale in 0..=12 {
                let text = format_minor(minor, scale);
                let back = Amount::parse(&text).and_then(|amount| amount.to_minor(scale));
                assert_eq!(back, Ok(minor), "{text}");
            }
            minor = minor * 7 + 3;
        }
    }
}
