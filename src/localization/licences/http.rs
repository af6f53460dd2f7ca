//! Licences, the policy switch and approval by policy over HTTP.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{
    Answer, Change, Content, Endpoint, Fault, KeyRule, Route, Stop, json as success, refusal_of,
};
use quintet_storage::{Abort, Failure, Read as _, Scan, Snapshot, Uuid};

use super::lapse::get_licence;
use super::model::{SAMPLE_SIZES, Sample, write_licence, write_licences};
use super::policy::{Counts, Done, Part, Wish, approve_part, licence_for, prepare_part};
use super::prose;
use super::recount::bring_up_to_date;
use super::request::{RequestLicence, Requested, request_licence, submit, withdraw};
use super::states::LicenceState;
use super::switch::{SetSwitch, set_switch};
use super::tables::{LICENCE_HEADS, LICENCES, LicenceRow};
use crate::access::{Action, Wanted};
use crate::content::{FileId, get_file, translation_locale};
use crate::context::WRITER_TIME;
use crate::decisions::Asked;
use crate::http::{Answered, Call, Form, Localization, TAGGED, read, to_its_end};
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::rows;
use crate::spaces::http::{PROJECT, permitted};
use crate::spaces::{ProjectId, get_project};

/// The longest tag that a body may have, in characters; what is stored is shorter.
const LOCALE_CHARS_MAX: usize = 255;
/// The longest reference of a sample, in characters.
const REFERENCE_CHARS_MAX: usize = 500;
/// How many licences are shown, the newest first.
const SHOWN_MAX: usize = 1_000;
/// How often a part is judged anew because others change what it is judged by.
const ATTEMPTS_MAX: usize = 16;

const LIST: Route = Route::get("list_licences", "/v1/projects/{project_id}/licences")
    .permission("p_<p>_read")
    .summary("Its licences, newest first")
    .segments(&[PROJECT])
    .successes(&[success(200, "LicenceList")])
    .codes(&["busy"]);
const CREATE: Route = Route::post("create_licence", "/v1/projects/{project_id}/licences")
    .permission("p_<p>_release")
    .summary("Ask for a licence that lets prose of a locale be approved by policy, with a sample of its translations")
    .segments(&[PROJECT])
    .key(KeyRule::Required)
    .body(Content::Json("LicenceCreate"))
    .successes(&[success(201, "Licence")])
    .marks(&[TAGGED])
    .codes(&["licence_pending", "sample_invalid", "decision_unavailable", "busy"]);
const SWITCH: Route = Route::put("put_policy", "/v1/projects/{project_id}/policy")
    .permission("p_<p>_manage")
    .summary("Switch approval by policy off or on in a locale")
    .segments(&[PROJECT])
    .key(KeyRule::Required)
    .body(Content::Json("Policy"))
    .successes(&[success(200, "Policy")])
    .marks(&[TAGGED]);
const APPROVE: Route = Route::post("policy_approve", "/v1/projects/{project_id}/policy-approve")
    .permission("p_<p>_release")
    .summary("Approve the prose of a file in a locale that has a licence; a repeat under the same key goes on")
    .segments(&[PROJECT])
    .key(KeyRule::Required)
    .body(Content::Json("PolicyApprove"))
    .successes(&[success(200, "PolicyApproved")])
    .marks(&[TAGGED])
    .codes(&["policy_unlicensed", "policy_disabled", "busy"]);

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] = &[
    Endpoint::new(&LIST, |call| Box::pin(list(call))),
    Endpoint::new(&CREATE, |call| Box::pin(create(call))),
    Endpoint::new(&SWITCH, |call| Box::pin(switch(call))),
    Endpoint::new(&APPROVE, |call| Box::pin(approve(call))),
];

async fn list(call: Call) -> Answered {
    let project_id = permitted(&call, Action::Read)?.project_id;
    let (context, tenant_id) = (call.context.clone(), call.caller.tenant_id());
    bring_up_to_date(&context, tenant_id, project_id).await.map_err(refusal_of)?;
    let listed = context.aside(tenant_id, move |read| {
        let scan = Scan::prefix(&(tenant_id, project_id)).newest_first().limit(SHOWN_MAX);
        let rows = read.scan(&LICENCES, scan)?.into_iter().map(|((.., id), row)| (id, row));
        let mut shown: Vec<_> = rows.filter(|(_, row)| row.state != LicenceState::Submitting).collect();
        // However many came after it: what holds, and what waits, is shown.
        let oldest = shown.last().map_or(Uuid::max(), |(id, _)| *id);
        let mut older = current(read, tenant_id, project_id)?;
        older.retain(|(id, row)| *id < oldest && row.state != LicenceState::Submitting);
        shown.extend(older.into_iter().rev());
        Ok(Answer::json(200, write_licences(&shown)?))
    });
    Ok(listed.await.map_err(refusal_of)?)
}

