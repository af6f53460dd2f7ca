//! Translations: read one, write one.

use quintet_platform::json::Json;
use quintet_platform::service::{
    Answer, Content, Endpoint, Id, Instant, KeyRule, Route, Segment, Shape, json as success, refusal_of, written,
};
use quintet_storage::{Abort, Failure, Read};

use super::keys::KEY;
use super::wire::Forms;
use crate::access::{Action, Wanted};
use crate::content::keys::get_key;
use crate::content::model::{Key, KeyId, category_at};
use crate::content::translation::{Translated, Translation, Wished, Wording, translation_locale};
use crate::content::translations::{self, PutTranslation};
use crate::http::{Answered, CORE, Call, Caller, Form, Localization, TAGGED};
use crate::language::Locale;
use crate::refusal::Refusal;
use crate::spaces::{Project, get_project};

/// The longest text of a translation that a body may have, in characters; what is stored is shorter.
const TEXT_CHARS_MAX: usize = 262_144;
/// The most forms of a plural.
const FORMS_MAX: usize = 6;
/// How many bytes a character takes at most in JSON: an escaped surrogate pair.
const ESCAPED_BYTES_MAX: usize = 12;
/// The largest body, in bytes: six forms of as many characters as the schema lets a text have, so that what is too long
/// is told so, however it is written.
const BODY_BYTES_MAX: usize = FORMS_MAX * TEXT_CHARS_MAX * ESCAPED_BYTES_MAX + 4096;

/// The locale that a path names. Whatever is longer is no tag that can be stored.
const LOCALE: Segment = Segment::new("locale", Shape::Pattern("^[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*$"));

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
    .body(Content::Json("TranslationPut"))
    .successes(&[success(200, "Translation"), success(201, "Translation").about("The first")])
    .marks(&[CORE, TAGGED])
    .codes(&["key_obsolete", "edit_shape", "value_too_long", "value_unrepresentable", "conflict"]);

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] =
    &[Endpoint::new(&GET, |call| Box::pin(get(call))), Endpoint::new(&PUT, |call| Box::pin(put(call)))];

/// The locale of the path, and which key it names.
fn place_of(call: &Call) -> Result<(Locale, KeyId), Refusal> {
    let locale = translation_locale(&call.segment::<String>(LOCALE.name).unwrap_or_default())?;
    let key_id = call.segment(KEY.name).map(KeyId).ok_or(Refusal::NotFound)?;
    Ok((locale, key_id))
}

/// A key and the project it lies in.
fn find_key(read: &impl Read, caller: &Caller, key_id: KeyId) -> Result<(Key, Project), Abort<Refusal>> {
    let key = get_key(read, caller.tenant_id(), key_id)?;
    let project = get_project(read, caller.tenant_id(), key.project_id)?;
    Ok((key, project))
}

async fn get(call: Call) -> Answered {
    let context = call.context.clone();
    context.demand_core()?;
    let (locale, key_id) = place_of(&call)?;
    let told = context.aside(call.caller.tenant_id(), move |read| {
        let (key, project) = find_key(read, &call.caller, key_id)?;
        call.caller.demand(read, Wanted::InProject(project.place(), Action::Read))?;
        let found = translations::get_translation(read, call.caller.tenant_id(), &key, &locale)?;
        Ok(Answer::json(200, write_translation(&found)?))
    });
    Ok(told.await.map_err(refusal_of)?)
}

async fn put(call: Call) -> Answered {
    let mut change = call.change_of(BODY_BYTES_MAX).await?;
    let wished = read_put(change.json()?)?;
    change.begin()?;
    let call = &change.call;
    call.context.demand_core()?;
    let (locale, key_id) = place_of(call)?;
    let caller = call.caller.clone();
    let shaped = call.context.aside(call.caller.tenant_id(), move |read| {
        let (key, project) = find_key(read, &caller, key_id)?;
        caller.demand(read, Wanted::InLocale(project.place(), Action::Translate, locale.canonical()))?;
        Ok(PutTranslation::new(key, locale, wished, Wording::Human)?)
    });
    let (command, actor) = (shaped.await.map_err(refusal_of)?, call.caller.actor.clone());
    let put = change.write(move |tx, now| {
        let translation = translations::put_translation(tx, now, &actor, command)?;
        let is_first = translation.written.as_ref().is_some_and(|written| written.revision == 1);
        Ok(Answer::json(if is_first { 201 } else { 200 }, write_translation(&translation)?))
    });
    put.await
}

/// TranslationPut.
fn read_put(json: Json) -> Result<Wished, Refusal> {
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

fn write_translation(one: &Translation) -> Result<Vec<u8>, Failure> {
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
        revision: told.map_or(0, |told| told.revision),
        text,
        forms,
        updated_by: told.map(|told| Id(told.updated_by)),
        updated_at: told.map(|told| Instant(told.updated_at)),
        origin: told.and_then(|told| told.origin).map(|origin| origin.name()),
    })
}
