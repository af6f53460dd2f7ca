//! Releases: make, list, tell, withdraw; and the release that a path names.

use quintet_platform::http::etag::ETag;
use quintet_platform::service::{
    Answer, CURSOR, Endpoint, Id, Instant, KeyRule, Route, Segment, Shape, Stop, json as success, next_cursor,
    refusal_of, written,
};
use quintet_storage::Failure;

use crate::access::{Action, Wanted};
use crate::content::http::wire::Hex;
use crate::http::{Answered, Call, LIMIT, Localization};
use crate::refusal::Refusal;
use crate::releases::find::{get_row, list_releases};
use crate::releases::make::make_release;
use crate::releases::model::{Release, ReleaseId};
use crate::releases::publish::publish_release;
use crate::releases::tables::ReleaseRow;
use crate::releases::withdraw::withdraw_release;
use crate::spaces::get_project;
use crate::spaces::http::{PROJECT, permitted};

/// The release that a path names.
pub const RELEASE: Segment = Segment::new("release_id", Shape::Uuid);

const CREATE: Route = Route::post("create_release", "/v1/projects/{project_id}/releases")
    .permission("p_<p>_release")
    .summary("Make an archive of every file in every locale with something approved; the entity tag is its SHA-256")
    .segments(&[PROJECT])
    .key(KeyRule::Required)
    .successes(&[success(201, "Release")])
    .makes(RELEASE.noun, "id")
    .codes(&["release_too_large"]);
const LIST: Route = Route::get("list_releases", "/v1/projects/{project_id}/releases")
    .permission("p_<p>_read")
    .summary("List its releases, the newest first")
    .segments(&[PROJECT])
    .parameters(&[CURSOR, LIMIT])
    .successes(&[success(200, "ReleasePage")])
    .codes(&["busy"]);
const GET: Route = Route::get("get_release", "/v1/releases/{release_id}")
    .permission("p_<p>_read")
    .summary("One release")
    .segments(&[RELEASE])
    .successes(&[success(200, "Release")]);
const WITHDRAW: Route = Route::post("withdraw_release", "/v1/releases/{release_id}/withdraw")
    .permission("p_<p>_release")
    .summary("Mark it as withdrawn; it stays readable")
    .segments(&[RELEASE])
    .key(KeyRule::Optional)
    .successes(&[success(200, "Release")]);

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] = &[
    Endpoint::new(&CREATE, |call| Box::pin(create(call))),
    Endpoint::new(&LIST, |call| Box::pin(list(call))),
    Endpoint::new(&GET, |call| Box::pin(get(call))),
    Endpoint::new(&WITHDRAW, |call| Box::pin(withdraw(call))),
];

/// The release of the path, if the caller may do this in its project.
///
/// # Errors
/// [`Refusal::NotFound`], then that the caller may not.
pub fn permitted_release(call: &Call, action: Action) -> Result<(ReleaseId, ReleaseRow), Refusal> {
    let (read, tenant_id) = (call.snapshot(), call.caller.tenant_id());
    let release_id = call.segment(RELEASE.name).map(ReleaseId).ok_or(Refusal::NotFound)?;
    let row = get_row(&read, tenant_id, release_id).map_err(refusal_of)?;
    let project = get_project(&read, tenant_id, row.project_id).map_err(refusal_of)?;
    call.caller.demand(&read, Wanted::InProject(project.place(), action)).map_err(refusal_of)?;
    Ok((release_id, row))
}

/// The entity tag of an archive.
pub fn tag_of(sha256: &[u8; 32]) -> ETag {
    ETag::strong(&data_encoding::HEXLOWER.encode(sha256))
}

async fn create(call: Call) -> Answered {
    match make(call).await {
        Ok(answer) => Ok(with_tag(answer)),
        Err(Stop::Replay(answer)) => Err(Stop::Replay(Box::new(with_tag(*answer)))),
        refused => refused,
    }
}

async fn make(call: Call) -> Answered {
    let mut change = call.change().await?;
    change.begin()?;
    let call = &change.call;
    let project_id = permitted(call, Action::Release)?.project_id;
    let (context, tenant_id, actor) = (call.context.clone(), call.caller.tenant_id(), call.caller.actor.clone());
    // What is not published goes with this.
    let (command, _staged) = make_release(&context, tenant_id, project_id).await.map_err(refusal_of)?;
    // Again: that may take minutes.
    permitted(call, Action::Release)?;
    let published = change.write(move |tx, now| {
        let release = publish_release(tx, now, &actor, command)?;
        Ok(Answer::json(201, write_release(&release)?))
    });
    published.await
}

/// The same with the entity tag of the archive it tells of, be it told again.
fn with_tag(answer: Answer) -> Answer {
    #[derive(serde::Deserialize)]
    struct Told {
        sha256: String,
    }
    match serde_json::from_slice(answer.body()) {
        Ok(Told { sha256 }) => answer.tagged(&ETag::strong(&sha256)),
        Err(_) => answer,
    }
}

async fn list(mut call: Call) -> Answered {
    let kind = format!("releases {}", call.segment::<String>(PROJECT.name).unwrap_or_default());
    let page = call.page::<ReleaseId>(&kind, &LIMIT)?;
    let project_id = permitted(&call, Action::Read)?.project_id;
    let (context, tenant_id) = (call.context.clone(), call.caller.tenant_id());
    let listed = context.aside(tenant_id, move |read| {
        let (found, more) = list_releases(read, tenant_id, project_id, page.after, page.limit)?;
        let last = found.last().filter(|_| more).map(|last| last.release_id);
        Ok(Answer::json(200, write_page(&found, next_cursor(&kind, last.as_ref())?)?))
    });
    Ok(listed.await.map_err(refusal_of)?)
}

async fn get(call: Call) -> Answered {
    let (release_id, row) = permitted_release(&call, Action::Read)?;
    call.answer(200, |_| Ok(write_release(&row.told(release_id))?))
}

async fn withdraw(call: Call) -> Answered {
    let mut change = call.change().await?;
    change.begin()?;
    let (release_id, _) = permitted_release(&change.call, Action::Release)?;
    let actor = change.call.caller.actor.clone();
    let withdrawn = change.write(move |tx, now| {
        let release = withdraw_release(tx, now, &actor, release_id)?;
        Ok(Answer::json(200, write_release(&release)?))
    });
    withdrawn.await
}

#[derive(serde::Serialize)]
struct ReleaseBody {
    id: Id,
    project_id: Id,
    sha256: Hex,
    size: u64,
    files: u64,
    locales: u64,
    entries: u64,
    created_by: Id,
    created_at: Instant,
    withdrawn: bool,
    withdrawn_at: Option<Instant>,
}

fn of_release(release: &Release) -> ReleaseBody {
    ReleaseBody {
        id: Id(release.release_id.0),
        project_id: Id(release.project_id.0),
        sha256: Hex(release.sha256),
        size: release.size_bytes,
        files: release.files,
        locales: release.locales,
        entries: release.entries,
        created_by: Id(release.created_by),
        created_at: Instant(release.created_at),
        withdrawn: release.withdrawn_at.is_some(),
        withdrawn_at: release.withdrawn_at.map(Instant),
    }
}

fn write_release(release: &Release) -> Result<Vec<u8>, Failure> {
    written(&of_release(release))
}

#[derive(serde::Serialize)]
struct ReleasePage {
    releases: Vec<ReleaseBody>,
    next_cursor: Option<String>,
}

fn write_page(page: &[Release], next_cursor: Option<String>) -> Result<Vec<u8>, Failure> {
    written(&ReleasePage { releases: page.iter().map(of_release).collect(), next_cursor })
}
