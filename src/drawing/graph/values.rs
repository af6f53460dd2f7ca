//! Attributes as the shapes and the painter read them: by name, with Graphviz's way of reading bad values.

/// The value of an attribute: text, or an HTML-like string (`<...>`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A name, number or quoted string.
    Text(&'a str),
    /// An HTML-like string, without its outer brackets.
    Html(&'a str),
}

impl<'a> Value<'a> {
    /// The characters, whichever kind it is.
    pub fn as_str(self) -> &'a str {
        match self {
            Value::Text(text) | Value::Html(text) => text,
        }
    }
}

/// The attributes of one graph, cluster, node or edge, defaults of the source resolved.
pub trait Attributes {
    /// The value of the attribute `name`; `None` where neither the object nor a default in the source sets it.
    fn value(&self, name: &str) -> Option<Value<'_>>;

    /// The value as text; an empty one counts as none.
    fn text(&self, name: &str) -> Option<&str> {
        self.value(name).map(Value::as_str).filter(|text| !text.is_empty())
    }

    /// A number of at least `least`: what is none is `default`, what is less is `least`.
    fn number(&self, name: &str, default: f64, least: f64) -> f64 {
        self.text(name).and_then(leading_number).map_or(default, |(number, _)| number.max(least))
    }

    /// A whole number of at least `least`.
    fn whole(&self, name: &str, default: i64, least: i64) -> i64 {
        self.text(name).and_then(leading_whole).map_or(default, |number| number.max(least))
    }

    /// A yes or no: `true`, `yes` or a number that is not 0.
    fn flag(&self, name: &str, default: bool) -> bool {
        match self.text(name) {
            None => default,
            Some(text) if text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("yes") => true,
            Some(text) if text.eq_ignore_ascii_case("false") || text.eq_ignore_ascii_case("no") => false,
            Some(text) if text.starts_with(|c: char| c.is_ascii_digit()) => {
                leading_whole(text).is_some_and(|number| number != 0)
            }
            Some(_) => default,
        }
    }
}

/// No attributes at all.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAttributes;

impl Attributes for NoAttributes {
    fn value(&self, _name: &str) -> Option<Value<'_>> {
        None
    }
}

/// The largest number an attribute can have: far beyond every picture, and small enough that sums stay finite.
const LARGEST_NUMBER: f64 = 1e9;

/// The number `text` begins with, after blanks, and what follows it; at most a thousand million either way.
pub fn leading_number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
    let bytes = text.as_bytes();
    let at = |i: usize| bytes.get(i).copied().unwrap_or_default();
    let digits = |mut i: usize| {
        while at(i).is_ascii_digit() {
            i += 1;
        }
        i
    };
    let start = usize::from(matches!(at(0), b'+' | b'-'));
    let whole_end = digits(start);
    let mut end = whole_end;
    let mut count = whole_end - start;
    if at(end) == b'.' {
        let fraction_end = digits(end + 1);
        count += fraction_end - end - 1;
        end = fraction_end;
    }
    if count == 0 {
        return None;
    }
    if matches!(at(end), b'e' | b'E') {
        let exponent = end + 1 + usize::from(matches!(at(end + 1), b'+' | b'-'));
        let exponent_end = digits(exponent);
        if exponent_end > exponent {
            end = exponent_end;
        }
    }
    let (number, rest) = text.split_at_checked(end)?;
    let number: f64 = number.parse().ok()?;
    number.is_finite().then_some((number.clamp(-LARGEST_NUMBER, LARGEST_NUMBER), rest))
}

/// The whole number `text` begins with, after blanks.
pub fn leading_whole(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let sign = usize::from(text.starts_with(['+', '-']));
    let digits = text.bytes().skip(sign).take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return None;
    }
    let (number, _) = text.split_at_checked(sign + digits)?;
    number.strip_prefix('+').unwrap_or(number).parse().ok()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::collections::HashMap;

    /// Attributes for tests, written as in DOT but apart by ` ;; `: `shape=box ;; label=HTML:b`.
    #[derive(Debug, Default)]
    pub(crate) struct Written(HashMap<String, String>);

    impl Written {
        pub(crate) fn new(text: &str) -> Written {
            let pairs = text.split(" ;; ").filter_map(|pair| pair.split_once('='));
            Written(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
        }
    }

    impl Attributes for Written {
        fn value(&self, name: &str) -> Option<Value<'_>> {
            let value = self.0.get(name)?;
            Some(match value.strip_prefix("HTML:") {
                Some(html) => Value::Html(html),
                None => Value::Text(value),
            })
        }
    }

    #[test]
    fn numbers_are_read_as_far_as_they_go() {
        for (text, expected) in [
            ("2x", Some((2.0, "x"))),
            (" 1", Some((1.0, ""))),
            ("-.5e", Some((-0.5, "e"))),
            ("1e2", Some((100.0, ""))),
            ("3.", Some((3.0, ""))),
            ("x", None),
            (".", None),
            ("", None),
            ("1e999", None),
            ("1e308", Some((1e9, ""))),
            ("-1e10,2", Some((-1e9, ",2"))),
        ] {
            assert_eq!(leading_number(text), expected, "{text:?}");
        }
    }

    #[test]
    fn bad_values_are_defaults_and_low_ones_the_least() {
        let attributes = Written::new("width=abc ;; height=-1 ;; sides=7.9 ;; regular=2 ;; fixedsize=maybe ;; label=");
        assert_eq!(attributes.number("width", 0.75, 0.0), 0.75);
        assert_eq!(attributes.number("height", 0.5, 0.02), 0.02);
        assert_eq!(attributes.whole("sides", 4, 0), 7);
        assert!(attributes.flag("regular", false));
        assert!(!attributes.flag("fixedsize", false));
        assert_eq!(attributes.text("label"), None);
    }
}
