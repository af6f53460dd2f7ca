//! XLIFF: the translations of a file, out and in.

use std::sync::Arc;

use http::{HeaderValue, Method};
use quintet_platform::json::Json;
use quintet_platform::service::{
    Answer, Change, Content, Endpoint, Fault, Id, KeyRule, Parameter, Route, Shape, Stop, Turn, json as success, media,
    refusal_of, written,
};
use quintet_storage::large::LargeValue;
use quintet_storage::{Abort, Failure, Store};

use super::documents::{
    ANY_XML, Reading, begin_part, bodies, body_of, body_of_pieces, deadline, locale_parameter, media_types, reading,
};
use crate::access::{Action, Wanted, granted};
use crate::audit::{self, Event};
use crate::content::http::arriving::receive;
use crate::content::http::files::{FILE, permitted_file};
use crate::content::{File, FileId, ValueReader, get_file, translation_locale};
use crate::context::WRITER_TIME;
use crate::exchange::xliff::{
    Document, Export, Paths, Shape as ExportShape, Verdict, check_document, paths_of, prepare_part, read_document,
    write_part,
};
use crate::formats::xliff::{UnitReader, Version};
use crate::http::{Answered, CORE, Call, Caller, Localization, TAGGED};
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
        body_of(context, tenant_id, first, export, |context, export, read| export.next(read, &context.shelf)),
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
    let original = arrived.original.ok_or(Refusal::from(Fault::Internal))?;
    let named = named?;
    let room = change.call.context.room(change.call.caller.tenant_id(), original.value.size_bytes).await?;
    // A caller that leaves must not stop half of it.
    let work = async move { import_document(change, project, file, original.value, named, before, room).await };
    tokio::spawn(work).await.unwrap_or_else(|_| Err(Refusal::from(Fault::Internal).into()))
}

async fn import_document(
    mut change: Change<Localization>,
    project: Project,
    file: File,
    value: LargeValue,
    named: Option<Locale>,
    mut before: Option<Answer>,
    room: Turn,
) -> Answered {
    let (context, caller) = (change.call.context.clone(), change.call.caller.clone());
    let tenant_id = caller.tenant_id();
    let is_repeat = before.is_some();
    let (project, file) = (Arc::new(project), Arc::new(file));
    let place = (Arc::clone(&project), Arc::clone(&file));
    let read = context.in_turn(tenant_id, move |store| {
        let (document, locale) = arrived_document(store, &caller, &place.0, &place.1, value, named)?;
        // What was begun was judged then.
        if !is_repeat {
            check_document(&store.read(), tenant_id, &place.1, &document, &locale)?;
        }
        Ok((Arc::new(document), locale))
    });
    let (document, locale) = read.await.map_err(refusal_of)?;
    let mut letters = Vec::with_capacity(document.by_key().len());
    let mut is_replay = true;
    for (number, part) in document.parts().into_iter().enumerate() {
        let known = if number == 0 { before.take() } else { begin_part(&mut change, number)? };
        is_replay &= known.is_some();
        match known {
            Some(answer) => letters.extend_from_slice(answer.body()),
            None => {
                let of = PartOf { project: &project, file: &file, document: &document, locale: &locale };
                letters.extend_from_slice(write(&change, of, part).await?.body());
            }
        }
    }
    let answer = told(&change.call, file, document, &letters, &locale, room).await?;
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
    reading(ValueReader::of(store, value), |source| {
        let reader = UnitReader::begin(source, deadline())?;
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

#[derive(serde::Serialize)]
struct Line<'l> {
    unit: &'l str,
    key_id: Option<Id>,
    path: Option<&'l str>,
    result: &'static str,
    code: Option<&'static str>,
}

/// XliffImported, made as it is sent: it has a line for each unit.
struct Lines {
    file: Arc<File>,
    document: Document,
    verdicts: Vec<Verdict>,
    paths: Paths,
    at: usize,
    /// What the rest takes.
    _room: Turn,
}

/// How many lines are made at a time.
const LINES_AT_A_TIME: usize = 500;

impl Lines {
    fn next(&mut self) -> Result<Option<String>, Failure> {
        if self.at > self.document.units.len() {
            return Ok(None);
        }
        let end = (self.at + LINES_AT_A_TIME).min(self.document.units.len());
        let mut piece = Vec::new();
        for place in self.at..end {
            if place > 0 {
                piece.push(b',');
            }
            piece.extend(self.line(place)?);
        }
        self.at = end;
        if end == self.document.units.len() {
            piece.extend_from_slice(b"]}");
            self.at += 1;
        }
        Ok(Some(String::from_utf8_lossy(&piece).into_owned()))
    }

    fn line(&self, place: usize) -> Result<Vec<u8>, Failure> {
        let Some(unit) = self.document.units.get(place) else { return Ok(Vec::new()) };
        let (result, code) = self.verdicts.get(place).copied().unwrap_or(Verdict::KeyUnknown).told();
        let number = u32::try_from(place).map_or(0, |place| self.document.number(place));
        let path = self.paths.get(number);
        let key_id = path.map(|_| Id(crate::content::key_id(self.file.key_prefix, number).0));
        let unit = unit.named.id(self.file.key_prefix);
        written(&Line { unit: &unit, key_id, path, result, code })
    }
}

/// What became of all units.
async fn told(
    call: &Call,
    file: Arc<File>,
    document: Arc<Document>,
    letters: &[u8],
    locale: &Locale,
    mut room: Turn,
) -> Result<Answer, Stop<Refusal>> {
    let mut document = Arc::unwrap_or_clone(document);
    document.forget_texts();
    let mut verdicts = vec![Verdict::KeyUnknown; document.units.len()];
    for (place, letter) in document.by_key().iter().zip(letters) {
        if let Some(slot) = verdicts.get_mut(*place as usize) {
            *slot = Verdict::of_letter(*letter);
        }
    }
    let count = |wanted: &str| verdicts.iter().filter(|verdict| verdict.told().0 == wanted).count();
    let head = format!(
        "{{\"file\":\"{}\",\"locale\":\"{}\",\"written\":{},\"unchanged\":{},\"skipped\":{},\"units\":[",
        file.file_id.0,
        locale.canonical(),
        count("written"),
        count("unchanged"),
        count("skipped"),
    );
    let (tenant_id, context) = (call.caller.tenant_id(), call.context.clone());
    let of_file = file.file_id;
    let paths = context.in_turn(tenant_id, move |store| {
        let paths = paths_of(&store.read(), tenant_id, of_file, &document)?;
        Ok((document, paths))
    });
    let (document, paths) = paths.await.map_err(refusal_of)?;
    // All that is kept of it until its sender has read what became of it.
    room.lighten(document.units_bytes() + verdicts.len() + paths.bytes());
    let lines = Lines { file, document, verdicts, paths, at: 0, _room: room };
    let body = body_of_pieces(head, lines, Lines::next);
    Ok(Answer::stream(200, quintet_platform::service::JSON, body))
}
