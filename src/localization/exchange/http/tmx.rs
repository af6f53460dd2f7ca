//! TMX: what a project wrote last into the memory, out and in.

use std::sync::Arc;

use http::HeaderValue;
use quintet_platform::service::{Content, Endpoint, KeyRule, Parameter, Route, json as success, media, refusal_of};

use super::documents::{
    ANY_XML, Counts, Import, begin_import, bodies, deadline, export, locale_parameter, media_types, reading,
    write_parts,
};
use crate::content::ValueReader;
use crate::exchange::tmx::{MemoryExport, bytes_max, read_memory, write_memory};
use crate::formats::tmx::TmxReader;
use crate::http::{Answered, Call, Localization, TAGGED, to_its_end};
use crate::lists::joined;
use crate::memory::Outcomes;
use crate::refusal::READER_CODES;
use crate::spaces::http::PROJECT;

const ONLY: Parameter = locale_parameter("The one target locale that is wanted.");
const OWN: &str = "application/x-tmx+xml";

const EXPORT: Route = Route::get("export_tmx", "/v1/projects/{project_id}/memory")
    .permission("p_<p>_read")
    .summary("What it wrote last into the translation memory, as TMX")
    .segments(&[PROJECT])
    .parameters(&[ONLY])
    .successes(&[media(200, &[(OWN, ANY_XML)])])
    .marks(&[TAGGED])
    .codes(&["busy"]);

const IMPORT: Route = Route::post("import_tmx", "/v1/projects/{project_id}/memory")
    .permission("p_<p>_glossary-write")
    .summary("Write the units of a TMX document into the translation memory")
    .segments(&[PROJECT])
    .parameters(&[ONLY])
    .key(KeyRule::Required)
    .body(Content::Media(&bodies(OWN)))
    .successes(&[success(200, "UnitsImported")])
    .marks(&[TAGGED])
    .codes(&joined::<_, { IMPORT_CODES.len() + READER_CODES.len() }>(&[IMPORT_CODES, READER_CODES]));

/// What an import can be refused with, besides what the readers refuse.
const IMPORT_CODES: &[&str] = &["invalid_body", "request_timeout", "upload_too_large", "unsupported_media_type"];

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] = &[
    Endpoint::new(&EXPORT, |call| {
        let own = HeaderValue::from_static(OWN);
        Box::pin(export(call, &ONLY, own, MemoryExport::of, |_, export, read| Ok(export.next(read)?)))
    }),
    Endpoint::new(&IMPORT, |call| Box::pin(import(call))),
];

impl From<Outcomes> for Counts {
    fn from(outcomes: Outcomes) -> Counts {
        let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let (written, unchanged) = (count(outcomes.written), count(outcomes.unchanged));
        Counts { written, unchanged, skipped: count(outcomes.skipped) }
    }
}

async fn import(call: Call) -> Answered {
    let import = begin_import(call, &ONLY, &media_types(OWN), bytes_max).await?;
    // A caller that leaves must not stop half of it, nor give back the room of what is still being read.
    to_its_end(import_memory(import)).await
}

async fn import_memory(import: Import) -> Answered {
    let Import { mut change, before, project, document, only, mut room } = import;
    let value = document.value().clone();
    let (tenant_id, project_id) = (change.call.caller.tenant_id(), project.project_id);
    let read = change.call.context.in_turn(tenant_id, move |store| {
        let memory = reading(ValueReader::of(store, value), |source| {
            Ok(read_memory(TmxReader::begin(source, deadline())?, tenant_id, &project, only.as_ref())?)
        })?;
        let parts = memory.parts();
        Ok((memory, parts))
    });
    let (memory, parts) = read.await.map_err(refusal_of)?;
    room.lighten(memory.bytes());
    drop(document);
    let skipped = memory.skipped;
    let memory = Arc::new(memory);
    let (mut counts, is_replay) = write_parts(&mut change, before, parts, move |tx, now, actor, part| {
        Ok(write_memory(tx, now, actor, project_id, &memory, part)?.into())
    })
    .await?;
    drop(room);
    counts.skipped += skipped;
    counts.told(is_replay)
}
