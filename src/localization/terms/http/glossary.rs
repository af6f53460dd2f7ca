//! The glossary of a project: list, create, read, replace, delete.

use quintet_platform::json::Json;
use quintet_platform::service::{
    Answer, CURSOR, Content, Endpoint, Id, Instant, KeyRule, Parameter, Route, Segment, Shape, json as success,
    next_cursor, refusal_of, written,
};
use quintet_storage::{Failure, Uuid};

use crate::access::{Action, Wanted};
use crate::content::rejudge::wait_for_pass;
use crate::http::{Answered, Call, Form, LIMIT, Localization, TAGGED, read};
use crate::refusal::Refusal;
use crate::spaces::http::{PROJECT, permitted};
use crate::spaces::{ProjectId, get_project};
use crate::terms::create::create_entry;
use crate::terms::delete::delete_entry;
use crate::terms::get::{EntryPage, get_entry, list_entries};
use crate::terms::model::{Entry, EntryKind, LOCALE_CHARS_MAX, NOTE_CHARS_MAX, TERM_CHARS_MAX, TermId, Wording};
use crate::terms::replace::{check_kind, replace_entry};

const TERM: Segment = Segment::new("term_id", Shape::Uuid);
const KIND: Parameter = Parameter::new("kind", Shape::Word(EntryKind::NAMES, ""), "Entries of this kind alone.");

const LIST: Route = Route::get("list_glossary", "/v1/projects/{project_id}/glossary")
    .permission("p_<p>_read")
    .summary("List its glossary, in the order of ids")
    .segments(&[PROJECT])
    .parameters(&[KIND, CURSOR, LIMIT])
    .successes(&[success(200, "GlossaryPage")])
    .codes(&["busy"]);
const CREATE: Route = Route::post("create_glossary_entry", "/v1/projects/{project_id}/glossary")
    .permission("p_<p>_glossary-write")
    .summary("Add a term, a text that is not translated, or one that is forbidden")
    .segments(&[PROJECT])
    .key(KeyRule::Optional)
    .body(Content::Json("GlossaryEntryWrite"))
    .successes(&[success(201, "GlossaryEntry")])
    .makes(TERM.noun, "id")
    .marks(&[TAGGED])
    .codes(&["term_shape", "term_invalid", "term_exists", "conflict"]);
const GET: Route = Route::get("get_glossary_entry", "/v1/projects/{project_id}/glossary/{term_id}")
    .permission("p_<p>_read")
    .summary("One entry of the glossary")
    .segments(&[PROJECT, TERM])
    .successes(&[success(200, "GlossaryEntry")]);
const PUT: Route = Route::put("put_glossary_entry", "/v1/projects/{project_id}/glossary/{term_id}")
    .permission("p_<p>_glossary-write")
    .summary("Replace what it says; its kind stays")
    .segments(&[PROJECT, TERM])
    .key(KeyRule::Required)
    .body(Content::Json("GlossaryEntryWrite"))
    .successes(&[success(200, "GlossaryEntry")])
    .marks(&[TAGGED])
    .codes(&["term_shape", "term_invalid", "term_exists", "conflict"]);
const DELETE: Route = Route::delete("delete_glossary_entry", "/v1/projects/{project_id}/glossary/{term_id}")
    .permission("p_<p>_glossary-write")
    .summary("Delete it; the answer is what it was")
    .segments(&[PROJECT, TERM])
    .key(KeyRule::Optional)
    .successes(&[success(200, "GlossaryEntry")]);

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] = &[
    Endpoint::new(&LIST, |call| Box::pin(list(call))),
    Endpoint::new(&CREATE, |call| Box::pin(create(call))),
    Endpoint::new(&GET, |call| Box::pin(get(call))),
    Endpoint::new(&PUT, |call| Box::pin(put(call))),
    Endpoint::new(&DELETE, |call| Box::pin(delete(call))),
];

/// The entry of the path, if the caller may do this in its project.
///
/// # Errors
/// [`Refusal::NotFound`], then that the caller may not.
fn permitted_entry(call: &Call, action: Action) -> Result<(ProjectId, Entry), Refusal> {
    let (read, tenant_id) = (call.snapshot(), call.caller.tenant_id());
    let project_id = call.segment(PROJECT.name).map(ProjectId).ok_or(Refusal::NotFound)?;
    let project = get_project(&read, tenant_id, project_id).map_err(refusal_of)?;
    let term_id = call.segment(TERM.name).map(TermId).ok_or(Refusal::NotFound)?;
    let entry = get_entry(&read, tenant_id, project_id, term_id).map_err(refusal_of)?;
    call.caller.demand(&read, Wanted::InProject(project.place(), action)).map_err(refusal_of)?;
    Ok((project_id, entry))
}

