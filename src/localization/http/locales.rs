//! The locales that there are, and whether a tag is one.

use quintet_platform::json::Json;
use quintet_platform::service::{Answer, Content, Endpoint, Route, json as success, refusal_of, written};
use quintet_storage::Failure;

use super::dialect::{Answered, CORE, Call, Localization};
use super::form::{Form, LOCALE_CHARS_MAX, read};
use crate::language::{CLDR_VERSION, Locale, LocaleProfile, check_stored_length, profiles};
use crate::refusal::Refusal;

const LIST: Route = Route::get("list_locales", "/v1/locales")
    .permission("authenticated")
    .summary("Every locale of CLDR, with direction and plural categories")
    .successes(&[success(200, "LocaleList")])
    .marks(&[CORE])
    .codes(&["busy"]);
const VALIDATE: Route = Route::post("validate_locale", "/v1/locales/validate")
    .permission("authenticated")
    .summary("Whether a tag is a locale, and its forms")
    .body(Content::Json("LocaleValidate"))
    .successes(&[success(200, "LocaleValidation")])
    .marks(&[CORE]);

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] = &[
    Endpoint::new(&LIST, |call| Box::pin(list_locales(call))),
    Endpoint::new(&VALIDATE, |call| Box::pin(validate_locale(call))),
];

async fn list_locales(call: Call) -> Answered {
    call.context.demand_core()?;
    let told = call.context.aside(call.caller.tenant_id(), |_| Ok(Answer::json(200, write_list(profiles())?))).await;
    Ok(told.map_err(refusal_of)?)
}

async fn validate_locale(call: Call) -> Answered {
    let mut change = call.change().await?;
    let tag = read_validate(change.json()?)?;
    change.call.context.demand_core()?;
    let locale = Locale::parse(&tag).and_then(|locale| check_stored_length(&locale).map(|()| locale));
    change.call.answer(200, |_| Ok(write_validation(&locale.map_err(|refusal| refusal.code()))?))
}

/// LocaleValidate.
fn read_validate(json: Json) -> Result<String, Refusal> {
    let mut form = Form::of_body(json)?;
    let tag = form.required_text("tag", 1, LOCALE_CHARS_MAX);
    form.finish()?;
    read(tag)
}

#[derive(serde::Serialize)]
struct LocaleListBody<'a> {
    cldr_version: &'static str,
    locales: Vec<ProfileBody<'a>>,
}

#[derive(serde::Serialize)]
struct ProfileBody<'a> {
    tag: &'a str,
    identity_key: &'a str,
    reviewed: bool,
    direction: &'static str,
    cardinal: Vec<&'static str>,
    ordinal: Vec<&'static str>,
}

fn write_list(profiles: &[LocaleProfile]) -> Result<Vec<u8>, Failure> {
    written(&LocaleListBody { cldr_version: CLDR_VERSION, locales: profiles.iter().map(of_profile).collect() })
}

fn of_profile(one: &LocaleProfile) -> ProfileBody<'_> {
    ProfileBody {
        tag: &one.tag,
        identity_key: &one.identity_key,
        reviewed: one.reviewed,
        direction: one.direction.name(),
        cardinal: one.cardinal.names(),
        ordinal: one.ordinal.names(),
    }
}

#[derive(serde::Serialize)]
#[serde(untagged)]
enum ValidationBody<'a> {
    Valid { valid: bool, canonical: &'a str, content_form: &'a str, identity_key: &'a str },
    Invalid { valid: bool, code: &'a str },
}

fn write_validation(outcome: &Result<Locale, &'static str>) -> Result<Vec<u8>, Failure> {
    written(&match outcome {
        Ok(locale) => ValidationBody::Valid {
            valid: true,
            canonical: locale.canonical(),
            content_form: locale.content_form(),
            identity_key: locale.identity_key(),
        },
        Err(code) => ValidationBody::Invalid { valid: false, code },
    })
}
