//! The parameters of templates: what is asked for, and which values are right.

use std::collections::BTreeMap;

use bincode::{Decode, Encode};
use quintet_platform::http::shown_name;
use quintet_platform::json::{Fields, Json};
use regex::{Regex, RegexBuilder};

use crate::form::{field, first, optional, texts};
use crate::refusal::Refusal;

/// Parameters of a template, at most.
const PARAMS_MAX: usize = 64;
/// The longest name, in characters.
const NAME_CHARS_MAX: usize = 64;
/// The longest value, in bytes.
const VALUE_BYTES_MAX: usize = 8 << 10;
/// The most words to choose from.
const CHOICES_MAX: usize = 100;
/// The longest pattern, in bytes, and the most memory that all of a template take when they are made ready: a trigger has
/// them made ready where everybody's writes wait. One of 1 MiB takes 5 ms, 64 of them took 0.3 s.
const PATTERN_BYTES_MAX: usize = 1 << 10;
const PATTERN_MEMORY_MAX: usize = 1 << 20;

/// What all patterns of a trigger's values may take when they are made ready, times the bytes of these values: a pattern is
/// looked for in time that grows with both, and a trigger has that done where everybody's writes wait. `(?:a?b?){900}[c-z]`
/// in 8 KiB takes 0.26 s, at 1 MiB there are some of 1 s; so much takes some 35 ms.
const MATCHING_MAX: usize = 128 << 20;

/// What is shown in place of what nobody sees.
pub(super) const HIDDEN: &str = "***";

/// What a parameter takes.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) enum Kind {
    /// Any text, or one in which this pattern is found.
    Text { pattern: Option<String> },
    /// One of these.
    Choice { values: Vec<String> },
}

/// A parameter as it is declared. It is sealed in this shape.
#[derive(Clone, PartialEq, Eq, Encode, Decode)]
pub(super) struct Declaration {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) is_required: bool,
    pub(super) default: Option<String>,
    /// Nobody sees its value but the containers that are given it.
    pub(super) is_secret: bool,
}

impl Declaration {
    /// Its type, as the contract calls it.
    pub(super) fn type_name(&self) -> &'static str {
        match self.kind {
            Kind::Text { .. } => "string",
            Kind::Choice { .. } => "enum",
        }
    }

    fn pattern(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text { pattern } => pattern.as_deref(),
            Kind::Choice { .. } => None,
        }
    }

    /// Whether a value is right; if not, why. Its pattern may take so much memory.
    fn check(&self, value: &str, most_bytes: usize) -> Result<(), String> {
        if value.len() > VALUE_BYTES_MAX {
            return Err("must have 8 KiB at most".to_owned());
        }
        // Whoever sends back what he was shown would lose the secret.
        if self.is_secret && value == HIDDEN {
            return Err(format!("is what is shown in place of a secret: give the secret itself, not {HIDDEN:?}"));
        }
        match &self.kind {
            Kind::Text { pattern: None } => Ok(()),
            Kind::Text { pattern: Some(pattern) } => match ready_within(pattern, most_bytes) {
                Some(ready) if ready.is_match(value) => Ok(()),
                Some(_) => Err("does not match the pattern of the parameter".to_owned()),
                None => Err("takes too long to be held against the pattern of the parameter".to_owned()),
            },
            Kind::Choice { values } if values.iter().any(|known| known == value) => Ok(()),
            Kind::Choice { .. } => Err("is none of the values of the parameter".to_owned()),
        }
    }
}

/// A pattern made ready, if it takes so much memory at most. It is looked for in time that grows with the text and with that
/// memory, and with nothing else.
fn ready_within(pattern: &str, most_bytes: usize) -> Option<Regex> {
    RegexBuilder::new(pattern).size_limit(most_bytes).dfa_size_limit(PATTERN_MEMORY_MAX).build().ok()
}

