//! Grants over HTTP; who the caller is, and what it may.

use quintet_platform::ids::parse_uuid;
use quintet_platform::json::{Fields, Json};
use quintet_platform::service::{
    Answer, Change, Content, Endpoint, Id, KeyRule, Route, Segment, Shape, json as success, refusal_of, written,
};
use quintet_storage::Uuid;

use super::bounds::{By, demand_grantor};
use super::create::{CreateGrant, create_grant, get_grant, list_grants};
use super::effective::effective_permissions;
use super::revoke::revoke_grant;
use super::settle::settle_grant;
use super::tell::tell;
use crate::access::{Grant, GrantId, GrantIntent, GrantState, Scope, TEMPLATES, Template, Wanted, granted, template};
use crate::audit::Actor;
use crate::http::{Answered, Call, Form, Localization, TAGGED, read};
use crate::language::{Locale, check_translation_route_length};
use crate::model::{ProjectId, WorkspaceId};
use crate::refusal::Refusal;

/// The longest tag of a scope, in characters.
const SCOPE_LOCALE_CHARS_MAX: usize = 40;

const GRANT: Segment = Segment::new("grant_id", Shape::Uuid);

const ME: Route = Route::get("get_me", "/v1/me")
    .permission("authenticated")
    .summary("Who the caller is, and what it may")
    .successes(&[success(200, "Me")])
    .codes(&["busy"]);
const LIST: Route = Route::get("list_grants", "/v1/grants")
    .permission("org_members-manage")
    .summary("Every grant of the tenant, the oldest first")
    .successes(&[success(200, "GrantList")])
    .codes(&["busy"]);
const CREATE: Route = Route::post("create_grant", "/v1/grants")
    .permission("org_members-manage")
    .summary("Grant a template to a principal; ws_<w>_admin will do within its workspace, and nobody grants more than he holds")
    .key(KeyRule::Optional)
    .body(Content::Json("GrantCreate"))
    .successes(&[success(201, "Grant")])
    .makes(GRANT.noun, "id")
    .marks(&[TAGGED])
    .codes(&["conflict", "not_found"]);
const REVOKE: Route = Route::delete("revoke_grant", "/v1/grants/{grant_id}")
    .permission("org_members-manage")
    .summary("Revoke a grant; ws_<w>_admin will do within its workspace, and nobody revokes more than he holds")
    .segments(&[GRANT])
    .key(KeyRule::Optional)
    .successes(&[success(200, "Grant")]);

/// The endpoints of this folder.
pub const ENDPOINTS: &[Endpoint<Localization>] = &[
    Endpoint::new(&ME, |call| Box::pin(get_me(call))),
    Endpoint::new(&LIST, |call| Box::pin(list(call))),
    Endpoint::new(&CREATE, |call| Box::pin(create(call))),
    Endpoint::new(&REVOKE, |call| Box::pin(revoke(call))),
];

#[derive(serde::Serialize)]
struct Me {
    tenant_id: Id,
    principal_id: Id,
    kind: &'static str,
    permissions: Vec<String>,
}

/// Every permission the caller has now, with each project that it covers by its own short id.
async fn get_me(call: Call) -> Answered {
    let context = call.context.clone();
    let told = context.aside(call.caller.tenant_id(), move |read| {
        let actor = &call.caller.actor;
        let granted = granted(read, &call.caller.key)?;
        let permissions = effective_permissions(read, actor.tenant_id, &granted)?;
        let me = Me {
            tenant_id: Id(actor.tenant_id.0),
            principal_id: Id(actor.principal_id),
            kind: actor.kind.name(),
            permissions,
        };
        Ok(Answer::json(200, written(&me)?))
    });
    Ok(told.await.map_err(refusal_of)?)
}

