//! Keys, key context and translations over HTTP.

use std::collections::HashSet;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use quintet_storage::Uuid;

use super::answer::{Answer, answered};
use super::files::{in_turn, parse_locale, permitted_file, store_part};
use super::input::{self, CONTEXT_CHARS_MAX, CONTEXTS_MAX, KEY_PATH_CHARS_MAX, TEXT_CHARS_MAX};
use super::request::{Begun, arrive, ask, failed, refusal_of};
use super::routes::{CONTEXT_GET, CONTEXT_PUT, KEY_LIST, TRANSLATION_GET, TRANSLATION_PUT};
use super::{Context, body, next_cursor, output, page, permitted};
use crate::catalogue;
use crate::contexts::{self, PutContexts};
use crate::keys;
use crate::model::KeyId;
use crate::permissions::{Action, Wanted};
use crate::projects;
use crate::refusal::Refusal;
use crate::tables::Wording;
use crate::translations::{self, PutTranslation, shaped};

/// How many bytes a character takes at most in JSON: an escaped surrogate pair.
const ESCAPED_BYTES_MAX: usize = 12;
/// The largest body of a translation, in bytes: six forms of as many characters as the schema lets a text have, so that
/// what is too long is told so, however it is written.
const TRANSLATION_BYTES_MAX: usize = 6 * TEXT_CHARS_MAX * ESCAPED_BYTES_MAX + 4096;
/// The largest body of key contexts, in bytes.
const CONTEXT_BYTES_MAX: usize =
    CONTEXTS_MAX * ((KEY_PATH_CHARS_MAX + CONTEXT_CHARS_MAX) * ESCAPED_BYTES_MAX + 1024) + 4096;
/// How often a file may be uploaded between looking at a key and writing.
const ATTEMPTS_MAX: usize = 8;
/// What all these uploads end in.
const OVERTAKEN: Refusal = Refusal::Conflict("the file was changed all the time by others; nothing was done");

pub(super) async fn list_keys(State(context): State<Context>, request: Request) -> Response {
    answered(try_list_keys(&context, request).await)
}

async fn try_list_keys(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let mut asked = ask(context, request, &KEY_LIST).await?;
    let kind = format!("keys {}", asked.text(0));
    let (after, limit) = page::<[u8; 16]>(&mut asked, &kind)?;
    let project = permitted(context, &asked, Action::Read).await?;
    let after = after.map(|id| KeyId(Uuid::from_bytes(id)));
    let found = keys::list_keys(&context.store.read(), asked.tenant_id, project.project_id, after, limit);
    let (found, last) = found.map_err(|failure| failed(&failure))?;
    body(200, output::keys(&found, next_cursor(&kind, last.map(|key_id| key_id.0.into_bytes()))?))
}

pub(super) async fn get_contexts(State(context): State<Context>, request: Request) -> Response {
    answered(try_get_contexts(&context, request).await)
}

async fn try_get_contexts(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let mut asked = ask(context, request, &CONTEXT_GET).await?;
    asked.end_query()?;
    let (_, file) = permitted_file(context, &asked, Action::Read).await?;
    let (store, tenant_id) = (context.store.clone(), asked.tenant_id);
    in_turn(context, move || {
        let found = contexts::get_contexts(&store.read(), tenant_id, file.file_id);
        body(200, output::contexts(&found.map_err(|failure| failed(&failure))?.all))
    })
    .await
}

pub(super) async fn put_contexts(State(context): State<Context>, request: Request) -> Response {
    answered(try_put_contexts(&context, request).await)
}

