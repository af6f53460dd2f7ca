//! XLIFF: the translations of a file, out and in.

use std::sync::Arc;

use http::{HeaderValue, Method};
use quintet_platform::json::Json;
use quintet_platform::service::{
    Answer, Change, Content, Endpoint, Fault, KeyRule, Parameter, Route, Shape, Stop, Turn, json as success, media,
    refusal_of,
};
use quintet_storage::large::{LargeValue, StagedValue};
use quintet_storage::{Abort, Store};

use super::documents::{
    ANY_XML, Reading, begin_part, bodies, deadline, locale_parameter, media_types, reading, room_for,
};
use crate::access::{Action, Wanted, granted};
use crate::audit::{self, Event};
use crate::content::http::arriving::receive;
use crate::content::http::files::{FILE, permitted_file};
use crate::content::{File, FileId, ValueReader, get_file, stage_value, translation_locale};
use crate::context::WRITER_TIME;
use crate::exchange::xliff::{
    Document, Export, LineMaker, Lines, Report, Shape as ExportShape, bytes_max, check_document, codes_bytes,
    prepare_part, read_document, write_part,
};
use crate::formats::xliff::{UnitReader, Version};
use crate::http::{Answered, CORE, Call, Caller, Localization, TAGGED, body_of, to_its_end};
use crate::language::Locale;
use crate::lists::joined;
use crate::refusal::{READER_CODES, Refusal};
use crate::spaces::http::PROJECT;
use crate::spaces::{Project, ProjectId, get_project};

const TARGET: Parameter = locale_parameter("The target locale.").required();
const VERSION: Parameter =
    Parameter::new("version", Shape::Word(&["1.2", "2.1"], "1.2"), "Which XLIFF; 2.1 also holds control characters.");
const WISHED: Parameter = locale_parameter("The target locale; must be the document's own, if that names one.");
const OWN: &str = "application/xliff+xml";
/// How often a part is judged anew because others change what it is judged by.
const ATTEMPTS_MAX: usize = 8;

const EXPORT: Route = Route::get("export_xliff", "/v1/projects/{project_id}/files/{file_id}/xliff")
    .permission("p_<p>_export")
    .summary("Its keys and their translations into a locale, as XLIFF")
    .segments(&[PROJECT, FILE])
    .parameters(&[TARGET, VERSION])
    .successes(&[media(200, &[(OWN, ANY_XML)])])
    .marks(&[CORE, TAGGED])
    .codes(&["storage_full", "busy", "writing_stopped", "outcome_unknown"]);

const IMPORT: Route = Route::post("import_xliff", "/v1/projects/{project_id}/files/{file_id}/xliff")
    .permission("p_<p>_loc_<tag>_translate")
    .summary("Write the targets of an XLIFF document as drafts, all or none")
    .segments(&[PROJECT, FILE])
    .parameters(&[WISHED])
    .key(KeyRule::Required)
    .body(Content::Media(&bodies(OWN)))
    .successes(&[success(200, "XliffImported")])
    .marks(&[CORE, TAGGED])
    .codes(&joined::<_, { IMPORT_CODES.len() + READER_CODES.len() }>(&[IMPORT_CODES, READER_CODES]));

/// What an import can be refused with, besides what the readers refuse.
const IMPORT_CODES: &[&str] = &[
    "invalid_body",
    "invalid_parameter",
    "request_timeout",
    "upload_too_large",
    "unsupported_media_type",
    "units_refused",
    "conflict",
];

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] =
    &[Endpoint::new(&EXPORT, |call| Box::pin(export(call))), Endpoint::new(&IMPORT, |call| Box::pin(import(call)))];

async fn export(mut call: Call) -> Answered {
    let tag = call.text(&TARGET)?.unwrap_or_default();
    let version = if call.word(&VERSION)? == Some("2.1") { Version::V2 } else { Version::V1 };
    call.context.demand_core()?;
    let (project_id, file) = permitted_file(&call, Action::Export)?;
    let locale = translation_locale(&tag)?;
    let (tenant_id, context) = (call.caller.tenant_id(), call.context.clone());
    let told = (file.file_id, locale.canonical().to_owned());
    let with = context.clone();
    let begun = context.in_turn(tenant_id, move |store| {
        let read = store.read();
        let source_tag = get_project(&read, tenant_id, project_id)?.source.locale.tag;
        let mut export = Export::of(ExportShape {
            tenant_id,
            file_id: file.file_id,
            path: file.path,
            key_prefix: file.key_prefix,
            source_tag,
            locale,
            version,
        });
        let first = export.next(&read, &with.shelf)?.unwrap_or_default();
        Ok((first, export))
    });
    let (first, export) = begun.await.map_err(refusal_of)?;
    // What is only looked at is not handed out.
    if call.parts.method != Method::HEAD {
        note(&call, project_id, told, version).await?;
    }
    Ok(Answer::stream(
        200,
        HeaderValue::from_static(OWN),
        body_of(context, call.caller, first, export, |context, export, read| export.next(read, &context.shelf)),
    ))
}

