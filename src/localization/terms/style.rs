//! Styles: set one, list them.

use quintet_platform::json::Json;
use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, WriteTx};

use super::changed::note_register;
use super::generation::{project_terms, put_project_terms};
use super::model::{Register, STYLE_BYTES_MAX, STYLES_MAX, Style, StyleScope};
use super::tables::{STYLES, StyleRow};
use super::wording::stored_style_locale;
use crate::audit::{self, Actor, Event};
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::spaces::ProjectId;

/// Sets a style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutStyle {
    locale: String,
    scope: StyleScope,
    text: String,
    register: Option<Register>,
}

impl PutStyle {
    /// What is to be said for a locale in a scope; an empty text says nothing any more.
    ///
    /// # Errors
    /// In this order (localization, G3): [`Refusal::Tag`]; [`Refusal::RegisterScope`] for a register in another scope than
    /// the default one, or without a text.
    pub fn new(locale: &str, scope: StyleScope, text: String, register: Option<Register>) -> Result<PutStyle, Refusal> {
        let locale = stored_style_locale(locale)?;
        if register.is_some() && (scope != StyleScope::Default || text.is_empty()) {
            return Err(Refusal::RegisterScope);
        }
        Ok(PutStyle { locale, scope, text, register })
    }
}

/// How many bytes a text has as JSON writes it, its quotes left out.
#[must_use]
pub fn json_bytes(text: &str) -> u64 {
    let escaped = |character: char| match character {
        '"' | '\\' | '\u{8}' | '\t' | '\n' | '\u{C}' | '\r' => 2,
        '\0'..'\u{20}' => 6,
        other => other.len_utf8() as u64,
    };
    text.chars().map(escaped).sum()
}

/// Sets or deletes a style; all of the project's then.
///
/// # Errors
/// [`Refusal::Conflict`] for more styles, or longer ones, than a project may have.
pub fn put_style(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    project_id: ProjectId,
    command: PutStyle,
) -> Result<Vec<Style>, Abort<Refusal>> {
    let PutStyle { locale, scope, text, register } = command;
    let tenant_id = actor.tenant_id;
    let place = (tenant_id, project_id, locale, scope.place());
    let before = tx.get(&STYLES, &place)?;
    let mut terms = project_terms(tx, tenant_id, project_id)?;
    terms.styles = terms.styles.saturating_sub(u32::from(before.is_some()));
    terms.style_bytes = terms.style_bytes.saturating_sub(before.as_ref().map_or(0, |row| json_bytes(&row.text)));
    // An empty text is no style: then it asks for no register.
    let is_new_generation = before.as_ref().and_then(|row| row.register) != register
        || scope == StyleScope::Default && before.is_some() == text.is_empty();
    let event = Event::about("project_style.set", "project", project_id.0).with([
        ("locale", Json::from(place.2.as_str())),
        ("scope", Json::from(scope.name())),
        ("register", Json::from(register.map(Register::name))),
        ("deleted", Json::from(text.is_empty())),
    ]);
    if text.is_empty() {
        tx.delete(&STYLES, &place);
    } else {
        terms.styles += 1;
        terms.style_bytes += json_bytes(&text);
        if terms.styles > STYLES_MAX || terms.style_bytes > STYLE_BYTES_MAX {
            return Err(Refusal::Conflict("the project's styles are 1,000, or have 2 MiB, which is the most").into());
        }
        tx.put(&STYLES, &place, &StyleRow { text, register, updated_at: now })?;
    }
    put_project_terms(tx, tenant_id, project_id, terms, is_new_generation)?;
    if is_new_generation {
        note_register(tx, now, tenant_id, project_id, &place.2)?;
    }
    audit::record(tx, now, actor, event)?;
    Ok(list_styles(tx, tenant_id, project_id)?)
}

/// The styles of a project, by locale and scope; `*` comes first.
///
/// # Errors
/// Only the store's.
pub fn list_styles(read: &impl Read, tenant_id: TenantId, project_id: ProjectId) -> Result<Vec<Style>, Failure> {
    let rows = read.scan(&STYLES, Scan::prefix(&(tenant_id, project_id)))?;
    Ok(rows.into_iter().map(|((.., locale, place), row)| row.into_style(locale, place)).collect())
}