async fn try_put_contexts(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let arrived = arrive(context, request, &CONTEXT_PUT, CONTEXT_BYTES_MAX).await?;
    let wished = Arc::new(input::put_contexts(arrived.json()?)?);
    let asked = &arrived.asked;
    // What is answered follows from the request, and may be larger than what a transaction takes: it is made again for
    // a repeat.
    let told = |answer: Answer, file_id| {
        let told = output::put_contexts(file_id, wished.all()).map_err(|failure| failed(&failure))?;
        Ok(answer.with_body(told))
    };
    let going = match arrived.begin(context)? {
        Begun::Replay(answer) => return told(answer, asked.id(1)?),
        Begun::Going(going) => going,
    };
    let (project_id, found) = permitted_file(context, asked, Action::FilesWrite).await?;
    let (tenant_id, file_id) = (asked.tenant_id, found.file_id);
    for _ in 0..ATTEMPTS_MAX {
        let (store, wished) = (context.store.clone(), Arc::clone(&wished));
        let count = wished.all().len();
        let prepared = in_turn(context, move || {
            let read = store.read();
            let file = keys::get_file(&read, tenant_id, project_id, file_id).map_err(refusal_of)?;
            let catalogue = keys::get_catalogue(&read, tenant_id, file_id);
            let entries = catalogue.and_then(|row| catalogue::read_entries(&read, &row));
            let entries = entries.map_err(|failure| failed(&failure))?;
            let active = entries.iter().filter(|entry| !entry.is_obsolete).map(|entry| entry.path.as_str());
            wished.check(&active.collect::<HashSet<&str>>())?;
            let old = contexts::get_contexts(&read, tenant_id, file_id).map_err(|failure| failed(&failure))?;
            Ok((file.row.version, old.version, contexts::merged(old.all, wished.all()).map_err(refusal_of)?))
        });
        let (file_version, base_version, bytes) = prepared.await?;
        let value = store_part(context, tenant_id, &bytes).await?;
        let command = PutContexts { project_id, file_id, file_version, base_version, value, count };
        let actor = asked.actor();
        let put = going.try_write(context, move |tx, now| {
            let put = contexts::put_contexts(tx, now, &actor, &command)?;
            Ok(put.map(|()| Answer::json(200, Vec::new())))
        });
        if let Some(answer) = put.await? {
            // What there was before is for the collector.
            context.clock.wake();
            return told(answer, file_id.0);
        }
    }
    Err(OVERTAKEN)
}

pub(super) async fn get_translation(State(context): State<Context>, request: Request) -> Response {
    answered(try_get_translation(&context, request).await)
}

async fn try_get_translation(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let mut asked = ask(context, request, &TRANSLATION_GET).await?;
    asked.end_query()?;
    context.demand_core()?;
    let locale = parse_locale(asked.text(1))?;
    let read = context.store.read();
    let key = keys::get_key(&read, asked.tenant_id, KeyId(asked.id(0)?)).map_err(refusal_of)?;
    let project = projects::get_project(&read, asked.tenant_id, key.project_id).map_err(refusal_of)?;
    asked.demand(context, &read, Wanted::InProject(project.place(), Action::Read)).await?;
    let found = translations::get_translation(&read, asked.tenant_id, &key, &locale);
    body(200, output::translation(&found.map_err(|failure| failed(&failure))?))
}

pub(super) async fn put_translation(State(context): State<Context>, request: Request) -> Response {
    answered(try_put_translation(&context, request).await)
}

async fn try_put_translation(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let arrived = arrive(context, request, &TRANSLATION_PUT, TRANSLATION_BYTES_MAX).await?;
    let wished = input::put_translation(arrived.json()?)?;
    let going = match arrived.begin(context)? {
        Begun::Replay(answer) => return Ok(answer),
        Begun::Going(going) => going,
    };
    context.demand_core()?;
    let asked = &arrived.asked;
    let locale = parse_locale(asked.text(1))?;
    for _ in 0..ATTEMPTS_MAX {
        let read = context.store.read();
        let key = keys::get_key(&read, asked.tenant_id, KeyId(asked.id(0)?)).map_err(refusal_of)?;
        let project = projects::get_project(&read, asked.tenant_id, key.project_id).map_err(refusal_of)?;
        let wanted = Wanted::InLocale(project.place(), Action::Translate, locale.canonical());
        asked.demand(context, &read, wanted).await?;
        let content = shaped(wished.clone(), &key.entry.source, &locale)?;
        let command = PutTranslation { key, locale: locale.clone(), content, origin: Wording::Human };
        let actor = asked.actor();
        let put = going.try_write(context, move |tx, now| {
            let Some(written) = translations::put_translation(tx, now, &actor, &command)? else { return Ok(None) };
            let is_first = written.row.as_ref().is_some_and(|row| row.revision == 1);
            Ok(Some(Answer::json(if is_first { 201 } else { 200 }, output::translation(&written)?)))
        });
        if let Some(answer) = put.await? {
            return Ok(answer);
        }
    }
    Err(OVERTAKEN)
}
