//! Files over HTTP: upload, list, manifests, export.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use http_body_util::BodyExt as _;
use quintet_platform::http::body::media_type;
use quintet_storage::{Abort, Read};

use super::answer::{Answer, answered};
use super::output;
use super::paging::{next_cursor, page};
use super::request::{Asked, Begun, ask, ask_parts, parameter_refusal, refusal_of};
use super::routes::{EXPORT, FILE_LIST, FILE_UPLOAD, MANIFEST};
use super::spaces::permitted;
use crate::access::{Action, ProjectPlace, Wanted, demand};
use crate::content::{
    self, Fallback, File, FileId, Format, ImportFile, NoteExport, Original, Receiver, TRANSLATIONS_BYTES_MAX, Wish,
};
use crate::context::{Context, WRITER_TIME};
use crate::formats::FILE_BYTES_MAX;
use crate::refusal::Refusal;
use crate::spaces::{Project, ProjectId, get_project};

/// How long the body of an upload may take to arrive.
const UPLOAD_TIME: Duration = Duration::from_secs(300);
/// How long a body that is refused unread may go on arriving, so that its sender gets to read the answer.
const DRAIN_TIME: Duration = Duration::from_secs(20);
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

pub(super) async fn upload_file(State(context): State<Context>, request: Request) -> Response {
    answered(try_upload_file(&context, request).await)
}