async fn list(mut call: Call) -> Answered {
    let wanted = call.word(&KIND)?;
    let project: Option<Uuid> = call.segment(PROJECT.name);
    let name = format!("glossary {} {}", project.unwrap_or_default(), wanted.unwrap_or_default());
    let page = call.page::<TermId>(&name, &LIMIT)?;
    let project_id = permitted(&call, Action::Read)?.project_id;
    let (context, tenant_id) = (call.context.clone(), call.caller.tenant_id());
    let listed = context.aside(tenant_id, move |read| {
        let kind = wanted.and_then(EntryKind::from_name);
        let found = list_entries(read, tenant_id, project_id, kind, page.after, page.limit)?;
        Ok(Answer::json(200, write_page(&found, next_cursor(&name, found.next.as_ref())?)?))
    });
    Ok(listed.await.map_err(refusal_of)?)
}

async fn create(call: Call) -> Answered {
    let mut change = call.change().await?;
    let wished = read_entry(change.json()?)?;
    change.begin()?;
    let project_id = permitted(&change.call, Action::GlossaryWrite)?.project_id;
    let wording = wished.checked()?;
    let actor = change.call.caller.actor.clone();
    let (context, tenant_id) = (change.call.context.clone(), change.call.caller.tenant_id());
    let made = change.write(move |tx, now| {
        let made = create_entry(tx, now, &actor, project_id, wording)?;
        Ok(Answer::json(201, written(&of_entry(&made))?))
    });
    let answer = made.await?;
    wait_for_pass(&context.store, tenant_id, project_id).await;
    Ok(answer)
}

async fn get(call: Call) -> Answered {
    let (_, entry) = permitted_entry(&call, Action::Read)?;
    call.answer(200, |_| Ok(written(&of_entry(&entry))?))
}

async fn put(call: Call) -> Answered {
    let mut change = call.change().await?;
    let wished = read_entry(change.json()?)?;
    change.begin()?;
    let (project_id, before) = permitted_entry(&change.call, Action::GlossaryWrite)?;
    check_kind(before.wording.kind, wished.kind)?;
    let wording = wished.checked()?;
    let actor = change.call.caller.actor.clone();
    let (context, tenant_id) = (change.call.context.clone(), change.call.caller.tenant_id());
    let replaced = change.write(move |tx, now| {
        let replaced = replace_entry(tx, now, &actor, project_id, before.term_id, wording)?;
        Ok(Answer::json(200, written(&of_entry(&replaced))?))
    });
    let answer = replaced.await?;
    wait_for_pass(&context.store, tenant_id, project_id).await;
    Ok(answer)
}

async fn delete(call: Call) -> Answered {
    let mut change = call.change().await?;
    change.begin()?;
    let (project_id, entry) = permitted_entry(&change.call, Action::GlossaryWrite)?;
    let actor = change.call.caller.actor.clone();
    let (context, tenant_id) = (change.call.context.clone(), change.call.caller.tenant_id());
    let deleted = change.write(move |tx, now| {
        let deleted = delete_entry(tx, now, &actor, project_id, entry.term_id)?;
        Ok(Answer::json(200, written(&of_entry(&deleted))?))
    });
    let answer = deleted.await?;
    wait_for_pass(&context.store, tenant_id, project_id).await;
    Ok(answer)
}

/// GlossaryEntryWrite: what an entry is to say, as it was given.
fn read_entry(json: Json) -> Result<Wording, Refusal> {
    let mut form = Form::of_body(json)?;
    let kind: Option<String> = form.required("kind");
    let kind = kind.map(|name| EntryKind::from_name(&name));
    if kind == Some(None) {
        form.wrong("kind", "is term, dnt or forbidden");
    }
    let locale = form.nullable_text("locale", 1, LOCALE_CHARS_MAX);
    let source = form.nullable_text("source", 1, TERM_CHARS_MAX);
    let target = form.nullable_text("target", 1, TERM_CHARS_MAX);
    let note = form.nullable_text("note", 0, NOTE_CHARS_MAX);
    form.finish()?;
    Ok(Wording { kind: read(kind.flatten())?, locale, source, target, note })
}

#[derive(serde::Serialize)]
struct EntryBody<'a> {
    id: Id,
    project_id: Id,
    kind: &'static str,
    locale: Option<&'a str>,
    source: Option<&'a str>,
    target: Option<&'a str>,
    note: Option<&'a str>,
    created_by: Id,
    created_at: Instant,
    updated_at: Instant,
}

fn of_entry(one: &Entry) -> EntryBody<'_> {
    EntryBody {
        id: Id(one.term_id.0),
        project_id: Id(one.project_id.0),
        kind: one.wording.kind.name(),
        locale: one.wording.locale.as_deref(),
        source: one.wording.source.as_deref(),
        target: one.wording.target.as_deref(),
        note: one.wording.note.as_deref(),
        created_by: Id(one.created_by),
        created_at: Instant(one.created_at),
        updated_at: Instant(one.updated_at),
    }
}

#[derive(serde::Serialize)]
struct PageBody<'a> {
    terms: Vec<EntryBody<'a>>,
    next_cursor: Option<String>,
}

fn write_page(page: &EntryPage, next_cursor: Option<String>) -> Result<Vec<u8>, Failure> {
    written(&PageBody { terms: page.entries.iter().map(of_entry).collect(), next_cursor })
}
