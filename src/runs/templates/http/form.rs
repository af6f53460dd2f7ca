//! Reading templates, and what they are run with.

use quintet_platform::json::{Fields, Json, Number};

use super::super::definition::under;
use super::super::launch::Wanted;
use super::super::model::TemplateChange;
use super::super::params::{Declaration, Patience, read_declarations, read_given};
use crate::containers::http::webhook::read_webhook;
use crate::form::{field, first, instant, label, optional, tags};
use crate::refusal::Refusal;

/// The fewest and the most characters of a name.
const NAME_CHARS: std::ops::RangeInclusive<usize> = 2..=63;

/// What is given of a template: its name, what it asks for, what it is.
pub(super) struct Given {
    pub(super) name: Option<String>,
    pub(super) params: Option<Vec<Declaration>>,
    pub(super) definition: Option<Json>,
}

impl Given {
    /// The definition where there must be one.
    pub(super) fn definition(&self) -> Result<Json, Refusal> {
        self.definition.clone().ok_or_else(|| Refusal::field("definition", "is required"))
    }

    /// As a change that leaves what is not given.
    pub(super) fn into_change(self) -> TemplateChange {
        TemplateChange { name: self.name, params: self.params, definition: self.definition }
    }
}

/// The body of a template. Whether its definition is one is found out later.
pub(super) fn read_template(json: Json) -> Result<Given, Refusal> {
    let mut fields = Fields::new(json).map_err(field)?;
    let name = optional::<String>(&mut fields, "name")?;
    if name.as_ref().is_some_and(|name| !is_name(name)) {
        return Err(Refusal::field("name", "must begin with a to z, and have 2 to 63 of a to z, 0 to 9 and -"));
    }
    let params = read_declarations(fields.take("params"))?;
    let definition = fields.take("definition").filter(|definition| *definition != Json::Null);
    fields.finish().map_err(|unknown| first(unknown, field))?;
    Ok(Given { name, params, definition })
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && NAME_CHARS.contains(&name.len())
}

/// What a template is run with; the body may be absent.
pub(super) fn read_wanted(body: Option<Json>, key_id: String) -> Result<Wanted, Refusal> {
    let mut fields = Fields::new(body.unwrap_or(Json::Object(Vec::new()))).map_err(field)?;
    let given = read_given(fields.take("params"))?;
    let version = match optional::<Number>(&mut fields, "version")? {
        None => None,
        Some(number) => Some(read_version(&number)?),
    };
    let name = optional::<String>(&mut fields, "name")?;
    if let Some(name) = &name {
        label("name", name)?;
    }
    let tags = tags(&mut fields)?;
    let scheduled_start = instant(&mut fields, "scheduled_start")?;
    let webhook = match fields.take("webhook") {
        None | Some(Json::Null) => None,
        Some(json) => Some(read_webhook(json)?),
    };
    fields.finish().map_err(|unknown| first(unknown, field))?;
    Ok(Wanted {
        given,
        secrets: Vec::new(),
        version,
        name,
        tags,
        scheduled_start,
        webhook,
        key_id,
        patience: Patience::Turn,
    })
}

/// The number of a version: one that no version can have is found nowhere.
pub(super) fn read_version(number: &Number) -> Result<u64, Refusal> {
    let is_huge = number.is_integer() && !number.as_str().starts_with('-') && number.as_u64().is_none();
    match if is_huge { Some(u64::MAX) } else { number.as_u64() } {
        Some(value) if value >= 1 => Ok(value),
        _ => Err(Refusal::field("version", "must be a whole number, at least 1")),
    }
}

/// Why an address of a definition may not be called, told with where it stands.
pub(super) fn in_definition(refusal: Refusal) -> Refusal {
    match refusal {
        Refusal::UrlNotAllowed(_, problem) => Refusal::UrlNotAllowed("definition.webhook.url", problem),
        other => under(other),
    }
}
