//! A project: how far each locale has come, its files, its releases.

use askama::Template;
use axum::body::Body;
use axum::extract::Path;
use axum::response::{IntoResponse, Redirect, Response};
use http::{Method, StatusCode};
use quintet_platform::http::query::encode_segment;

use super::editor::word_of;
use super::filters::{Filters, Place, STATES};
use super::wire::{File, Files, LocaleStats, Project, Release, Releases, Stats};
use crate::console::form;
use crate::console::notice::Notice;
use crate::console::pages::{Frame, answer};
use crate::console::rooms::{Asking, Refused, Room, With};
use crate::console::visitor::Member;
use crate::measures::size;

/// Files that a page shows.
const FILES_MAX: usize = 200;

/// A locale's progress.
struct Progress {
    locale: String,
    address: String,
    percent: u64,
    states: Vec<Count>,
    failing: Vec<Count>,
}

/// So many in a state, or that fail a check.
struct Count {
    what: String,
    count: u64,
    address: String,
}

/// A release of the list.
struct ReleaseLine {
    release: Release,
    size: String,
}

/// The page.
#[derive(Template)]
#[template(path = "project.html", config = "assets/console/askama.toml")]
struct ProjectPage {
    frame: Frame,
    project: Project,
    keys: u64,
    words: u64,
    locales: Vec<Progress>,
    files: Vec<File>,
    has_more_files: bool,
    releases: Vec<ReleaseLine>,
    once: String,
    refused: Option<Refused>,
}

/// The page.
pub async fn show(member: Member, Path(project): Path<String>) -> Result<Response, Notice> {
    page(member, &project, None).await
}

async fn page(member: Member, project: &str, refused: Option<Refused>) -> Result<Response, Notice> {
    let asking = &member.asking;
    let base = format!("/v1/projects/{}", encode_segment(project));
    let found: Project = asking.get(Room::Localization, &base).await?;
    let stats: Stats = asking.get(Room::Localization, &format!("{base}/stats")).await?;
    let files: Files = asking.get(Room::Localization, &format!("{base}/files?limit={FILES_MAX}")).await?;
    let releases = releases(asking, &base).await?;
    let locales = stats.locales.into_iter().map(|locale| progress(&found.id, locale)).collect();
    let status = if refused.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let page = ProjectPage {
        frame: member.frame,
        project: found,
        keys: stats.keys,
        words: stats.words,
        locales,
        has_more_files: files.next_cursor.is_some(),
        files: files.files,
        releases,
        once: form::once(),
        refused,
    };
    Ok(answer(status, &page))
}

async fn releases(asking: &Asking, base: &str) -> Result<Vec<ReleaseLine>, Notice> {
    let found: Releases = asking.get(Room::Localization, &format!("{base}/releases?limit=20")).await?;
    let line = |release: Release| ReleaseLine { size: size(release.size), release };
    Ok(found.releases.into_iter().map(line).collect())
}

fn progress(project: &str, stats: LocaleStats) -> Progress {
    let place = Place { project: project.to_owned(), locale: stats.locale.clone() };
    let of = |state: &str| stats.states.get(state).copied().unwrap_or_default();
    let narrowed = |filters: Filters| place.editor(&filters, None);
    let states = STATES.map(|state| Count {
        what: state.to_owned(),
        count: of(state),
        address: narrowed(Filters { state: Some(state.to_owned()), ..Filters::default() }),
    });
    let failing = stats.failing.checks.iter().map(|(check, count)| Count {
        what: check.clone(),
        count: *count,
        address: narrowed(Filters { check: Some(check.clone()), ..Filters::default() }),
    });
    let failing = failing.collect();
    let percent = (of("approved") * 100).checked_div(stats.keys).unwrap_or_default();
    Progress {
        address: place.editor(&Filters::default(), None),
        failing,
        locale: stats.locale,
        percent,
        states: states.into_iter().filter(|count| count.count > 0).collect(),
    }
}

/// Makes a release.
pub async fn release(member: Member, Path(project): Path<String>, body: Body) -> Result<Response, Notice> {
    let once = form::read(body).await?.take("once").unwrap_or_default();
    let base = format!("/v1/projects/{}", encode_segment(&project));
    let (address, with) = (format!("{base}/releases"), With::default().once(&once));
    match member.asking.change(Room::Localization, Method::POST, &address, with).await? {
        Ok(_) => Ok(Redirect::to(&format!("/projects/{}#releases", encode_segment(&project))).into_response()),
        Err(refused) => page(member, &project, Some(refused)).await,
    }
}
