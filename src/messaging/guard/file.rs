//! Rules as the operator writes them: a JSON array of objects (U2). What is not known in it is refused, for a rule that is
//! misspelled would be no rule.

use quintet_platform::json::{Fields, FromJson, Given, Json, Limits, parse};
use quintet_platform::service::Problem;

use super::glob::is_plain;
use super::model::{Action, RULES_MAX, Rule};
use crate::approvals::model::check_kind;
use crate::form::field;
use crate::refusal::Refusal;

/// Bytes of a file.
pub(crate) const FILE_BYTES_MAX: usize = 48 << 10;
/// Characters of a glob, and of a field's name.
const GLOB_CHARS_MAX: usize = 200;
/// Characters of what is looked for, and of a reason.
const TEXT_CHARS_MAX: usize = 1_000;
/// Globs of agents of one rule.
const AGENTS_MAX: usize = 25;

/// Reads rules.
///
/// # Errors
/// The first thing that is wrong, with the place of its rule.
pub(crate) fn read(text: &str) -> Result<Vec<Rule>, Refusal> {
    if text.len() > FILE_BYTES_MAX {
        return Err(Refusal::field("the file", format!("must have at most {FILE_BYTES_MAX} bytes")));
    }
    let json = parse(text.as_bytes(), Limits::default());
    let json = json.map_err(|error| Refusal::field("the file", format!("is no JSON: {error}")))?;
    let Json::Array(rules) = json else { return Err(Refusal::field("the file", "must be an array of rules")) };
    if rules.len() > RULES_MAX {
        return Err(Refusal::field("the file", format!("must have at most {RULES_MAX} rules")));
    }
    rules.into_iter().enumerate().map(|(place, rule)| one(&format!("rule {}", place + 1), rule)).collect()
}

fn one(place: &str, rule: Json) -> Result<Rule, Refusal> {
    let mut fields = Fields::at(place, rule).map_err(field)?;
    let wrong = |name: &str, problem: String| Err(Refusal::field(format!("{place}.{name}"), problem));
    let tool: String = taken(&mut fields, "tool")?.unwrap_or_default();
    let member: Option<String> = taken(&mut fields, "field")?;
    let contains: Option<String> = taken(&mut fields, "contains")?;
    let agents: Vec<String> = taken(&mut fields, "agents")?.unwrap_or_default();
    let action: Option<String> = taken(&mut fields, "action")?;
    let kind: Option<String> = taken(&mut fields, "kind")?;
    let reason: Option<String> = taken(&mut fields, "reason")?;
    if let Err(unknown) = fields.finish() {
        let all = unknown.into_iter().map(|error| Problem::new(error.field, error.problem.to_string()));
        return Err(Refusal::Invalid(all.collect()));
    }
    for glob in std::iter::once(&tool).chain(&agents) {
        if !is_plain(glob) || glob.chars().count() > GLOB_CHARS_MAX {
            let problem = format!(
                "holds {glob:?}, which is no glob: a text of 1 to {GLOB_CHARS_MAX} characters in which * stands for any, and \
                 ? [ ] {{ }} \\ do not occur"
            );
            return wrong(if glob == &tool { "tool" } else { "agents" }, problem);
        }
    }
    if agents.len() > AGENTS_MAX {
        return wrong("agents", format!("must have at most {AGENTS_MAX} items"));
    }
    for (name, text, most) in [
        ("field", &member, GLOB_CHARS_MAX),
        ("contains", &contains, TEXT_CHARS_MAX),
        ("reason", &reason, TEXT_CHARS_MAX),
    ] {
        if text.as_ref().is_some_and(|text| text.is_empty() || text.chars().count() > most) {
            return wrong(name, format!("must have 1 to {most} characters"));
        }
    }
    let named = action.as_deref().and_then(|name| Action::ALL.into_iter().find(|action| action.name() == name));
    let Some(action) = named else { return wrong("action", "must be allow, deny or approval".to_owned()) };
    if let Some(kind) = &kind {
        if action != Action::Approval {
            return wrong("kind", "is for rules whose action is approval".to_owned());
        }
        if check_kind(kind).is_err() {
            return wrong("kind", "must match [a-z0-9][a-z0-9._-]{0,63}".to_owned());
        }
    }
    Ok(Rule { tool, field: member, contains, agents, action, kind, reason })
}

fn taken<T: FromJson>(fields: &mut Fields, name: &str) -> Result<Option<T>, Refusal> {
    fields.nullable(name).map(Given::value).map_err(field)
}

/// Rules as they are written.
pub(crate) fn write(rules: &[Rule]) -> Json {
    let one = |rule: &Rule| {
        let text = |name: &'static str, text: &Option<String>| text.as_deref().map(|text| (name, Json::from(text)));
        let agents = rule.agents.iter().map(|agent| Json::from(agent.as_str())).collect::<Vec<_>>();
        let members = [
            Some(("tool", Json::from(rule.tool.as_str()))),
            text("field", &rule.field),
            text("contains", &rule.contains),
            Some(("agents", Json::from(agents))).filter(|_| !rule.agents.is_empty()),
            Some(("action", rule.action.name().into())),
            text("kind", &rule.kind),
            text("reason", &rule.reason),
        ];
        Json::object(members.into_iter().flatten())
    };
    Json::Array(rules.iter().map(one).collect())
}
