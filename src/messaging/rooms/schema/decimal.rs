//! Numbers as they are written, exactly: `0.1` is a tenth, `1.0` is `1`, and nothing is rounded.

use std::cmp::Ordering;

/// The largest exponent, up or down, that is counted with. What is written with a larger one is no number here.
const EXPONENT_MAX: i64 = 1_000_000_000_000;

/// A number: 0.d₁d₂d₃… × 10^point, with its sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    is_negative: bool,
    /// `0` to `9`, neither the first nor the last of them a zero; none for zero itself.
    digits: Vec<u8>,
    point: i64,
}

/// What numbers are to be multiples of: digits × 10^exponent, of few enough digits to divide by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Divisor {
    digits: u64,
    exponent: i64,
}

impl Decimal {
    /// Reads a number that follows the grammar of JSON. `None` if its exponent is beyond all that is counted with.
    pub(super) fn read(text: &str) -> Option<Decimal> {
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = || whole.bytes().chain(fraction.bytes());
        let leading = all().take_while(|digit| *digit == b'0').count();
        let mut digits: Vec<u8> = all().skip(leading).collect();
        digits.truncate(digits.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1));
        if digits.is_empty() {
            return Some(Decimal { is_negative: false, digits, point: 0 });
        }
        let exponent: i64 = exponent.parse().ok().filter(|exponent: &i64| exponent.abs() <= EXPONENT_MAX)?;
        let point = i64::try_from(whole.len()).ok()? - i64::try_from(leading).ok()? + exponent;
        Some(Decimal { is_negative, digits, point })
    }

    /// Whether it has no fraction.
    pub(super) fn is_integer(&self) -> bool {
        self.exponent() >= 0
    }

    /// Whether it is more than zero.
    pub(super) fn is_positive(&self) -> bool {
        !self.is_negative && !self.digits.is_empty()
    }

    /// The number as a count; the largest count for what is larger. `None` for what is less than zero or has a fraction.
    pub(super) fn as_count(&self) -> Option<u64> {
        if self.is_negative || !self.is_integer() {
            return None;
        }
        let mut count: u64 = 0;
        for place in 0..self.point.min(20) {
            let digit = usize::try_from(place).ok().and_then(|place| self.digits.get(place)).map_or(0, |d| d - b'0');
            count = count.saturating_mul(10).saturating_add(u64::from(digit));
        }
        Some(if self.point > 20 { u64::MAX } else { count })
    }

    /// The number as what others are to be multiples of. `None` if it is not more than zero, or has too many digits.
    pub(super) fn as_divisor(&self) -> Option<Divisor> {
        let digits = str::from_utf8(&self.digits).ok()?.parse().ok()?;
        self.is_positive().then_some(Divisor { digits, exponent: self.exponent() })
    }

    /// Whether it is a whole multiple.
    pub(super) fn is_multiple_of(&self, divisor: &Divisor) -> bool {
        if self.digits.is_empty() {
            return true;
        }
        // The last digit is no zero: what is divided by a higher power of ten than it has leaves a fraction.
        let Ok(tens) = u64::try_from(self.exponent() - divisor.exponent) else { return false };
        let modulus = u128::from(divisor.digits);
        let rest = self.digits.iter().fold(0, |rest, digit| (rest * 10 + u128::from(digit - b'0')) % modulus);
        (rest * power_of_ten(tens, modulus)).is_multiple_of(modulus)
    }

    /// One text for each number, however it was written.
    pub(super) fn write(&self, out: &mut String) {
        if self.digits.is_empty() {
            out.push('0');
            return;
        }
        if self.is_negative {
            out.push('-');
        }
        out.extend(self.digits.iter().map(|digit| char::from(*digit)));
        out.push('e');
        out.push_str(&self.exponent().to_string());
    }

    /// The power of ten that the digits are to be taken times, as a whole number.
    fn exponent(&self) -> i64 {
        // A number has a thousand digits at most.
        self.point - i64::try_from(self.digits.len()).unwrap_or(i64::MAX)
    }

    fn size(&self, other: &Decimal) -> Ordering {
        self.point.cmp(&other.point).then_with(|| self.digits.cmp(&other.digits))
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Decimal) -> Ordering {
        // -1, 0 or 1.
        let sign = |number: &Decimal| i8::from(number.is_positive()) - i8::from(number.is_negative);
        match (sign(self), sign(other)) {
            (1, 1) => self.size(other),
            (-1, -1) => other.size(self),
            (one, two) => one.cmp(&two),
        }
    }
}

