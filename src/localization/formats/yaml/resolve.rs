//! What an unquoted scalar is: a string, or something else to YAML 1.1 (<https://yaml.org/type/>), to YAML 1.2's core
//! schema, or to Ruby.

/// Whether every reader takes a plain scalar for a string.
pub fn is_string(text: &str) -> bool {
    !(is_word(text) || is_integer(text) || is_float(text) || is_sexagesimal(text) || is_timestamp(text))
}

/// Whether Ruby takes it for a symbol.
pub fn is_symbol(text: &str) -> bool {
    text.len() > 1 && text.starts_with(':')
}

/// Null, booleans, the default value, the merge key, and what floats are called that are no numbers.
fn is_word(text: &str) -> bool {
    matches!(
        text,
        "" | "~"
            | "null"
            | "Null"
            | "NULL"
            | "<<"
            | "="
            | "y"
            | "Y"
            | "yes"
            | "Yes"
            | "YES"
            | "n"
            | "N"
            | "no"
            | "No"
            | "NO"
            | "true"
            | "True"
            | "TRUE"
            | "false"
            | "False"
            | "FALSE"
            | "on"
            | "On"
            | "ON"
            | "off"
            | "Off"
            | "OFF"
            | ".nan"
            | ".NaN"
            | ".NAN"
    ) || matches!(unsigned(text), ".inf" | ".Inf" | ".INF")
}

fn unsigned(text: &str) -> &str {
    text.strip_prefix(['-', '+']).unwrap_or(text)
}

/// Not empty, and all characters are such.
fn all(text: &str, is: impl Fn(u8) -> bool) -> bool {
    !text.is_empty() && text.bytes().all(is)
}

fn is_digit_or_gap(byte: u8) -> bool {
    byte.is_ascii_digit() || byte == b'_'
}

fn is_integer(text: &str) -> bool {
    let text = unsigned(text);
    let based = |prefix, is: fn(u8) -> bool| text.strip_prefix(prefix).is_some_and(|digits| all(digits, is));
    based("0b", |byte| matches!(byte, b'0' | b'1' | b'_'))
        || based("0o", |byte| matches!(byte, b'0'..=b'7' | b'_'))
        || based("0x", |byte| byte.is_ascii_hexdigit() || byte == b'_')
        || (text.starts_with(|c: char| c.is_ascii_digit()) && all(text, is_digit_or_gap))
}

/// Digits with one point, or an exponent, or both.
fn is_float(text: &str) -> bool {
    let text = unsigned(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(unsigned(exponent))),
        None => (text, None),
    };
    if exponent.is_some_and(|exponent| !all(exponent, |byte| byte.is_ascii_digit())) {
        return false;
    }
    let Some((whole, fraction)) = mantissa.split_once('.') else {
        return exponent.is_some()
            && mantissa.starts_with(|c: char| c.is_ascii_digit())
            && all(mantissa, is_digit_or_gap);
    };
    let digits = |part: &str| part.is_empty() || all(part, is_digit_or_gap);
    let some = whole.bytes().chain(fraction.bytes()).any(|byte| byte.is_ascii_digit());
    some && digits(whole) && digits(fraction)
}

/// YAML 1.1's numbers to the base of 60, such as `12:30` and `1:30.5`.
fn is_sexagesimal(text: &str) -> bool {
    let text = unsigned(text);
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut places = whole.split(':');
    let first = places
        .next()
        .is_some_and(|place| place.starts_with(|c: char| c.is_ascii_digit()) && all(place, is_digit_or_gap));
    let mut count = 0;
    let sixties = places.all(|place| {
        count += 1;
        match place.as_bytes() {
            [digit] => digit.is_ascii_digit(),
            [tens, digit] => (b'0'..=b'5').contains(tens) && digit.is_ascii_digit(),
            _ => false,
        }
    });
    first && sixties && count > 0 && (fraction.is_empty() || all(fraction, is_digit_or_gap))
}

/// A date, or a date and a time: YAML 1.1's timestamps and what Ruby takes for one, a little generously.
fn is_timestamp(text: &str) -> bool {
    let date_end = text.find(['T', 't', ' ', '\t']).unwrap_or(text.len());
    let (date, time) = text.split_at(date_end);
    let date = date.strip_prefix('-').unwrap_or(date);
    let parts: Vec<&str> = date.split('-').collect();
    let [year, month, day] = parts.as_slice() else { return false };
    let short = |part: &str| part.len() <= 2 && all(part, |byte| byte.is_ascii_digit());
    let is_date = year.len() == 4 && all(year, |byte| byte.is_ascii_digit()) && short(month) && short(day);
    is_date && time.bytes().all(|byte| byte.is_ascii_digit() || b"Tt \tZ:.+-".contains(&byte))
}
