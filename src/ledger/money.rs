//! Money as text and as integer minor units.
//!
//! An amount travels as a decimal string and is kept as a count of the asset's smallest units in 128 bits. No
//! floating point is involved anywhere. The text is read before the asset is known, so reading has two steps:
//! [`Decimal::parse_amount`] checks the shape, [`Decimal::to_minor`] applies an asset's scale.

use std::fmt::Write as _;

/// The most significant digits an amount or a floor may have.
pub const SIGNIFICANT_DIGITS_MAX: usize = 28;

/// The largest number of minor units any counter, amount or floor may hold. A quarter of the type's range, so
/// that sums and differences of a few of them cannot overflow.
pub const MINOR_MAX: i128 = i128::MAX / 4;

/// A decimal number as it was written: `mantissa` times ten to the power of minus `fraction_digits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    mantissa: i128,
    fraction_digits: usize,
}

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

impl Decimal {
    /// Reads the amount of an entry: ASCII digits, at most one point between digits, no sign, above zero.
    ///
    /// # Errors
    /// [`MoneyError::Malformed`] for anything else.
    pub fn parse_amount(text: &str) -> Result<Decimal, MoneyError> {
        let amount = Decimal::parse_unsigned(text)?;
        if amount.mantissa == 0 { Err(MoneyError::Malformed) } else { Ok(amount) }
    }

    /// Reads a floor: like an amount, but it may be zero and may carry a sign.
    ///
    /// # Errors
    /// [`MoneyError::Malformed`] for anything else.
    pub fn parse_signed(text: &str) -> Result<Decimal, MoneyError> {
        let (negative, digits) = match text.as_bytes().first() {
            Some(b'-') => (true, text.get(1..)),
            Some(b'+') => (false, text.get(1..)),
            _ => (false, Some(text)),
        };
        let mut decimal = Decimal::parse_unsigned(digits.ok_or(MoneyError::Malformed)?)?;
        if negative {
            decimal.mantissa = -decimal.mantissa;
        }
        Ok(decimal)
    }

    fn parse_unsigned(text: &str) -> Result<Decimal, MoneyError> {
        let (whole, fraction) = match text.split_once('.') {
            Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
            Some(_) => return Err(MoneyError::Malformed),
            None => (text, ""),
        };
        if whole.is_empty() {
            return Err(MoneyError::Malformed);
        }
        let mut mantissa: i128 = 0;
        let mut significant = 0_usize;
        for byte in whole.bytes().chain(fraction.bytes()) {
            if !byte.is_ascii_digit() {
                return Err(MoneyError::Malformed);
            }
            if mantissa != 0 || byte != b'0' {
                significant += 1;
                if significant > SIGNIFICANT_DIGITS_MAX {
                    return Err(MoneyError::Malformed);
                }
            }
            // 28 digits stay far below 2^127.
            mantissa = mantissa * 10 + i128::from(byte - b'0');
        }
        Ok(Decimal { mantissa, fraction_digits: fraction.len() })
    }

    /// The number in minor units of an asset with `scale` fraction digits.
    ///
    /// # Errors
    /// [`MoneyError::TooPrecise`] if it has more fraction digits than `scale`, even if they are zeros;
    /// [`MoneyError::TooLarge`] beyond [`MINOR_MAX`].
    pub fn to_minor(self, scale: u8) -> Result<i128, MoneyError> {
        let missing = usize::from(scale).checked_sub(self.fraction_digits).ok_or(MoneyError::TooPrecise)?;
        let mut minor = self.mantissa;
        for _ in 0..missing {
            minor = minor.checked_mul(10).ok_or(MoneyError::TooLarge)?;
        }
        within_range(minor)
    }
}

/// Reads a floor given as a JSON integer of minor units, from the number's source text.
///
/// # Errors
/// [`MoneyError::Malformed`] if the number has a fraction or an exponent, or more digits than a decimal may have.
pub fn parse_minor(source: &str) -> Result<i128, MoneyError> {
    let integer = Decimal::parse_signed(source)?;
    if integer.fraction_digits == 0 { Ok(integer.mantissa) } else { Err(MoneyError::Malformed) }
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
    ];

    #[test]
    fn amounts_are_read_exactly() {
        for (text, scale, expected) in AMOUNTS {
            let got = Decimal::parse_amount(text).and_then(|decimal| decimal.to_minor(*scale));
            assert_eq!(got, *expected, "{text:?} at scale {scale}");
        }
    }

    #[test]
    fn floors_take_a_sign_and_zero() {
        let read = |text: &str| Decimal::parse_signed(text).and_then(|decimal| decimal.to_minor(2));
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
                let back = Decimal::parse_amount(&text).and_then(|decimal| decimal.to_minor(scale));
                assert_eq!(back, Ok(minor), "{text}");
            }
            minor = minor * 7 + 3;
        }
    }
}
