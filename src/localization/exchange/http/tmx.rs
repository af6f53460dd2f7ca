//! TMX: what a project wrote last into the memory, out and in.

use std::sync::Arc;

use http::HeaderValue;
use quintet_platform::service::{
    Answer, Content, Endpoint, Fault, KeyRule, Parameter, Route, json as success, media, refusal_of,
};
use quintet_storage::Abort;

use super::documents::{Counts, begin_part, body_of, deadline, locale_parameter, media_types, reading};
use crate::access::Action;
use crate::content::http::arriving::receive;
use crate::content::{ValueReader, translation_locale};
use crate::exchange::tmx::{MemoryExport, read_memory, write_memory};
use crate::formats::tmx::TmxReader;
use crate::http::{Answered, Call, Localization, TAGGED};
use crate::lists::joined;
use crate::memory::Outcomes;
use crate::refusal::{READER_CODES, Refusal};
use crate::spaces::http::{PROJECT, permitted};

const ONLY: Parameter = locale_parameter("The one target locale that is wanted.");
const MEDIA_TYPE: HeaderValue = HeaderValue::from_static("application/x-tmx+xml");
const MEDIA_TYPES: [&str; 4] = media_types("application/x-tmx+xml");
const ANY_XML: &str = r#"{"type":"string"}"#;

const EXPORT: Route = Route::get("export_tmx", "/v1/projects/{project_id}/memory")
    .permission("p_<p>_read")
    .summary("What it wrote last into the translation memory, as TMX")
    .segments(&[PROJECT])
    .parameters(&[ONLY])
    .successes(&[media(200, &[("application/x-tmx+xml", ANY_XML)])])
    .marks(&[TAGGED])
    .codes(&["busy"]);

const IMPORT: Route = Route::post("import_tmx", "/v1/projects/{project_id}/memory")
    .permission("p_<p>_glossary-write")
    .summary("Write the units of a TMX document into the translation memory")
    .segments(&[PROJECT])
    .parameters(&[ONLY])
    .key(KeyRule::Required)
    .body(Content::Media(&[
        ("application/x-tmx+xml", ANY_XML),
        ("application/xml", ANY_XML),
        ("text/xml", ANY_XML),
        ("application/octet-stream", r#"{"type":"string","format":"binary"}"#),
    ]))
    .successes(&[success(200, "UnitsImported")])
    .marks(&[TAGGED])
    .codes(&joined::<_, { IMPORT_CODES.len() + READER_CODES.len() }>(&[IMPORT_CODES, READER_CODES]));

/// What an import can be refused with, besides what the readers refuse.
const IMPORT_CODES: &[&str] = &["invalid_body", "request_timeout", "upload_too_large", "unsupported_media_type"];

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] =
    &[Endpoint::new(&EXPORT, |call| Box::pin(export(call))), Endpoint::new(&IMPORT, |call| Box::pin(import(call)))];

async fn export(mut call: Call) -> Answered {
    let only = call.text(&ONLY)?;
    let project = permitted(&call, Action::Read)?;
    let only = only.as_deref().map(translation_locale).transpose()?;
    let (tenant_id, context) = (call.caller.tenant_id(), call.context.clone());
    let begun = context.aside(tenant_id, move |read| {
        let mut export = MemoryExport::of(tenant_id, &project, only.as_ref());
        let first = export.next(read)?.unwrap_or_default();
        Ok((first, export))
    });
    let (first, export) = begun.await.map_err(refusal_of)?;
    let body = body_of(context, tenant_id, first, export, |_, export, read| Ok(export.next(read)?));
    Ok(Answer::stream(200, MEDIA_TYPE, body))
}

impl From<Outcomes> for Counts {
    fn from(outcomes: Outcomes) -> Counts {
        let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let (written, unchanged) = (count(outcomes.written), count(outcomes.unchanged));
        Counts { written, unchanged, skipped: count(outcomes.skipped) }
    }
}

/// Size, media type and replay come before what the path names, and are known only once the body has arrived; see uploads.
async fn import(mut call: Call) -> Answered {
    let only = call.text(&ONLY)?;
    let key = call.idempotency_key()?;
    let body = call.take_body();
    let wanted = permitted(&call, Action::GlossaryWrite);
    let arrived = receive(&call, body, wanted.is_ok(), &MEDIA_TYPES).await?;
    let mut change = call.change_by(key, &arrived.sha256);
    let mut before = begin_part(&mut change, 0)?;
    // Again: a body may take minutes.
    let project = wanted.and_then(|_| permitted(&change.call, Action::GlossaryWrite))?;
    let original = arrived.original.ok_or(Refusal::from(Fault::Internal))?;
    let only = only.as_deref().map(translation_locale).transpose()?;
    let (tenant_id, project_id) = (change.call.caller.tenant_id(), project.project_id);
    let read = change.call.context.in_turn(tenant_id, move |store| {
        reading(ValueReader::of(store, original.value), |source| {
            Ok(read_memory(TmxReader::begin(source, deadline())?, tenant_id, &project, only.as_ref())?)
        })
    });
    let memory = Arc::new(read.await.map_err(refusal_of)?);
    // A caller that leaves must not stop half of it.
    let work = async move {
        let mut counts = Counts { skipped: memory.skipped, ..Counts::default() };
        let mut is_replay = true;
        for (number, part) in memory.parts().into_iter().enumerate() {
            let known = if number == 0 { before.take() } else { begin_part(&mut change, number)? };
            is_replay &= known.is_some();
            let answer = match known {
                Some(answer) => answer,
                None => {
                    let (memory, actor) = (Arc::clone(&memory), change.call.caller.actor.clone());
                    let wrote = change.try_write(move |tx, now| {
                        let outcomes = write_memory(tx, now, &actor, project_id, &memory, part)?;
                        Ok(Some(Answer::json(200, Counts::from(outcomes).remembered())))
                    });
                    wrote.await?.ok_or(Refusal::from(Fault::Internal))?
                }
            };
            counts.add(answer.body());
        }
        let answer = Answer::json(200, counts.told().map_err(|failure| refusal_of(Abort::<Refusal>::Failed(failure)))?);
        Ok(if is_replay { answer.as_replay() } else { answer })
    };
    tokio::spawn(work).await.unwrap_or_else(|_| Err(Refusal::from(Fault::Internal).into()))
}
