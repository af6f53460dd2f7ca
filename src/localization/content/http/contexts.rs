//! Key context: read, set.

use std::collections::HashSet;
use std::sync::Arc;

use quintet_platform::json::Json;
use quintet_platform::service::{
    Answer, Content, Endpoint, Id, KeyRule, Route, Stop, json as success, refusal_of, written,
};
use quintet_storage::{Abort, Failure};

use super::files::{FILE, permitted_file};
use crate::access::Action;
use crate::content::contexts::{get_contexts, prepare_contexts, put_contexts};
use crate::content::model::{FileId, KeyClass, KeyContext};
use crate::content::rejudge::wait_for_pass;
use crate::http::{Answered, Call, Form, Localization, read};
use crate::refusal::Refusal;
use crate::spaces::http::PROJECT;

/// The most entries of one request.
const ENTRIES_MAX: usize = 1000;
/// The longest path of a key, context, and number of a length.
const PATH_CHARS_MAX: usize = 1024;
const CONTEXT_CHARS_MAX: usize = 2000;
const LENGTH_MAX: u32 = 100_000;
/// How many bytes a character takes at most in JSON: an escaped surrogate pair.
const ESCAPED_BYTES_MAX: usize = 12;
/// The largest body, in bytes.
const BODY_BYTES_MAX: usize = ENTRIES_MAX * ((PATH_CHARS_MAX + CONTEXT_CHARS_MAX) * ESCAPED_BYTES_MAX + 1024) + 4096;
/// How often the context may be set by those who do not wait for one another: whose caller has left.
const ATTEMPTS_MAX: usize = 8;

const GET: Route = Route::get("get_key_contexts", "/v1/projects/{project_id}/files/{file_id}/context")
    .permission("p_<p>_read")
    .summary("What translators are told of its keys")
    .segments(&[PROJECT, FILE])
    .successes(&[success(200, "KeyContexts")])
    .codes(&["busy"]);
const PUT: Route = Route::put("put_key_contexts", "/v1/projects/{project_id}/files/{file_id}/context")
    .permission("p_<p>_files-write")
    .summary("Tell translators of some of its keys")
    .segments(&[PROJECT, FILE])
    .key(KeyRule::Required)
    .body(Content::Json("KeyContextsPut"))
    .successes(&[success(200, "KeyContextsSet")])
    .codes(&["key_unknown", "length_range", "context_invalid", "conflict"]);

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] =
    &[Endpoint::new(&GET, |call| Box::pin(get(call))), Endpoint::new(&PUT, |call| Box::pin(put(call)))];

async fn get(call: Call) -> Answered {
    let (_, file) = permitted_file(&call, Action::Read)?;
    let tenant_id = call.caller.tenant_id();
    let told = call.context.in_turn(call.caller.tenant_id(), move |store| {
        let found = get_contexts(&store.read(), tenant_id, file.file_id)?;
        Ok(Answer::json(200, write_contexts(None, &found.all)?))
    });
    Ok(told.await.map_err(refusal_of)?)
}

async fn put(call: Call) -> Answered {
    let mut change = call.change_of(BODY_BYTES_MAX).await?;
    let (context, json) = (change.call.context.clone(), change.json()?);
    let tenant_id = change.call.caller.tenant_id();
    let wished = context.aside(tenant_id, move |_| read_put(json).map_err(Abort::Refused)).await;
    let wished = Arc::new(wished.map_err(refusal_of)?);
    match change.begin() {
        Err(Stop::Replay(answer)) => {
            let file_id = change.call.segment(FILE.name).map(FileId).ok_or(Refusal::NotFound)?;
            return told(&change.call, *answer, file_id, wished).await;
        }
        others => others?,
    }
    let call = &change.call;
    let (project_id, file) = permitted_file(call, Action::FilesWrite)?;
    let file_id = file.file_id;
    let _alone = context.locks.lock(file_id.0.as_u128()).await.map_err(Refusal::from)?;
    for _ in 0..ATTEMPTS_MAX {
        let prepared = prepare_contexts(&context, tenant_id, project_id, file_id, Arc::clone(&wished)).await;
        let ((command, _staged), actor) = (prepared.map_err(refusal_of)?, call.caller.actor.clone());
        let put = change.try_write(move |tx, now| {
            let put = put_contexts(tx, now, &actor, &command)?;
            Ok(put.map(|()| Answer::json(200, Vec::new())))
        });
        if let Some(answer) = put.await? {
            wait_for_pass(&context.store, tenant_id, project_id).await;
            return told(call, answer, file_id, wished).await;
        }
    }
    Err(Refusal::Conflict("the file's context was changed all the time by others; nothing was done").into())
}

