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

    /// Whether a value is right; if not, why.
    fn check(&self, value: &str) -> Result<(), String> {
        if value.len() > VALUE_BYTES_MAX {
            return Err("must have 8 KiB at most".to_owned());
        }
        // Whoever sends back what he was shown would lose the secret.
        if self.is_secret && value == HIDDEN {
            return Err(format!("is what is shown in place of a secret: give the secret itself, not {HIDDEN:?}"));
        }
        match &self.kind {
            Kind::Text { pattern: None } => Ok(()),
            Kind::Text { pattern: Some(pattern) } => match ready(pattern) {
                Some(ready) if ready.is_match(value) => Ok(()),
                _ => Err("does not match the pattern of the parameter".to_owned()),
            },
            Kind::Choice { values } if values.iter().any(|known| known == value) => Ok(()),
            Kind::Choice { .. } => Err("is none of the values of the parameter".to_owned()),
        }
    }
}

/// A pattern made ready. It is looked for in time that grows with the text alone, whatever the pattern.
fn ready(pattern: &str) -> Option<Regex> {
    ready_within(pattern, PATTERN_MEMORY_MAX)
}

/// The same, if it takes so much memory at most.
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
        declaration.check(default).map_err(|problem| Refusal::field(fields.path_of("default"), problem))?;
    }
    fields.finish().map_err(|unknown| first(unknown, field))?;
    Ok(declaration)
}

fn check_kind(fields: &Fields, kind: &Kind) -> Result<(), Refusal> {
    match kind {
        Kind::Text { pattern: Some(pattern) } if pattern.len() > PATTERN_BYTES_MAX || ready(pattern).is_none() => {
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
pub(super) fn resolve(declarations: &[Declaration], given: Vec<(String, Json)>) -> Result<Values, Refusal> {
    let invalid =
        |name: &str, problem: &str| Refusal::InvalidParams(format!("params.{}", shown_name(name)), problem.to_owned());
    let mut values = Values::new();
    for (name, value) in given {
        let declaration = declarations.iter().find(|known| known.name == name);
        let declaration = declaration.ok_or_else(|| invalid(&name, "is no parameter of the template"))?;
        let Json::String(text) = value else { return Err(invalid(&name, "must be a string")) };
        declaration.check(&text).map_err(|problem| invalid(&name, &problem))?;
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
        let right = |pattern: &str, value: &str| text(Some(pattern)).check(value).is_ok();
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
            let _ = text(Some(pattern)).check(&format!("{long}!"));
            assert!(began.elapsed() < Duration::from_secs(2), "{pattern}: {:?}", began.elapsed());
        }
        assert!(ready("((a{1,1000}){1,1000}){1,1000}").is_none(), "nor do they take all memory");
        assert!(ready(r"(a)\1").is_none() && ready("(?=a)").is_none());
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
        let values = resolve(&declared, vec![("given".into(), "".into())]).unwrap();
        assert_eq!((&*values["given"], &*values["usual"], &*values["p"]), ("", "u", ""));
        declared[1].is_required = true;
        let told = |refused: Result<Values, Refusal>| match refused {
            Err(Refusal::InvalidParams(field, _)) => field,
            other => format!("{other:?}"),
        };
        assert_eq!(told(resolve(&declared, vec![])), "params.usual", "a required one is asked for, default or not");
        assert_eq!(told(resolve(&declared, vec![("usual".into(), Json::Null)])), "params.usual");
        assert_eq!(told(resolve(&declared, vec![("other".into(), "".into())])), "params.other");
    }
}