async fn list(call: Call) -> Answered {
    call.caller.demand(&call.snapshot(), Wanted::Org("org_members-manage")).map_err(refusal_of)?;
    let context = call.context.clone();
    let tenant_id = call.caller.tenant_id();
    let told = context.aside(tenant_id, move |read| {
        let grants = list_grants(read, tenant_id)?;
        Ok(Answer::json(200, written(&GrantList { grants: grants.iter().map(of_grant).collect() })?))
    });
    Ok(told.await.map_err(refusal_of)?)
}

async fn create(call: Call) -> Answered {
    let mut change = call.change().await?;
    let wanted = read_create(change.json()?)?;
    change.begin()?;
    let caller = &change.call.caller;
    demand_grantor(&change.call.snapshot(), &caller.key).map_err(refusal_of)?;
    let WishedGrant { principal_id, template, scope } = wanted;
    let locale = scope.locale.as_deref().map(canonical).transpose();
    let is_told = change.call.context.authorization.is_told();
    let command = CreateGrant { principal_id, template, scope, locale, is_told };
    let (actor, by) = (caller.actor.clone(), By::Caller(Box::new(caller.key.clone())));
    let made = change.try_write(move |tx, now| {
        let grant = create_grant(tx, now, &actor, &by, command)?;
        Ok(Some(Answer::json(201, written(&of_grant(&grant))?)))
    });
    let answer = made.await?.ok_or(Refusal::NotFound)?;
    settled(&change, answer).await
}

async fn revoke(call: Call) -> Answered {
    let mut change = call.change().await?.freeing(true);
    change.begin()?;
    let grant_id = change.call.segment(GRANT.name).map(GrantId).ok_or(Refusal::NotFound)?;
    let caller = &change.call.caller;
    let (actor, by) = (caller.actor.clone(), By::Caller(Box::new(caller.key.clone())));
    let revoked = change.try_write(move |tx, now| {
        let grant = revoke_grant(tx, now, &actor, &by, grant_id)?;
        Ok(Some(Answer::json(200, written(&of_grant(&grant))?)))
    });
    let answer = revoked.await?.ok_or(Refusal::NotFound)?;
    settled(&change, answer).await
}

/// Tells the authorization system of what was granted or revoked, if it is to know. What it does at once is done when the
/// caller hears of it; all else stays as it is until the reconciler comes by.
async fn settled(change: &Change<Localization>, answer: Answer) -> Answered {
    let call = &change.call;
    let system = call.context.authorization.as_ref();
    if answer.is_replay() || !system.is_told() {
        return Ok(answer);
    }
    let tenant_id = call.caller.tenant_id();
    let Some(grant_id) = id_of(answer.body()).map(GrantId) else { return Ok(answer) };
    let Ok(grant) = get_grant(&call.snapshot(), tenant_id, grant_id) else { return Ok(answer) };
    if !matches!(grant.state(), GrantState::Granting | GrantState::Revoking) {
        return Ok(answer);
    }
    let told = tell(system, tenant_id, &grant, false).await;
    if told.steps.is_empty() {
        return Ok(answer);
    }
    let request_id = call.caller.actor.request_id.clone();
    let (actor, status) = (Actor { request_id, ..Actor::operator(tenant_id) }, answer.status());
    let again = change.write_again(move |tx, now| {
        let grant = settle_grant(tx, now, &actor, grant_id, &told.steps)?;
        Ok(Answer::json(status, written(&of_grant(&grant))?))
    });
    // Where it could not be stored the first answer is true still.
    Ok(again.await.unwrap_or(answer))
}

/// The `id` that an answer tells.
fn id_of(body: &[u8]) -> Option<Uuid> {
    let told: serde_json::Value = serde_json::from_slice(body).ok()?;
    parse_uuid(told.get("id")?.as_str()?)
}

/// GrantCreate, the tag of its scope still as it was written.
struct WishedGrant {
    principal_id: Uuid,
    template: &'static Template,
    scope: Scope,
}

