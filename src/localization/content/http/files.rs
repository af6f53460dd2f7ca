//! Files: list, and what an upload changed; and the file that a path names.

use http::HeaderValue;
use quintet_platform::service::{
    Answer, CURSOR, Endpoint, FromSegment, Id, Route, Segment, Shape, json as success, media, next_cursor, refusal_of,
    written,
};
use quintet_storage::{Abort, Failure, Read};

use super::wire::Hex;
use crate::access::{Action, Wanted};
use crate::content::files;
use crate::content::imports::{get_import, get_manifest};
use crate::content::model::{File, FileId};
use crate::http::{Answered, Call, LIMIT, Localization};
use crate::refusal::Refusal;
use crate::spaces::http::{PROJECT, permitted};
use crate::spaces::{Project, ProjectId, get_project};

/// The file that a path names.
pub const FILE: Segment = Segment::new("file_id", Shape::Uuid);
/// An upload of the file, by the number of its audit event.
pub const SEQ: Segment = Segment::new("seq", Shape::integer(1, i64::MAX));

const LIST: Route = Route::get("list_files", "/v1/projects/{project_id}/files")
    .permission("p_<p>_read")
    .summary("List its files")
    .segments(&[PROJECT])
    .parameters(&[CURSOR, LIMIT])
    .successes(&[success(200, "FilePage")])
    .codes(&["busy"]);
const MANIFEST: Route = Route::get("get_manifest", "/v1/projects/{project_id}/files/{file_id}/imports/{seq}/manifest")
    .permission("p_<p>_read")
    .summary("What an upload changed: key id, change, source hash before and after")
    .segments(&[PROJECT, FILE, SEQ])
    .successes(&[media(200, &[("text/tab-separated-values", r#"{"type":"string"}"#)])])
    .codes(&["busy"]);

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] =
    &[Endpoint::new(&LIST, |call| Box::pin(list(call))), Endpoint::new(&MANIFEST, |call| Box::pin(manifest(call)))];

async fn list(mut call: Call) -> Answered {
    let kind = format!("files {}", call.segment::<String>(PROJECT.name).unwrap_or_default());
    let page = call.page::<FileId>(&kind, &LIMIT)?;
    let project_id = permitted(&call, Action::Read)?.project_id;
    let context = call.context.clone();
    let listed = context.aside(call.caller.tenant_id(), move |read| {
        let (found, more) = files::list_files(read, call.caller.tenant_id(), project_id, page.after, page.limit)?;
        let last = found.last().filter(|_| more).map(|last| last.file_id);
        Ok(Answer::json(200, write_page(project_id, &found, next_cursor(&kind, last.as_ref())?)?))
    });
    Ok(listed.await.map_err(refusal_of)?)
}

/// The project and the file of the path.
fn find_file(read: &impl Read, call: &Call) -> Result<(Project, File), Abort<Refusal>> {
    let tenant_id = call.caller.tenant_id();
    let project_id = call.segment(PROJECT.name).map(ProjectId).ok_or(Refusal::NotFound)?;
    let project = get_project(read, tenant_id, project_id)?;
    let file_id = call.segment(FILE.name).map(FileId).ok_or(Refusal::NotFound)?;
    let file = files::get_file(read, tenant_id, project_id, file_id)?;
    Ok((project, file))
}

/// The file of the path, in a project of it that the caller may do this in.
///
/// # Errors
/// [`Refusal::NotFound`], then that the caller may not.
pub fn permitted_file(call: &Call, action: Action) -> Result<(ProjectId, File), Refusal> {
    let read = call.snapshot();
    let (project, file) = find_file(&read, call).map_err(refusal_of)?;
    call.caller.demand(&read, Wanted::InProject(project.place(), action)).map_err(refusal_of)?;
    Ok((project.project_id, file))
}

async fn manifest(call: Call) -> Answered {
    let found = |read: &_| {
        let (project, file) = find_file(read, &call)?;
        let EventNumber(seq) = call.segment(SEQ.name).ok_or(Refusal::NotFound)?;
        let import = get_import(read, call.caller.tenant_id(), &file, seq)?;
        call.caller.demand(read, Wanted::InProject(project.place(), Action::Read))?;
        Ok(import)
    };
    let import = found(&call.snapshot()).map_err(refusal_of::<Refusal>)?;
    let manifest =
        call.context.in_turn(call.caller.tenant_id(), move |store| Ok(get_manifest(&store.read(), &import)?)).await;
    let media_type = HeaderValue::from_static("text/tab-separated-values; charset=utf-8");
    Ok(Answer::other(200, media_type, manifest.map_err(refusal_of)?))
}

/// The number of an audit event, which has one spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct EventNumber(u64);

impl FromSegment for EventNumber {
    fn from_segment(text: &str) -> Option<EventNumber> {
        text.parse().ok().filter(|seq: &u64| *seq > 0 && seq.to_string() == text).map(EventNumber)
    }
}

#[derive(serde::Serialize)]
struct FileBody<'a> {
    file_id: Id,
    project_id: Id,
    path: &'a str,
    format: &'static str,
    version: u32,
    sha256: Hex,
    size: u64,
    keys: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<&'static str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    root_locale: &'a str,
}

fn of_file(project_id: ProjectId, file: &File) -> FileBody<'_> {
    FileBody {
        file_id: Id(file.file_id.0),
        project_id: Id(project_id.0),
        path: &file.path,
        format: file.format.name(),
        version: file.version,
        sha256: Hex(file.sha256),
        size: file.size_bytes,
        keys: file.keys,
        profile: file.format.profile(),
        root_locale: &file.root_locale,
    }
}

/// FileImported.
pub(super) fn write_file(project_id: ProjectId, file: &File) -> Result<Vec<u8>, Failure> {
    written(&of_file(project_id, file))
}

#[derive(serde::Serialize)]
struct FilePage<'a> {
    files: Vec<FileBody<'a>>,
    next_cursor: Option<String>,
}

fn write_page(project_id: ProjectId, page: &[File], next_cursor: Option<String>) -> Result<Vec<u8>, Failure> {
    let files = page.iter().map(|file| of_file(project_id, file)).collect();
    written(&FilePage { files, next_cursor })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_events_have_one_spelling() {
        assert_eq!(EventNumber::from_segment("30"), Some(EventNumber(30)));
        assert_eq!(EventNumber::from_segment("18446744073709551615"), Some(EventNumber(u64::MAX)));
        for bad in ["", "0", "+3", "-3", "03", "3.0", " 3", "18446744073709551616"] {
            assert_eq!(EventNumber::from_segment(bad), None, "{bad}");
        }
    }
}