async fn try_upload_file(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let (mut asked, body) = ask_parts(context, request, &FILE_UPLOAD).await?;
    let UploadWish { format, root_locale, path } = upload_wish(&mut asked)?;
    let key = asked.idempotency_key()?;
    let original = receive(context, &asked, body).await?;
    let digest = asked.digester()(&original.sha256);
    let going = match asked.begin(context, key, digest)? {
        Begun::Replay(answer) => return Ok(answer),
        Begun::Going(going) => going,
    };
    let project = permitted(context, &asked, Action::FilesWrite)?;
    let format = format.ok_or(Refusal::FormatNotOffered)?;
    let (project_id, actor) = (project.project_id, asked.actor());
    let command = ImportFile { project, path, format, root_locale, original };
    let import = content::prepare_import(context, asked.tenant_id, command).await.map_err(refusal_of)?;
    let published = going.write(context, move |tx, now| {
        let file = content::publish_import(tx, now, &actor, import)?;
        Ok(Answer::json(201, output::imported(project_id, &file)?))
    });
    let answer = published.await?;
    // What the version before had is for the collector.
    context.clock.wake();
    Ok(answer)
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
async fn receive(context: &Context, asked: &Asked, mut body: Body) -> Result<Original, Refusal> {
    let claimed = claimed_bytes(&asked.headers);
    if claimed.is_some_and(|bytes| bytes > FILE_BYTES_MAX as u64) {
        drain(body).await;
        return Err(Refusal::UploadTooLarge);
    }
    if !is_file(&asked.headers) {
        return match drain(body).await {
            Drained::All(bytes) if bytes > FILE_BYTES_MAX => Err(Refusal::UploadTooLarge),
            Drained::More => Err(Refusal::UploadTooLarge),
            Drained::All(_) | Drained::Broken => Err(Refusal::UnsupportedMediaType),
        };
    }
    let mut receiver = Receiver::begin(&context.store, asked.tenant_id).await.map_err(refusal_of)?;
    let arriving = async {
        while let Some(frame) = body.frame().await {
            let Ok(chunk) = frame.map_err(|_| Refusal::RequestTimeout)?.into_data() else { continue };
            receiver.push(&chunk).await.map_err(refusal_of)?;
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
    receiver.finish().await.map_err(refusal_of)
}

/// Whether a body is a file as it is: of a media type that files have, and not compressed.
fn is_file(headers: &HeaderMap) -> bool {
    let kind = media_type(headers);
    let is_plain =
        headers.get_all(CONTENT_ENCODING).iter().all(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity"));
    is_plain && matches!(kind.as_deref(), Some("application/json" | "application/octet-stream"))
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

pub(super) async fn list_files(State(context): State<Context>, request: Request) -> Response {
    answered(try_list_files(&context, request).await)
}

async fn try_list_files(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let mut asked = ask(context, request, &FILE_LIST).await?;
    let kind = format!("files {}", asked.text(0));
    let (after, limit) = page(&mut asked, &kind)?;
    let project_id = permitted(context, &asked, Action::Read)?.project_id;
    let listed = context.aside(move |read| {
        let (found, more) = content::list_files(read, asked.tenant_id, project_id, after.map(FileId), limit)?;
        let last = found.last().filter(|_| more).map(|last| last.file_id.0);
        let next = next_cursor(&kind, last).map_err(Abort::Refused)?;
        Ok(Answer::json(200, output::files(project_id, &found, next)?))
    });
    listed.await.map_err(refusal_of)
}

/// The project and the file of the path.
fn find_file(read: &impl Read, asked: &Asked) -> Result<(Project, File), Refusal> {
    let project_id = ProjectId(asked.id(0)?);
    let project = get_project(read, asked.tenant_id, project_id).map_err(refusal_of)?;
    let file = content::get_file(read, asked.tenant_id, project_id, FileId(asked.id(1)?)).map_err(refusal_of)?;
    Ok((project, file))
}

/// The file of the path, in a project of it that the caller may do this in.
pub(super) fn permitted_file(context: &Context, asked: &Asked, action: Action) -> Result<(ProjectId, File), Refusal> {
    let read = context.store.read();
    let (project, file) = find_file(&read, asked)?;
    asked.demand(&read, Wanted::InProject(ProjectPlace::of(&project), action))?;
    Ok((project.project_id, file))
}

pub(super) async fn get_manifest(State(context): State<Context>, request: Request) -> Response {
    answered(try_get_manifest(&context, request).await)
}

async fn try_get_manifest(context: &Context, request: Request) -> Result<Answer, Refusal> {
    let mut asked = ask(context, request, &MANIFEST).await?;
    asked.end_query()?;
    let import = {
        let read = context.store.read();
        let (project, file) = find_file(&read, &asked)?;
        let seq = event_number(asked.text(2)).ok_or(Refusal::NotFound)?;
        let import = content::get_import(&read, asked.tenant_id, &file, seq).map_err(refusal_of)?;
        let wanted = Wanted::InProject(ProjectPlace::of(&project), Action::Read);
        demand(&read, &asked.caller, wanted).map_err(refusal_of)?;
        import
    };
    let manifest = context.in_turn(move |store| Ok(content::get_manifest(&store.read(), &import)?));
    Ok(Answer::other("text/tab-separated-values; charset=utf-8", manifest.await.map_err(refusal_of)?))
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
    let ExportWish { locale, fallback, approved_only, is_metadata, revision: wished } = export_wish(&mut asked)?;
    context.demand_core()?;
    let (project_id, file) = permitted_file(context, &asked, Action::Export)?;
    let locale = locale.as_deref().map(content::translation_locale).transpose()?;
    Wish::check(fallback, file.format)?;
    let (tenant_id, file_id) = (asked.tenant_id, file.file_id);
    let told = locale.as_ref().map(|locale| locale.canonical().to_owned());
    let wish = locale.map(|locale| Wish { locale, fallback, approved_only });
    let exported = context.in_turn(move |store| {
        // One state for everything: the revision is that of what is answered.
        let read = store.read();
        let file = content::get_file(&read, tenant_id, project_id, file_id)?;
        let locale = wish.as_ref().map(|wish| &wish.locale);
        let material = content::gather(&read, tenant_id, file, locale, TRANSLATIONS_BYTES_MAX)?;
        drop(read);
        content::check_revision(wished, material.revision)?;
        let answer = match wish.as_ref().filter(|_| is_metadata) {
            Some(wish) => Answer::json(200, output::metadata(project_id, wish, &material, &material.metadata(wish)?)?),
            None => Answer::other(content_type(material.file.format), material.file(wish.as_ref())?),
        };
        Ok((material.revision, answer.tagged(content::etag(material.revision))))
    });
    let (revision, answer) = exported.await.map_err(refusal_of)?;
    if !hands_out {
        return Ok(answer);
    }
    let note = NoteExport { project_id, file_id, revision, locale: told, fallback, approved_only, is_metadata };
    let actor = asked.actor();
    let noted = context.store.write(std::time::Instant::now() + WRITER_TIME, move |tx, now| {
        content::note_export(tx, now, &actor, note).map_err(Abort::<Refusal>::Failed)
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
    fn paths() {
        for good in ["a", "a/b.json", "ä/ö", "a b", "...", "a/.hidden", &"x".repeat(512)] {
            assert!(is_file_path(good), "{good}");
        }
        for bad in ["", "/a", "a/", "a//b", ".", "..", "a/./b", "a/../b", "a\\b", "a\nb", "\u{7f}", &"x".repeat(513)] {
            assert!(!is_file_path(bad), "{bad}");
        }
    }
}