/// GrantCreate. A member that is not known decides before one that is wrong, in the scope as well.
fn read_create(json: Json) -> Result<WishedGrant, Refusal> {
    let mut form = Form::of_body(json)?;
    let principal_id = id(&mut form, "principal_id", true);
    let name: Option<String> = form.required("template");
    let template = name.as_deref().map(template);
    if template == Some(None) {
        let names: Vec<&str> = TEMPLATES.iter().map(|template| template.name).collect();
        form.wrong("template", format!("is one of {}", names.join(", ")));
    }
    let members: Option<Vec<(String, Json)>> = form.optional("scope");
    let outcome = form.finish();
    let scope = match members {
        Some(members) => read_scope(Json::Object(members)),
        None => Ok(Scope::default()),
    };
    let scope = match (outcome, scope) {
        (Err(Refusal::InvalidField(..)), Err(unknown @ Refusal::UnknownField(_))) => return Err(unknown),
        (Err(refusal), _) => return Err(refusal),
        (Ok(()), scope) => scope?,
    };
    let template = read(template.flatten())?;
    template
        .check_scope(scope.workspace_id.is_some(), scope.project_id.is_some(), scope.locale.is_some())
        .map_err(|fault| Refusal::field(format!("scope.{}", fault.0), "does not go with this template"))?;
    Ok(WishedGrant { principal_id: read(principal_id)?, template, scope })
}

fn read_scope(json: Json) -> Result<Scope, Refusal> {
    let fields = Fields::at("scope", json).map_err(|error| Refusal::field(error.field, error.problem.to_string()))?;
    let mut form = Form::new(fields);
    let workspace_id = id(&mut form, "workspace_id", false).map(WorkspaceId);
    let project_id = id(&mut form, "project_id", false).map(ProjectId);
    let locale = form.optional_text("locale", 1, SCOPE_LOCALE_CHARS_MAX);
    form.finish()?;
    Ok(Scope { workspace_id, project_id, locale })
}

fn id(form: &mut Form, name: &str, is_required: bool) -> Option<Uuid> {
    let text: Option<String> = if is_required { form.required(name) } else { form.optional(name) };
    let id = text.map(|text| parse_uuid(&text));
    if id == Some(None) {
        form.wrong(name, "must be a UUID");
    }
    id.flatten()
}

/// The canonical form of a tag.
fn canonical(tag: &str) -> Result<String, Refusal> {
    let locale = Locale::parse(tag).and_then(|locale| check_translation_route_length(&locale).map(|()| locale));
    locale.map(|locale| locale.canonical().to_owned()).map_err(|refusal| Refusal::Tag(refusal.code()))
}

#[derive(serde::Serialize)]
struct GrantList<'a> {
    grants: Vec<GrantBody<'a>>,
}

#[derive(serde::Serialize)]
struct GrantBody<'a> {
    id: Id,
    principal_id: Id,
    template: &'a str,
    scope: ScopeBody<'a>,
    permissions: Vec<&'a str>,
    state: &'static str,
    intents: Vec<IntentBody<'a>>,
}

#[derive(serde::Serialize)]
struct ScopeBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    locale: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    project_id: Option<Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace_id: Option<Id>,
}

#[derive(serde::Serialize)]
struct IntentBody<'a> {
    target: String,
    permissions: &'a [String],
    state: &'static str,
}

fn of_grant(one: &Grant) -> GrantBody<'_> {
    let of_intent = |one| {
        let GrantIntent { intent, state, .. }: &GrantIntent = one;
        IntentBody { target: intent.target.text(), permissions: &intent.permissions, state: state.name() }
    };
    GrantBody {
        id: Id(one.grant_id.0),
        principal_id: Id(one.principal_id),
        template: &one.template,
        scope: ScopeBody {
            locale: one.scope.locale.as_deref(),
            project_id: one.scope.project_id.map(|id| Id(id.0)),
            workspace_id: one.scope.workspace_id.map(|id| Id(id.0)),
        },
        permissions: one.permissions(),
        state: one.state().name(),
        intents: one.intents.iter().map(of_intent).collect(),
    }
}
