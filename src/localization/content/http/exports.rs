//! Exports: the latest version of a file, in a locale.

use http::{HeaderValue, Method};
use quintet_platform::service::{
    Answer, Endpoint, Id, Instant, JSON, Parameter, Route, Shape, media, refusal_of, written,
};
use quintet_storage::{Abort, Failure, Uuid};

use super::files::{FILE, permitted_file};
use super::wire::Hex;
use crate::access::Action;
use crate::content::exports::{
    Base, Fallback, Material, MetadataEntry, NoteExport, TRANSLATIONS_BYTES_MAX, Wish, check_revision, etag,
    note_export,
};
use crate::content::files::get_file;
use crate::content::model::Format;
use crate::content::translation::translation_locale;
use crate::context::WRITER_TIME;
use crate::http::{Answered, CORE, Call, Localization, TAGGED};
use crate::refusal::Refusal;
use crate::spaces::ProjectId;
use crate::spaces::http::PROJECT;

const LOCALE: Parameter =
    Parameter::new("locale", Shape::Text { min: 1, max: 255 }, "The target locale; absent: the source.");
const FALLBACK: Parameter = Parameter::new(
    "fallback",
    Shape::Word(&["source", "omit"], "source"),
    "What becomes of untranslated keys; omit is for JSON. Needs locale.",
);
const STATE: Parameter =
    Parameter::new("state", Shape::Word(&["approved"], ""), "Use approved translations only. Needs locale.");
const METADATA: Parameter = Parameter::new(
    "metadata",
    Shape::Word(&["true", "false"], "false"),
    "Tell of each key (ExportMetadata) instead of giving the file. Needs locale.",
);
const REVISION: Parameter = Parameter::new("revision", Shape::integer(1, i64::MAX), "Serve this revision or refuse.");