/// The licences that hold or wait, oldest first.
fn current(read: &Snapshot, tenant_id: TenantId, project_id: ProjectId) -> Result<Vec<(Uuid, LicenceRow)>, Failure> {
    let mut found = BTreeMap::new();
    let of_project = || Scan::prefix(&(tenant_id, project_id));
    rows::each_of(read, &LICENCE_HEADS, of_project, |_, head| {
        for id in [head.active, head.requested].into_iter().flatten().map(Uuid::from_bytes) {
            found.extend(get_licence(read, tenant_id, project_id, id)?.map(|licence| (id, licence.row)));
        }
        Ok::<_, Failure>(())
    })?;
    Ok(found.into_iter().collect())
}

/// A request for a licence, the tag unread.
struct Body {
    locale: String,
    sample: Sample,
}

async fn create(call: Call) -> Answered {
    let mut change = call.change().await?;
    let body = read_request(change.json()?)?;
    change.begin()?;
    // A caller that leaves must not stop half of it.
    to_its_end(make(change, body)).await
}

async fn make(change: Change<Localization>, body: Body) -> Answered {
    let call = &change.call;
    let (context, tenant_id) = (call.context.clone(), call.caller.tenant_id());
    let project = permitted(call, Action::Release)?;
    body.sample.check()?;
    let locale = translation_locale(&body.locale)?.canonical().to_owned();
    let project_id = project.project_id;
    bring_up_to_date(&context, tenant_id, project_id).await.map_err(refusal_of)?;
    let counted = context.in_turn(tenant_id, move |store| Ok(prose::count(&store.read(), tenant_id, &project)?));
    let prose_keys = counted.await.map_err(refusal_of)?;
    let asked = change.entered().map(Asked::of);
    let command = RequestLicence { project_id, locale, sample: body.sample, asked, prose_keys };
    let actor = call.caller.actor.clone();
    let id = match change.write_first(move |tx, now| request_licence(tx, now, &actor, command)).await? {
        Requested::SampleFailed(id, row) => return answer(id, &row),
        Requested::Submitting(id) => id,
    };
    let _in_flight = context.decisions.enter(id);
    match submit(&context, tenant_id, project_id, id).await {
        Ok(licence) => answer(id, &licence.row),
        Err(Abort::Refused(Refusal::DecisionUnavailable)) => {
            let deadline = Instant::now() + WRITER_TIME;
            let withdrawn = context.store.write(deadline, move |tx, _| withdraw(tx, tenant_id, project_id, id)).await;
            withdrawn.map_err(refusal_of::<Refusal>)?;
            Err(Refusal::DecisionUnavailable.into())
        }
        Err(abort) => Err(refusal_of(abort).into()),
    }
}

fn answer(id: Uuid, row: &LicenceRow) -> Answered {
    let body = write_licence(id, row).map_err(Abort::<Refusal>::Failed).map_err(refusal_of)?;
    Ok(Answer::json(201, body))
}

/// LicenceCreate.
fn read_request(json: Json) -> Result<Body, Refusal> {
    let mut form = Form::of_body(json)?;
    let locale = form.required_text("locale", 1, LOCALE_CHARS_MAX);
    let size: Option<u32> = form.required("sample_size");
    if size.is_some_and(|size| !SAMPLE_SIZES.contains(&size)) {
        form.wrong("sample_size", "is 300 to 100,000");
    }
    let corrections: Option<u64> = form.required("corrections");
    let meaning_errors: Option<u64> = form.required("meaning_errors");
    let reference = form.required_text("sample_ref", 1, REFERENCE_CHARS_MAX);
    form.finish()?;
    let sample = Sample {
        size: read(size)?,
        corrections: read(corrections)?,
        meaning_errors: read(meaning_errors)?,
        reference: read(reference)?,
    };
    Ok(Body { locale: read(locale)?, sample })
}

