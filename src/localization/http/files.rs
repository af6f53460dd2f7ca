//! Files over HTTP: upload, list, manifests, export.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body_util::BodyExt as _;
use quintet_platform::http::body::media_type;
use quintet_platform::secrets::Digest;
use quintet_storage::large::{LargeValue, Upload, UploadRefusal};
use quintet_storage::seal::KeyOwner;
use quintet_storage::{Abort, Failure, Store, Uuid};
use sha2::{Digest as _, Sha256};

use super::answer::{Answer, answered};
use super::request::{Asked, Begun, WRITER_TIME, ask, ask_parts, failed, parameter_refusal, refusal_of};
use super::routes::{EXPORT, FILE_LIST, FILE_UPLOAD, MANIFEST};
use super::{Context, body, next_cursor, output, page, permitted};
use crate::catalogue::{self, key_prefix, read_all};
use crate::exports::{self, Fallback, NoteExport, Wish, kind_of};
use crate::formats::{self, Document, FILE_BYTES_MAX, ReaderRefusal};
use crate::imports::{
    self, Change, ChangeKind, Comparison, Latest, OutdatedCount, PublishImport, PublishRefusal, compare,
};
use crate::keys::{self, File};
use crate::language::{Locale, LocaleRefusal, check_translation_route_length};
use crate::model::{FileId, FileVersion, ProjectId, TenantId};
use crate::permissions::Action;
use crate::refusal::Refusal;
use crate::tables::{Format, PageRow};

/// How long the body of an upload may take to arrive.
const UPLOAD_TIME: Duration = Duration::from_secs(300);
/// How long a body that is refused unread may go on arriving, so that its sender gets to read the answer.
const DRAIN_TIME: Duration = Duration::from_secs(20);
/// For how long the parts of an upload are kept until they are published, in seconds.
const PARTS_LIFETIME_SECONDS: i64 = 1800;
/// How long an upload or export waits for its turn to read a file.
const TURN_TIME: Duration = Duration::from_secs(60);
/// How often translations may be written while those that an upload outdates are counted.
const COUNTS_MAX: usize = 8;
/// The longest path of a file, in characters.
const PATH_CHARS_MAX: usize = 512;
/// The longest locale in a query, in characters.
const QUERY_LOCALE_CHARS_MAX: usize = 255;

/// What the query of an upload says.
struct UploadWish {
    /// `None`: a kind that is known and not offered.
    format: Option<Format>,
    /// The root locale of a rails file; `None`: the project's source locale.
    root_locale: Option<String>,
    path: String,
}

/// A body that has arrived.
struct Spooled {
    value: LargeValue,
    sha256: Digest,
}

pub(super) async fn upload_file(State(context): State<Context>, request: Request) -> Response {
    answered(try_upload_file(&context, request).await)
}

