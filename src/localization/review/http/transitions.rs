//! Translations: review, reject, approve, revoke.

use std::sync::Arc;

use quintet_platform::json::Json;
use quintet_platform::service::{Answer, Content, Endpoint, KeyRule, Route, json as success, refusal_of};
use quintet_storage::Abort;

use super::translations::{ATTEMPTS_MAX, changed_all_the_time, write_body};
use crate::access::Wanted;
use crate::content::KeyId;
use crate::content::http::keys::{KEY, LOCALE, find_key, place_of};
use crate::context::Context;
use crate::glance::{Look, Lookup};
use crate::http::{Answered, CORE, Call, Caller, Form, Localization, TAGGED, read};
use crate::language::Locale;
use crate::refusal::Refusal;
use crate::review::judging::Standards;
use crate::review::states::Step;
use crate::review::transition::{MoveOn, StepWish, move_on};

const TRANSITION: Route = Route::post("transition_translation", "/v1/keys/{key_id}/translations/{locale}/transition")
    .permission("p_<p>_loc_<tag>_review")
    .summary("Review, reject, approve or revoke it; approve and revoke take p_<p>_loc_<tag>_approve")
    .segments(&[KEY, LOCALE])
    .key(KeyRule::Required)
    .body(Content::Json("TranslationTransition"))
    .successes(&[success(200, "Translation")])
    .marks(&[CORE, TAGGED])
    .codes(&["key_obsolete", "revision_mismatch", "invalid_transition", "qa_failed", "busy"]);

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] = &[Endpoint::new(&TRANSITION, |call| Box::pin(transition(call)))];

async fn transition(call: Call) -> Answered {
    let mut change = call.change().await?;
    let wish = read_transition(change.json()?)?;
    change.begin()?;
    let call = &change.call;
    call.context.demand_core()?;
    let (locale, key_id) = place_of(call)?;
    let (context, caller) = (call.context.clone(), call.caller.clone());
    let asked = Arc::new(Asked { context, caller, key_id, locale, wish });
    for _ in 0..ATTEMPTS_MAX {
        let prepared = call.context.at_once_or_aside(call.caller.tenant_id(), &asked);
        let (command, actor) = (prepared.await.map_err(refusal_of)?, call.caller.actor.clone());
        let moved = change.try_write(move |tx, now| {
            let moved = move_on(tx, now, &actor, command)?;
            Ok(moved.map(|translation| write_body(&translation)).transpose()?.map(|body| Answer::json(200, body)))
        });
        if let Some(answer) = moved.await? {
            return Ok(answer);
        }
    }
    Err(changed_all_the_time())
}

/// What is asked for.
struct Asked {
    context: Context,
    caller: Caller,
    key_id: KeyId,
    locale: Locale,
    wish: StepWish,
}

impl Lookup for Asked {
    type Found = MoveOn;

    fn look(&self, read: &impl Look) -> Result<MoveOn, Abort<Refusal>> {
        let Asked { context, caller, key_id, locale, wish } = self;
        let (key, project) = find_key(read, &context.shelf, caller, *key_id)?;
        let wanted = Wanted::InLocale(project.place(), wish.step.permission(), locale.canonical());
        caller.demand(read, wanted)?;
        let standards = Standards::of(read, &context.shelf, caller.tenant_id(), &project, &key, locale)?;
        MoveOn::new(read, caller.tenant_id(), key, locale.clone(), *wish, standards)
    }
}

/// TranslationTransition.
fn read_transition(json: Json) -> Result<StepWish, Refusal> {
    let mut form = Form::of_body(json)?;
    let action: Option<String> = form.required("action");
    let step = action.as_deref().map(Step::from_name);
    if step == Some(None) {
        form.wrong("action", "is review, reject, approve or revoke");
    }
    let revision: Option<u64> = form.optional("revision");
    if revision == Some(0) {
        form.wrong("revision", "is at least 1");
    }
    form.finish()?;
    Ok(StepWish { step: read(step.flatten())?, revision })
}
