//! Remembering and forgetting.

use quintet_platform::json::{Fields, Json, to_compact};
use quintet_platform::service::{Answer, Content, KeyRule, Route, Segment, Shape, json as success};
use quintet_storage::WriteTx;

use super::super::entries::{self, ENTRY_BYTES_MAX, Noted, Stat, stat};
use crate::dialect::{ACTING, Answered, Call};
use crate::form;
use crate::identity::Workspace;
use crate::refusal::Refusal;
use crate::wire::{instant, limit};
use crate::words::sealed::is_as_it_must_be;

const ENTRY: Segment = Segment::new("seq", Shape::Integer { min: 1, max: i64::MAX, default: None });
/// Entries that one request can forget.
const FORGOTTEN_MAX: usize = 1_000;

pub(super) const ADD: Route = Route::post("add_memory", "/v1/memory")
    .permission("send")
    .marks(&[ACTING])
    .summary("Have the agent remember a text")
    .body(Content::Json("MemoryEntryNew"))
    .successes(&[success(201, "MemoryAdded")])
    .makes("seq", "seq")
    .key(KeyRule::Optional)
    .codes(&["memory_entry_too_large", "memory_full", "sealing_required"]);
pub(super) const LIST: Route = Route::get("list_memory", "/v1/memory")
    .permission("send")
    .marks(&[ACTING])
    .summary("What the agent remembers, the oldest first")
    .successes(&[success(200, "Memory")])
    .codes(&["busy"]);
pub(super) const REPLACE: Route = Route::put("replace_memory", "/v1/memory/{seq}")
    .permission("send")
    .marks(&[ACTING])
    .summary("Replace what the agent remembers under a number")
    .segments(&[ENTRY])
    .body(Content::Json("MemoryEntryNew"))
    .successes(&[success(200, "MemoryAdded")])
    .codes(&["memory_entry_too_large", "memory_full", "sealing_required"]);
pub(super) const REMOVE: Route = Route::delete("remove_memory", "/v1/memory/{seq}")
    .permission("send")
    .marks(&[ACTING])
    .summary("Forget one entry; again: nothing changes")
    .segments(&[ENTRY])
    .successes(&[success(200, "MemoryRemoved")]);
pub(super) const TRUNCATE: Route = Route::post("truncate_memory", "/v1/memory/truncate")
    .permission("send")
    .marks(&[ACTING])
    .summary("Forget the first entries, or those with these numbers")
    .body(Content::Json("MemoryTruncate"))
    .successes(&[success(200, "MemoryRemoved")])
    .key(KeyRule::Optional);

/// A number that is none, and one that is not used, are the same.
fn no_entry() -> Refusal {
    Refusal::NotFound("entry of this agent's memory with this number".to_owned())
}

fn seq_of(call: &Call) -> Result<u64, Refusal> {
    let text: Option<String> = call.segment(ENTRY.name);
    text.filter(|text| ENTRY.shape.fits(text)).and_then(|text| text.parse().ok()).ok_or_else(no_entry)
}

/// A text to be remembered (6-messaging.md, D2, E1).
fn noted(fields: &mut Fields, workspace: &Workspace) -> Result<Noted, Refusal> {
    let text: String = form::required(fields, "text")?;
    let says_sealed = form::optional::<bool>(fields, "sealed")?.unwrap_or(false);
    if text.len() > ENTRY_BYTES_MAX {
        return Err(Refusal::MemoryEntryTooLarge(ENTRY_BYTES_MAX as u64));
    }
    if !is_as_it_must_be(workspace.is_encrypted, &text, says_sealed) {
        return Err(Refusal::SealingRequired("text"));
    }
    Ok(Noted { text, is_sealed: says_sealed })
}

