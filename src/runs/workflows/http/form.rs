//! Reading workflows: members in the order of the documentation, each with its bounds.

use quintet_platform::json::{Fields, Json, Number};

use super::super::model::{
    CONDITION_NAMES, Condition, Expiry, FailurePolicy, NewEdge, NewNode, NewWorkflow, NodeKind, Origin, POLICY_NAMES,
    Spec, SpecSecrets, Verdict,
};
use crate::containers::http::webhook::read_webhook;
use crate::containers::http::words::{at_least, check_size, command, cpu, env, image, memory_mb};
use crate::dialect::Call;
use crate::form::{NAME_CHARS_MAX, field, first, instant, label, optional, tags, texts};
use crate::refusal::Refusal;
use crate::webhooks::address;

/// The most retries of a node, the longest backoff in seconds.
const RETRIES_MAX: u64 = 10;
const BACKOFF_SECONDS_MAX: u64 = 86_400;
const BACKOFF_SECONDS: u64 = 10;
/// The shortest and the longest life of an open gate, in seconds.
const EXPIRY_SECONDS_LEAST: u64 = 60;
const EXPIRY_SECONDS_MOST: u64 = 2_592_000;
/// The most inputs of a node: more than any workflow has nodes.
const INPUTS_MAX: usize = 1_000;
/// The most edges, and the most inputs of all nodes together: a graph is read whole at each step of its workflow.
const EDGES_MAX: usize = 5_000;
/// The longest comment, in characters.
const COMMENT_CHARS_MAX: usize = 2_000;

/// POST /api/v1/workflows
pub(super) async fn read_new(json: Json, call: &Call) -> Result<NewWorkflow, Refusal> {
    let new = read_definition(json, call.caller.key_id.clone())?;
    if let Some((webhook, _)) = &new.webhook {
        address::check("webhook.url", &webhook.url, call).await?;
    }
    Ok(new)
}

/// What a workflow is to be. Whether it is a graph, and whether its webhook may be called, is found out later.
pub(crate) fn read_definition(json: Json, key_id: String) -> Result<NewWorkflow, Refusal> {
    let mut fields = Fields::new(json).map_err(field)?;
    let name = optional::<String>(&mut fields, "name")?;
    if let Some(name) = &name {
        label("name", name)?;
    }
    let tags = tags(&mut fields)?;
    let policies = [FailurePolicy::FailFast, FailurePolicy::Continue];
    let policy = word(&mut fields, "failure_policy", &POLICY_NAMES, &policies)?.unwrap_or(FailurePolicy::FailFast);
    let nodes = fields.required_objects("nodes").map_err(field)?;
    if nodes.is_empty() {
        return Err(Refusal::field("nodes", "must have at least one node"));
    }
    let nodes = nodes.into_iter().map(read_node).collect::<Result<Vec<_>, _>>()?;
    let inputs: usize = nodes.iter().map(|node| node.inputs_from.len()).sum();
    if inputs > EDGES_MAX {
        return Err(Refusal::field("nodes", format!("must have at most {EDGES_MAX} inputs_from in all")));
    }
    let edges = match fields.take("edges") {
        None | Some(Json::Null) => Vec::new(),
        Some(given) => {
            let mut only = Fields::new(Json::object([("edges", given)])).map_err(field)?;
            only.required_objects("edges").map_err(field)?
        }
    };
    if edges.len() > EDGES_MAX {
        return Err(Refusal::field("edges", format!("must have at most {EDGES_MAX} items")));
    }
    let edges = edges.into_iter().map(read_edge).collect::<Result<Vec<_>, _>>()?;
    let scheduled_start = instant(&mut fields, "scheduled_start")?;
    let webhook = match fields.take("webhook") {
        None | Some(Json::Null) => None,
        Some(json) => Some(read_webhook(json)?),
    };
    fields.finish().map_err(|unknown| first(unknown, field))?;
    let origin = Origin::default();
    Ok(NewWorkflow { name, tags, policy, nodes, edges, webhook, scheduled_start, origin, key_id })
}