/// 10^exponent modulo `modulus`, which has 64 bits at most.
fn power_of_ten(mut exponent: u64, modulus: u128) -> u128 {
    let (mut power, mut square) = (1 % modulus, 10 % modulus);
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = power * square % modulus;
        }
        square = square * square % modulus;
        exponent >>= 1;
    }
    power
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::Decimal;

    fn read(text: &str) -> Decimal {
        Decimal::read(text).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn one_number_however_it_is_written() {
        for same in [
            &["0", "-0", "0.0", "-0.000", "0e99999999999999999999"][..],
            &["1", "1.0", "10e-1", "0.1e1", "0.0001E+4", "1e0"],
            &["-120", "-1.2e2", "-120.00", "-12E1"],
            &["1e400", "10e399", "0.1e401"],
        ] {
            for other in same {
                assert_eq!(read(other), read(same[0]), "{other}");
            }
        }
    }

    #[test]
    fn order() {
        let ascending = [
            "-1e500", "-12", "-1.3", "-1.25", "-1.2", "-1", "-0.9", "-1e-500", "0", "1e-500", "0.05", "0.1", "0.11",
            "1", "1.2", "9", "10", "99.99", "100", "1e500",
        ];
        for (place, one) in ascending.iter().enumerate() {
            for (other_place, other) in ascending.iter().enumerate() {
                assert_eq!(read(one).cmp(&read(other)), place.cmp(&other_place), "{one} {other}");
            }
        }
        assert_eq!(read("-0").cmp(&read("0")), Ordering::Equal);
    }

    #[test]
    fn integers() {
        for (text, expected) in
            [("0", true), ("-7", true), ("7.0", true), ("1e3", true), ("120e-1", true), ("1.5", false)]
        {
            assert_eq!(read(text).is_integer(), expected, "{text}");
        }
        assert!(!read("1e-1").is_integer() && !read("125e-1").is_integer() && !read("-0.5").is_integer());
    }

    #[test]
    fn counts() {
        for (text, expected) in [
            ("0", Some(0)),
            ("3.0", Some(3)),
            ("1e3", Some(1000)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", Some(u64::MAX)),
            ("1e300", Some(u64::MAX)),
            ("-1", None),
            ("1.5", None),
        ] {
            assert_eq!(read(text).as_count(), expected, "{text}");
        }
    }

    #[test]
    fn multiples() {
        for (text, divisor, expected) in [
            ("0", "7", true),
            ("21", "7", true),
            ("-21", "7", true),
            ("22", "7", false),
            ("0.3", "0.1", true),
            ("0.35", "0.1", false),
            ("4.5", "1.5", true),
            ("0.0075", "0.0001", true),
            ("0.00751", "0.0001", false),
            ("35", "1.5", false),
            ("1e308", "0.123456789", false),
            ("1e308", "0.5", true),
            ("12391239123", "1e-8", true),
            ("1e12", "3", false),
            ("3e12", "3", true),
            ("1e999999999", "18446744073709551615", false),
            ("1e999999999", "1e999999998", true),
            ("1", "10", false),
        ] {
            let divisor = read(divisor).as_divisor().unwrap();
            assert_eq!(read(text).is_multiple_of(&divisor), expected, "{text} {divisor:?}");
        }
        assert!(read(&"9".repeat(1000)).is_multiple_of(&read("9").as_divisor().unwrap()));
        for none in ["0", "-1", "12345678901234567890123"] {
            assert_eq!(read(none).as_divisor(), None, "{none}");
        }
    }

    #[test]
    fn exponents_beyond_all_bounds() {
        for text in ["1e1000000000001", "1e-9999999999999", "1e99999999999999999999999"] {
            assert_eq!(Decimal::read(text), None, "{text}");
        }
        assert!(read("1e1000000000000") > read("9e999999999999"));
    }
}
