//! AI translate over HTTP.

use std::collections::BTreeSet;

use quintet_platform::clock::parse_rfc3339;
use quintet_platform::ids::parse_uuid;
use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{
    Answer, Change, Content, Endpoint, Fault, KeyRule, Route, json as success, refusal_of,
};
use quintet_storage::{Abort, Read, Timestamp};

use super::choose::{Chosen, choose, demand_named};
use super::draft::{DraftAll, Drafted, Failed, draft_all};
use super::model::{BATCH_DEFAULT, BATCH_MAX, Proposal, Wish};
use super::propose::{ask, prepare};
use crate::access::{Action, Wanted};
use crate::content::{FileId, Key, KeyId, translation_locale};
use crate::http::{Answered, Call, Caller, Form, Localization, TAGGED, read};
use crate::quality::QaCheck;
use crate::refusal::Refusal;
use crate::shelf::Shelf;
use crate::spaces::http::PROJECT;
use crate::spaces::{Project, ProjectId, get_project};

/// The longest tag that a body may have, in characters; what is stored is shorter.
const LOCALE_CHARS_MAX: usize = 255;
/// The least and the most that the memory may be asked for.
const SCORES: std::ops::RangeInclusive<u8> = 75..=100;
/// How often what was proposed is judged anew because something has changed.
const ATTEMPTS_MAX: usize = 8;

const TRANSLATE: Route = Route::post("translate", "/v1/projects/{project_id}/translate")
    .permission("p_<p>_anyloc_translate")
    .summary("Have the AI engine draft what is not translated; p_<p>_loc_<tag>_translate or p_<p>_release will do, too")
    .segments(&[PROJECT])
    .key(KeyRule::Required)
    .body(Content::Json("TranslateWish"))
    .successes(&[success(200, "Translated")])
    .marks(&[TAGGED])
    .codes(&["ai_unavailable", "conflict", "busy"]);

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] = &[Endpoint::new(&TRANSLATE, |call| Box::pin(translate(call)))];

async fn translate(call: Call) -> Answered {
    let mut change = call.change().await?;
    let body = read_body(change.json()?)?;
    change.begin()?;
    let context = change.call.context.clone();
    let (tenant_id, now) = (change.call.caller.tenant_id(), change.call.now());
    let project_id = change.call.segment(PROJECT.name).map(ProjectId).ok_or(Refusal::NotFound)?;
    let (caller, shared) = (change.call.caller.clone(), context.clone());
    let permitted = context.aside(tenant_id, move |read| permitted(read, &shared.shelf, &caller, project_id, body));
    let (project, wish) = permitted.await.map_err(refusal_of)?;
    // Without an engine the memory may still have everything.
    if context.engine.is_none() && wish.from_memory.is_none() {
        return Err(Refusal::AiUnavailable.into());
    }
    let caller = match &context.engine {
        Some(engine) => Some(engine.enter(tenant_id.0).ok_or(Refusal::Fault(Fault::Busy))?),
        None => None,
    };
    let (own, wished, inner) = (project.clone(), wish.clone(), context.clone());
    let chosen =
        context.in_turn(tenant_id, move |store| choose(&store.read(), &inner.shelf, tenant_id, &own, &wished, now));
    let Chosen { candidates, too_long, remaining } = chosen.await.map_err(refusal_of)?;
    let (own, wished, inner) = (project.clone(), wish.clone(), context.clone());
    let prepared =
        context.in_turn(tenant_id, move |store| prepare(&inner, &store.read(), tenant_id, &own, &wished, candidates));
    let prepared = prepared.await.map_err(refusal_of)?;
    let proposals = match &caller {
        Some(caller) => ask(caller, now, prepared).await?,
        None if prepared.needs_engine() => return Err(Refusal::AiUnavailable.into()),
        None => prepared.proposals,
    };
    write(&change, &project, &wish, proposals, too_long, remaining).await
}