/// The declarations of a body's `params`; absent and null are none.
///
/// # Errors
/// One is malformed, or two have one name.
pub(super) fn read_declarations(given: Option<Json>) -> Result<Option<Vec<Declaration>>, Refusal> {
    let Some(given) = given.filter(|given| *given != Json::Null) else { return Ok(None) };
    let mut only = Fields::new(Json::object([("params", given)])).map_err(field)?;
    let declared = only.required_objects("params").map_err(field)?;
    if declared.len() > PARAMS_MAX {
        return Err(Refusal::field("params", format!("must have at most {PARAMS_MAX} items")));
    }
    let mut declarations: Vec<Declaration> = Vec::with_capacity(declared.len());
    for fields in declared {
        let place = fields.path_of("name");
        let declaration = read_declaration(fields)?;
        if declarations.iter().any(|known| known.name == declaration.name) {
            return Err(Refusal::field(place, "is the name of another parameter"));
        }
        declarations.push(declaration);
    }
    let patterns = declarations.iter().enumerate().filter_map(|(place, known)| Some((place, known.pattern()?)));
    let part_bytes = PATTERN_MEMORY_MAX / patterns.clone().count().max(1);
    match patterns.into_iter().find(|(_, pattern)| ready_within(pattern, part_bytes).is_none()) {
        Some((place, _)) => {
            let problem = "takes more than its part of the 1 MiB that all patterns of a template have";
            Err(Refusal::field(format!("params[{place}].pattern"), problem))
        }
        None => Ok(Some(declarations)),
    }
}

fn read_declaration(mut fields: Fields) -> Result<Declaration, Refusal> {
    let name: String = fields.required("name").map_err(field)?;
    let problem = "must begin with a letter or _, and have up to 64 letters, digits, _ and -";
    if !is_name(&name) {
        return Err(Refusal::field(fields.path_of("name"), problem));
    }
    let type_name: String = fields.required("type").map_err(field)?;
    let is_required = optional::<bool>(&mut fields, "required")?.unwrap_or(false);
    let pattern = optional::<String>(&mut fields, "pattern")?;
    let values = texts(&mut fields, "enum", CHOICES_MAX)?;
    let default = optional::<String>(&mut fields, "default")?;
    let is_secret = optional::<bool>(&mut fields, "secret")?.unwrap_or(false);
    let kind = match type_name.as_str() {
        "string" if values.is_empty() => Kind::Text { pattern },
        "string" => return Err(Refusal::field(fields.path_of("enum"), "is for parameters of type enum")),
        "enum" if pattern.is_some() => {
            return Err(Refusal::field(fields.path_of("pattern"), "is for parameters of type string"));
        }
        "enum" if values.is_empty() => return Err(Refusal::field(fields.path_of("enum"), "must have 1 to 100 values")),
        "enum" => Kind::Choice { values },
        _ => return Err(Refusal::field(fields.path_of("type"), "must be one of string, enum")),
    };
    check_kind(&fields, &kind)?;
    let declaration = Declaration { name, kind, is_required, default, is_secret };
    if let Some(default) = &declaration.default {
        declaration
            .check(default, PATTERN_MEMORY_MAX)
            .map_err(|problem| Refusal::field(fields.path_of("default"), problem))?;
    }
    fields.finish().map_err(|unknown| first(unknown, field))?;
    Ok(declaration)
}

fn check_kind(fields: &Fields, kind: &Kind) -> Result<(), Refusal> {
    match kind {
        Kind::Text { pattern: Some(pattern) }
            if pattern.len() > PATTERN_BYTES_MAX || ready_within(pattern, PATTERN_MEMORY_MAX).is_none() =>
        {
            let problem = "must be a regular expression of at most 1024 bytes that takes at most 1 MiB, without \
                           backreferences and lookaround";
            Err(Refusal::field(fields.path_of("pattern"), problem))
        }
        Kind::Choice { values } if values.iter().any(|value| value.len() > VALUE_BYTES_MAX) => {
            Err(Refusal::field(fields.path_of("enum"), "must have values of 8 KiB at most"))
        }
        _ => Ok(()),
    }
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        && name.len() <= NAME_CHARS_MAX
}

/// Whether a parameter is declared, and as a secret.
pub(super) fn is_secret(declared: &[Declaration], name: &str) -> bool {
    declared.iter().any(|known| known.name == name && known.is_secret)
}

/// What parameters stand for in one run, by their names: every declared one has a value.
pub(super) type Values = BTreeMap<String, String>;

/// How long values may be held against their patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// Whatever a template takes: somebody waits for it in his turn.
    Turn,
    /// It is done where everybody's writes wait.
    Writer,
}

