//! TBX: a project's glossary, out and in.

use std::ops::Range;
use std::sync::Arc;

use http::HeaderValue;
use quintet_platform::service::{Content, Endpoint, KeyRule, Parameter, Route, json as success, media, refusal_of};

use super::documents::{
    ANY_XML, Counts, Import, begin_import, bodies, deadline, export, locale_parameter, media_types, reading,
    write_parts,
};
use crate::content::ValueReader;
use crate::content::rejudge::wait_for_pass;
use crate::exchange::tbx::{BYTES_MAX, GlossaryExport, check_room, read_glossary};
use crate::formats::tbx::TbxReader;
use crate::http::{Answered, Call, Localization, TAGGED, to_its_end};
use crate::lists::joined;
use crate::refusal::READER_CODES;
use crate::spaces::http::PROJECT;
use crate::terms::{IMPORT_ENTRIES_MAX, import_entries};

const ONLY: Parameter = locale_parameter("The one locale whose entries are wanted, with those for every locale.");
const OWN: &str = "application/x-tbx+xml";

const EXPORT: Route = Route::get("export_tbx", "/v1/projects/{project_id}/glossary/tbx")
    .permission("p_<p>_read")
    .summary("Its glossary, as TBX")
    .segments(&[PROJECT])
    .parameters(&[ONLY])
    .successes(&[media(200, &[(OWN, ANY_XML)])])
    .marks(&[TAGGED])
    .codes(&["busy"]);

const IMPORT: Route = Route::post("import_tbx", "/v1/projects/{project_id}/glossary/tbx")
    .permission("p_<p>_glossary-write")
    .summary("Add the terms of a TBX document to its glossary")
    .segments(&[PROJECT])
    .parameters(&[ONLY])
    .key(KeyRule::Required)
    .body(Content::Media(&bodies(OWN)))
    .successes(&[success(200, "UnitsImported")])
    .marks(&[TAGGED])
    .codes(&joined::<_, { IMPORT_CODES.len() + READER_CODES.len() }>(&[IMPORT_CODES, READER_CODES]));

/// What an import can be refused with, besides what the readers refuse.
const IMPORT_CODES: &[&str] =
    &["invalid_body", "request_timeout", "upload_too_large", "unsupported_media_type", "conflict"];

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] = &[
    Endpoint::new(&EXPORT, |call| {
        let own = HeaderValue::from_static(OWN);
        Box::pin(export(call, &ONLY, own, GlossaryExport::of, |_, export, read| Ok(export.next(read)?)))
    }),
    Endpoint::new(&IMPORT, |call| Box::pin(import(call))),
];

async fn import(call: Call) -> Answered {
    let import = begin_import(call, &ONLY, &media_types(OWN), |_| BYTES_MAX).await?;
    // A caller that leaves must not stop half of it, nor give back the room of what is still being read.
    to_its_end(import_glossary(import)).await
}

async fn import_glossary(import: Import) -> Answered {
    let Import { mut change, before, project, document, only, mut room } = import;
    let value = document.value().clone();
    let is_repeat = before.is_some();
    let (tenant_id, project_id) = (change.call.caller.tenant_id(), project.project_id);
    let read = change.call.context.in_turn(tenant_id, move |store| {
        let glossary = reading(ValueReader::of(store, value), |source| {
            Ok(read_glossary(TbxReader::begin(source, deadline())?, &project, only.as_ref())?)
        })?;
        // What was begun was judged then.
        if !is_repeat {
            check_room(&store.read(), tenant_id, project_id, &glossary.wordings)?;
        }
        Ok(glossary)
    });
    let glossary = read.await.map_err(refusal_of)?;
    room.lighten(glossary.bytes());
    drop(document);
    let (wordings, skipped) = (Arc::new(glossary.wordings), glossary.skipped);
    let parts = parts_of(wordings.len());
    let (mut counts, is_replay) = write_parts(&mut change, before, parts, move |tx, now, actor, part| {
        let part = wordings.get(part).unwrap_or_default().to_vec();
        let imported = import_entries(tx, now, actor, project_id, part)?;
        Ok(Counts { written: imported.written, unchanged: imported.unchanged, skipped: 0 })
    })
    .await?;
    drop(room);
    if !is_replay {
        wait_for_pass(&change.call.foundation().store, tenant_id, project_id).await;
    }
    counts.skipped += skipped;
    counts.told(is_replay)
}

/// How so many entries are cut into parts: one at least, whatever there is.
fn parts_of(entries: usize) -> Vec<Range<usize>> {
    let begins = (0..entries.max(1)).step_by(IMPORT_ENTRIES_MAX);
    begins.map(|begin| begin..entries.min(begin + IMPORT_ENTRIES_MAX)).collect()
}