async fn try_upload_file(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let (mut asked, body) = ask_parts(context, request, &FILE_UPLOAD).await?;
    let wish = upload_wish(&mut asked)?;
    let key = asked.idempotency_key()?;
    let spooled = spool(context, &asked, body).await?;
    let going = match asked.begin(context, key, &spooled.sha256)? {
        Begun::Replay(answer) => return Ok(answer),
        Begun::Going(going) => going,
    };
    let project = permitted(context, &asked, Action::FilesWrite).await?;
    let format = wish.format.ok_or(Refusal::FormatNotOffered)?;
    let roots = match format {
        Format::YamlRails => wish.root_locale.map_or(project.row.source_roots, |root| vec![root]),
        Format::Json | Format::YamlFlat | Format::Properties => vec![String::new()],
    };
    let subject = Subject { tenant_id: asked.tenant_id, project_id: project.project_id, format, roots };
    let prepared = prepare(context, subject, wish.path.clone(), spooled.value.clone()).await?;
    let outdated = Arc::new(prepared.outdated);
    let [catalogue, changes] = store_parts(context, asked.tenant_id, prepared.parts).await?;
    let mut command = PublishImport {
        project_id: project.project_id,
        path: wish.path,
        format,
        root_locale: prepared.root_locale,
        file_id: prepared.file_id,
        base_version: prepared.base_version,
        original: spooled.value,
        sha256: spooled.sha256,
        catalogue,
        pages: prepared.pages,
        next_number: prepared.next_number,
        keys: prepared.keys,
        changes,
        counts: prepared.counts,
        manifest_sha256: prepared.manifest_sha256,
        outdated: Arc::clone(&outdated),
        outdated_counts: Vec::new(),
    };
    for _ in 0..COUNTS_MAX {
        command.outdated_counts =
            count_outdated(context, asked.tenant_id, command.file_id, Arc::clone(&outdated)).await?;
        let (actor, attempt) = (asked.actor(), command.clone());
        let published = going.try_write(context, move |tx, now| {
            match tx.savepoint(|tx| imports::publish_import(tx, now, &actor, attempt)) {
                Ok(imported) => Ok(Some(Answer::json(201, output::imported(&imported)?))),
                Err(Abort::Refused(PublishRefusal::CountAgain)) => Ok(None),
                Err(Abort::Refused(PublishRefusal::Refused(refusal))) => Err(refusal.into()),
                Err(Abort::Failed(failure)) => Err(failure.into()),
            }
        });
        if let Some(answer) = published.await? {
            // What the version before had is for the collector.
            context.clock.wake();
            return Ok(answer);
        }
    }
    Err(Refusal::Conflict("translations were written all the time; nothing was changed"))
}

fn upload_wish(asked: &mut Asked) -> Result<UploadWish, Refusal> {
    const KINDS: [&str; 6] = ["json", "yaml", "properties", "android", "ios-strings", "ios-stringsdict"];
    let query = &mut asked.query;
    let wrong = |error| parameter_refusal(&error);
    let kind = query.one_of("kind", &KINDS).map_err(wrong)?;
    let kind = kind.ok_or_else(|| Refusal::parameter("kind", "is required"))?;
    let profile = query.one_of("profile", &["rails", "flat"]).map_err(wrong)?;
    let locale = locale_parameter(query.take("locale"))?;
    let path = query.required("path").map_err(wrong)?;
    asked.end_query()?;
    let format = match (kind, profile) {
        ("yaml", None) => return Err(Refusal::parameter("profile", "is required for yaml")),
        ("yaml", Some("rails")) => Some(Format::YamlRails),
        ("yaml", Some(_)) => Some(Format::YamlFlat),
        (_, Some(_)) => return Err(Refusal::parameter("profile", "goes with yaml only")),
        ("json", None) => Some(Format::Json),
        ("properties", None) => Some(Format::Properties),
        (_, None) => None,
    };
    if locale.is_some() && format != Some(Format::YamlRails) {
        return Err(Refusal::parameter("locale", "goes with the profile rails only"));
    }
    if !is_file_path(&path) {
        let rule =
            "is a relative path of 1 to 512 characters, without empty, dot or dot-dot segments, controls, backslashes";
        return Err(Refusal::parameter("path", rule));
    }
    Ok(UploadWish { format, root_locale: locale, path })
}

fn locale_parameter(locale: Option<String>) -> Result<Option<String>, Refusal> {
    let fits = |tag: &String| (1..=QUERY_LOCALE_CHARS_MAX).contains(&tag.chars().count());
    match locale {
        Some(tag) if !fits(&tag) => Err(Refusal::parameter("locale", "has 1 to 255 characters")),
        locale => Ok(locale),
    }
}

/// Whether a text is the relative path of a resource.
fn is_file_path(path: &str) -> bool {
    (1..=PATH_CHARS_MAX).contains(&path.chars().count())
        && !path.chars().any(|character| character.is_control() || character == '\\')
        && path.split('/').all(|segment| !matches!(segment, "" | "." | ".."))
}

