//! The operator's side: templates for keys.

use quintet_platform::ids::parse_uuid;
use quintet_platform::json::{self, Fields, Limits};
use quintet_storage::{Abort, Failure, Read, Timestamp, Uuid, WriteTx};

use super::bounds::By;
use super::create::{CreateGrant, create_grant};
use crate::access::{Parsed, Scope, TEMPLATES, Template, parse, template};
use crate::audit::Actor;
use crate::language::{Locale, check_translation_route_length};
use crate::model::{ProjectId, TenantId, WorkspaceId};
use crate::refusal::Refusal;
use crate::spaces::{ShortIdRow, owner_of};

/// A template within a scope, as the command line asks for it.
#[derive(Clone, Debug)]
pub struct GrantWish {
    template: &'static Template,
    scope: Scope,
}

/// The names of all templates.
pub fn template_names() -> impl Iterator<Item = &'static str> {
    TEMPLATES.iter().map(|template| template.name)
}

/// Reads a template's name and a scope: a JSON object with `workspace_id`, `project_id` and `locale`, each optional.
///
/// # Errors
/// What is wrong, as a sentence for the operator.
pub fn read_grant_wish(name: &str, scope: Option<&str>) -> Result<GrantWish, String> {
    let known = || template_names().collect::<Vec<_>>().join(", ");
    let template = template(name).ok_or_else(|| format!("unknown template {name:?}; known are {}", known()))?;
    let mut wish = GrantWish { template, scope: Scope::default() };
    let Some(scope) = scope else { return Ok(wish) };
    let json = json::parse(scope.as_bytes(), Limits::default()).map_err(|error| format!("the scope: {error}"))?;
    let mut fields = Fields::at("scope", json).map_err(|error| error.to_string())?;
    let mut id = |name: &str| -> Result<Option<Uuid>, String> {
        let text: Option<String> = fields.optional(name).map_err(|error| error.to_string())?;
        text.map(|text| parse_uuid(&text).ok_or_else(|| format!("scope.{name} is not a UUID"))).transpose()
    };
    wish.scope.workspace_id = id("workspace_id")?.map(WorkspaceId);
    wish.scope.project_id = id("project_id")?.map(ProjectId);
    let locale: Option<String> = fields.optional("locale").map_err(|error| error.to_string())?;
    if let Some(tag) = locale {
        let locale = Locale::parse(&tag).and_then(|locale| check_translation_route_length(&locale).map(|()| locale));
        let locale = locale.map_err(|refusal| format!("scope.locale: {}", refusal.explanation()))?;
        wish.scope.locale = Some(locale.canonical().to_owned());
    }
    fields.finish().map_err(|errors| {
        let names: Vec<String> = errors.into_iter().map(|error| error.to_string()).collect();
        format!("{}; a scope has workspace_id, project_id and locale", names.join(", "))
    })?;
    Ok(wish)
}

/// Whether a key of a tenant may carry a permission: with `*`, or with the short id of a workspace or project it has;
/// tags in their canonical form. `None`: the text is no permission of this service.
///
/// # Errors
/// The store's. Within: what is wrong, as a sentence for the operator.
pub fn check_permission(read: &impl Read, tenant_id: Uuid, text: &str) -> Result<Option<Result<(), String>>, Failure> {
    let Some(parsed) = parse(text) else { return Ok(None) };
    let (short_id, tag) = match parsed {
        Parsed::Org => return Ok(Some(Ok(()))),
        Parsed::Workspace(short_id) => (short_id, None),
        Parsed::Project(short_id, tag) => (short_id, tag),
    };
    let owner = owner_of(read, TenantId(tenant_id), short_id)?;
    let known = short_id == "*"
        || matches!(
            (owner, parsed),
            (Some(ShortIdRow::Workspace(_)), Parsed::Workspace(_))
                | (Some(ShortIdRow::Project(_)), Parsed::Project(..))
        );
    if !known {
        let kind = if matches!(parsed, Parsed::Workspace(_)) { "workspace" } else { "project" };
        return Ok(Some(Err(format!("the tenant has no {kind} with the short id {short_id:?}"))));
    }
    Ok(Some(tag.map_or(Ok(()), check_tag)))
}

/// Whether a tag is a locale in its canonical form.
fn check_tag(tag: &str) -> Result<(), String> {
    let locale = Locale::parse(tag).and_then(|locale| check_translation_route_length(&locale).map(|()| locale));
    match locale {
        Ok(locale) if locale.canonical() == tag => Ok(()),
        Ok(locale) => Err(format!("{tag:?} is written {:?}", locale.canonical())),
        Err(refusal) => Err(format!("{tag:?}: {}", refusal.explanation())),
    }
}

/// Grants a template to a principal, as the operator; the permissions it confers.
///
/// # Errors
/// Refused with a sentence for the operator; the store's failures.
pub fn grant(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: Uuid,
    principal_id: Uuid,
    wish: GrantWish,
) -> Result<Vec<String>, Abort<String>> {
    let GrantWish { template, scope } = wish;
    let locale = Ok(scope.locale.clone());
    let command = CreateGrant { principal_id, template, scope, locale, is_told: false };
    match create_grant(tx, now, &Actor::operator(TenantId(tenant_id)), &By::Operator, command) {
        Ok(grant) => Ok(grant.intents.into_iter().flat_map(|intent| intent.intent.permissions).collect()),
        Err(Abort::Failed(failure)) => Err(failure.into()),
        Err(Abort::Refused(Refusal::NotFound)) => {
            Err(Abort::Refused("the tenant has no such workspace or project".to_owned()))
        }
        Err(Abort::Refused(Refusal::InvalidField(field, problem))) => Err(Abort::Refused(format!("{field} {problem}"))),
        Err(Abort::Refused(_)) => Err(Abort::Refused("the template cannot be granted".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_that_make_no_sense() {
        for (template, scope, expected) in [
            ("viewers", None, "unknown template"),
            ("viewer", Some("{"), "the scope: malformed JSON"),
            ("viewer", Some("[]"), "scope must be an object"),
            ("viewer", Some(r#"{"project":"x"}"#), "scope.project is not known here"),
            ("viewer", Some(r#"{"project_id":"x"}"#), "scope.project_id is not a UUID"),
            ("viewer", Some(r#"{"project_id":7}"#), "scope.project_id must be a string"),
            ("translator", Some(r#"{"locale":"-"}"#), "scope.locale: "),
        ] {
            let error = read_grant_wish(template, scope).unwrap_err();
            assert!(error.contains(expected), "{template} {scope:?}: {error}");
        }
        assert!(read_grant_wish("org_admin", None).is_ok());
    }
}