/// Notes in the audit chain that a document is handed out.
async fn note(call: &Call, project_id: ProjectId, of: (FileId, String), version: Version) -> Result<(), Refusal> {
    let (actor, (file_id, locale)) = (call.caller.actor.clone(), of);
    let noted = call.foundation().store.write(std::time::Instant::now() + WRITER_TIME, move |tx, now| {
        let event = Event::about("export", "file", file_id.0).with([
            ("project_id", Json::from(project_id.0.to_string())),
            ("locale", Json::from(locale)),
            ("format", Json::from(format!("xliff-{}", version.name()))),
        ]);
        audit::record(tx, now, &actor, event).map(drop).map_err(Abort::<Refusal>::Failed)
    });
    noted.await.map_err(refusal_of)
}

/// The project and the file of the path, in which the caller may translate into the locale that was named, or into some.
fn permitted_place(call: &Call, named: Option<&Locale>) -> Result<(Project, File), Refusal> {
    let (tenant_id, read) = (call.caller.tenant_id(), call.snapshot());
    let find = || -> Result<(Project, File), Abort<Refusal>> {
        let project_id = call.segment(PROJECT.name).map(ProjectId).ok_or(Refusal::NotFound)?;
        let project = get_project(&read, tenant_id, project_id)?;
        let file_id = call.segment(FILE.name).map(FileId).ok_or(Refusal::NotFound)?;
        let file = get_file(&read, tenant_id, project_id, file_id)?;
        match named {
            Some(locale) => {
                call.caller.demand(&read, Wanted::InLocale(project.place(), Action::Translate, locale.canonical()))?;
            }
            None if granted(&read, &call.caller.key)?.may_somewhere(project.place(), Action::Translate) => {}
            None => return Err(Refusal::Fault(Fault::Forbidden).into()),
        }
        Ok((project, file))
    };
    find().map_err(refusal_of)
}

/// Size, media type and replay come before what the path names, and are known only once the body has arrived; see uploads.
async fn import(mut call: Call) -> Answered {
    let tag = call.text(&WISHED)?;
    let key = call.idempotency_key()?;
    let body = call.take_body();
    let named = tag.as_deref().map(translation_locale).transpose();
    let wanted = permitted_place(&call, named.as_ref().ok().and_then(Option::as_ref));
    let arrived = receive(&call, body, wanted.is_ok(), &media_types(OWN)).await?;
    let mut change = call.change_by(key, &arrived.sha256);
    let before = begin_part(&mut change, 0)?;
    if before.is_none() {
        change.call.context.demand_core()?;
    }
    // Again: a body may take minutes.
    let (project, file) =
        wanted.and_then(|_| permitted_place(&change.call, named.as_ref().ok().and_then(Option::as_ref)))?;
    let staged = arrived.staged.ok_or(Refusal::from(Fault::Internal))?;
    let named = named?;
    let room = room_for(&change.call, &staged, bytes_max).await?;
    // A caller that leaves must not stop half of it.
    to_its_end(import_document(change, project, file, staged, named, before, room)).await
}

async fn import_document(
    mut change: Change<Localization>,
    project: Project,
    file: File,
    staged: StagedValue,
    named: Option<Locale>,
    mut before: Option<Answer>,
    mut room: Turn,
) -> Answered {
    let (context, caller) = (change.call.context.clone(), change.call.caller.clone());
    let tenant_id = caller.tenant_id();
    let is_repeat = before.is_some();
    let (project, file) = (Arc::new(project), Arc::new(file));
    let (place, value) = ((Arc::clone(&project), Arc::clone(&file)), staged.value().clone());
    let read = context.in_turn(tenant_id, move |store| {
        let (document, locale) = arrived_document(store, &caller, &place.0, &place.1, value, named)?;
        // What was begun was judged then.
        if !is_repeat {
            check_document(&store.read(), tenant_id, &place.1, &document, &locale)?;
        }
        Ok((Arc::new(document), locale))
    });
    let (document, locale) = read.await.map_err(refusal_of)?;
    room.lighten(document.bytes());
    drop(staged);
    let mut letters = Vec::with_capacity(document.by_key().len());
    let mut is_replay = true;
    // Parts may have been of another size when it was begun: each begins where what is known ends, and the first is always
    // made, also if no unit is a key's.
    let mut number = 0;
    while number == 0 || letters.len() < document.by_key().len() {
        let known = if number == 0 { before.take() } else { begin_part(&mut change, number)? };
        is_replay &= known.is_some();
        match known {
            Some(answer) => letters.extend_from_slice(answer.body()),
            None => {
                let of = PartOf { project: &project, file: &file, document: &document, locale: &locale };
                let part = document.part_from(letters.len());
                letters.extend_from_slice(write(&change, of, part).await?.body());
            }
        }
        number += 1;
    }
    let answer = told(&change.call, &file, document, letters, &locale, room).await?;
    Ok(if is_replay { answer.as_replay() } else { answer })
}