/// Takes a body in, sealed, as it arrives: size first, then media type.
async fn spool(context: &Context, asked: &Asked, mut body: Body) -> Result<Spooled, Refusal> {
    let kind = media_type(&asked.headers);
    let is_file = matches!(kind.as_deref(), Some("application/json" | "application/octet-stream"));
    let claimed = claimed_bytes(&asked.headers);
    if claimed.is_some_and(|bytes| bytes > FILE_BYTES_MAX as u64) {
        drain(body).await;
        return Err(Refusal::UploadTooLarge);
    }
    if !is_file {
        return match drain(body).await {
            Drained::All(bytes) if bytes > FILE_BYTES_MAX => Err(Refusal::UploadTooLarge),
            Drained::More => Err(Refusal::UploadTooLarge),
            Drained::All(_) | Drained::Broken => Err(Refusal::UnsupportedMediaType),
        };
    }
    let owner = KeyOwner::Tenant(asked.tenant_id.0);
    let begun = Upload::begin_sealed(&context.store, owner, PARTS_LIFETIME_SECONDS, WRITER_TIME).await;
    let mut upload = begun.map_err(spool_refusal)?;
    let (mut hash, mut arrived) = (Sha256::new(), 0_usize);
    let arriving = async {
        while let Some(frame) = body.frame().await {
            let Ok(chunk) = frame.map_err(|_| Refusal::RequestTimeout)?.into_data() else { continue };
            arrived += chunk.len();
            if arrived > FILE_BYTES_MAX {
                return Err(Refusal::UploadTooLarge);
            }
            hash.update(&chunk);
            upload.push(&chunk).await.map_err(spool_refusal)?;
        }
        Ok(())
    };
    match tokio::time::timeout(UPLOAD_TIME, arriving).await {
        Ok(Ok(())) => {}
        Ok(Err(refusal)) => {
            if refusal == Refusal::UploadTooLarge {
                drain(body).await;
            }
            return Err(refusal);
        }
        Err(_) => return Err(Refusal::RequestTimeout),
    }
    let value = upload.finish().await.map_err(spool_refusal)?;
    Ok(Spooled { value, sha256: hash.finalize().into() })
}

fn spool_refusal(abort: Abort<UploadRefusal>) -> Refusal {
    match abort {
        Abort::Refused(UploadRefusal::Expired) => Refusal::RequestTimeout,
        Abort::Refused(UploadRefusal::Erased) => failed(&Failure::Io("the tenant has been erased".to_owned())),
        Abort::Failed(failure) => failed(&failure),
    }
}

fn claimed_bytes(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.trim().parse().ok()
}

/// What was left of a body.
enum Drained {
    /// So many bytes, and then its end.
    All(usize),
    /// More than twice of what is allowed, or for too long.
    More,
    /// It broke off.
    Broken,
}

/// Reads a body and forgets it: who is still sending does not read the answer.
async fn drain(mut body: Body) -> Drained {
    let mut bytes = 0;
    let draining = async {
        while let Some(frame) = body.frame().await {
            match frame {
                Ok(frame) => bytes += frame.data_ref().map_or(0, bytes::Bytes::len),
                Err(_) => return Drained::Broken,
            }
            if bytes > 2 * FILE_BYTES_MAX {
                return Drained::More;
            }
        }
        Drained::All(bytes)
    };
    tokio::time::timeout(DRAIN_TIME, draining).await.unwrap_or(Drained::More)
}

/// What an upload is about.
struct Subject {
    tenant_id: TenantId,
    project_id: ProjectId,
    format: Format,
    /// What the root key of a rails file may be; else one empty text.
    roots: Vec<String>,
}

/// An upload, read and compared.
struct Prepared {
    file_id: FileId,
    /// The root key that a rails file has; else empty.
    root_locale: String,
    base_version: FileVersion,
    pages: Vec<PageRow>,
    next_number: u64,
    keys: u32,
    counts: [usize; 4],
    manifest_sha256: Digest,
    outdated: Vec<(u64, FileVersion)>,
    /// The catalogue and the changes.
    parts: [Vec<u8>; 2],
}