impl Patience {
    /// How much memory a pattern may take that these values are held against.
    fn most_bytes(self, declarations: &[Declaration], given: &[(String, Json)]) -> usize {
        let has_pattern =
            |name: &String| declarations.iter().any(|known| known.name == *name && known.pattern().is_some());
        let values = given.iter().filter(|(name, _)| has_pattern(name)).filter_map(|(_, value)| value.as_str());
        match self {
            Patience::Turn => PATTERN_MEMORY_MAX,
            Patience::Writer => (MATCHING_MAX / values.map(str::len).sum::<usize>().max(1)).min(PATTERN_MEMORY_MAX),
        }
    }
}

/// The members of a run's `params`; absent and null are none. That a member is no text is told of later, with the other
/// faults of values.
///
/// # Errors
/// It is no object.
pub(super) fn read_given(given: Option<Json>) -> Result<Vec<(String, Json)>, Refusal> {
    match given {
        None | Some(Json::Null) => Ok(Vec::new()),
        Some(Json::Object(members)) => Ok(members),
        Some(_) => Err(Refusal::field("params", "must be an object of strings")),
    }
}

/// The values of one run: what is given, else the default, else the empty text.
///
/// # Errors
/// [`Refusal::InvalidParams`]: a name that is not declared, a value that is no text or not right, a required one missing.
pub(super) fn resolve(
    declarations: &[Declaration],
    given: Vec<(String, Json)>,
    patience: Patience,
) -> Result<Values, Refusal> {
    let most_bytes = patience.most_bytes(declarations, &given);
    let invalid =
        |name: &str, problem: &str| Refusal::InvalidParams(format!("params.{}", shown_name(name)), problem.to_owned());
    let mut values = Values::new();
    for (name, value) in given {
        let declaration = declarations.iter().find(|known| known.name == name);
        let declaration = declaration.ok_or_else(|| invalid(&name, "is no parameter of the template"))?;
        let Json::String(text) = value else { return Err(invalid(&name, "must be a string")) };
        declaration.check(&text, most_bytes).map_err(|problem| invalid(&name, &problem))?;
        values.insert(name, text);
    }
    for declaration in declarations {
        if values.contains_key(&declaration.name) {
            continue;
        }
        if declaration.is_required {
            return Err(invalid(&declaration.name, "is required"));
        }
        values.insert(declaration.name.clone(), declaration.default.clone().unwrap_or_default());
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use quintet_platform::service::Fault;

    use super::*;

    fn text(pattern: Option<&str>) -> Declaration {
        Declaration {
            name: "p".to_owned(),
            kind: Kind::Text { pattern: pattern.map(str::to_owned) },
            is_required: false,
            default: None,
            is_secret: false,
        }
    }

    #[test]
    fn a_pattern_is_looked_for_and_its_end_is_the_end_of_the_text() {
        let right = |pattern: &str, value: &str| text(Some(pattern)).check(value, PATTERN_MEMORY_MAX).is_ok();
        assert!(right("b", "abc"), "it is not anchored");
        assert!(right("^a+$", "aaa") && !right("^a+$", "aaab"));
        assert!(!right("^a$", "a\n"), "a line's end is not the text's");
        assert!(right(r"^\w{1,20}$", "h\u{e9}llo"));
        assert!(!right("a", "") && right("^$", ""));
    }

    /// What would take ages where every way is tried takes no time.
    #[test]
    fn patterns_that_would_backtrack_do_not() {
        let long = "a".repeat(VALUE_BYTES_MAX - 1);
        for pattern in ["^(a+)+$", "^(a|aa)*$", "^(a|a)*b$", "(.*)(.*)(.*)(.*)(.*)x", "^(a?){200}a{200}$"] {
            let began = Instant::now();
            let _ = text(Some(pattern)).check(&format!("{long}!"), PATTERN_MEMORY_MAX);
            assert!(began.elapsed() < Duration::from_secs(2), "{pattern}: {:?}", began.elapsed());
        }
        assert!(
            ready_within("((a{1,1000}){1,1000}){1,1000}", PATTERN_MEMORY_MAX).is_none(),
            "nor do they take all memory"
        );
        assert!(
            ready_within(r"(a)\1", PATTERN_MEMORY_MAX).is_none() && ready_within("(?=a)", PATTERN_MEMORY_MAX).is_none()
        );
    }

    /// The worst of patterns and values takes others' time only so far where a trigger gives them.
    #[test]
    fn what_is_matched_on_the_writer_is_bounded_by_pattern_and_value_together() {
        let slow = "(?:[ab]{0,40}){0,40}[c-z]";
        let long = "ab".repeat(VALUE_BYTES_MAX / 2);
        let told = |value: &str, patience: Patience| {
            let declared = [text(Some(slow))];
            let began = Instant::now();
            let given = vec![("p".to_owned(), Json::from(value))];
            match resolve(&declared, given, patience) {
                Err(Refusal::InvalidParams(_, problem)) => (problem, began.elapsed()),
                other => panic!("{other:?}"),
            }
        };
        assert!(told(&long, Patience::Turn).0.contains("does not match"), "it takes its time, in a turn");
        let (problem, took) = told(&long, Patience::Writer);
        assert!(problem.contains("takes too long") && took < Duration::from_millis(500), "{problem} {took:?}");
        assert!(told(&long[..256], Patience::Writer).0.contains("does not match"), "a short one is held against it");
        let given = |count: usize, value: &str| -> Vec<(String, Json)> {
            (0..count).map(|place| (format!("p{place}"), Json::from(value))).collect()
        };
        let declared = |count: usize, pattern: &str| -> Vec<Declaration> {
            (0..count).map(|place| Declaration { name: format!("p{place}"), ..text(Some(pattern)) }).collect()
        };
        let refused = |count: usize, pattern: &str, value: &str, patience: Patience| {
            matches!(resolve(&declared(count, pattern), given(count, value), patience), Err(Refusal::InvalidParams(..)))
        };
        // What is usual is not touched by it.
        let line = "x".repeat(200);
        for (count, pattern, value) in [
            (64, "^[a-z]+$", line.as_str()),
            (10, r"^[\w ./:-]+$", &line),
            (1, r"^\w{1,20}$", "release"),
            (1, "(?s)^.*$", &long),
        ] {
            for patience in [Patience::Turn, Patience::Writer] {
                assert!(!refused(count, pattern, value, patience), "{count} {pattern} {patience:?}");
            }
        }
        // Nor are values without a pattern, however long.
        let mut free = declared(2, "^a$");
        free[1].kind = Kind::Text { pattern: None };
        let values = vec![("p0".to_owned(), "a".into()), ("p1".to_owned(), Json::from(long.as_str()))];
        assert!(resolve(&free, values, Patience::Writer).is_ok());
    }

    /// However many there are, making them all ready takes about as long as one.
    #[test]
    fn patterns_share_what_they_may_take() {
        let declared = |patterns: &[&str]| {
            let one = |(place, pattern): (usize, &&str)| {
                let name = format!("p{place}");
                Json::object([
                    ("name", Json::from(name.as_str())),
                    ("type", "string".into()),
                    ("pattern", (*pattern).into()),
                ])
            };
            read_declarations(Some(patterns.iter().enumerate().map(one).collect::<Vec<_>>().into()))
        };
        let large = r"^\w{1,20}$";
        assert!(declared(&[large]).is_ok() && declared(&["^[a-z]+$"; PARAMS_MAX]).is_ok());
        let mut many = ["^[a-z]+$"; PARAMS_MAX];
        many[7] = large;
        let refused = declared(&many);
        assert!(
            matches!(&refused, Err(Refusal::Fault(Fault::Shape(problems))) if problems[0].field == "params[7].pattern")
        );
    }

    #[test]
    fn a_value_is_what_is_given_or_the_default_or_nothing() {
        let mut declared = vec![text(None), text(None), text(None)];
        declared[0].name = "given".into();
        declared[1].name = "usual".into();
        declared[1].default = Some("u".into());
        let values = resolve(&declared, vec![("given".into(), "".into())], Patience::Turn).unwrap();
        assert_eq!((&*values["given"], &*values["usual"], &*values["p"]), ("", "u", ""));
        declared[1].is_required = true;
        let told = |refused: Result<Values, Refusal>| match refused {
            Err(Refusal::InvalidParams(field, _)) => field,
            other => format!("{other:?}"),
        };
        assert_eq!(
            told(resolve(&declared, vec![], Patience::Turn)),
            "params.usual",
            "a required one is asked for, default or not"
        );
        assert_eq!(told(resolve(&declared, vec![("usual".into(), Json::Null)], Patience::Turn)), "params.usual");
        assert_eq!(told(resolve(&declared, vec![("other".into(), "".into())], Patience::Turn)), "params.other");
    }
}