/// Reads a document that has arrived, if the caller may translate into its language.
fn arrived_document(
    store: &Store,
    caller: &Caller,
    project: &Project,
    file: &File,
    value: LargeValue,
    named: Option<Locale>,
) -> Result<(Document, Locale), Abort<Refusal>> {
    let code_bytes = codes_bytes(usize::try_from(value.size_bytes).unwrap_or(usize::MAX));
    reading(ValueReader::of(store, value), |source| {
        let mut reader = UnitReader::begin(source, deadline())?;
        reader.limit_codes(code_bytes);
        let locale = target_locale(reader.languages().target.as_deref(), named).map_err(Reading::refused)?;
        let wanted = Wanted::InLocale(project.place(), Action::Translate, locale.canonical());
        caller.demand(&store.read(), wanted).map_err(Reading::Aborted)?;
        Ok((read_document(reader, file.key_prefix)?, locale))
    })
}

/// The target language of a document; the one that the request names counts where the document names none.
fn target_locale(own: Option<&str>, named: Option<Locale>) -> Result<Locale, Refusal> {
    match (own.filter(|own| !own.is_empty()), named) {
        (None, None) => {
            Err(Refusal::UnprocessableParameter("locale", "is required: the document names no target language"))
        }
        (None, Some(named)) => Ok(named),
        (Some(own), named) => {
            let own = translation_locale(own)?;
            let differs = named.is_some_and(|named| named.canonical() != own.canonical());
            match differs {
                true => Err(Refusal::UnprocessableParameter("locale", "is not the document's target language")),
                false => Ok(own),
            }
        }
    }
}

/// What a part is of.
#[derive(Clone, Copy)]
struct PartOf<'p> {
    project: &'p Arc<Project>,
    file: &'p Arc<File>,
    document: &'p Arc<Document>,
    locale: &'p Locale,
}

/// Writes a part: judged aside, written in one transaction with what is remembered of it.
async fn write(
    change: &Change<Localization>,
    of: PartOf<'_>,
    part: std::ops::Range<usize>,
) -> Result<Answer, Stop<Refusal>> {
    let tenant_id = change.call.caller.tenant_id();
    for _ in 0..ATTEMPTS_MAX {
        let (project, file, document) = (Arc::clone(of.project), Arc::clone(of.file), Arc::clone(of.document));
        let (locale, range, with) = (of.locale.clone(), part.clone(), change.call.context.clone());
        let prepared = change.call.context.aside(tenant_id, move |read| {
            let place = (&*project, file.file_id, file.key_prefix);
            prepare_part(read, &with.shelf, tenant_id, place, &document, range, &locale)
        });
        let (prepared, actor) = (prepared.await.map_err(refusal_of)?, change.call.caller.actor.clone());
        let wrote = change.try_write(move |tx, now| {
            let letters = write_part(tx, now, &actor, prepared)?;
            Ok(letters.map(|letters| Answer::json(200, letters)))
        });
        if let Some(answer) = wrote.await? {
            return Ok(answer);
        }
    }
    Err(Refusal::Fault(Fault::Busy).into())
}

/// XliffImported: what became of all units, made as it is sent.
async fn told(
    call: &Call,
    file: &File,
    document: Arc<Document>,
    letters: Vec<u8>,
    locale: &Locale,
    room: Turn,
) -> Result<Answer, Stop<Refusal>> {
    let (tenant_id, context) = (call.caller.tenant_id(), call.context.clone());
    let made = context.aside(tenant_id, move |_| Ok(LineMaker::of(document, &letters)));
    let (counts, mut maker) = made.await.map_err(refusal_of)?;
    let first = maker.next_lines().unwrap_or_default();
    let lines = match maker.next_lines() {
        None => Lines::Held(first),
        Some(second) => {
            let rest = std::iter::from_fn(|| maker.next_lines());
            let pieces = [first, second].into_iter().chain(rest);
            Lines::Stored(stage_value(&context.store, tenant_id, pieces).await.map_err(refusal_of)?)
        }
    };
    // Tens of megabytes go with the document. What is left waits for its sender to read it, and takes next to nothing.
    drop(tokio::task::spawn_blocking(move || drop((maker, room))).await);
    let head = format!(
        "{{\"file\":\"{}\",\"locale\":\"{}\",\"written\":{},\"unchanged\":{},\"skipped\":{},\"units\":[",
        file.file_id.0,
        locale.canonical(),
        counts.written,
        counts.unchanged,
        counts.skipped,
    );
    let report = Report::of(tenant_id, (file.file_id, file.key_prefix), lines);
    let body =
        body_of(context, call.caller.clone(), head, report, |context, report, read| report.next(read, &context.shelf));
    Ok(Answer::stream(200, quintet_platform::service::JSON, body))
}
