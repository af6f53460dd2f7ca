//! Keys, key context and translations over HTTP.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use quintet_storage::Abort;

use super::answer::{Answer, answered};
use super::files::permitted_file;
use super::input::{self, CONTEXT_CHARS_MAX, CONTEXTS_MAX, KEY_PATH_CHARS_MAX, TEXT_CHARS_MAX};
use super::output;
use super::paging::{next_cursor, page};
use super::request::{Begun, arrive, ask, failed, refusal_of};
use super::routes::{CONTEXT_GET, CONTEXT_PUT, KEY_LIST, TRANSLATION_GET, TRANSLATION_PUT};
use super::spaces::permitted;
use crate::access::{Action, ProjectPlace, Wanted, demand};
use crate::content::{self, KeyId, PutTranslation, Wording};
use crate::context::Context;
use crate::refusal::Refusal;
use crate::spaces::get_project;

/// How many bytes a character takes at most in JSON: an escaped surrogate pair.
const ESCAPED_BYTES_MAX: usize = 12;
/// The largest body of a translation, in bytes: six forms of as many characters as the schema lets a text have, so that
/// what is too long is told so, however it is written.
const TRANSLATION_BYTES_MAX: usize = 6 * TEXT_CHARS_MAX * ESCAPED_BYTES_MAX + 4096;
/// The largest body of key contexts, in bytes.
const CONTEXT_BYTES_MAX: usize =
    CONTEXTS_MAX * ((KEY_PATH_CHARS_MAX + CONTEXT_CHARS_MAX) * ESCAPED_BYTES_MAX + 1024) + 4096;
/// How often the context may be set by those who do not wait for one another: whose caller has left.
const ATTEMPTS_MAX: usize = 8;

pub(super) async fn list_keys(State(context): State<Context>, request: Request) -> Response {
    answered(try_list_keys(&context, request).await)
}

async fn try_list_keys(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let mut asked = ask(context, request, &KEY_LIST).await?;
    let kind = format!("keys {}", asked.text(0));
    let (after, limit) = page(&mut asked, &kind)?;
    let project_id = permitted(context, &asked, Action::Read)?.project_id;
    let listed = context.aside(move |read| {
        let found = content::list_keys(read, asked.tenant_id, project_id, after.map(KeyId), limit)?;
        let next = next_cursor(&kind, found.next.map(|key_id| key_id.0)).map_err(Abort::Refused)?;
        Ok(Answer::json(200, output::keys(&found.keys, next)?))
    });
    listed.await.map_err(refusal_of)
}

pub(super) async fn get_contexts(State(context): State<Context>, request: Request) -> Response {
    answered(try_get_contexts(&context, request).await)
}

async fn try_get_contexts(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let mut asked = ask(context, request, &CONTEXT_GET).await?;
    asked.end_query()?;
    let (_, file) = permitted_file(context, &asked, Action::Read)?;
    let told = context.in_turn(move |store| {
        let found = content::get_contexts(&store.read(), asked.tenant_id, file.file_id)?;
        Ok(Answer::json(200, output::contexts(&found.all)?))
    });
    told.await.map_err(refusal_of)
}

pub(super) async fn put_contexts(State(context): State<Context>, request: Request) -> Response {
    answered(try_put_contexts(&context, request).await)
}

async fn try_put_contexts(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let arrived = arrive(context, request, &CONTEXT_PUT, CONTEXT_BYTES_MAX).await?;
    let (wished, digest) = arrived.read(context, input::put_contexts).await?;
    let (wished, asked) = (Arc::new(wished), &arrived.asked);
    // What is answered follows from the request, and may be larger than what a transaction takes: it is made again for
    // a repeat.
    let told = async |answer: Answer, file_id| {
        let wished = Arc::clone(&wished);
        let told = context.aside(move |_| Ok(output::put_contexts(file_id, &wished)?)).await.map_err(refusal_of)?;
        Ok(answer.with_body(told))
    };
    let going = match arrived.begin(context, digest)? {
        Begun::Replay(answer) => return told(answer, asked.id(1)?).await,
        Begun::Going(going) => going,
    };
    let (project_id, found) = permitted_file(context, asked, Action::FilesWrite)?;
    let file_id = found.file_id;
    let _alone = context.lock(file_id.0.as_u128()).await.map_err(|failure| failed(&failure))?;
    for _ in 0..ATTEMPTS_MAX {
        let prepared =
            content::prepare_contexts(context, asked.tenant_id, project_id, file_id, Arc::clone(&wished)).await;
        let (command, actor) = (prepared.map_err(refusal_of)?, asked.actor());
        let put = going.try_write(context, move |tx, now| {
            let put = content::put_contexts(tx, now, &actor, &command)?;
            Ok(put.map(|()| Answer::json(200, Vec::new())))
        });
        if let Some(answer) = put.await? {
            // What there was before is for the collector.
            context.clock.wake();
            return told(answer, file_id.0).await;
        }
    }
    Err(Refusal::Conflict("the file's context was changed all the time by others; nothing was done"))
}

pub(super) async fn get_translation(State(context): State<Context>, request: Request) -> Response {
    answered(try_get_translation(&context, request).await)
}

async fn try_get_translation(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let mut asked = ask(context, request, &TRANSLATION_GET).await?;
    asked.end_query()?;
    context.demand_core()?;
    let locale = content::translation_locale(asked.text(1))?;
    let key_id = KeyId(asked.id(0)?);
    let told = context.aside(move |read| {
        let key = content::get_key(read, asked.tenant_id, key_id)?;
        let project = get_project(read, asked.tenant_id, key.project_id)?;
        demand(read, &asked.caller, Wanted::InProject(ProjectPlace::of(&project), Action::Read))?;
        let found = content::get_translation(read, asked.tenant_id, &key, &locale)?;
        Ok(Answer::json(200, output::translation(&found)?))
    });
    told.await.map_err(refusal_of)
}

pub(super) async fn put_translation(State(context): State<Context>, request: Request) -> Response {
    answered(try_put_translation(&context, request).await)
}

async fn try_put_translation(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let arrived = arrive(context, request, &TRANSLATION_PUT, TRANSLATION_BYTES_MAX).await?;
    let (wished, digest) = arrived.read(context, input::put_translation).await?;
    let going = match arrived.begin(context, digest)? {
        Begun::Replay(answer) => return Ok(answer),
        Begun::Going(going) => going,
    };
    context.demand_core()?;
    let asked = &arrived.asked;
    let locale = content::translation_locale(asked.text(1))?;
    let (tenant_id, caller, key_id) = (asked.tenant_id, asked.caller.clone(), KeyId(asked.id(0)?));
    let shaped = context.aside(move |read| {
        let key = content::get_key(read, tenant_id, key_id)?;
        let project = get_project(read, tenant_id, key.project_id)?;
        let wanted = Wanted::InLocale(ProjectPlace::of(&project), Action::Translate, locale.canonical());
        demand(read, &caller, wanted)?;
        Ok(PutTranslation::new(key, locale, wished, Wording::Human)?)
    });
    let (command, actor) = (shaped.await.map_err(refusal_of)?, asked.actor());
    let put = going.write(context, move |tx, now| {
        let translation = content::put_translation(tx, now, &actor, command)?;
        let is_first = translation.written.as_ref().is_some_and(|written| written.revision == 1);
        Ok(Answer::json(if is_first { 201 } else { 200 }, output::translation(&translation)?))
    });
    put.await
}
