//! The figures of a project.

use quintet_platform::service::{Answer, Endpoint, Id, Route, json as success, refusal_of, written};
use quintet_storage::Failure;
use serde::ser::{Serialize, Serializer};

use super::settled::settled;
use crate::access::Action;
use crate::content::File;
use crate::figures::stats::{LocaleStats, Stats, stats};
use crate::figures::tables::{CountedState, FiguresRow};
use crate::http::{Answered, Call, Localization};
use crate::model::ProjectId;
use crate::quality::CheckId;
use crate::spaces::http::{PROJECT, permitted};

const STATS: Route = Route::get("get_stats", "/v1/projects/{project_id}/stats")
    .permission("p_<p>_read")
    .summary("For each locale and file: keys, words, translations by state and by failing check")
    .segments(&[PROJECT])
    .successes(&[success(200, "ProjectStats")])
    .codes(&["busy"]);

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] = &[Endpoint::new(&STATS, |call| Box::pin(get(call)))];

async fn get(call: Call) -> Answered {
    let project_id = permitted(&call, Action::Read)?.project_id;
    let read = settled(&call, project_id).await?;
    let tenant_id = call.caller.tenant_id();
    let told = call.context.aside(tenant_id, move |_| {
        let found = stats(&read, tenant_id, project_id)?;
        Ok(Answer::json(200, write_stats(project_id, &found)?))
    });
    Ok(told.await.map_err(refusal_of)?)
}

/// How many there are in each state; those that are not translated are the rest.
struct States<'a>(u64, &'a FiguresRow);

impl Serialize for States<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let States(keys, sums) = self;
        let untranslated = keys.saturating_sub(u64::from(sums.translations()));
        let states = CountedState::ALL.map(|state| (state.name(), u64::from(sums.in_state(state))));
        serializer.collect_map([("untranslated", untranslated)].into_iter().chain(states))
    }
}

/// How many fail each check that any fails.
struct Checks<'a>(&'a FiguresRow);

impl Serialize for Checks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let counts = CheckId::ALL.into_iter().map(|check| (check.id(), self.0.failing(check)));
        serializer.collect_map(counts.filter(|(_, count)| *count > 0))
    }
}

#[derive(serde::Serialize)]
struct FailingBody<'a> {
    blocking: u32,
    other: u32,
    checks: Checks<'a>,
}

#[derive(serde::Serialize)]
struct FileBody<'a> {
    file_id: Id,
    path: &'a str,
    keys: u64,
    words: u64,
    states: States<'a>,
    failing: FailingBody<'a>,
}

#[derive(serde::Serialize)]
struct LocaleBody<'a> {
    locale: &'a str,
    keys: u64,
    words: u64,
    states: States<'a>,
    approved_words: u64,
    failing: FailingBody<'a>,
    files: Option<Vec<FileBody<'a>>>,
}

#[derive(serde::Serialize)]
struct StatsBody<'a> {
    project_id: Id,
    keys: u64,
    words: u64,
    locales: Vec<LocaleBody<'a>>,
}

fn failing(sums: &FiguresRow) -> FailingBody<'_> {
    FailingBody { blocking: sums.blocking, other: sums.other, checks: Checks(sums) }
}

fn of_file<'a>(file: &'a File, sums: &'a FiguresRow) -> FileBody<'a> {
    let keys = u64::from(file.keys);
    let (words, states) = (file.words.unwrap_or(0), States(keys, sums));
    FileBody { file_id: Id(file.file_id.0), path: &file.path, keys, words, states, failing: failing(sums) }
}

fn of_locale<'a>(all: &'a Stats, one: &'a LocaleStats) -> LocaleBody<'a> {
    const NONE: &FiguresRow =
        &FiguresRow { states: [0; 5], approved_words: 0, blocking: 0, other: 0, checks: [0; CheckId::ALL.len()] };
    let of = |file: &'a File| of_file(file, one.by_file.get(&file.file_id).unwrap_or(NONE));
    LocaleBody {
        locale: &one.locale,
        keys: all.keys,
        words: all.words,
        states: States(all.keys, &one.sums),
        approved_words: one.sums.approved_words,
        failing: failing(&one.sums),
        files: all.shows_files().then(|| all.files.iter().map(of).collect()),
    }
}

fn write_stats(project_id: ProjectId, all: &Stats) -> Result<Vec<u8>, Failure> {
    let locales = all.locales.iter().map(|one| of_locale(all, one)).collect();
    written(&StatsBody { project_id: Id(project_id.0), keys: all.keys, words: all.words, locales })
}
