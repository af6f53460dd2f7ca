//! The JSON Canonicalization Scheme (RFC 8785): the one text that a digest is made of by everybody alike.
//!
//! Unlike [`to_canonical`](super::to_canonical), which keeps numbers as they were written, all numbers are written as
//! ECMAScript does. One that says more than a double-precision number holds would be another one afterwards: it is
//! refused, for a text must stand for exactly what was given (RFC 8785, 3.2.2.3 and appendix D).

use super::Json;
use super::write::write_string;

/// A number is written that no double-precision number stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("holds a number that has more digits, or is larger, than a double-precision number; write it as a string")]
pub struct InexactNumber;

/// The canonical text of a value.
///
/// # Errors
/// A number in it would be another one afterwards.
pub fn to_jcs(value: &Json) -> Result<String, InexactNumber> {
    let mut out = String::new();
    write(value, &mut out)?;
    Ok(out)
}

/// Calls itself; the depth of trees is bounded by [`Limits::DEPTH_MAX`](super::Limits::DEPTH_MAX).
fn write(value: &Json, out: &mut String) -> Result<(), InexactNumber> {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(true) => out.push_str("true"),
        Json::Bool(false) => out.push_str("false"),
        Json::Number(number) => out.push_str(&number_text(number.as_str())?),
        Json::String(text) => write_string(text, out),
        Json::Array(values) => {
            out.push('[');
            for (place, value) in values.iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                write(value, out)?;
            }
            out.push(']');
        }
        Json::Object(members) => {
            let mut members: Vec<&(String, Json)> = members.iter().collect();
            // By units of UTF-16 (3.2.3): that is another order where a character needs two of them.
            members.sort_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
            out.push('{');
            for (place, (name, value)) in members.into_iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                write_string(name, out);
                out.push(':');
                write(value, out)?;
            }
            out.push('}');
        }
    }
    Ok(())
}

/// A number as ECMAScript writes it (ECMA-262, Number::toString).
fn number_text(text: &str) -> Result<String, InexactNumber> {
    let value: f64 = text.parse().map_err(|_| InexactNumber)?;
    if !value.is_finite() {
        return Err(InexactNumber);
    }
    let written = if value == 0.0 { "0".to_owned() } else { ecmascript(value) };
    if Decimal::of(text) == Decimal::of(&written) { Ok(written) } else { Err(InexactNumber) }
}

/// The fewest digits that are read back as this number, laid out by its size.
fn ecmascript(value: f64) -> String {
    let scientific = format!("{:e}", value.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits = mantissa.replace('.', "");
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (count, point) = (i32::try_from(digits.len()).unwrap_or(i32::MAX), exponent + 1);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    let sign = if value < 0.0 { "-" } else { "" };
    let split = |at: i32| digits.split_at_checked(usize::try_from(at).unwrap_or(0)).unwrap_or((&digits, ""));
    match point {
        1..=21 if count <= point => format!("{sign}{digits}{}", zeros(point - count)),
        1..=21 => {
            let (whole, fraction) = split(point);
            format!("{sign}{whole}.{fraction}")
        }
        -5..=0 => format!("{sign}0.{}{digits}", zeros(-point)),
        _ => {
            let (first, rest) = split(1);
            let dot = if rest.is_empty() { "" } else { "." };
            let plus = if exponent < 0 { "-" } else { "+" };
            format!("{sign}{first}{dot}{rest}e{plus}{}", exponent.unsigned_abs())
        }
    }
}

/// What a number's text says, to the last digit: digits without zeros at either end, and where the point stands before
/// them. Of nothing there are no digits, and no sign.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    is_negative: bool,
    digits: String,
    point: i64,
}

impl Decimal {
    fn of(text: &str) -> Decimal {
        let (is_negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let behind = all.trim_start_matches('0');
        let digits = behind.trim_end_matches('0');
        if digits.is_empty() {
            return Decimal { is_negative: false, digits: String::new(), point: 0 };
        }
        let count = |text: &str| i64::try_from(text.len()).unwrap_or(i64::MAX);
        // What no double-precision number reaches has been refused, or is nothing.
        let exponent: i64 = exponent.parse().unwrap_or(i64::MAX / 2);
        let point = count(whole).saturating_sub(count(&all) - count(behind)).saturating_add(exponent);
        Decimal { is_negative, digits: digits.to_owned(), point }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Limits, parse};
    use super::*;

    fn jcs(text: &str) -> Result<String, InexactNumber> {
        to_jcs(&parse(text.as_bytes(), Limits::default()).unwrap())
    }

    /// RFC 8785, appendix B: the bits of a number, and what is written.
    #[test]
    fn numbers_of_the_standard() {
        for (bits, expected) in [
            (0x0000_0000_0000_0000_u64, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0x41b3_de43_5555_5556, "333333333.3333334"),
            (0x41b3_de43_5555_5557, "333333333.33333343"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ] {
            let value = f64::from_bits(bits);
            let written = if value == 0.0 { "0".to_owned() } else { ecmascript(value) };
            assert_eq!(written, expected, "{bits:016x}");
        }
    }

    /// RFC 8785, 3.2.2 and 3.2.3.
    #[test]
    fn objects_of_the_standard() {
        let sample = r#"{
            "numbers": [1E30, 4.50, 2e-3, 0.000000000000000000000000001],
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
            "literals": [null, true, false]
        }"#;
        let expected = "{\"literals\":[null,true,false],\"numbers\":[1e+30,4.5,0.002,1e-27],\
            \"string\":\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}";
        assert_eq!(jcs(sample).as_deref(), Ok(expected));
        let sorted = r#"{"\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh",
            "1": "One", "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control", "\u00f6": "Latin Small Letter O With Diaeresis"}"#;
        let json = parse(jcs(sorted).unwrap().as_bytes(), Limits::default()).unwrap();
        let Json::Object(members) = json else { panic!("an object") };
        let names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["\r", "1", "\u{80}", "\u{f6}", "\u{20ac}", "\u{1f600}", "\u{fb33}"]);
    }

    #[test]
    fn what_would_be_another_number_is_refused() {
        for same in ["0", "-0", "-0.0", "0e999999999999999999999", "1.0", "100e-2", "0.1", "1e23", "9007199254740992"] {
            assert!(jcs(same).is_ok(), "{same}");
        }
        for other in [
            "9007199254740993",
            "0.1000000000000000055511151231257827",
            "1e400",
            "-1e309",
            "1e-400",
            "1e-99999999999999999999",
            "123456789012345678901",
            "1.00000000000000001",
        ] {
            assert_eq!(jcs(other), Err(InexactNumber), "{other}");
        }
    }

    proptest! {
        #[test]
        fn a_number_is_read_back_as_itself(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite() && value != 0.0);
            let written = ecmascript(value);
            prop_assert_eq!(written.parse::<f64>().unwrap().to_bits(), bits);
            prop_assert_eq!(number_text(&written), Ok(written.clone()));
        }
    }
}
