//! Translations: read one, write one.

use std::sync::Arc;

use quintet_platform::http::etag::ETag;
use quintet_platform::json::Json;
use quintet_platform::service::{
    Answer, Content, Endpoint, Fault, Id, Instant, KeyRule, Route, Stop, json as success, refusal_of, written,
};
use quintet_storage::{Abort, Failure};

use crate::access::{Action, Wanted};
use crate::content::http::keys::{KEY, LOCALE, find_key, place_of};
use crate::content::http::wire::Forms;
use crate::content::{KeyId, Translated, Translation, Wished, Wording, category_at, get_translation};
use crate::context::Context;
use crate::glance::{Look, Lookup};
use crate::http::{Answered, CORE, Call, Caller, Form, Localization, TAGGED};
use crate::language::Locale;
use crate::refusal::Refusal;
use crate::review::judging::Standards;
use crate::review::write::{WriteTranslation, write_translation};
use crate::spaces::http::locales::expected;

/// The longest text of a translation that a body may have, in characters; what is stored is shorter.
const TEXT_CHARS_MAX: usize = 262_144;
/// The most forms of a plural.
const FORMS_MAX: usize = 6;
/// How many bytes a character takes at most in JSON: an escaped surrogate pair.
const ESCAPED_BYTES_MAX: usize = 12;
/// The largest body, in bytes: six forms of as many characters as the schema lets a text have, so that what is too long
/// is told so, however it is written.
pub const BODY_BYTES_MAX: usize = FORMS_MAX * TEXT_CHARS_MAX * ESCAPED_BYTES_MAX + 4096;

const GET: Route = Route::get("get_translation", "/v1/keys/{key_id}/translations/{locale}")
    .permission("p_<p>_read")
    .summary("The translation of a key")
    .segments(&[KEY, LOCALE])
    .successes(&[success(200, "Translation")])
    .marks(&[CORE, TAGGED])
    .codes(&["busy"]);
const PUT: Route = Route::put("put_translation", "/v1/keys/{key_id}/translations/{locale}")
    .permission("p_<p>_loc_<tag>_translate")
    .summary("Write the translation of a key, as a draft")
    .segments(&[KEY, LOCALE])
    .key(KeyRule::Required)
    .conditional_at_will()
    .body(Content::Json("TranslationPut"))
    .successes(&[success(200, "Translation"), success(201, "Translation").about("The first")])
    .marks(&[CORE, TAGGED])
    .codes(&[
        "key_obsolete",
        "edit_shape",
        "value_too_long",
        "value_unrepresentable",
        "conflict",
        "precondition_failed",
    ]);

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] =
    &[Endpoint::new(&GET, |call| Box::pin(get(call))), Endpoint::new(&PUT, |call| Box::pin(put(call)))];

/// How often a change is prepared anew because somebody else's came first.
pub const ATTEMPTS_MAX: usize = 8;

async fn get(call: Call) -> Answered {
    let context = call.context.clone();
    context.demand_core()?;
    let (locale, key_id) = place_of(&call)?;
    let told = context.aside(call.caller.tenant_id(), move |read| {
        let (key, project) = find_key(read, &call.context.shelf, &call.caller, key_id)?;
        call.caller.demand(read, Wanted::InProject(project.place(), Action::Read))?;
        let found = get_translation(read, call.caller.tenant_id(), &key, &locale)?;
        Ok(Answer::json(200, write_body(&found)?).tagged(&etag_of(revision_of(&found))))
    });
    Ok(told.await.map_err(refusal_of)?)
}

/// The entity tag of a translation: its revision, 0 where there is none.
fn etag_of(revision: u64) -> ETag {
    ETag::strong(&revision.to_string())
}

fn revision_of(translation: &Translation) -> u64 {
    translation.written.as_ref().map_or(0, |written| written.revision)
}