/// An answer with what it tells. That follows from the request, and may be larger than what a transaction takes: it is
/// not remembered, and made again for a repeat.
async fn told(call: &Call, answer: Answer, file_id: FileId, wished: Arc<Vec<KeyContext>>) -> Answered {
    let told = move |_: &_| Ok(write_contexts(Some(file_id), &wished)?);
    let body = call.context.aside(call.caller.tenant_id(), told).await;
    Ok(answer.with_body(body.map_err(refusal_of)?))
}

/// KeyContextsPut. A member that is not known decides before one that is wrong, wherever they stand.
fn read_put(json: Json) -> Result<Vec<KeyContext>, Refusal> {
    let mut form = Form::of_body(json)?;
    let entries = form.objects("keys");
    if !(1..=ENTRIES_MAX).contains(&entries.len()) {
        form.wrong("keys", "has 1 to 1000 items");
    }
    let mut outcome = form.finish();
    let mut contexts = Vec::with_capacity(entries.len());
    let mut paths = HashSet::new();
    for fields in entries {
        match (read_entry(Form::new(fields), &mut paths), &outcome) {
            (Ok(context), _) => contexts.push(context),
            (Err(unknown @ Refusal::UnknownField(_)), Ok(()) | Err(Refusal::InvalidField(..))) => {
                outcome = Err(unknown)
            }
            (Err(refusal), Ok(())) => outcome = Err(refusal),
            (Err(_), Err(_)) => {}
        }
    }
    outcome.map(|()| contexts)
}

/// One entry of them; `paths` are those of the entries before it.
fn read_entry(mut form: Form, paths: &mut HashSet<String>) -> Result<KeyContext, Refusal> {
    let path = form.required_text("path", 1, PATH_CHARS_MAX);
    let class: Option<String> = form.nullable("class");
    let class = class.map(|class| match class.as_str() {
        "prose" => Some(KeyClass::Prose),
        "claim" => Some(KeyClass::Claim),
        "legal" => Some(KeyClass::Legal),
        _ => None,
    });
    if class == Some(None) {
        form.wrong("class", "is prose, claim, legal or null");
    }
    let context = form.nullable_text("context", 1, CONTEXT_CHARS_MAX);
    let mut length = |name: &str| -> Option<u32> {
        let length: Option<u32> = form.nullable(name);
        if length.is_some_and(|length| !(1..=LENGTH_MAX).contains(&length)) {
            form.wrong(name, "is 1 to 100000 or null");
        }
        length
    };
    let (min_length, max_length) = (length("min_length"), length("max_length"));
    if path.as_ref().is_some_and(|path| !paths.insert(path.clone())) {
        form.wrong("path", "occurs more than once");
    }
    form.finish()?;
    Ok(KeyContext { path: read(path)?, class: class.flatten(), context, min_length, max_length })
}

#[derive(serde::Serialize)]
struct ContextBody<'a> {
    path: &'a str,
    context: Option<&'a str>,
    min_length: Option<u32>,
    max_length: Option<u32>,
}

fn of_context(one: &KeyContext) -> ContextBody<'_> {
    ContextBody {
        path: &one.path,
        context: one.context.as_deref(),
        min_length: one.min_length,
        max_length: one.max_length,
    }
}

#[derive(serde::Serialize)]
struct ContextsBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<Id>,
    keys: Vec<ContextBody<'a>>,
}

/// What is told of keys; of which file, where that has been changed.
fn write_contexts(file_id: Option<FileId>, contexts: &[KeyContext]) -> Result<Vec<u8>, Failure> {
    let keys = contexts.iter().map(of_context).collect();
    written(&ContextsBody { file: file_id.map(|file_id| Id(file_id.0)), keys })
}
