//! Settings over HTTP.

use quintet_platform::json::Json;
use quintet_platform::service::{Answer, Content, Endpoint, KeyRule, Route, json as success, refusal_of, written};

use super::model::{Settings, TENANT_NAME_CHARS_MAX};
use super::patch::{get_settings, patch_settings};
use crate::access::Wanted;
use crate::http::{Answered, Call, Form, Localization};
use crate::refusal::Refusal;

/// What both routes ask for.
const MANAGE: &str = "org_members-manage";
/// The greatest number that every reader of JSON has.
const QUORUM_MAX: u64 = (1 << 53) - 1;

const GET: Route = Route::get("get_settings", "/v1/settings")
    .permission(MANAGE)
    .summary("What the tenant has set")
    .successes(&[success(200, "Settings")]);
const PATCH: Route = Route::patch("patch_settings", "/v1/settings")
    .permission(MANAGE)
    .summary("Set what is given, and leave the rest")
    .key(KeyRule::Optional)
    .body(Content::Json("Settings"))
    .successes(&[success(200, "Settings")]);

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] =
    &[Endpoint::new(&GET, |call| Box::pin(get(call))), Endpoint::new(&PATCH, |call| Box::pin(patch(call)))];

async fn get(call: Call) -> Answered {
    call.caller.demand(&call.snapshot(), Wanted::Org(MANAGE)).map_err(refusal_of)?;
    call.answer(200, |read| Ok(written(&of_settings(&get_settings(read, call.caller.tenant_id())?))?))
}

async fn patch(call: Call) -> Answered {
    let mut change = call.change().await?;
    let wanted = read_settings(change.json()?)?;
    change.begin()?;
    let call = &change.call;
    call.caller.demand(&call.snapshot(), Wanted::Org(MANAGE)).map_err(refusal_of)?;
    let actor = call.caller.actor.clone();
    let patched = change.write(move |tx, now| {
        let set = patch_settings(tx, now, &actor, wanted)?;
        Ok(Answer::json(200, written(&of_settings(&set))?))
    });
    patched.await
}

/// Settings.
fn read_settings(json: Json) -> Result<Settings, Refusal> {
    let mut form = Form::of_body(json)?;
    let display_name = form.optional_line("display_name", TENANT_NAME_CHARS_MAX);
    let legal_approval_quorum: Option<u64> = form.optional("legal_approval_quorum");
    if legal_approval_quorum.is_some_and(|quorum| !(1..=QUORUM_MAX).contains(&quorum)) {
        form.wrong("legal_approval_quorum", "is an integer of at least 1");
    }
    form.finish()?;
    Ok(Settings { display_name, legal_approval_quorum })
}

#[derive(serde::Serialize)]
struct SettingsBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    display_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    legal_approval_quorum: Option<u64>,
}

fn of_settings(one: &Settings) -> SettingsBody<'_> {
    SettingsBody { display_name: one.display_name.as_deref(), legal_approval_quorum: one.legal_approval_quorum }
}