/// Judges what was proposed and writes what passes, anew if something changes in between.
async fn write(
    change: &Change<Localization>,
    project: &Project,
    wish: &Wish,
    proposals: Vec<Proposal>,
    too_long: Vec<Key>,
    remaining: u64,
) -> Answered {
    let call = &change.call;
    let tenant_id = call.caller.tenant_id();
    for _ in 0..ATTEMPTS_MAX {
        let (project_id, wish, proposals, too_long) =
            (project.project_id, wish.clone(), proposals.clone(), too_long.clone());
        let context = call.context.clone();
        let judged = call.context.aside(tenant_id, move |read| {
            let project = get_project(read, tenant_id, project_id)?;
            DraftAll::new(read, &context.shelf, tenant_id, &project, wish, proposals, &too_long)
        });
        let (command, actor) = (judged.await.map_err(refusal_of)?, call.caller.actor.clone());
        let (file_id, locale) = (command.file_id(), command.locale().to_owned());
        let written = change.try_write(move |tx, now| {
            let drafted = draft_all(tx, now, &actor, command)?;
            Ok(drafted.map(|drafted| Answer::json(200, write_answer(file_id, &locale, &drafted, remaining))))
        });
        if let Some(answer) = written.await? {
            return Ok(answer);
        }
    }
    Err(Refusal::Fault(Fault::Busy).into())
}

/// A body as it came, the tag unread.
struct Body {
    file_id: FileId,
    locale: String,
    batch: usize,
    drafted_before: Option<Timestamp>,
    keys: Option<BTreeSet<KeyId>>,
    from_memory: Option<u8>,
}

/// What is asked for, if the caller may (localization, O1 and A5).
fn permitted(
    read: &impl Read,
    shelf: &Shelf,
    caller: &Caller,
    project_id: ProjectId,
    body: Body,
) -> Result<(Project, Wish), Abort<Refusal>> {
    let tenant_id = caller.tenant_id();
    let project = get_project(read, tenant_id, project_id)?;
    let locale = translation_locale(&body.locale);
    let tag = locale.as_ref().map_or("", |locale| locale.canonical());
    let translating = Wanted::InLocale(project.place(), Action::Translate, tag);
    caller.demand_any(read, &[Wanted::InProject(project.place(), Action::Release), translating])?;
    let Body { file_id, batch, drafted_before, keys, from_memory, .. } = body;
    demand_named(read, shelf, tenant_id, project_id, file_id, keys.iter().flatten().copied())?;
    Ok((project, Wish { file_id, locale: locale?, batch, drafted_before, keys, from_memory }))
}

/// TranslateWish.
fn read_body(json: Json) -> Result<Body, Refusal> {
    let mut form = Form::of_body(json)?;
    let file_id = form.required_id("file").map(FileId);
    let locale = form.required_text("locale", 1, LOCALE_CHARS_MAX);
    let batch: Option<u32> = form.optional("batch");
    let batch = batch.map_or(BATCH_DEFAULT, |batch| usize::try_from(batch).unwrap_or(usize::MAX));
    if !(1..=BATCH_MAX).contains(&batch) {
        form.wrong("batch", "is 1 to 200");
    }
    let before: Option<String> = form.optional("drafted_before");
    let drafted_before = before.and_then(|text| {
        let instant = parse_rfc3339(&text).ok();
        if instant.is_none() {
            form.wrong("drafted_before", "is an instant (RFC 3339)");
        }
        instant
    });
    let keys: Option<Json> = form.optional("keys");
    let keys = keys.and_then(|keys| {
        let read = read_keys(&keys);
        if read.is_none() {
            form.wrong("keys", "has 1 to 200 UUIDs");
        }
        read
    });
    let from_memory: Option<u8> = form.optional("from_memory");
    if from_memory.is_some_and(|least| !SCORES.contains(&least)) {
        form.wrong("from_memory", "is 75 to 100");
    }
    form.finish()?;
    Ok(Body { file_id: read(file_id)?, locale: read(locale)?, batch, drafted_before, keys, from_memory })
}

fn read_keys(keys: &Json) -> Option<BTreeSet<KeyId>> {
    let Json::Array(items) = keys else { return None };
    let ids = items.iter().map(|item| item.as_str().and_then(parse_uuid).map(KeyId));
    (1..=BATCH_MAX).contains(&items.len()).then(|| ids.collect()).flatten()
}

/// Translated.
fn write_answer(file_id: FileId, locale: &str, drafted: &Drafted, remaining: u64) -> Vec<u8> {
    let failed = |one: &Failed| {
        let checks: Vec<Json> = one.checks.iter().map(QaCheck::to_json).collect();
        Json::object([("key_id", Json::from(one.key_id.0.to_string())), ("checks", Json::from(checks))])
    };
    let failed: Vec<Json> = drafted.failed.iter().map(failed).collect();
    let answer = Json::object([
        ("file", Json::from(file_id.0.to_string())),
        ("locale", Json::from(locale)),
        ("drafted", Json::from(drafted.drafted)),
        ("failed", Json::from(failed)),
        ("remaining", Json::from(remaining)),
    ]);
    to_compact(&answer).into()
}