async fn switch(call: Call) -> Answered {
    let mut change = call.change().await?;
    let mut form = Form::of_body(change.json()?)?;
    let locale = form.required_text("locale", 1, LOCALE_CHARS_MAX);
    let enabled: Option<bool> = form.required("enabled");
    form.finish()?;
    let (locale, enabled) = (read(locale)?, read(enabled)?);
    change.begin()?;
    let project_id = permitted(&change.call, Action::Manage)?.project_id;
    let locale = translation_locale(&locale)?.canonical().to_owned();
    let actor = change.call.caller.actor.clone();
    change
        .write(move |tx, now| {
            let command = SetSwitch { project_id, locale, enabled };
            set_switch(tx, now, &actor, &command)?;
            let body = Json::object([("locale", Json::from(command.locale)), ("enabled", Json::from(enabled))]);
            Ok(Answer::json(200, to_compact(&body)))
        })
        .await
}

async fn approve(call: Call) -> Answered {
    let mut change = call.change().await?;
    let mut form = Form::of_body(change.json()?)?;
    let file_id = form.required_id("file").map(FileId);
    let locale = form.required_text("locale", 1, LOCALE_CHARS_MAX);
    form.finish()?;
    let (file_id, locale) = (read(file_id)?, read(locale)?);
    let before = part_before(&mut change, 0)?;
    // A caller that leaves must not stop half of it.
    to_its_end(approve_all(change, file_id, locale, before)).await
}

/// What is remembered of a part of the request, which is begun where there is nothing.
fn part_before(change: &mut Change<Localization>, number: usize) -> Result<Option<Done>, Stop<Refusal>> {
    if number > 0 {
        change.go_on_with_part(number);
    }
    match change.begin() {
        Ok(()) => Ok(None),
        Err(Stop::Replay(answer)) => Done::read(answer.body()).map(Some).ok_or(Refusal::from(Fault::Internal).into()),
        Err(stop) => Err(stop),
    }
}

/// Goes through the file part by part, behind what was done before.
async fn approve_all(
    mut change: Change<Localization>,
    file_id: FileId,
    locale: String,
    before: Option<Done>,
) -> Answered {
    let is_begun = before.is_some();
    let (mut number, mut last, mut counts) = (0, before, Counts::default());
    while let Some(done) = last.as_ref().filter(|done| done.next.is_some()) {
        counts = counts.plus(done.counts);
        number += 1;
        match part_before(&mut change, number)? {
            Some(done) => last = Some(done),
            None => break,
        }
    }
    if let Some(done) = last.as_ref().filter(|done| done.next.is_none()) {
        let body = told(file_id, &tag_of(&locale), done, counts.plus(done.counts));
        return Ok(Answer::json(200, body).as_replay());
    }
    let wish = Arc::new(wished(&change, file_id, &locale)?);
    let evaluation_id = last.as_ref().map(|done| done.evaluation_id);
    let mut run = Run { wish: Arc::clone(&wish), evaluation_id, ahead: None };
    let mut after = last.and_then(|done| done.next).unwrap_or(0);
    if !is_begun {
        let project_id = wish.project.project_id;
        bring_up_to_date(&change.call.context, change.call.caller.tenant_id(), project_id).await.map_err(refusal_of)?;
    }
    loop {
        let done = run.write(&change, after).await?;
        counts = counts.plus(done.counts);
        match done.next {
            None => return Ok(Answer::json(200, told(file_id, wish.locale.canonical(), &done, counts))),
            Some(next) => after = next,
        }
        number += 1;
        if let Some(done) = part_before(&mut change, number)? {
            // Nobody else can have written it: the key is ours alone for as long as this goes on.
            after = done.next.unwrap_or(after);
        }
    }
}

/// The canonical tag, if it is one.
fn tag_of(locale: &str) -> String {
    translation_locale(locale).map_or_else(|_| locale.to_owned(), |locale| locale.canonical().to_owned())
}

/// What is gone through, if the caller may (localization, O1).
fn wished(change: &Change<Localization>, file_id: FileId, locale: &str) -> Result<Wish, Refusal> {
    let call = &change.call;
    let (tenant_id, snapshot) = (call.caller.tenant_id(), call.snapshot());
    let project_id = call.segment(PROJECT.name).map(ProjectId).ok_or(Refusal::NotFound)?;
    let find = || -> Result<Wish, Abort<Refusal>> {
        let project = get_project(&snapshot, tenant_id, project_id)?;
        call.caller.demand(&snapshot, Wanted::InProject(project.place(), Action::Release))?;
        let file = get_file(&snapshot, tenant_id, project_id, file_id)?;
        let locale = translation_locale(locale)?;
        licence_for(&snapshot, call.now(), tenant_id, project_id, &locale)?;
        Ok(Wish { project, file, locale })
    };
    find().map_err(refusal_of)
}