/// Reads an upload and compares it with what is at its path.
async fn prepare(context: &Context, subject: Subject, path: String, original: LargeValue) -> Result<Prepared, Refusal> {
    let latest = imports::find_latest(&context.store.read(), subject.tenant_id, subject.project_id, &path);
    let latest = latest.map_err(|failure| failed(&failure))?;
    let file_id = match &latest {
        Some(latest) => latest.file_id,
        None => mint_file_id(&context.store).await?,
    };
    let store = context.store.clone();
    in_turn(context, move || {
        let read = store.read();
        let bytes = read_all(&read, &original).map_err(|failure| failed(&failure))?;
        compare_with_latest(&subject, latest, &bytes, |latest| {
            catalogue::read_entries(&read, &latest.catalogue).map_err(|failure| failed(&failure))
        })
        .and_then(|(root_locale, base_version, comparison)| {
            prepared(file_id, root_locale, base_version, comparison, CATALOGUE_BYTES_MAX).map_err(refusal_of)
        })
    })
    .await
}

async fn mint_file_id(store: &Store) -> Result<FileId, Refusal> {
    let minted = store.write(Instant::now() + WRITER_TIME, |tx, _| Ok::<_, Abort<Refusal>>(tx.new_id()));
    minted.await.map(FileId).map_err(refusal_of)
}

fn compare_with_latest(
    subject: &Subject,
    latest: Option<Latest>,
    bytes: &[u8],
    entries_of: impl FnOnce(&Latest) -> Result<Vec<catalogue::KeyEntry>, Refusal>,
) -> Result<(String, FileVersion, Comparison), Refusal> {
    let known_root = latest.as_ref().map(|latest| latest.row.root_locale.as_str());
    let (root, document) = read_upload(subject, known_root, bytes)?;
    let Some(latest) = latest else { return Ok((root, 0, compare(Vec::new(), 1, 1, document.units()))) };
    imports::check_format(&latest, subject.format, &root)?;
    let base = latest.row.version;
    let next_number = latest.catalogue.next_number;
    Ok((root, base, compare(entries_of(&latest)?, next_number, base + 1, document.units())))
}

/// Reads an upload under the root key that it has, of those it may have; a file without one has that of the version
/// before it, else the first.
fn read_upload<'b>(
    subject: &Subject,
    known_root: Option<&str>,
    bytes: &'b [u8],
) -> Result<(String, Document<'b>), Refusal> {
    let deadline = Instant::now() + Duration::from_secs(formats::READING_SECONDS_MAX);
    let mut roots: Vec<&str> = subject.roots.iter().map(String::as_str).collect();
    roots.sort_by_key(|root| Some(*root) != known_root);
    let mut furthest: Option<ReaderRefusal> = None;
    for root in roots {
        match formats::read(kind_of(subject.format, root), bytes, deadline) {
            Ok(document) => return Ok((root.to_owned(), document)),
            // Under another root than its own a file is refused right there: what is refused further on is its own.
            Err(refusal) => {
                let place = |refusal: &ReaderRefusal| (refusal.line, refusal.column);
                if furthest.as_ref().is_none_or(|known| place(known) < place(&refusal)) {
                    furthest = Some(refusal);
                }
            }
        }
    }
    let refusal = furthest.ok_or(Refusal::InternalError)?;
    Err(Refusal::Reader { code: refusal.code.as_str(), line: refusal.line, column: refusal.column })
}

/// How large the list of a file's keys may become, in bytes, with all that were ever in it: whoever uploads or exports
/// the file holds it in memory.
const CATALOGUE_BYTES_MAX: usize = 256 << 20;

fn prepared(
    file_id: FileId,
    root_locale: String,
    base_version: FileVersion,
    comparison: Comparison,
    bytes_max: usize,
) -> Result<Prepared, Abort<Refusal>> {
    let written = catalogue::write(&comparison.entries)?;
    if written.bytes.len() > bytes_max {
        return Err(Refusal::Reader { code: formats::Code::TooManyUnits.as_str(), line: 0, column: 0 }.into());
    }
    let kinds = [ChangeKind::Added, ChangeKind::Changed, ChangeKind::Obsoleted, ChangeKind::Restored];
    let counts = kinds.map(|kind| comparison.count(kind));
    let Comparison { changes, next_number, outdated, active, .. } = comparison;
    let manifest_sha256 = manifest_digest(file_id, &changes);
    Ok(Prepared {
        file_id,
        root_locale,
        base_version,
        pages: written.pages,
        next_number,
        keys: active,
        counts,
        manifest_sha256,
        outdated,
        parts: [written.bytes, imports::encode_changes(&changes)?],
    })
}