const EXPORT: Route = Route::get("export_file", "/v1/projects/{project_id}/files/{file_id}/export")
    .permission("p_<p>_export")
    .summary("The latest version, in a locale; the entity tag is \"r<revision>\"")
    .segments(&[PROJECT, FILE])
    .parameters(&[LOCALE, FALLBACK, STATE, METADATA, REVISION])
    .successes(&[media(
        200,
        &[
            (
                "application/json",
                r##"{"anyOf":[{"$ref":"#/components/schemas/ExportMetadata"},{"type":"object","description":"The file itself"}]}"##,
            ),
            ("application/yaml", r#"{"type":"string"}"#),
            ("text/x-java-properties", r#"{"type":"string"}"#),
        ],
    )
    .about("The file; or with metadata, what is told of its keys")])
    .marks(&[CORE, TAGGED])
    .codes(&[
        "revision_superseded",
        "revision_not_found",
        "value_too_long",
        "value_unrepresentable",
        "storage_full",
        "busy",
        "writing_stopped",
        "outcome_unknown",
    ]);

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] = &[Endpoint::new(&EXPORT, |call| Box::pin(export(call)))];

/// What the query of an export says.
struct ExportWish {
    locale: Option<String>,
    fallback: Fallback,
    approved_only: bool,
    is_metadata: bool,
    revision: Option<u64>,
}

async fn export(mut call: Call) -> Answered {
    let ExportWish { locale, fallback, approved_only, is_metadata, revision: wished } = export_wish(&mut call)?;
    call.context.demand_core()?;
    let (project_id, file) = permitted_file(&call, Action::Export)?;
    let locale = locale.as_deref().map(translation_locale).transpose()?;
    Wish::check(fallback, file.format)?;
    let (tenant_id, file_id) = (call.caller.tenant_id(), file.file_id);
    let told = locale.as_ref().map(|locale| locale.canonical().to_owned());
    let wish = locale.map(|locale| Wish { locale, fallback, approved_only });
    let exported = call.context.in_turn(call.caller.tenant_id(), move |store| {
        // One state for everything: the revision is that of what is answered.
        let read = store.read();
        let file = get_file(&read, tenant_id, project_id, file_id)?;
        let locale = wish.as_ref().map(|wish| &wish.locale);
        let base = Base::read(&read, tenant_id, file, locale.is_some())?;
        let material = base.gather(&read, tenant_id, locale, TRANSLATIONS_BYTES_MAX)?;
        drop(read);
        check_revision(wished, material.revision)?;
        let answer = match wish.as_ref().filter(|_| is_metadata) {
            Some(wish) => Answer::json(200, write_metadata(project_id, wish, &material, &material.metadata(wish)?)?),
            None => Answer::other(200, media_type(base.file.format), material.file(wish.as_ref())?),
        };
        Ok((material.revision, answer.tagged(&etag(material.revision))))
    });
    let (revision, answer) = exported.await.map_err(refusal_of)?;
    // What is only looked at is not handed out.
    if call.parts.method != Method::HEAD {
        let locale = told;
        note(&call, NoteExport { project_id, file_id, revision, locale, fallback, approved_only, is_metadata }).await?;
    }
    Ok(answer)
}

async fn note(call: &Call, note: NoteExport) -> Result<(), Refusal> {
    let actor = call.caller.actor.clone();
    let deadline = std::time::Instant::now() + WRITER_TIME;
    let noted = call
        .foundation()
        .store
        .write(deadline, move |tx, now| note_export(tx, now, &actor, note).map_err(Abort::<Refusal>::Failed));
    noted.await.map_err(refusal_of)
}

fn export_wish(call: &mut Call) -> Result<ExportWish, Refusal> {
    let locale = call.text(&LOCALE)?;
    let fallback = call.text(&FALLBACK)?;
    let state = call.text(&STATE)?;
    let metadata = call.text(&METADATA)?;
    let revision = call.integer(&REVISION)?;
    let is_metadata = metadata.as_deref() == Some("true");
    if locale.is_none() {
        let needing = [(FALLBACK, fallback.is_some()), (STATE, state.is_some()), (METADATA, is_metadata)];
        if let Some((parameter, _)) = needing.into_iter().find(|(_, is_given)| *is_given) {
            return Err(Refusal::parameter(parameter.name, "needs locale"));
        }
    }
    Ok(ExportWish {
        locale,
        fallback: if fallback.as_deref() == Some("omit") { Fallback::Omit } else { Fallback::Source },
        approved_only: state.is_some(),
        is_metadata,
        revision: revision.and_then(|revision| u64::try_from(revision).ok()),
    })
}

fn media_type(format: Format) -> HeaderValue {
    match format {
        Format::Json => JSON,
        Format::YamlRails | Format::YamlFlat => HeaderValue::from_static("application/yaml"),
        // Its encoding is that of the upload, UTF-8 or ISO-8859-1.
        Format::Properties => HeaderValue::from_static("text/x-java-properties"),
    }
}

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct EntryBody<'a> {
    key: &'a str,
    source_hash: Hex,
    target_hash: Hex,
    status: &'static str,
    approved_at: Option<Instant>,
    approved_by: Option<Id>,
}

#[derive(serde::Serialize)]
struct MetadataBody<'a> {
    project_id: Id,
    file_id: Id,
    locale: &'a str,
    revision: u64,
    entries: Vec<EntryBody<'a>>,
}

fn write_metadata(
    project_id: ProjectId,
    wish: &Wish,
    material: &Material<'_>,
    entries: &[MetadataEntry],
) -> Result<Vec<u8>, Failure> {
    written(&MetadataBody {
        project_id: Id(project_id.0),
        file_id: Id(material.base.file.file_id.0),
        locale: wish.locale.canonical(),
        revision: material.revision,
        entries: entries.iter().map(of_entry).collect(),
    })
}

fn of_entry(one: &MetadataEntry) -> EntryBody<'_> {
    let approval = one.approval.as_ref();
    EntryBody {
        key: &one.key,
        source_hash: Hex(one.source_sha256),
        target_hash: Hex(one.target_sha256),
        status: one.state.name(),
        approved_at: approval.map(|approval| Instant(approval.at)),
        approved_by: approval.map(|approval| Id(Uuid::from_bytes(approval.by))),
    }
}
