//! Making, reading, changing and deleting drafts.

use quintet_platform::ids::ulid;
use quintet_platform::json::{Fields, Json, to_compact};
use quintet_platform::service::{
    Answer, Content, FromSegment as _, KeyRule, Parameter, Route, Shape, json as success, nothing, refusal_of,
};
use quintet_storage::{Timestamp, WriteTx};

use super::super::model::{Draft, DraftId, RECIPIENTS_BYTES_MAX, WRITTEN_BYTES_MAX};
use super::super::rows::{self, check_room, find, put, put_new, remove};
use super::path::{DRAFT, DRAFT_BODY_BYTES_MAX, draft_key, held_by};
use crate::dialect::{ACTING, Answered, Call, SEALING};
use crate::form::{members, optional};
use crate::identity::Workspace;
use crate::refusal::Refusal;
use crate::sending::form::{long_text, subject};
use crate::sending::{Taken, take};
use crate::wire::{instant, texts as write_texts};
use crate::words::recipient::Recipient;
use crate::words::sealed::is_as_it_must_be;

const CURSOR: Parameter = Parameter::new("cursor", Shape::Ulid, "The next_cursor of the answer before.");

pub(super) const CREATE: Route = Route::post("create_draft", "/v1/drafts")
    .permission("send")
    .marks(&[ACTING, SEALING])
    .summary("Keep a message until it is sent; its recipients are looked up then")
    .body(Content::Json("DraftWrite"))
    .successes(&[success(201, "Draft")])
    .makes("draft_id", "id")
    .key(KeyRule::Optional)
    .codes(&["busy", "limit_reached", "payload_too_large", "sealing_required"]);
pub(super) const LIST: Route = Route::get("list_drafts", "/v1/drafts")
    .permission("send")
    .marks(&[ACTING])
    .summary("The agent's drafts, the oldest first, without their texts")
    .parameters(&[CURSOR])
    .successes(&[success(200, "Drafts")])
    .codes(&["busy"]);
pub(super) const GET: Route = Route::get("get_draft", "/v1/drafts/{draft_id}")
    .permission("send")
    .marks(&[ACTING])
    .summary("One draft")
    .segments(&[DRAFT])
    .successes(&[success(200, "Draft")]);
pub(super) const CHANGE: Route = Route::patch("change_draft", "/v1/drafts/{draft_id}")
    .permission("send")
    .marks(&[ACTING, SEALING])
    .summary("Change a draft: what is given, and nothing else")
    .segments(&[DRAFT])
    .body(Content::Json("DraftWrite"))
    .successes(&[success(200, "Draft")])
    .codes(&["busy", "payload_too_large", "sealing_required"]);
pub(super) const DELETE: Route = Route::delete("delete_draft", "/v1/drafts/{draft_id}")
    .permission("send")
    .marks(&[ACTING])
    .summary("Delete a draft; one that is gone already as well")
    .segments(&[DRAFT])
    .successes(&[nothing(204)])
    .codes(&["busy"]);

/// What a request says of a draft; `None`: nothing.
#[derive(Debug)]
struct Said {
    to: Option<Vec<String>>,
    cc: Option<Vec<String>>,
    subject: Option<String>,
    text: Option<String>,
    is_sealed: Option<bool>,
}

fn read(fields: &mut Fields) -> Result<Said, Refusal> {
    Ok(Said {
        to: recipients(fields, "to")?,
        cc: recipients(fields, "cc")?,
        subject: subject(fields)?,
        text: long_text(fields, "text")?,
        is_sealed: optional(fields, "sealed")?,
    })
}

/// A draft names so many recipients at most; how many a message may have is asked when it is sent.
const RECIPIENTS_MAX: usize = 1_000;

/// Recipients as typed, by their form alone: who that is is looked up when the draft is sent.
fn recipients(fields: &mut Fields, name: &str) -> Result<Option<Vec<String>>, Refusal> {
    let Some(items) = optional::<Vec<Json>>(fields, name)? else { return Ok(None) };
    if items.len() > RECIPIENTS_MAX {
        return Err(Refusal::field(name, format!("must have at most {RECIPIENTS_MAX} items")));
    }
    let one = |(place, item): (usize, Json)| {
        let wrong = |problem: String| Refusal::field(format!("{name}[{place}]"), problem);
        let Json::String(text) = item else { return Err(wrong("must be a string".to_owned())) };
        Recipient::parse(&text).map_err(|fault| wrong(fault.to_string()))?;
        Ok(text)
    };
    items.into_iter().enumerate().map(one).collect::<Result<_, _>>().map(Some)
}

/// A draft is listed with its recipients, and written in one transaction. `text`: what is written of it; `remembered`: the
/// answer, if a repeat gets it again.
fn check_size(draft: &Draft, text: Option<&str>, remembered: Option<&str>) -> Result<(), Refusal> {
    let recipients = draft.recipients_bytes();
    if recipients > RECIPIENTS_BYTES_MAX {
        return Err(Refusal::field("to", format!("must have at most {RECIPIENTS_BYTES_MAX} bytes together with cc")));
    }
    let written = recipients + text.map_or(0, str::len) + remembered.map_or(0, str::len);
    if written > WRITTEN_BYTES_MAX { Err(Refusal::TooLarge("draft", WRITTEN_BYTES_MAX as u64)) } else { Ok(()) }
}