fn manifest_digest(file_id: FileId, changes: &[Change]) -> Digest {
    quintet_platform::secrets::digest(imports::manifest(key_prefix(file_id), changes).as_bytes())
}

/// Stores the parts of an upload that are not its bytes.
async fn store_parts(
    context: &Context,
    tenant_id: TenantId,
    [catalogue, changes]: [Vec<u8>; 2],
) -> Result<[LargeValue; 2], Refusal> {
    let (catalogue, changes) =
        tokio::join!(store_part(context, tenant_id, &catalogue), store_part(context, tenant_id, &changes));
    Ok([catalogue?, changes?])
}

/// Stores a part of what a small transaction will publish.
pub(super) async fn store_part(context: &Context, tenant_id: TenantId, bytes: &[u8]) -> Result<LargeValue, Refusal> {
    let owner = KeyOwner::Tenant(tenant_id.0);
    let upload = Upload::begin_sealed(&context.store, owner, PARTS_LIFETIME_SECONDS, WRITER_TIME).await;
    let mut upload = upload.map_err(spool_refusal)?;
    upload.push(bytes).await.map_err(spool_refusal)?;
    upload.finish().await.map_err(spool_refusal)
}

async fn count_outdated(
    context: &Context,
    tenant_id: TenantId,
    file_id: FileId,
    outdated: Arc<Vec<(u64, FileVersion)>>,
) -> Result<Vec<OutdatedCount>, Refusal> {
    if outdated.is_empty() {
        return Ok(Vec::new());
    }
    let store = context.store.clone();
    let counting =
        tokio::task::spawn_blocking(move || imports::count_outdated(&store.read(), tenant_id, file_id, &outdated));
    let counted = counting.await.map_err(|_| Refusal::InternalError)?;
    counted.map_err(|failure| failed(&failure))
}

/// Runs what reads a whole file, on a thread of its own, when it is its turn: a file may take a few hundred megabytes.
pub(super) async fn in_turn<T: Send + 'static>(
    context: &Context,
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let turn = tokio::time::timeout(TURN_TIME, Arc::clone(&context.turns).acquire_owned()).await;
    let Ok(Ok(turn)) = turn else { return Err(Refusal::Busy) };
    let working = tokio::task::spawn_blocking(move || {
        let outcome = work();
        drop(turn);
        outcome
    });
    // Its panic is logged by the runtime.
    working.await.unwrap_or(Err(Refusal::InternalError))
}

pub(super) async fn list_files(State(context): State<Context>, request: Request) -> Response {
    answered(try_list_files(&context, request).await)
}

async fn try_list_files(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let mut asked = ask(context, request, &FILE_LIST).await?;
    let kind = format!("files {}", asked.text(0));
    let (after, limit) = page::<[u8; 16]>(&mut asked, &kind)?;
    let project = permitted(context, &asked, Action::Read).await?;
    let after = after.map(|id| FileId(Uuid::from_bytes(id)));
    let found = keys::list_files(&context.store.read(), asked.tenant_id, project.project_id, after, limit);
    let (found, more) = found.map_err(|failure| failed(&failure))?;
    let last = found.last().filter(|_| more).map(|last| last.file_id.0.into_bytes());
    body(200, output::files(project.project_id, &found, next_cursor(&kind, last)?))
}