async fn put(call: Call) -> Answered {
    let mut change = call.change_of(BODY_BYTES_MAX).await?;
    let wished = read_put(change.json()?)?;
    change.begin()?;
    let call = &change.call;
    call.context.demand_core()?;
    let (locale, key_id) = place_of(call)?;
    let (context, caller) = (call.context.clone(), call.caller.clone());
    let asked = Arc::new(Asked { context, caller, key_id, locale, wished });
    for _ in 0..ATTEMPTS_MAX {
        let prepared = call.context.at_once_or_aside(call.caller.tenant_id(), &asked);
        let (command, actor) = (prepared.await.map_err(refusal_of)?, call.caller.actor.clone());
        let expected = expected(call);
        let put = change.try_write(move |tx, now| {
            if !command.is_current(tx, actor.tenant_id)? {
                return Ok(None);
            }
            expected.check_if_said(&etag_of(command.revision(tx, actor.tenant_id)?))?;
            let translation = write_translation(tx, now, &actor, command)?;
            let revision = revision_of(&translation);
            let status = if revision == 1 { 201 } else { 200 };
            Ok(Some(Answer::json(status, write_body(&translation)?).tagged(&etag_of(revision))))
        });
        if let Some(answer) = put.await? {
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
    wished: Wished,
}

impl Lookup for Asked {
    type Found = WriteTranslation;

    fn look(&self, read: &impl Look) -> Result<WriteTranslation, Abort<Refusal>> {
        let Asked { context, caller, key_id, locale, wished } = self;
        let (key, project) = find_key(read, &context.shelf, caller, *key_id)?;
        caller.demand(read, Wanted::InLocale(project.place(), Action::Translate, locale.canonical()))?;
        let standards = Standards::of(read, &context.shelf, caller.tenant_id(), &project, &key, locale)?;
        read.work_through(key.entry.source.bytes() + wished.bytes())?;
        Ok(WriteTranslation::new(key, locale.clone(), wished.clone(), Wording::Human, standards)?)
    }
}

/// Others have changed something each time.
pub fn changed_all_the_time() -> Stop<Refusal> {
    Refusal::Fault(Fault::Busy).into()
}

/// TranslationPut.
///
/// # Errors
/// [`Refusal::UnknownField`], [`Refusal::InvalidField`], [`Refusal::InvalidBody`]
pub fn read_put(json: Json) -> Result<Wished, Refusal> {
    let mut form = Form::of_body(json)?;
    let text = form.optional_text("text", 0, TEXT_CHARS_MAX);
    let forms: Option<Vec<(String, Json)>> = form.optional("forms");
    let count = forms.as_ref().map(Vec::len);
    if count.is_some_and(|count| !(1..=FORMS_MAX).contains(&count)) {
        form.wrong("forms", "has 1 to 6 members");
    }
    let mut texts = Vec::new();
    for (category, value) in forms.into_iter().flatten() {
        match value {
            Json::String(text) => texts.push((category, text)),
            _ => form.wrong("forms", "has strings"),
        }
    }
    form.finish()?;
    match (text, count) {
        (Some(text), None) => Ok(Wished::Text(text)),
        (None, Some(_)) => Ok(Wished::Forms(texts)),
        _ => Err(Refusal::InvalidBody("exactly one of text and forms is required")),
    }
}

#[derive(serde::Serialize)]
struct TranslationBody<'a> {
    key_id: Id,
    locale: &'a str,
    state: &'static str,
    revision: u64,
    text: Option<&'a str>,
    forms: Option<Forms<'a>>,
    updated_by: Option<Id>,
    updated_at: Option<Instant>,
    origin: Option<&'static str>,
}

/// A translation as the interface shows it.
///
/// # Errors
/// None that can happen with these types.
pub fn write_body(one: &Translation) -> Result<Vec<u8>, Failure> {
    let told = one.written.as_ref();
    let (text, forms) = match told.map(|told| &told.content) {
        None => (None, None),
        Some(Translated::Text { text, .. }) => (Some(text.as_str()), None),
        Some(Translated::Forms(forms)) => {
            let forms = forms.iter().map(|form| (category_at(form.category).name(), form.text.as_str()));
            (None, Some(Forms(forms.collect())))
        }
    };
    written(&TranslationBody {
        key_id: Id(one.key_id.0),
        locale: &one.locale,
        state: one.state.name(),
        revision: revision_of(one),
        text,
        forms,
        updated_by: told.map(|told| Id(told.updated_by)),
        updated_at: told.map(|told| Instant(told.updated_at)),
        origin: told.and_then(|told| told.origin).map(|origin| origin.name()),
    })
}
