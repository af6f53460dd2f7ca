//! Reading registrations and labels.

use quintet_platform::json::{Fields, Json};
use quintet_platform::secrets::random_bytes;

use super::super::model::Registration;
use crate::form::{line, optional, required, texts};
use crate::refusal::Refusal;
use crate::words::agent_name::AgentName;
use crate::words::checkout::{SessionKey, device_hash};
use crate::words::origin::fingerprint;
use crate::words::tag;

/// Characters of a role: as many as a name has, for clients that are told no role say the name.
const ROLE_CHARS_MAX: usize = 64;
/// Characters of a device's id, of a path, and of a repository's address.
const DEVICE_CHARS_MAX: usize = 256;
const PATH_CHARS_MAX: usize = 4_096;
const ORIGIN_CHARS_MAX: usize = 2_048;
/// Things that an agent can, and characters of one.
const CAPABILITIES_MAX: usize = 100;
const CAPABILITY_CHARS_MAX: usize = 128;
/// Labels in one request; how many an agent may wear is a limit of the workspace.
const LABELS_MAX: usize = 1_000;
/// Characters of a persona: `[a-z][a-z0-9-]{0,31}`.
const PERSONA_CHARS_MAX: usize = 32;

/// What a persona is told that was given with a key that is no admin's.
pub(super) const PERSONA_IGNORED: &str = "a persona is set with a key of scope admin alone; this one was ignored";

/// A registration, and what is told if its persona was ignored.
pub(super) type Read = (Registration, Option<&'static str>);

/// POST /v1/agents/register. Device and path are hashed here and go no further.
pub(super) fn read_registration(fields: &mut Fields, is_admin: bool) -> Result<Read, Refusal> {
    let name = optional::<String>(fields, "name")?.map(|name| name_of(&name)).transpose()?;
    let role = role(fields)?;
    let device_id = bounded(fields, "device_id", DEVICE_CHARS_MAX)?;
    let workdir = bounded(fields, "workdir", PATH_CHARS_MAX)?;
    let repo_fingerprint = repository(fields)?;
    let session = SessionKey::of(device_id.as_deref(), repo_fingerprint.as_deref(), workdir.as_deref());
    let persona = optional::<String>(fields, "persona")?.filter(|persona| !persona.is_empty());
    let ignored = persona.as_ref().filter(|_| !is_admin).map(|_| PERSONA_IGNORED);
    let persona = persona.filter(|_| is_admin).map(persona_of).transpose()?;
    let registration = Registration {
        name,
        role,
        session,
        device_hash: device_id.as_deref().map(device_hash),
        repo_fingerprint,
        capabilities: capabilities(fields)?,
        labels: labels(fields, "labels")?,
        is_unlisted: optional(fields, "unlisted")?,
        is_ephemeral: optional(fields, "ephemeral")?,
        persona,
        spare_name: AgentName::made(random_bytes()),
    };
    Ok((registration, ignored))
}

/// POST /v1/agents/join: the token, the name, and the rest of it. Whoever joins says nothing of where it works.
pub(super) fn read_join(fields: &mut Fields) -> Result<(String, AgentName, Registration), Refusal> {
    let token = required(fields, "token")?;
    let name = name_of(&required::<String>(fields, "name")?)?;
    let registration = Registration {
        name: None,
        role: role(fields)?,
        session: None,
        device_hash: None,
        repo_fingerprint: repository(fields)?,
        capabilities: capabilities(fields)?,
        labels: Vec::new(),
        is_unlisted: None,
        is_ephemeral: None,
        persona: None,
        spare_name: name.clone(),
    };
    Ok((token, name, registration))
}

pub(super) fn name_of(text: &str) -> Result<AgentName, Refusal> {
    AgentName::parse(text).map_err(|fault| Refusal::field("name", fault.to_string()))
}

fn role(fields: &mut Fields) -> Result<Option<String>, Refusal> {
    let role = optional::<String>(fields, "role")?.filter(|role| !role.is_empty());
    role.map(|role| line("role", role, ROLE_CHARS_MAX)).transpose()
}

/// A text that is hashed, so that it may have anything in it; the empty one is none.
fn bounded(fields: &mut Fields, name: &str, most: usize) -> Result<Option<String>, Refusal> {
    let text = optional::<String>(fields, name)?.filter(|text| !text.is_empty());
    if text.as_ref().is_some_and(|text| text.chars().count() > most) {
        return Err(Refusal::field(name, format!("must have at most {most} characters")));
    }
    Ok(text)
}

fn repository(fields: &mut Fields) -> Result<Option<String>, Refusal> {
    Ok(bounded(fields, "repo_remote", ORIGIN_CHARS_MAX)?.as_deref().map(fingerprint))
}

/// What an agent can, each thing once. Absent and null keep what it has.
fn capabilities(fields: &mut Fields) -> Result<Option<Vec<String>>, Refusal> {
    let Some(given) = optional::<Vec<String>>(fields, "capabilities")? else { return Ok(None) };
    if given.len() > CAPABILITIES_MAX {
        return Err(Refusal::field("capabilities", format!("must have at most {CAPABILITIES_MAX} items")));
    }
    let mut all = Vec::with_capacity(given.len());
    for capability in given {
        let capability = line("capabilities", capability, CAPABILITY_CHARS_MAX)?;
        if !all.contains(&capability) {
            all.push(capability);
        }
    }
    Ok(Some(all))
}

fn persona_of(text: String) -> Result<String, Refusal> {
    let is_first = text.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    let is_rest = text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if is_first && is_rest && text.len() <= PERSONA_CHARS_MAX {
        return Ok(text);
    }
    Err(Refusal::field("persona", "must have 1 to 32 of a-z, 0-9, \"-\", and begin with a letter"))
}

/// Labels: an object of texts; null is the empty one.
pub(super) fn labels(fields: &mut Fields, name: &str) -> Result<Vec<(String, String)>, Refusal> {
    let members: Vec<(String, Json)> = optional(fields, name)?.unwrap_or_default();
    if members.len() > LABELS_MAX {
        return Err(Refusal::field(name, format!("must have at most {LABELS_MAX} members")));
    }
    let read = |(key, value): (String, Json)| {
        if !tag::is_key(&key) {
            return Err(Refusal::field(name, format!("has a key that is none: it {}", tag::KEY_RULE)));
        }
        match value {
            Json::Null => Ok((key, String::new())),
            Json::String(value) if tag::is_value(&value) => Ok((key, value)),
            Json::String(_) => Err(Refusal::field(format!("{name}.{key}"), tag::VALUE_RULE)),
            _ => Err(Refusal::field(format!("{name}.{key}"), "must be a string")),
        }
    };
    members.into_iter().map(read).collect()
}

/// What is set, and what is taken off.
pub(super) type LabelsChange = (Vec<(String, String)>, Vec<String>);

/// PATCH /v1/agents/{name}/labels
pub(super) fn read_labels(fields: &mut Fields) -> Result<LabelsChange, Refusal> {
    Ok((labels(fields, "set")?, texts(fields, "remove", LABELS_MAX)?))
}