/// The file of the path, in a project of it that the caller may do this in.
pub(super) async fn permitted_file(
    context: &Context,
    asked: &Asked,
    action: Action,
) -> Result<(ProjectId, File), Refusal> {
    let project_id = ProjectId(asked.id(0)?);
    let read = context.store.read();
    let project = crate::projects::get_project(&read, asked.tenant_id, project_id).map_err(refusal_of)?;
    let file = keys::get_file(&read, asked.tenant_id, project_id, FileId(asked.id(1)?)).map_err(refusal_of);
    // Who may not read the project is not told what is in it.
    asked.demand(context, &read, crate::permissions::Wanted::InProject(project.place(), action)).await?;
    Ok((project_id, file?))
}

pub(super) async fn get_manifest(State(context): State<Context>, request: Request) -> Response {
    answered(try_get_manifest(&context, request).await)
}

async fn try_get_manifest(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let mut asked = ask(context, request, &MANIFEST).await?;
    asked.end_query()?;
    let (_, file) = permitted_file(context, &asked, Action::Read).await?;
    let seq = event_number(asked.text(2)).ok_or(Refusal::NotFound)?;
    let (store, tenant_id) = (context.store.clone(), asked.tenant_id);
    let manifest = in_turn(context, move || {
        imports::get_manifest(&store.read(), tenant_id, file.file_id, file.row.key_prefix, seq).map_err(refusal_of)
    });
    Ok(Answer::other("text/tab-separated-values; charset=utf-8", manifest.await?))
}

/// The number of an audit event, as it is written.
fn event_number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|seq: &u64| *seq > 0 && seq.to_string() == text)
}

/// What the query of an export says.
struct ExportWish {
    locale: Option<String>,
    fallback: Fallback,
    approved_only: bool,
    is_metadata: bool,
    revision: Option<u64>,
}

pub(super) async fn export_file(State(context): State<Context>, request: Request) -> Response {
    answered(try_export_file(&context, request).await)
}

async fn try_export_file(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let hands_out = request.method() != http::Method::HEAD;
    let mut asked = ask(context, request, &EXPORT).await?;
    let wish = export_wish(&mut asked)?;
    let (project_id, file) = permitted_file(context, &asked, Action::Export).await?;
    context.demand_core()?;
    let locale = wish.locale.as_deref().map(parse_locale).transpose()?;
    if wish.fallback == Fallback::Omit && file.row.format != Format::Json {
        return Err(Refusal::UnprocessableParameter("fallback", "omit is for JSON files only"));
    }
    let wanted = locale.map(|locale| Wish { locale, fallback: wish.fallback, approved_only: wish.approved_only });
    let (store, tenant_id, file_id) = (context.store.clone(), asked.tenant_id, file.file_id);
    let (wished_revision, is_metadata) = (wish.revision, wish.is_metadata);
    let content_type = content_type(file.row.format);
    let note = NoteExport {
        project_id,
        file_id,
        revision: 0,
        locale: wanted.as_ref().map(|wish| wish.locale.canonical().to_owned()),
        fallback: wish.fallback,
        approved_only: wish.approved_only,
        is_metadata,
    };
    let (revision, answer) = in_turn(context, move || {
        // One state for everything: the revision is that of what is answered.
        let read = store.read();
        let file = keys::get_file(&read, tenant_id, project_id, file_id).map_err(refusal_of)?;
        let locale = wanted.as_ref().map(|wish| &wish.locale);
        let revision = exports::revision(&read, tenant_id, &file, locale).map_err(|failure| failed(&failure))?;
        check_revision(wished_revision, revision)?;
        let material = exports::gather(&read, tenant_id, file, locale, exports::TRANSLATIONS_BYTES_MAX);
        let material = material.map_err(refusal_of)?;
        drop(read);
        let answer = match wanted.as_ref().filter(|_| is_metadata) {
            Some(wish) => {
                let entries = material.metadata(wish)?;
                body(200, output::metadata(project_id, file_id, wish.locale.canonical(), revision, &entries))?
            }
            None => Answer::other(content_type, material.export(wanted.as_ref())?),
        };
        Ok((revision, answer.tagged(exports::etag(revision))))
    })
    .await?;
    if !hands_out {
        return Ok(answer);
    }
    let (actor, note) = (asked.actor(), NoteExport { revision, ..note });
    let noted = context.store.write(Instant::now() + WRITER_TIME, move |tx, now| {
        exports::note_export(tx, now, &actor, note).map_err(Abort::<Refusal>::Failed)
    });
    noted.await.map_err(refusal_of)?;
    Ok(answer)
}