/// What is sealed is, and on an encrypted workspace everything (6-messaging.md, E1).
fn check_sealing(workspace: &Workspace, text: &str, is_sealed: bool) -> Result<(), Refusal> {
    if is_as_it_must_be(workspace.is_encrypted, text, is_sealed) {
        Ok(())
    } else {
        Err(Refusal::SealingRequired("text"))
    }
}

pub(super) async fn create(call: Call) -> Answered {
    let ((no, agent), _) = call.caller.acting()?;
    let workspace = call.caller.workspace.clone();
    let Taken { mut change, turn, .. } = take(call, DRAFT_BODY_BYTES_MAX).await?;
    change.begin()?;
    let is_remembered = change.entered().is_some();
    let said = read(&mut members(&mut change)?)?;
    let text = said.text.unwrap_or_default();
    let is_sealed = said.is_sealed.unwrap_or(false);
    check_sealing(&workspace, &text, is_sealed)?;
    // Whoever has as many as there may be keeps nobody from the writer.
    let held = held_by(&change.call, (no, agent)).await?;
    check_room(held)?;
    let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| {
        let id = DraftId(tx.new_id());
        let draft = Draft {
            to: said.to.unwrap_or_default(),
            cc: said.cc.unwrap_or_default(),
            subject: said.subject.unwrap_or_default(),
            is_sealed,
            created_at: now,
            updated_at: now,
            version: 0,
        };
        let answer = to_compact(&write(id, &draft, Some(&text)));
        check_size(&draft, Some(&text), is_remembered.then_some(answer.as_str()))?;
        put_new(tx, &workspace, (no, agent, id), &draft, (&text, held))?;
        // What it says is sealed where it lies, so it is where the answer is remembered.
        Ok(Answer::json(201, answer).secret())
    };
    let answered = change.write(verb).await;
    drop(turn);
    answered
}

pub(super) async fn list(mut call: Call) -> Answered {
    let (agent, _) = call.caller.acting()?;
    let after = call.text(&CURSOR)?.and_then(|text| DraftId::from_segment(&text));
    let context = call.context.clone();
    let look = move || {
        let (drafts, has_more) = rows::list(&context.store.read(), agent, after)?;
        let next = drafts.last().filter(|_| has_more).map(|(id, _)| ulid(id.0));
        let drafts: Vec<Json> = drafts.iter().map(|(id, draft)| write(*id, draft, None)).collect();
        Ok(to_compact(&Json::object([("drafts", Json::Array(drafts)), ("next_cursor", next.into())])))
    };
    Ok(Answer::json(200, call.in_turn(&call.context.lookers, look).await?))
}

pub(super) async fn get(call: Call) -> Answered {
    let key = draft_key(&call)?;
    let workspace = call.caller.workspace.clone();
    call.answer(200, |read| {
        let draft = find(read, key)?;
        let text = rows::text(read, &workspace, key)?;
        Ok(to_compact(&write(key.2, &draft, Some(&text))).into_bytes())
    })
}

pub(super) async fn change(call: Call) -> Answered {
    let key = draft_key(&call)?;
    let workspace = call.caller.workspace.clone();
    let Taken { mut change, turn, .. } = take(call, DRAFT_BODY_BYTES_MAX).await?;
    change.begin()?;
    let is_remembered = change.entered().is_some();
    find(&change.call.snapshot(), key).map_err(refusal_of)?;
    let said = read(&mut members(&mut change)?)?;
    // A text that is given says itself whether it is sealed; one that stays is what it was.
    if let Some(text) = &said.text {
        check_sealing(&workspace, text, said.is_sealed.unwrap_or(false))?;
    }
    let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| {
        let before = find(tx, key)?;
        let draft = Draft {
            to: said.to.unwrap_or(before.to),
            cc: said.cc.unwrap_or(before.cc),
            subject: said.subject.unwrap_or(before.subject),
            is_sealed: if said.text.is_some() { said.is_sealed.unwrap_or(false) } else { before.is_sealed },
            created_at: before.created_at,
            updated_at: now,
            version: before.version + 1,
        };
        let kept = if said.text.is_none() { rows::text(tx, &workspace, key)? } else { String::new() };
        let answer = to_compact(&write(key.2, &draft, said.text.as_deref().or(Some(&kept))));
        check_size(&draft, said.text.as_deref(), is_remembered.then_some(answer.as_str()))?;
        put(tx, &workspace, key, &draft, said.text.as_deref())?;
        Ok(Answer::json(200, answer).secret())
    };
    let answered = change.write(verb).await;
    drop(turn);
    answered
}

pub(super) async fn delete(call: Call) -> Answered {
    let key = draft_key(&call)?;
    let change = call.change().await?;
    let held = held_by(&change.call, (key.0, key.1)).await?;
    let verb = move |tx: &mut WriteTx<'_>, _| {
        remove(tx, key, held)?;
        Ok(Answer::nothing(204))
    };
    change.freeing(true).write(verb).await
}

/// A draft; without its text in lists.
fn write(id: DraftId, draft: &Draft, text: Option<&str>) -> Json {
    let mut members = vec![
        ("id", Json::from(ulid(id.0))),
        ("recipients", write_texts(draft.to.iter().chain(&draft.cc))),
        ("to", write_texts(&draft.to)),
        ("cc", write_texts(&draft.cc)),
        ("subject", draft.subject.as_str().into()),
        ("sealed", draft.is_sealed.into()),
        ("created_at", instant(draft.created_at)),
        ("updated_at", instant(draft.updated_at)),
    ];
    if let Some(text) = text {
        members.push(("text_body", text.into()));
    }
    Json::object(members)
}
