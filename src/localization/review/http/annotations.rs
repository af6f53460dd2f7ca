//! What the checks say: of a stored translation, and of a text that is not stored.

use quintet_platform::service::{Answer, Content, Endpoint, Id, Route, json as success, refusal_of, written};
use quintet_storage::{Abort, Failure, Snapshot};

use super::translations::{BODY_BYTES_MAX, read_put};
use crate::access::{Action, Wanted};
use crate::content::http::keys::{KEY, LOCALE, find_key, place_of};
use crate::content::{Key, KeyId, TranslationRow, Wished, get_row, shaped, state_of};
use crate::http::{Answered, CORE, Call, Localization, TAGGED};
use crate::language::Locale;
use crate::quality::{QaCheck, Status};
use crate::refusal::Refusal;
use crate::review::judging::Standards;

const ANNOTATIONS: Route = Route::get("get_annotations", "/v1/keys/{key_id}/annotations/{locale}")
    .permission("p_<p>_read")
    .summary("What every check says of the stored translation")
    .segments(&[KEY, LOCALE])
    .successes(&[success(200, "Annotations")])
    .marks(&[CORE, TAGGED])
    .codes(&["busy"]);
const CHECK: Route = Route::post("check_translation", "/v1/keys/{key_id}/check/{locale}")
    .permission("p_<p>_read")
    .summary("What every check would say of a text; nothing is stored. p_<p>_loc_<tag>_translate will do, too")
    .segments(&[KEY, LOCALE])
    .body(Content::Json("TranslationPut"))
    .successes(&[success(200, "Annotations")])
    .marks(&[CORE, TAGGED])
    .codes(&["edit_shape", "value_too_long", "value_unrepresentable", "busy"]);

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] = &[
    Endpoint::new(&ANNOTATIONS, |call| Box::pin(annotations(call))),
    Endpoint::new(&CHECK, |call| Box::pin(check(call))),
];

async fn annotations(call: Call) -> Answered {
    let context = call.context.clone();
    context.demand_core()?;
    let (locale, key_id) = place_of(&call)?;
    let told = context.aside(call.caller.tenant_id(), move |read| {
        let (key, project) = find_key(read, &call.context.shelf, &call.caller, key_id)?;
        call.caller.demand(read, Wanted::InProject(project.place(), Action::Read))?;
        let tenant_id = call.caller.tenant_id();
        let row = get_row(read, tenant_id, &key, &locale)?;
        let checks = match &row {
            None => Vec::new(),
            Some(row) => {
                let standards = Standards::of(read, &call.context.shelf, tenant_id, &project, &key, &locale)?;
                standards.judge(&key.entry, &locale, &row.content)
            }
        };
        Ok(Answer::json(200, write_annotations(&key, &locale, row.as_ref(), &checks)?))
    });
    Ok(told.await.map_err(refusal_of)?)
}

async fn check(call: Call) -> Answered {
    let mut change = call.change_of(BODY_BYTES_MAX).await?;
    let wished = read_put(change.json()?)?;
    let call = change.call;
    let context = call.context.clone();
    context.demand_core()?;
    let (locale, key_id) = place_of(&call)?;
    let told = context.aside(call.caller.tenant_id(), move |read| judge(read, &call, key_id, &locale, wished));
    Ok(told.await.map_err(refusal_of)?)
}

/// Judges a text as if it were stored; state and revision are those of what is.
fn judge(
    read: &Snapshot,
    call: &Call,
    key_id: KeyId,
    locale: &Locale,
    wished: Wished,
) -> Result<Answer, Abort<Refusal>> {
    let caller = &call.caller;
    let (key, project) = find_key(read, &call.context.shelf, caller, key_id)?;
    let translating = Wanted::InLocale(project.place(), Action::Translate, locale.canonical());
    caller.demand_any(read, &[Wanted::InProject(project.place(), Action::Read), translating])?;
    let content = shaped(wished, &key.entry.source, locale)?;
    let standards = Standards::of(read, &call.context.shelf, caller.tenant_id(), &project, &key, locale)?;
    let checks = standards.judge(&key.entry, locale, &content);
    let row = get_row(read, caller.tenant_id(), &key, locale)?;
    Ok(Answer::json(200, write_annotations(&key, locale, row.as_ref(), &checks)?))
}

#[derive(serde::Serialize)]
struct AnnotationsBody<'a> {
    key_id: Id,
    locale: &'a str,
    state: &'static str,
    revision: u64,
    checks: Vec<CheckBody<'a>>,
    blocking_failed: Vec<&'static str>,
}

#[derive(serde::Serialize)]
struct CheckBody<'a> {
    check: &'static str,
    name: &'static str,
    blocking: bool,
    status: &'static str,
    detail: Option<&'a str>,
}

fn of_check(told: &QaCheck) -> CheckBody<'_> {
    CheckBody {
        check: told.check.id(),
        name: told.check.name(),
        blocking: told.check.is_blocking(),
        status: told.status.name(),
        detail: told.detail.as_deref(),
    }
}

/// Annotations: what the checks say beside what is stored.
fn write_annotations(
    key: &Key,
    locale: &Locale,
    row: Option<&TranslationRow>,
    checks: &[QaCheck],
) -> Result<Vec<u8>, Failure> {
    let failed = checks.iter().filter(|told| told.status == Status::Fail && told.check.is_blocking());
    written(&AnnotationsBody {
        key_id: Id(key.key_id.0),
        locale: locale.canonical(),
        state: state_of(&key.entry, row).name(),
        revision: row.map_or(0, |row| row.revision),
        checks: checks.iter().map(of_check).collect(),
        blocking_failed: failed.map(|told| told.check.id()).collect(),
    })
}