fn export_wish(asked: &mut Asked) -> Result<ExportWish, Refusal> {
    let query = &mut asked.query;
    let wrong = |error| parameter_refusal(&error);
    let locale = locale_parameter(query.take("locale"))?;
    let fallback = query.one_of("fallback", &["source", "omit"]).map_err(wrong)?;
    let state = query.one_of("state", &["approved"]).map_err(wrong)?;
    let metadata = query.one_of("metadata", &["true", "false"]).map_err(wrong)?;
    let revision = query.integer("revision", 1..=i64::MAX).map_err(wrong)?;
    asked.end_query()?;
    if locale.is_none() {
        let needing =
            [("fallback", fallback.is_some()), ("state", state.is_some()), ("metadata", metadata == Some("true"))];
        if let Some((name, _)) = needing.into_iter().find(|(_, is_given)| *is_given) {
            return Err(Refusal::parameter(name, "needs locale"));
        }
    }
    Ok(ExportWish {
        locale,
        fallback: if fallback == Some("omit") { Fallback::Omit } else { Fallback::Source },
        approved_only: state.is_some(),
        is_metadata: metadata == Some("true"),
        revision: revision.and_then(|revision| u64::try_from(revision).ok()),
    })
}

/// A locale of a route of translations.
pub(super) fn parse_locale(tag: &str) -> Result<Locale, Refusal> {
    let refused = |refusal: LocaleRefusal| Refusal::Tag(refusal.code());
    let locale = Locale::parse(tag).map_err(refused)?;
    check_translation_route_length(&locale).map_err(refused)?;
    Ok(locale)
}

fn check_revision(wished: Option<u64>, current: u64) -> Result<(), Refusal> {
    match wished {
        Some(wished) if wished < current => Err(Refusal::RevisionSuperseded(exports::etag(current))),
        Some(wished) if wished > current => Err(Refusal::RevisionNotFound),
        _ => Ok(()),
    }
}

const fn content_type(format: Format) -> &'static str {
    match format {
        Format::Json => "application/json",
        Format::YamlRails | Format::YamlFlat => "application/yaml",
        // Its encoding is that of the upload, UTF-8 or ISO-8859-1.
        Format::Properties => "text/x-java-properties",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_events_have_one_spelling() {
        assert_eq!(event_number("30"), Some(30));
        assert_eq!(event_number("18446744073709551615"), Some(u64::MAX));
        for bad in ["", "0", "+3", "-3", "03", "3.0", " 3", "18446744073709551616"] {
            assert_eq!(event_number(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_list_of_keys_does_not_grow_for_ever() {
        let document = formats::read(formats::Kind::Json, b"{\"a\":\"x\"}", Instant::now() + TURN_TIME).unwrap();
        let comparison = || compare(Vec::new(), 1, 1, document.units());
        let prepared = |bytes_max| prepared(FileId(Uuid::nil()), String::new(), 0, comparison(), bytes_max);
        let needed = prepared(1000).map_err(|_| ()).unwrap().parts[0].len();
        assert!(prepared(needed).is_ok());
        let Err(Abort::Refused(Refusal::Reader { code, .. })) = prepared(needed - 1) else { panic!() };
        assert_eq!(code, "too_many_units");
    }

    #[test]
    fn paths() {
        for good in ["a", "a/b.json", "ä/ö", "a b", "...", "a/.hidden", &"x".repeat(512)] {
            assert!(is_file_path(good), "{good}");
        }
        for bad in ["", "/a", "a/", "a//b", ".", "..", "a/./b", "a/../b", "a\\b", "a\nb", "\u{7f}", &"x".repeat(513)] {
            assert!(!is_file_path(bad), "{bad}");
        }
    }
}
