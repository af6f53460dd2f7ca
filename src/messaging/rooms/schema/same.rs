//! When two values are the same: numbers by what they are, members in any order. Each value has one text.

use quintet_platform::json::{Json, Number};

use super::budget::{Budget, Stop};
use super::decimal::Decimal;

/// The text of a value, which equal values share and others do not have.
///
/// # Errors
/// The budget is used up.
pub(super) fn text_of(value: &Json, budget: &mut Budget) -> Result<String, Stop> {
    let mut out = String::new();
    write(value, usize::MAX, &mut out, budget)?;
    Ok(out)
}

/// The same, or `None` if it has more bytes than this: so it costs no more to find out that a value is none of some small
/// ones, however large it is.
pub(super) fn text_within(value: &Json, bytes_max: usize, budget: &mut Budget) -> Result<Option<String>, Stop> {
    let mut out = String::new();
    write(value, bytes_max, &mut out, budget)?;
    Ok((out.len() <= bytes_max).then_some(out))
}

/// Calls itself; the depth of values is bounded by their reader. Goes on until there is more than `bytes_max`.
fn write(value: &Json, bytes_max: usize, out: &mut String, budget: &mut Budget) -> Result<(), Stop> {
    if out.len() > bytes_max {
        return Ok(());
    }
    budget.spend(1)?;
    match value {
        Json::Null => out.push('n'),
        Json::Bool(true) => out.push('t'),
        Json::Bool(false) => out.push('f'),
        Json::Number(number) => write_number(number, out, budget)?,
        Json::String(text) => write_text(text, out, budget)?,
        Json::Array(items) => {
            out.push('[');
            for item in items {
                write(item, bytes_max, out, budget)?;
            }
            out.push(']');
        }
        Json::Object(members) => {
            budget.spend(members.len() as u64)?;
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
            out.push('{');
            for (name, value) in members {
                if out.len() > bytes_max {
                    break;
                }
                write_text(name, out, budget)?;
                write(value, bytes_max, out, budget)?;
            }
            out.push('}');
        }
    }
    Ok(())
}

fn write_number(number: &Number, out: &mut String, budget: &mut Budget) -> Result<(), Stop> {
    budget.spend_for_bytes(number.as_str().len())?;
    match Decimal::read(number.as_str()) {
        Some(decimal) => decimal.write(out),
        // Not counted with: the same only if it is written the same.
        None => out.push_str(number.as_str()),
    }
    // Or `[1, 2]` would be `[12]`.
    out.push(',');
    Ok(())
}

/// With its length before it, so that no text can look like the end of one and the beginning of another.
fn write_text(text: &str, out: &mut String, budget: &mut Budget) -> Result<(), Stop> {
    budget.spend_for_bytes(text.len())?;
    out.push_str(&text.len().to_string());
    out.push('"');
    out.push_str(text);
    Ok(())
}

#[cfg(test)]
mod tests {
    use quintet_platform::json::{Json, Limits, parse};

    use super::super::budget::Budget;
    use super::{text_of, text_within};

    fn read(text: &str) -> Json {
        parse(text.as_bytes(), Limits::default()).unwrap()
    }

    fn same(one: &str, other: &str) -> bool {
        text_of(&read(one), &mut Budget::whole()) == text_of(&read(other), &mut Budget::whole())
    }

    #[test]
    fn what_is_the_same() {
        for (one, other) in [
            ("1", "1.0"),
            ("[100]", "[1e2]"),
            (r#"{"a": 1, "b": 2}"#, r#"{"b": 2.0, "a": 1}"#),
            (r#""A""#, r#""\u0041""#),
            ("-0", "0"),
            ("1e99999999999999", "1e99999999999999"),
        ] {
            assert!(same(one, other), "{one} {other}");
        }
    }

    #[test]
    fn what_is_not() {
        for (one, other) in [
            ("1", "true"),
            ("0", "false"),
            ("1", r#""1""#),
            ("null", r#""n""#),
            ("[]", "{}"),
            ("[1, 2]", "[12]"),
            ("[1, 2]", "[2, 1]"),
            ("[[1], 2]", "[[1, 2]]"),
            (r#"["a", "b"]"#, r#"["a1\"b"]"#),
            (r#"{"a": "b"}"#, r#"["a", "b"]"#),
            (r#"{"a": 1}"#, r#"{"a": 1, "b": 1}"#),
            ("1e99999999999999", "10e99999999999998"),
        ] {
            assert!(!same(one, other), "{one} {other}");
        }
    }

    #[test]
    fn what_is_too_long_to_be_the_same_is_not_read_to_its_end() {
        let long = Json::Array(vec![Json::from(1_u8); 900_000]);
        let mut budget = Budget::whole();
        assert_eq!(text_within(&long, 100, &mut budget), Ok(None));
        assert!(budget.spend(900_000).is_ok(), "a long one takes no more steps than a short one");
        assert_eq!(text_within(&read("[1]"), 100, &mut budget), Ok(Some("[1e0,]".to_owned())));
    }
}
