//! The definition of a template: a submission whose strings may hold placeholders.
//!
//! It is checked as a submission is, each string with a placeholder in it replaced by one that passes in its place: what a
//! parameter makes of it is seen when it runs, where the definition with values in it is read as any other submission.

use std::collections::HashMap;

use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::Fault;

use super::params::{Declaration, HIDDEN, Values};
use super::placeholders::{Piece, filled, pieces};
use crate::refusal::Refusal;
use crate::workflows::graph::graph;
use crate::workflows::http::form::read_definition;
use crate::workflows::model::{Graph, NewWorkflow};

/// The longest definition, in bytes of JSON.
const DEFINITION_BYTES_MAX: usize = 256 << 10;
/// The most that all its strings take once they have values in them, in bytes.
const FILLED_BYTES_MAX: usize = 1 << 20;
/// Characters of a ref that are shown where it stands for many.
const REF_SHOWN_CHARS: usize = 100;
/// What everything in here is told of under.
const ROOM: &str = "definition";

/// A step on the way from the root to a string.
#[derive(Clone, Copy)]
enum Step<'j> {
    Member(&'j str),
    Item(usize),
}

/// What a submission would have in the place of a string.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The name of a node.
    Ref,
    /// What a node is.
    Type,
    /// The program of a container.
    Program,
    /// A word behind that, or an environment's value.
    Word,
    /// The key of a webhook's signatures.
    WebhookSecret,
    /// One of a few words, of which this is one; or what takes any text.
    Other(&'static str),
}