/// A node; members that nobody knows are ignored.
fn read_node(mut fields: Fields) -> Result<NewNode, Refusal> {
    let reference: String = fields.required("ref").map_err(field)?;
    check_ref(&fields, "ref", &reference)?;
    let is_gate = word(&mut fields, "type", &["container", "approval"], &[false, true])?.unwrap_or(false);
    let spec = if is_gate { None } else { Some(read_spec(&mut fields)?) };
    let inputs_from = texts(&mut fields, "inputs_from", INPUTS_MAX)?;
    for reference in &inputs_from {
        check_ref(&fields, "inputs_from", reference)?;
    }
    if is_gate {
        let after_seconds = within(&mut fields, "expires_after_seconds", EXPIRY_SECONDS_LEAST, EXPIRY_SECONDS_MOST)?;
        let verdicts = [Verdict::Approved, Verdict::Rejected];
        let verdict = word(&mut fields, "on_expiry", &["approve", "reject"], &verdicts)?.unwrap_or(Verdict::Rejected);
        let expiry = after_seconds.map(|after_seconds| Expiry { after_seconds, verdict });
        return Ok(NewNode { reference, kind: NodeKind::Gate { expiry }, inputs_from, spec });
    }
    let retries = within(&mut fields, "retries", 0, RETRIES_MAX)?.unwrap_or(0);
    let backoff_seconds = within(&mut fields, "retry_backoff_seconds", 0, BACKOFF_SECONDS_MAX)?;
    let backoff_seconds = backoff_seconds.unwrap_or(u32::try_from(BACKOFF_SECONDS).unwrap_or(u32::MAX));
    let spec = match spec {
        Some((spec, secrets)) => {
            let limits = Spec {
                cpu_millicores: cpu(&mut fields)?,
                memory_mb: memory_mb(&mut fields)?,
                timeout_seconds: at_least(&mut fields, "timeout_seconds", 1)?,
                ..spec
            };
            Some((limits, secrets))
        }
        None => None,
    };
    Ok(NewNode { reference, kind: NodeKind::Container { retries, backoff_seconds }, inputs_from, spec })
}

fn read_spec(fields: &mut Fields) -> Result<(Spec, SpecSecrets), Refusal> {
    let image = image(fields)?;
    let command = command(fields)?;
    let env = env(fields)?;
    check_size(fields, &command, &env)?;
    let spec = Spec { image, timeout_seconds: None, cpu_millicores: None, memory_mb: None };
    Ok((spec, SpecSecrets { command, env, shown_command: None }))
}

fn read_edge(mut fields: Fields) -> Result<NewEdge, Refusal> {
    let from: String = fields.required("from").map_err(field)?;
    check_ref(&fields, "from", &from)?;
    let to: String = fields.required("to").map_err(field)?;
    check_ref(&fields, "to", &to)?;
    let condition = word(&mut fields, "condition", &CONDITION_NAMES, &Condition::ALL)?.unwrap_or(Condition::OnSuccess);
    fields.finish().map_err(|unknown| first(unknown, field))?;
    Ok(NewEdge { from, to, condition })
}

fn check_ref(fields: &Fields, name: &str, reference: &str) -> Result<(), Refusal> {
    let chars = reference.chars().count();
    if chars == 0 || chars > NAME_CHARS_MAX || reference.chars().any(char::is_control) {
        let problem = "must have 1 to 128 characters, none of them a control character";
        return Err(Refusal::field(fields.path_of(name), problem));
    }
    Ok(())
}

/// One of a few words, as what it stands for.
fn word<T: Copy>(fields: &mut Fields, name: &str, words: &[&str], values: &[T]) -> Result<Option<T>, Refusal> {
    let Some(text) = optional::<String>(fields, name)? else { return Ok(None) };
    let place = words.iter().position(|word| *word == text);
    let value = place.and_then(|place| values.get(place)).copied();
    value.map(Some).ok_or_else(|| Refusal::field(fields.path_of(name), format!("must be one of {}", words.join(", "))))
}

/// A whole number between two.
fn within(fields: &mut Fields, name: &str, least: u64, most: u64) -> Result<Option<u32>, Refusal> {
    let Some(number) = optional::<Number>(fields, name)? else { return Ok(None) };
    let value =
        number.as_u64().filter(|value| (least..=most).contains(value)).and_then(|value| u32::try_from(value).ok());
    let problem = || Refusal::field(fields.path_of(name), format!("must be a whole number from {least} to {most}"));
    value.map(Some).ok_or_else(problem)
}

/// The comment of a decision; the body may be absent.
pub(super) fn read_comment(body: Option<Json>) -> Result<Option<String>, Refusal> {
    let Some(body) = body else { return Ok(None) };
    let mut fields = Fields::new(body).map_err(field)?;
    let comment = optional::<String>(&mut fields, "comment")?;
    fields.finish().map_err(|unknown| first(unknown, field))?;
    if comment.as_ref().is_some_and(|comment| comment.chars().count() > COMMENT_CHARS_MAX) {
        return Err(Refusal::field("comment", "must have 2000 characters at most"));
    }
    Ok(comment)
}

/// The body of what needs none: absent, or an object without members.
pub(super) fn read_nothing(body: Option<Json>) -> Result<(), Refusal> {
    let Some(body) = body else { return Ok(()) };
    Fields::new(body).map_err(field)?.finish().map_err(|unknown| first(unknown, field))
}
