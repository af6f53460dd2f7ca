//! What the memory suggests for a key.

use quintet_platform::service::{Answer, Endpoint, Route, json as success, refusal_of, written};
use quintet_storage::{Abort, Failure, Snapshot};

use super::suggest::{Suggestion, is_at_hand, suggest};
use crate::access::{Action, Wanted};
use crate::content::http::keys::{KEY, LOCALE, find_key, place_of};
use crate::content::{KeyId, TEXT_BYTES_MAX};
use crate::context::Context;
use crate::http::{Answered, CORE, Call, Localization, TAGGED};
use crate::language::{Category, Locale};
use crate::likeness::LanguagePair;
use crate::refusal::Refusal;

const SUGGEST: Route = Route::get("get_suggestions", "/v1/keys/{key_id}/suggestions/{locale}")
    .permission("p_<p>_read")
    .summary("What the tenant's translation memory has for the key's source, the best first")
    .segments(&[KEY, LOCALE])
    .successes(&[success(200, "Suggestions")])
    .marks(&[CORE, TAGGED])
    .codes(&["busy"]);

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] = &[Endpoint::new(&SUGGEST, |call| Box::pin(suggestions(call)))];

/// What is looked for.
struct Sought {
    pair: LanguagePair,
    text: String,
}

/// The source of a key, in the language pair of a locale. A plural asks with its form `other` (contract, suggestions).
fn sought(read: &Snapshot, call: &Call, key_id: KeyId, locale: &Locale) -> Result<Sought, Abort<Refusal>> {
    let caller = &call.caller;
    let (key, project) = find_key(read, &call.context.shelf, caller, key_id)?;
    caller.demand(read, Wanted::InProject(project.place(), Action::Read))?;
    let pair = LanguagePair::new(caller.tenant_id(), &project.source.locale.tag, locale);
    Ok(Sought { pair, text: key.entry.source.form(Category::Other).to_owned() })
}

async fn suggestions(call: Call) -> Answered {
    let context = call.context.clone();
    context.demand_core()?;
    let (locale, key_id) = place_of(&call)?;
    let tenant_id = call.caller.tenant_id();
    let shared = context.clone();
    // What is at hand is answered at once; what must be read first is as large as a file.
    let told = context.aside(tenant_id, move |read| {
        let sought = sought(read, &call, key_id, &locale)?;
        if is_at_hand(&shared.memory, read, &sought.pair)? {
            return Ok(Ok(answer(&shared, read, &sought)?));
        }
        Ok(Err(sought))
    });
    match told.await.map_err(refusal_of)? {
        Ok(answer) => Ok(answer),
        Err(sought) => {
            let shared = context.clone();
            let told = context.in_turn(tenant_id, move |store| Ok(answer(&shared, &store.read(), &sought)?));
            Ok(told.await.map_err(refusal_of)?)
        }
    }
}

fn answer(context: &Context, read: &Snapshot, sought: &Sought) -> Result<Answer, Failure> {
    let found = if sought.text.len() <= TEXT_BYTES_MAX {
        suggest(&context.memory, read, &sought.pair, &sought.text)?
    } else {
        // It is never remembered.
        Vec::new()
    };
    Ok(Answer::json(200, write_suggestions(&found)?))
}

#[derive(serde::Serialize)]
struct SuggestionBody<'a> {
    score: u8,
    r#match: &'static str,
    source: &'a str,
    target: &'a str,
    origin: Option<&'static str>,
}

#[derive(serde::Serialize)]
struct Suggestions<'a> {
    suggestions: Vec<SuggestionBody<'a>>,
}

fn body_of(one: &Suggestion) -> SuggestionBody<'_> {
    SuggestionBody {
        score: one.score,
        r#match: one.found_as(),
        source: &one.unit.source,
        target: &one.unit.target,
        origin: one.unit.origin.map(|origin| origin.name()),
    }
}

fn write_suggestions(found: &[Suggestion]) -> Result<Vec<u8>, Failure> {
    written(&Suggestions { suggestions: found.iter().map(body_of).collect() })
}