fn place_of(path: &[Step<'_>]) -> Place {
    use Step::{Item, Member};
    match path {
        [Member("nodes"), Item(_), Member("ref")]
        | [Member("nodes"), Item(_), Member("inputs_from"), Item(_)]
        | [Member("edges"), Item(_), Member("from" | "to")] => Place::Ref,
        [Member("nodes"), Item(_), Member("type")] => Place::Type,
        [Member("nodes"), Item(_), Member("command"), Item(0)] => Place::Program,
        [Member("nodes"), Item(_), Member("command"), Item(_)]
        | [Member("nodes"), Item(_), Member("env"), Member(_)] => Place::Word,
        [Member("nodes"), Item(_), Member("on_expiry")] => Place::Other("reject"),
        [Member("edges"), Item(_), Member("condition")] => Place::Other("on_success"),
        [Member("failure_policy")] => Place::Other("fail_fast"),
        [Member("webhook"), Member("secret")] => Place::WebhookSecret,
        [Member("webhook"), Member("events"), Item(_)] => Place::Other("*"),
        _ => Place::Other("x"),
    }
}

/// The name of a member that is told of.
fn told(path: &[Step<'_>]) -> String {
    path.iter().fold(ROOM.to_owned(), |told, step| match step {
        Step::Member(name) => format!("{told}.{}", quintet_platform::http::shown_name(name)),
        Step::Item(place) => format!("{told}[{place}]"),
    })
}

/// A tree whose strings, and no names of members, have become others. It calls itself: bodies are sixteen levels deep.
fn mapped<'j>(
    json: &'j Json,
    path: &mut Vec<Step<'j>>,
    change: &mut impl FnMut(&[Step<'j>], &'j str) -> Result<String, Refusal>,
) -> Result<Json, Refusal> {
    Ok(match json {
        Json::String(text) => Json::String(change(path, text)?),
        Json::Array(items) => {
            let mut all = Vec::with_capacity(items.len());
            for (place, item) in items.iter().enumerate() {
                path.push(Step::Item(place));
                all.push(mapped(item, path, change)?);
                path.pop();
            }
            Json::Array(all)
        }
        Json::Object(members) => {
            let mut all = Vec::with_capacity(members.len());
            for (name, value) in members {
                path.push(Step::Member(name));
                all.push((name.clone(), mapped(value, path, change)?));
                path.pop();
            }
            Json::Object(all)
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => json.clone(),
    })
}

/// A definition that has been checked.
pub(super) struct Checked {
    pub(super) graph: Graph,
    /// Where it tells its own webhook, unless a parameter has a say in that.
    pub(super) webhook_url: Option<String>,
}

/// Checks a definition as a submission, as far as that can be done without the values of its parameters.
///
/// # Errors
/// What a submission is refused with, under `definition`; and placeholders that are not closed, name no parameter, or have
/// a secret stand where it would be seen.
pub(super) fn check(definition: &Json, params: &[Declaration], nodes_max: u64) -> Result<Checked, Refusal> {
    if !matches!(definition, Json::Object(_)) {
        return Err(Refusal::field(ROOM, "must be an object"));
    }
    if to_compact(definition).len() > DEFINITION_BYTES_MAX {
        return Err(Refusal::field(ROOM, "must take at most 256 KiB"));
    }
    if definition.get("scheduled_start").is_some_and(|start| *start != Json::Null) {
        return Err(Refusal::field("definition.scheduled_start", "is said when the template is run"));
    }
    let mut refs: HashMap<&str, usize> = HashMap::new();
    let mut has_url = true;
    let probe = mapped(definition, &mut Vec::new(), &mut |path, text| {
        let pieces = check_text(path, text, params)?;
        if !pieces.iter().any(|piece| matches!(piece, Piece::Parameter(_))) {
            return Ok(filled(&pieces, usize::MAX, |_| None).unwrap_or_default());
        }
        has_url = has_url && !matches!(path, [Step::Member("webhook"), Step::Member("url")]);
        Ok(match place_of(path) {
            Place::Ref => {
                let next = refs.len() + 1;
                stand_in(text, *refs.entry(text).or_insert(next))
            }
            Place::Type => if is_image_given(definition, path) { "container" } else { "approval" }.to_owned(),
            Place::Program | Place::Word | Place::WebhookSecret => "x".to_owned(),
            Place::Other(word) => word.to_owned(),
        })
    })?;
    let new = read(probe, String::new())?;
    let webhook_url = new.webhook.as_ref().filter(|_| has_url).map(|(webhook, _)| webhook.url.clone());
    if u64::try_from(new.nodes.len()).unwrap_or(u64::MAX) > nodes_max {
        return Err(Refusal::TooManyNodes(nodes_max));
    }
    let graph = graph(&new.nodes, &new.edges).map_err(under)?;
    Ok(Checked { graph, webhook_url })
}

/// The parts of a string whose placeholders are all right.
fn check_text<'j>(path: &[Step<'_>], text: &'j str, params: &[Declaration]) -> Result<Vec<Piece<'j>>, Refusal> {
    let pieces = pieces(text).map_err(|_| Refusal::field(told(path), "has a placeholder that is not closed"))?;
    for piece in &pieces {
        let Piece::Parameter(name) = piece else { continue };
        let problem = || format!("has a placeholder for {name:?}, which is no parameter");
        let declared = params.iter().find(|declared| declared.name == *name);
        let declared = declared.ok_or_else(|| Refusal::field(told(path), problem()))?;
        // Whoever cannot start a program says which.
        if declared.is_secret && !matches!(place_of(path), Place::Word | Place::WebhookSecret) {
            let problem = "cannot hold a secret parameter: arguments of command, env and webhook.secret can";
            return Err(Refusal::field(told(path), problem));
        }
    }
    Ok(pieces)
}

/// Whether the node whose type is asked for has an image: then it may be a container.
fn is_image_given(definition: &Json, path: &[Step<'_>]) -> bool {
    let Some(Step::Item(place)) = path.get(1) else { return false };
    let Some(Json::Array(nodes)) = definition.get("nodes") else { return false };
    nodes.get(*place).and_then(|node| node.get("image")).is_some_and(|image| *image != Json::Null)
}

/// What stands for a ref with placeholders: another one for each as it is written.
fn stand_in(text: &str, number: usize) -> String {
    let shown: String = text.chars().filter(|c| !c.is_control()).take(REF_SHOWN_CHARS).collect();
    format!("{shown} #{number}")
}

/// The submission that a definition is with these values. Of commands it is shown what they are without the secret ones.
///
/// # Errors
/// It would be too long, or is no submission any more.
pub(super) fn render(
    definition: &Json,
    params: &[Declaration],
    values: &Values,
    key_id: String,
) -> Result<NewWorkflow, Refusal> {
    let mut new = read(with_values(definition, values)?, key_id)?;
    if params.iter().any(|declared| declared.is_secret) {
        let mut hidden = values.clone();
        for declared in params.iter().filter(|declared| declared.is_secret) {
            hidden.insert(declared.name.clone(), HIDDEN.to_owned());
        }
        let shown = read(with_values(definition, &hidden)?, String::new())?;
        for (node, shown) in new.nodes.iter_mut().zip(shown.nodes) {
            let (Some((_, secrets)), Some((_, shown))) = (&mut node.spec, shown.spec) else { continue };
            secrets.shown_command = Some(shown.command).filter(|shown| *shown != secrets.command);
        }
    }
    Ok(new)
}

fn with_values(definition: &Json, values: &Values) -> Result<Json, Refusal> {
    let mut left = FILLED_BYTES_MAX;
    let too_long = || Refusal::InvalidParams("params".to_owned(), "make the definition longer than 1 MiB".to_owned());
    mapped(definition, &mut Vec::new(), &mut |path, text| {
        let pieces = pieces(text).map_err(|_| Refusal::field(told(path), "has a placeholder that is not closed"))?;
        let text = filled(&pieces, left, |name| values.get(name).map(String::as_str)).ok_or_else(too_long)?;
        left -= text.len();
        Ok(text)
    })
}

/// Reads a definition; what is wrong with it is told under its name.
fn read(json: Json, key_id: String) -> Result<NewWorkflow, Refusal> {
    read_definition(json, key_id).map_err(under)
}

/// The same refusal of a part of a definition, told with where it stands.
pub(super) fn under(refusal: Refusal) -> Refusal {
    let within = |field: String| if field.is_empty() { ROOM.to_owned() } else { format!("{ROOM}.{field}") };
    match refusal {
        Refusal::Fault(Fault::Shape(mut problems)) => {
            for problem in &mut problems {
                problem.field = within(std::mem::take(&mut problem.field));
            }
            Refusal::Fault(Fault::Shape(problems))
        }
        Refusal::InvalidGraph(field, problem) => Refusal::InvalidGraph(within(field), problem),
        Refusal::UnknownWebhookKey(field) => Refusal::UnknownWebhookKey(within(field)),
        other => other,
    }
}

/// A definition as everybody of the tenant may see it: without the key that its webhook signs with.
pub(super) fn shown(definition: &Json) -> Json {
    let Json::Object(members) = definition else { return definition.clone() };
    let shown = members.iter().map(|(name, value)| match value {
        Json::Object(inner) if name == "webhook" => {
            let seen = inner.iter().filter(|(name, _)| name != "secret").cloned().collect();
            (name.clone(), Json::Object(seen))
        }
        _ => (name.clone(), value.clone()),
    });
    Json::Object(shown.collect())
}

#[cfg(test)]
mod tests {
    use quintet_platform::json::{Limits, parse};

    use super::super::params::{Kind, Patience, read_declarations, resolve};
    use super::*;
    use crate::workflows::model::SpecSecrets;

    fn json(text: &str) -> Json {
        parse(text.as_bytes(), Limits::default()).unwrap()
    }

    fn params() -> Vec<Declaration> {
        let declared = r#"[{"name":"a","type":"string"},{"name":"b","type":"string"},
            {"name":"s","type":"string","secret":true}]"#;
        read_declarations(Some(json(declared))).unwrap().unwrap()
    }

    fn values(given: &[(&str, &str)]) -> Values {
        let given = given.iter().map(|(name, value)| ((*name).to_owned(), Json::from(*value))).collect();
        resolve(&params(), given, Patience::Turn).unwrap()
    }

    fn rendered(definition: &str, given: &[(&str, &str)]) -> Result<NewWorkflow, Refusal> {
        render(&json(definition), &params(), &values(given), String::new())
    }

    /// The member that a definition is refused for.
    fn fault(definition: &str) -> String {
        match check(&json(definition), &params(), 50) {
            Err(Refusal::Fault(Fault::Shape(problems))) => problems[0].field.clone(),
            Err(Refusal::InvalidGraph(field, _) | Refusal::UnknownWebhookKey(field)) => field,
            Err(other) => format!("{other:?}"),
            Ok(_) => "none".to_owned(),
        }
    }

    #[test]
    fn a_placeholder_may_stand_in_every_string_and_is_checked_for_what_is_known_of_it() {
        let whole = r#"{"name":"${{a}}","tags":["${{a}}"],"failure_policy":"${{a}}","webhook":{"url":"${{a}}",
            "events":["${{a}}"],"secret":"${{a}}"},"nodes":[
            {"ref":"${{a}}","type":"${{a}}","image":"${{a}}","command":["${{a}}","${{s}}"],"env":{"${{a}}":"${{s}}"}},
            {"ref":"${{b}}","type":"${{a}}","on_expiry":"${{a}}","inputs_from":["${{a}}"],"x":{"y":["${{b}}"]}}],
            "edges":[{"from":"${{a}}","to":"${{b}}","condition":"${{a}}"}]}"#;
        let checked = check(&json(whole), &params(), 50).unwrap();
        assert_eq!((checked.graph.nodes.len(), checked.graph.edges.len(), checked.webhook_url), (2, 1, None));
        let gates = |nodes: &str, edges: &str| fault(&format!(r#"{{"nodes":[{nodes}],"edges":[{edges}]}}"#));
        let gate = |name: &str| format!(r#"{{"ref":"{name}","type":"approval"}}"#);
        assert_eq!(gates(&format!("{},{}", gate("${{a}}"), gate("${{a}}")), ""), "definition.nodes[1].ref");
        assert_eq!(gates(&format!("{},{}", gate("${{a}}"), gate("${{ a }}")), ""), "none", "as written");
        assert_eq!(gates(&gate("${{a}}"), r#"{"from":"${{a}}","to":"${{b}}"}"#), "definition.edges[0].to");
        assert_eq!(gates(&gate("${{c}}"), ""), "definition.nodes[0].ref");
        assert_eq!(gates(&gate("${{a"), ""), "definition.nodes[0].ref");
        assert_eq!(gates(&gate("${{s}}"), ""), "definition.nodes[0].ref");
        assert_eq!(gates(r#"{"ref":"a","image":"b","retries":"${{a}}"}"#, ""), "definition.nodes[0].retries");
        assert_eq!(gates(r#"{"ref":"a","image":"b","command":["${{s}}"]}"#, ""), "definition.nodes[0].command[0]");
        assert_eq!(gates(r#"{"ref":"a","type":"container"}"#, ""), "definition.nodes[0].image");
        assert_eq!(
            fault(r#"{"nodes":[{"ref":"a","type":"approval"}],"scheduled_start":1}"#),
            "definition.scheduled_start"
        );
        assert_eq!(fault("[]"), "definition");
    }

    #[test]
    fn what_values_make_of_it_is_read_as_a_submission_and_never_scanned_again() {
        let definition = r#"{"nodes":[{"ref":"${{a}}-$${{a}}","image":"i","command":["p","--key=${{ s }}","${{b}}"],
            "env":{"E":"${{ b }}${{ s }}"}}]}"#;
        let new = rendered(definition, &[("a", "\"},{"), ("b", "${{ s }}"), ("s", "sesame")]).unwrap();
        assert_eq!(new.nodes.len(), 1, "a value is text, whatever it looks like");
        assert_eq!(new.nodes[0].reference, "\"},{-${{a}}");
        let (_, secrets) = new.nodes[0].spec.clone().unwrap();
        assert_eq!(secrets.command, ["p", "--key=sesame", "${{ s }}"]);
        assert_eq!(secrets.env, [("E".to_owned(), "${{ s }}sesame".to_owned())]);
        assert_eq!(secrets.shown_command.unwrap(), ["p", "--key=***", "${{ s }}"]);
        let plain = rendered(r#"{"nodes":[{"ref":"a","image":"i","command":["${{a}}"]}]}"#, &[("a", "p")]).unwrap();
        assert_eq!(plain.nodes[0].spec.clone().unwrap().1.shown_command, None);
        assert!(matches!(
            rendered(r#"{"nodes":[{"ref":"a","type":"${{a}}"}]}"#, &[("a", "nothing")]),
            Err(Refusal::Fault(Fault::Shape(problems))) if problems[0].field == "definition.nodes[0].type"
        ));
    }

    /// A definition that grows beyond what is taken is refused before the memory is.
    #[test]
    fn what_grows_too_long_is_refused() {
        let words = vec![r#""${{a}}""#; 200].join(",");
        let definition = format!(r#"{{"nodes":[{{"ref":"a","image":"i","command":[{words}]}}]}}"#);
        let refused = rendered(&definition, &[("a", &"x".repeat(8_000))]);
        assert!(matches!(refused, Err(Refusal::InvalidParams(field, _)) if field == "params"));
    }

    /// Whatever placeholders and values, what is rendered is what a submission with the values in it would be.
    #[test]
    fn a_rendered_definition_is_the_submission_that_it_stands_for() {
        let mut random = fastrand::Rng::with_seed(19);
        let pieces = ["${{ a }}", "${{b}}", "$${{a}}", "$", "{{", "}}", "x", "\\", "\"", " "];
        let texts = ["1", "", "${{ b }}", "$${{", "}}", "\"]}", "\u{e9}", "$"];
        for _ in 0..2_000 {
            let (a, b) = (texts[random.usize(..texts.len())], texts[random.usize(..texts.len())]);
            let (mut template, mut meant) = ("t".to_owned(), "t".to_owned());
            let mut last = "";
            for _ in 0..random.usize(1..6) {
                let piece = pieces[random.usize(..pieces.len())];
                // Signs next to one another would be read as one.
                if last.ends_with(['$', '{']) && piece.starts_with(['$', '{']) {
                    continue;
                }
                last = piece;
                template.push_str(piece);
                meant.push_str(match piece {
                    "${{ a }}" => a,
                    "${{b}}" => b,
                    "$${{a}}" => "${{a}}",
                    plain => plain,
                });
            }
            let body = |command: &str, env: &str| {
                let node = Json::object([
                    ("ref", Json::from("n")),
                    ("image", "i".into()),
                    ("command", vec![Json::from("p"), command.into()].into()),
                    ("env", Json::object([("E", env)].map(|(name, value)| (name, Json::from(value))))),
                ]);
                Json::object([("nodes", Json::from(vec![node]))])
            };
            let of = |new: NewWorkflow| -> SpecSecrets { new.nodes.into_iter().next().unwrap().spec.unwrap().1 };
            check(&body(&template, &template), &params(), 50).map(|_| ()).unwrap();
            let new = render(&body(&template, &template), &params(), &values(&[("a", a), ("b", b)]), String::new());
            let submitted = read_definition(body(&meant, &meant), String::new()).unwrap();
            assert_eq!(of(new.unwrap()), of(submitted), "{template:?} with {a:?} and {b:?}");
        }
    }

    #[test]
    fn the_key_of_a_webhook_is_shown_to_nobody() {
        let definition = json(r#"{"nodes":[],"webhook":{"url":"u","secret":"sesame","events":["*"]}}"#);
        assert_eq!(to_compact(&shown(&definition)), r#"{"nodes":[],"webhook":{"url":"u","events":["*"]}}"#);
        assert!(params().iter().all(|declared| declared.kind == Kind::Text { pattern: None }));
    }
}