fn with_stat(members: Vec<(&'static str, Json)>, stat: Stat) -> Answer {
    answer(200, members, stat)
}

fn answer(status: u16, mut members: Vec<(&'static str, Json)>, stat: Stat) -> Answer {
    members.extend([
        ("bytes_used", Json::from(stat.bytes_used)),
        ("bytes_limit", limit(stat.bytes_limit)),
        ("entries", stat.entries.into()),
        ("entries_limit", limit(stat.entries_limit)),
    ]);
    Answer::json(status, to_compact(&Json::object(members)))
}

pub(super) async fn add(call: Call) -> Answered {
    let (agent, _) = call.caller.acting()?;
    let workspace = call.caller.workspace.clone();
    let mut change = call.change().await?;
    change.begin()?;
    let noted = noted(&mut form::members(&mut change)?, &workspace)?;
    let verb = move |tx: &mut WriteTx<'_>, now| {
        let seq = entries::add(tx, now, &workspace, agent, &noted)?;
        let told = vec![("seq", Json::from(seq)), ("bytes", noted.text.len().into())];
        Ok(answer(201, told, stat(tx, &workspace, agent)?))
    };
    change.write(verb).await
}

pub(super) async fn list(call: Call) -> Answered {
    let (agent, _) = call.caller.acting()?;
    let (context, workspace) = (call.context.clone(), call.caller.workspace.clone());
    let look = move || {
        let read = context.store.read();
        let all = entries::list(&read, &workspace, agent)?;
        let rows = all.into_iter().zip(1_u64..).map(|(entry, position)| {
            Json::object([
                ("seq", Json::from(entry.seq)),
                ("position", position.into()),
                ("text", entry.text.into()),
                ("sealed", entry.is_sealed.into()),
                ("created_at", instant(entry.created_at)),
            ])
        });
        Ok(with_stat(vec![("memory", Json::Array(rows.collect()))], stat(&read, &workspace, agent)?))
    };
    Ok(call.in_turn(&call.context.lookers, look).await?)
}

pub(super) async fn replace(call: Call) -> Answered {
    let (agent, _) = call.caller.acting()?;
    let (seq, workspace) = (seq_of(&call)?, call.caller.workspace.clone());
    let mut change = call.change().await?;
    let noted = noted(&mut form::members(&mut change)?, &workspace)?;
    let verb = move |tx: &mut WriteTx<'_>, _| {
        if !entries::replace(tx, &workspace, (agent, seq), &noted)? {
            return Err(no_entry().into());
        }
        let told = vec![("seq", Json::from(seq)), ("bytes", noted.text.len().into())];
        Ok(with_stat(told, stat(tx, &workspace, agent)?))
    };
    change.write(verb).await
}

pub(super) async fn remove(call: Call) -> Answered {
    let (agent, _) = call.caller.acting()?;
    let (seq, workspace) = (seq_of(&call)?, call.caller.workspace.clone());
    let change = call.change().await?;
    let verb = move |tx: &mut WriteTx<'_>, _| {
        let is_gone = entries::remove(tx, agent, seq)?;
        let removed = if is_gone { vec![Json::from(seq)] } else { Vec::new() };
        Ok(with_stat(vec![("removed", removed.into())], stat(tx, &workspace, agent)?))
    };
    change.freeing(true).write(verb).await
}

pub(super) async fn truncate(call: Call) -> Answered {
    let (agent, _) = call.caller.acting()?;
    let workspace = call.caller.workspace.clone();
    let mut change = call.change().await?;
    change.begin()?;
    let which = which(&mut form::members(&mut change)?)?;
    let verb = move |tx: &mut WriteTx<'_>, _| {
        let seqs = match which {
            Which::First(most) => entries::first(tx, agent, most)?,
            Which::Numbers(seqs) => seqs,
        };
        let mut removed = Vec::new();
        for seq in seqs {
            if entries::remove(tx, agent, seq)? {
                removed.push(Json::from(seq));
            }
        }
        Ok(with_stat(vec![("removed", removed.into())], stat(tx, &workspace, agent)?))
    };
    change.freeing(true).write(verb).await
}

/// Which entries are to be forgotten.
enum Which {
    First(usize),
    Numbers(Vec<u64>),
}

fn which(fields: &mut Fields) -> Result<Which, Refusal> {
    let first = form::optional::<u64>(fields, "first")?;
    let numbers = form::optional::<Vec<u64>>(fields, "seqs")?;
    match (first, numbers) {
        (Some(first), None) if first <= FORGOTTEN_MAX as u64 => {
            Ok(Which::First(usize::try_from(first).unwrap_or(FORGOTTEN_MAX)))
        }
        (Some(_), None) => Err(Refusal::field("first", format!("must be at most {FORGOTTEN_MAX}"))),
        (None, Some(seqs)) if seqs.len() <= FORGOTTEN_MAX => Ok(Which::Numbers(seqs)),
        (None, Some(_)) => Err(Refusal::field("seqs", format!("must have at most {FORGOTTEN_MAX} items"))),
        _ => Err(Refusal::field("first", "must be given, or seqs, and not both")),
    }
}