/// A part that is being prepared.
type Ahead = tokio::task::JoinHandle<Result<Part, Abort<Refusal>>>;

/// An evaluation that is under way: while a part is written, the next one is judged.
struct Run {
    wish: Arc<Wish>,
    evaluation_id: Option<Uuid>,
    ahead: Option<(u64, Ahead)>,
}

impl Run {
    /// Judges the keys behind a number.
    fn prepare(&self, change: &Change<Localization>, evaluation_id: Uuid, after: u64) -> Ahead {
        let (context, tenant_id) = (change.call.context.clone(), change.call.caller.tenant_id());
        let (wish, now, caller) = (Arc::clone(&self.wish), change.call.now(), change.call.caller.clone());
        tokio::spawn(async move {
            let shared = context.clone();
            let judged = context.aside(tenant_id, move |read| {
                let project = get_project(read, tenant_id, wish.project.project_id)?;
                // It may take a while, in which somebody is told to stop.
                caller.demand(read, Wanted::InProject(project.place(), Action::Release))?;
                let file = get_file(read, tenant_id, wish.project.project_id, wish.file.file_id)?;
                let wish = Wish { project, file, locale: wish.locale.clone() };
                prepare_part(read, &shared.shelf, now, tenant_id, &wish, evaluation_id, after)
            });
            judged.await
        })
    }

    /// Writes the part behind a number, with what is remembered of it.
    async fn write(&mut self, change: &Change<Localization>, after: u64) -> Result<Done, Stop<Refusal>> {
        let evaluation_id = *self.evaluation_id.get_or_insert_with(evaluation);
        // One at a time, and nobody classifies keys meanwhile: what is judged by others' changes has to be judged anew.
        let lock = change.call.context.locks.lock(self.wish.file.file_id.0.as_u128()).await;
        let _alone = lock.map_err(Refusal::from)?;
        for _ in 0..ATTEMPTS_MAX {
            let ahead = match self.ahead.take() {
                Some((at, ahead)) if at == after => ahead,
                _ => self.prepare(change, evaluation_id, after),
            };
            let part = ahead.await.unwrap_or_else(|_| Err(Refusal::from(Fault::Internal).into()));
            let part = part.map_err(refusal_of)?;
            if let Some(next) = part.next() {
                self.ahead = Some((next, self.prepare(change, evaluation_id, next)));
            }
            let actor = change.call.caller.actor.clone();
            let written = change.try_write(move |tx, now| {
                let done = approve_part(tx, now, &actor, part)?;
                Ok(done.map(|done| Answer::json(200, done.to_text())))
            });
            if let Some(answer) = written.await? {
                return Done::read(answer.body()).ok_or(Refusal::from(Fault::Internal).into());
            }
            self.ahead = None;
            let (context, project_id) = (&change.call.context, self.wish.project.project_id);
            bring_up_to_date(context, change.call.caller.tenant_id(), project_id).await.map_err(refusal_of)?;
        }
        Err(Refusal::Fault(Fault::Busy).into())
    }
}

/// The id of a new evaluation.
fn evaluation() -> Uuid {
    let mut bytes = quintet_platform::secrets::random_bytes::<16>();
    // A random UUID is marked as one (RFC 9562, version 4).
    let [_, _, _, _, _, _, version, _, variant, ..] = &mut bytes;
    *version = *version & 0x0F | 0x40;
    *variant = *variant & 0x3F | 0x80;
    Uuid::from_bytes(bytes)
}

/// PolicyApproved.
fn told(file_id: FileId, locale: &str, done: &Done, counts: Counts) -> String {
    let Counts { approved, class, legal, qa, state } = counts;
    let skipped = Json::object([
        ("class", Json::from(class)),
        ("legal", Json::from(legal)),
        ("qa", Json::from(qa)),
        ("state", Json::from(state)),
    ]);
    to_compact(&Json::object([
        ("file", Json::from(file_id.0.to_string())),
        ("locale", Json::from(locale)),
        ("evaluation_id", Json::from(done.evaluation_id.to_string())),
        ("licence", Json::from(done.licence_id.to_string())),
        ("approved", Json::from(approved)),
        ("skipped", skipped),
    ]))
}
