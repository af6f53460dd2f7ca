//! Requests and licences with a service that does as a test says: what a crash leaves behind, what comes twice, and what the
//! rows then say.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use quintet_platform::Foundation;
use quintet_platform::access::Authority;
use quintet_platform::clock::{BoxFuture, Clock};
use quintet_platform::jobs::{Agenda as _, Job as _, Progress};
use quintet_storage::{Abort, Read as _, Scan, Snapshot, Timestamp, Uuid, WriteTx};

use super::rereads::Rereads;
use super::settle::{Settlement, settle_decision};
use crate::approvals::testing::{Batch, BeginRequest, RequestStatus, begin_request, get_request, submit};
use crate::content::{
    FileId, KeyClass, KeyContext, ReviewState, Wished, Wording, get_key, get_row, prepare_contexts, put_contexts,
};
use crate::context::{Context, Settings};
use crate::decisions::{
    DecisionService, Decisions, Raise, Raised, Reading, Status, Subject, SubjectKind, Unavailable, is_known_event,
};
use crate::language::Locale;
use crate::licences::Recounting;
use crate::licences::testing::{
    ExpiredLicences, LICENCES, LapseReason, LicenceRow, LicenceState, RequestLicence, Requested, Sample, SetSwitch,
    bring_up_to_date, request_licence, set_switch, submit as submit_licence,
};
use crate::refusal::Refusal;
use crate::review::{Standards, WriteTranslation, write_translation};
use crate::spaces::{ProjectId, get_project};
use crate::testing::{Bench, TENANT, actor, furnished, upload, write};

/// What the service does next.
#[derive(Clone, Debug)]
enum Deed {
    /// It takes a decision on.
    Accepts,
    /// It is not there.
    Fails,
}

/// A service that does as it is told.
#[derive(Default)]
struct Fake {
    deeds: Mutex<VecDeque<Deed>>,
    raised: Mutex<Vec<Raise>>,
    status: Mutex<BTreeMap<String, Status>>,
    /// When all of them were decided, if that is said.
    decided_at: Mutex<Option<Timestamp>>,
    looks: AtomicUsize,
}

impl Fake {
    fn decide(&self, decision_id: &str, status: Status) {
        self.status.lock().unwrap().insert(decision_id.to_owned(), status);
    }
}

impl DecisionService for Fake {
    fn raise(&self, raise: Raise) -> BoxFuture<'_, Result<Raised, Unavailable>> {
        let deed = self.deeds.lock().unwrap().pop_front().unwrap_or(Deed::Accepts);
        let decision_id = format!("d-{}", raise.subject.id);
        self.raised.lock().unwrap().push(raise);
        self.status.lock().unwrap().entry(decision_id.clone()).or_insert(Status::Pending);
        Box::pin(async move {
            match deed {
                Deed::Accepts => Ok(Raised { decision_id, context_hash: None, review_url: None }),
                Deed::Fails => Err(Unavailable("it is told so".to_owned())),
            }
        })
    }

    fn look<'s>(&'s self, decision_id: &'s str) -> BoxFuture<'s, Result<Reading, Unavailable>> {
        self.looks.fetch_add(1, Ordering::SeqCst);
        let status = self.status.lock().unwrap().get(decision_id).copied();
        let decided_at = *self.decided_at.lock().unwrap();
        let reading = move |status| Reading { status, decided_by: Some("ada".into()), reason: None, decided_at };
        Box::pin(async move { status.map(reading).ok_or_else(|| Unavailable("unknown".to_owned())) })
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), Unavailable>> {
        Box::pin(async { Ok(()) })
    }
}

/// A project with a file of three keys, each with a draft in German.
struct World {
    bench: Bench,
    context: Context,
    fake: Arc<Fake>,
    clock: Clock,
    project_id: ProjectId,
    file_id: FileId,
}

fn german() -> Locale {
    Locale::parse("de").unwrap()
}

impl World {
    async fn open() -> World {
        let (bench, _, project_id) = furnished();
        let clock = Clock::rehearsal(bench.now());
        let fake = Arc::new(Fake::default());
        let foundation = Foundation::new((*bench.store).clone(), clock.clone(), Authority::Embedded);
        let decisions = Decisions::new(Arc::clone(&fake) as Arc<dyn DecisionService>, "default".to_owned(), None);
        let settings = Settings { decisions: Some(decisions), ..Settings::default() };
        let context = Context::with(foundation, settings);
        let mut world = World { bench, context, fake, clock, project_id, file_id: FileId(Uuid::nil()) };
        world.file_id = world.upload(&["Text a", "Text b", "Text c"]).await;
        for (number, said) in [(1, "Wort a"), (2, "Wort b"), (3, "Wort c")] {
            world.write_draft(number, said).await;
        }
        world
    }

    fn read(&self) -> Snapshot {
        self.bench.store.read()
    }

    async fn advance(&self, seconds: i64) {
        self.bench.clock.advance(seconds);
        self.clock.advance(u64::try_from(seconds).unwrap()).await.unwrap();
    }

    async fn write<T: Send + 'static>(
        &self,
        verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<Refusal>> + Send + 'static,
    ) -> Result<T, Refusal> {
        write(&self.bench, verb).await
    }

    /// Uploads a file whose keys are a, b, c and so on.
    async fn upload(&self, texts: &[&str]) -> FileId {
        let names = ["a", "b", "c", "d", "e"];
        let texts: BTreeMap<&str, &str> = names.into_iter().zip(texts.iter().copied()).collect();
        upload(&self.bench, &self.context, self.project_id, "a.json", &texts).await
    }

    async fn classify(&self, class: KeyClass) {
        self.classify_some(&["a", "b", "c"], class).await;
    }

    async fn classify_some(&self, paths: &[&str], class: KeyClass) {
        let wish = |path: &str| KeyContext {
            path: path.into(),
            class: Some(class),
            context: None,
            min_length: None,
            max_length: None,
        };
        let wished = Arc::new(paths.iter().map(|path| wish(path)).collect());
        let prepared = prepare_contexts(&self.context, TENANT, self.project_id, self.file_id, wished).await;
        let (prepared, _staged) = prepared.unwrap();
        self.write(move |tx, now| put_contexts(tx, now, &actor(TENANT), &prepared)).await.unwrap().unwrap();
    }

    fn key(&self, number: u64) -> crate::content::Key {
        let read = self.read();
        let file = crate::content::get_file(&read, TENANT, self.project_id, self.file_id).unwrap();
        get_key(&read, &self.context.shelf, TENANT, crate::content::key_id(file.key_prefix, number)).unwrap()
    }

    async fn write_draft(&self, number: u64, said: &str) {
        let (read, key, locale) = (self.read(), self.key(number), german());
        let project = get_project(&read, TENANT, self.project_id).unwrap();
        let standards = Standards::of(&read, &self.context.shelf, TENANT, &project, &key, &locale).unwrap();
        let wished = Wished::Text(said.to_owned());
        let command = WriteTranslation::new(key, locale, wished, Wording::Human, standards).unwrap();
        self.write(move |tx, now| write_translation(tx, now, &actor(TENANT), command)).await.unwrap();
    }

    fn state(&self, number: u64) -> ReviewState {
        get_row(&self.read(), TENANT, &self.key(number), &german()).unwrap().unwrap().state
    }

    /// Makes a request, whose decision is yet to be raised.
    async fn begin(&self) -> Result<Uuid, Refusal> {
        let batch = self.batch();
        Ok(self.begin_with(batch).await?.expect("nothing has changed"))
    }

    fn batch(&self) -> Batch {
        let read = self.read();
        let project = get_project(&read, TENANT, self.project_id).unwrap();
        Batch::find(&read, &self.context.shelf, TENANT, &project, self.file_id, &german()).unwrap()
    }

    async fn begin_with(&self, batch: Batch) -> Result<Option<Uuid>, Refusal> {
        let (project_id, locale) = (self.project_id, german());
        let command = BeginRequest { project_id, locale, review_url: None, asked: None, batch };
        self.write(move |tx, now| begin_request(tx, now, &actor(TENANT), command)).await
    }

    async fn request(&self) -> Uuid {
        let id = self.begin().await.unwrap();
        submit(&self.context, TENANT, id).await.unwrap();
        id
    }

    fn status(&self, id: Uuid) -> RequestStatus {
        get_request(&self.read(), TENANT, id).unwrap().status()
    }

    async fn settle(&self, id: Uuid, kind: SubjectKind, event: &str) -> Result<Settlement, Refusal> {
        let subject = Subject { tenant_id: TENANT, kind, id };
        settle_decision(&self.context, subject, Some(event.to_owned())).await.map_err(|abort| match abort {
            Abort::Refused(refusal) => refusal,
            Abort::Failed(failure) => panic!("the store failed: {failure}"),
        })
    }

    async fn ask_for_licence(&self, errors: u64) -> Requested {
        let sample = Sample { size: 300, corrections: 0, meaning_errors: errors, reference: "r".to_owned() };
        let (project_id, locale) = (self.project_id, "de".to_owned());
        let command = RequestLicence { project_id, locale, sample, asked: None, prose_keys: 3 };
        self.write(move |tx, now| request_licence(tx, now, &actor(TENANT), command)).await.unwrap()
    }

    async fn requested_licence(&self) -> Uuid {
        let Requested::Submitting(id) = self.ask_for_licence(0).await else { panic!("the sample passes") };
        submit_licence(&self.context, TENANT, self.project_id, id).await.unwrap();
        id
    }

    async fn licence(&self) -> Uuid {
        let id = self.requested_licence().await;
        self.fake.decide(&format!("d-{id}"), Status::Approved);
        self.settle(id, SubjectKind::Licence, &format!("e-{id}")).await.unwrap();
        id
    }

    fn licence_row(&self, id: Uuid) -> LicenceRow {
        self.read().get(&LICENCES, &(TENANT, self.project_id, id)).unwrap().unwrap()
    }

    /// Nothing contradicts itself.
    #[track_caller]
    fn verify(&self) {
        assert_eq!(crate::verify(&self.read()).unwrap(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn what_a_crash_left_submitting_is_submitted_again_under_its_id() {
    let world = World::open().await;
    let cut_off = world.begin().await.unwrap();
    let Requested::Submitting(licence) = world.ask_for_licence(0).await else { panic!("the sample passes") };
    world.verify();
    // After a start, whatever the clock says; and only what nobody raises at that moment.
    world.fake.deeds.lock().unwrap().extend([Deed::Fails, Deed::Fails]);
    let rereads = Rereads::new(world.context.clone());
    assert_eq!(rereads.next_due().unwrap(), Some(Timestamp::EPOCH));
    while rereads.slice().await.unwrap() == Progress::More {}
    assert_eq!(world.status(cut_off), RequestStatus::Submitting, "the service was not there");
    world.advance(600).await;
    {
        let _in_flight = world.context.decisions.enter(cut_off);
        while rereads.slice().await.unwrap() == Progress::More {}
        assert_eq!(world.status(cut_off), RequestStatus::Submitting, "somebody raises it");
    }
    assert_eq!(world.licence_row(licence).state, LicenceState::Requested);
    world.advance(600).await;
    while rereads.slice().await.unwrap() == Progress::More {}
    assert_eq!(world.status(cut_off), RequestStatus::Pending);
    let raised = world.fake.raised.lock().unwrap().iter().map(|raise| raise.subject.id).collect::<Vec<_>>();
    assert_eq!(raised.iter().filter(|id| **id == cut_off).count(), 2, "each time under the same id");
    world.verify();
}

#[tokio::test]
async fn what_was_never_taken_on_has_failed_at_its_expiry() {
    let world = World::open().await;
    let cut_off = world.begin().await.unwrap();
    let Requested::Submitting(licence) = world.ask_for_licence(0).await else { panic!("the sample passes") };
    world.fake.deeds.lock().unwrap().extend(std::iter::repeat_n(Deed::Fails, 9));
    let rereads = Rereads::new(world.context.clone());
    while rereads.slice().await.unwrap() == Progress::More {}
    world.advance(168 * 3600).await;
    while rereads.slice().await.unwrap() == Progress::More {}
    assert_eq!(world.status(cut_off), RequestStatus::Failed);
    assert_eq!(world.read().get(&LICENCES, &(TENANT, world.project_id, licence)).unwrap(), None);
    world.verify();
    world.begin().await.unwrap();
}

#[tokio::test]
async fn a_request_is_settled_once_with_its_event() {
    let world = World::open().await;
    let id = world.request().await;
    assert_eq!(world.begin().await, Err(Refusal::ApprovalPending));
    let early = world.settle(id, SubjectKind::ApprovalRequest, "early").await;
    assert_eq!(early, Ok(Settlement::NotYet));
    assert!(!is_known_event(&world.read(), "early").unwrap());
    world.write_draft(2, "Anderes Wort").await;
    world.fake.decide(&format!("d-{id}"), Status::Approved);
    let looks = world.fake.looks.load(Ordering::SeqCst);
    let all = (0..50).map(|n| {
        let (context, event) = (world.context.clone(), format!("e{}", n % 10));
        let subject = Subject { tenant_id: TENANT, kind: SubjectKind::ApprovalRequest, id };
        tokio::spawn(async move { settle_decision(&context, subject, Some(event)).await })
    });
    for settled in all.collect::<Vec<_>>() {
        assert!(matches!(settled.await.unwrap(), Ok(Settlement::Settled)));
    }
    assert_eq!(world.fake.looks.load(Ordering::SeqCst), looks + 1);
    let known = (0..10).filter(|n| is_known_event(&world.read(), &format!("e{n}")).unwrap()).count();
    assert_eq!(known, 1, "the event that has settled it, and no other");
    assert_eq!([1, 2, 3].map(|n| world.state(n)), [ReviewState::Approved, ReviewState::Draft, ReviewState::Approved]);
    world.verify();
    let next = world.request().await;
    world.fake.decide(&format!("d-{next}"), Status::Rejected);
    world.settle(next, SubjectKind::ApprovalRequest, "no").await.unwrap();
    assert_eq!((world.status(next), world.state(2)), (RequestStatus::Rejected, ReviewState::Draft));
    world.verify();
}

#[tokio::test]
async fn a_licence_lapses_by_each_cause() {
    let world = World::open().await;
    world.classify(KeyClass::Prose).await;
    let first = world.licence().await;
    bring_up_to_date(&world.context, TENANT, world.project_id).await.unwrap();
    assert_eq!((world.licence_row(first).state, world.licence_row(first).prose_keys), (LicenceState::Active, 3));
    let second = world.licence().await;
    assert_eq!(world.licence_row(first).lapse_reason, Some(LapseReason::Replaced));
    world.upload(&["Another a", "Text b", "Text c"]).await;
    bring_up_to_date(&world.context, TENANT, world.project_id).await.unwrap();
    let row = world.licence_row(second);
    assert_eq!((row.state, row.lapse_reason, row.prose_changed), (LicenceState::Lapsed, Some(LapseReason::Changed), 1));
    let third = world.licence().await;
    world.verify();
    assert!(matches!(world.ask_for_licence(1).await, Requested::SampleFailed(..)));
    assert_eq!(world.licence_row(third).lapse_reason, Some(LapseReason::SampleFailed));
    let fourth = world.licence().await;
    world.advance(30 * 86_400).await;
    let swept = world.bench.run(|tx, now| Ok(ExpiredLicences.slice(tx, now, Timestamp::EPOCH)?)).unwrap();
    assert_eq!(swept.progress, Progress::Rest);
    assert_eq!(world.licence_row(fourth).lapse_reason, Some(LapseReason::Expired));
    let project_id = world.project_id;
    let switch = SetSwitch { project_id, locale: "de".to_owned(), enabled: false };
    world.write(move |tx, now| set_switch(tx, now, &actor(TENANT), &switch)).await.unwrap();
    world.verify();
}

#[tokio::test]
async fn a_licence_counts_from_its_decision_on_whenever_that_is_read() {
    let world = World::open().await;
    world.upload(&["Old a", "Text b", "Text c"]).await;
    world.classify(KeyClass::Prose).await;
    for is_changed in [false, true] {
        let id = world.requested_licence().await;
        world.advance(1).await;
        world.upload(&["New a", "Text b", "Text c"]).await;
        world.advance(1).await;
        *world.fake.decided_at.lock().unwrap() = Some(world.bench.now());
        world.advance(60).await;
        if is_changed {
            world.upload(&["Newer a", "Text b", "Text c"]).await;
        }
        world.fake.decide(&format!("d-{id}"), Status::Approved);
        world.settle(id, SubjectKind::Licence, &format!("e{is_changed}")).await.unwrap();
        bring_up_to_date(&world.context, TENANT, world.project_id).await.unwrap();
        let row = world.licence_row(id);
        let expected = if is_changed { Some(LapseReason::Changed) } else { None };
        assert_eq!((row.lapse_reason, row.prose_changed), (expected, u64::from(is_changed)));
        world.verify();
    }
    let id = world.requested_licence().await;
    *world.fake.decided_at.lock().unwrap() = Some(world.bench.now());
    world.advance(60).await;
    assert!(matches!(world.ask_for_licence(1).await, Requested::SampleFailed(..)));
    world.fake.decide(&format!("d-{id}"), Status::Approved);
    world.settle(id, SubjectKind::Licence, "e").await.unwrap();
    let row = world.licence_row(id);
    assert_eq!((row.state, row.lapse_reason), (LicenceState::Lapsed, Some(LapseReason::SampleFailed)));
    world.verify();
}

#[tokio::test]
async fn what_becomes_prose_behind_a_decision_makes_no_more_of_a_licence() {
    let world = World::open().await;
    world.upload(&["Text a", "Text b", "Text c", "Text d", "Text e"]).await;
    world.classify_some(&["a", "b", "c"], KeyClass::Prose).await;
    let id = world.requested_licence().await;
    *world.fake.decided_at.lock().unwrap() = Some(world.bench.now());
    world.advance(60).await;
    world.classify_some(&["d", "e"], KeyClass::Prose).await;
    world.fake.decide(&format!("d-{id}"), Status::Approved);
    world.settle(id, SubjectKind::Licence, "e").await.unwrap();
    bring_up_to_date(&world.context, TENANT, world.project_id).await.unwrap();
    assert_eq!(world.licence_row(id).prose_keys, 3);
    world.verify();
}

#[tokio::test]
async fn what_is_not_there_any_more_keeps_no_count_from_others() {
    let world = World::open().await;
    world.classify(KeyClass::Prose).await;
    let id = world.licence().await;
    world.upload(&["Another a", "Text b", "Text c"]).await;
    // A project that is counted first, and cannot be.
    let gone = crate::spaces::ProjectId(Uuid::nil());
    world.bench.run(move |tx, _| Ok(crate::census::count_active(tx, TENANT, gone, 1)?)).unwrap();
    world
        .bench
        .run(move |tx, now| Ok(crate::census::note(tx, now, TENANT, gone, crate::census::Change::Classes)?))
        .unwrap();
    let job = Recounting::new(world.context.clone());
    let slices = [job.slice().await.is_ok(), job.slice().await.is_ok()];
    assert_eq!(slices, [false, true]);
    assert_eq!(world.licence_row(id).lapse_reason, Some(LapseReason::Changed));
}

#[tokio::test]
async fn what_is_decided_after_its_time_was_not_decided_in_time() {
    let world = World::open().await;
    let (id, licence) = (world.request().await, world.requested_licence().await);
    let late = world.bench.now().plus_seconds(168 * 3600 + 1);
    *world.fake.decided_at.lock().unwrap() = Some(late);
    world.advance(168 * 3600 + 2).await;
    for (id, kind) in [(id, SubjectKind::ApprovalRequest), (licence, SubjectKind::Licence)] {
        world.fake.decide(&format!("d-{id}"), Status::Approved);
        world.settle(id, kind, &format!("e-{id}")).await.unwrap();
    }
    assert_eq!((world.status(id), world.state(1)), (RequestStatus::TimedOut, ReviewState::Draft));
    assert_eq!(world.licence_row(licence).state, LicenceState::Refused);
    world.verify();
    // What another system's clock says will be was decided now.
    let id = world.request().await;
    *world.fake.decided_at.lock().unwrap() = Some(late.plus_seconds(100 * 365 * 86_400));
    world.fake.decide(&format!("d-{id}"), Status::Approved);
    world.settle(id, SubjectKind::ApprovalRequest, "early").await.unwrap();
    assert_eq!((world.status(id), world.state(1)), (RequestStatus::Approved, ReviewState::Approved));
}

#[tokio::test]
async fn a_batch_hangs_on_its_own_translations_alone() {
    let world = World::open().await;
    world.upload(&["Text a", "Text b", "Text c", "Text d"]).await;
    let batch = world.batch();
    world.write_draft(2, "Anderes Wort").await;
    assert_eq!(world.begin_with(batch).await, Ok(None), "one of its own has changed");
    let batch = world.batch();
    world.write_draft(4, "Wort d").await;
    let id = world.begin_with(batch).await.unwrap().unwrap();
    assert_eq!(get_request(&world.read(), TENANT, id).unwrap().row.item_count, 3);
    let batch = world.batch();
    world.upload(&["Text a", "Text b", "Text c", "New d"]).await;
    assert_eq!(world.begin_with(batch).await, Err(Refusal::ApprovalPending));
    world.verify();
}

#[tokio::test]
async fn what_is_no_prose_ends_no_licence() {
    let world = World::open().await;
    world.upload(&["Text a", "Text b", "Text c", "Text d"]).await;
    world.classify(KeyClass::Prose).await;
    let licence = world.licence().await;
    world.upload(&["Text a", "Text b", "Text c", "Another d"]).await;
    bring_up_to_date(&world.context, TENANT, world.project_id).await.unwrap();
    let row = world.licence_row(licence);
    assert_eq!((row.state, row.prose_changed, row.prose_keys), (LicenceState::Active, 0, 3));
    // It is known all the same: the key may become prose later.
    world.upload(&["Text a", "Text b", "Text c", "Yet another d"]).await;
    world.verify();
}

#[tokio::test]
async fn whatever_is_done_to_the_rows_is_found() {
    type Deed = fn(&mut WriteTx<'_>) -> Result<(), quintet_storage::Failure>;
    use crate::approvals::testing::{APPROVAL_CONTEXTS, APPROVAL_ITEMS, OPEN_APPROVALS};
    use crate::census::LICENSED;
    use crate::licences::testing::{LICENCE_EXPIRIES, LICENCE_HEADS};
    let deeds: [(Deed, &str); 6] = [
        (
            |tx| {
                for (key, mut row) in tx.scan(&APPROVAL_ITEMS, Scan::all())? {
                    row.items.iter_mut().for_each(|item| item.outcome = None);
                    tx.put(&APPROVAL_ITEMS, &key, &row)?;
                }
                Ok(())
            },
            "no decision has approved it",
        ),
        (
            |tx| {
                for (key, _) in tx.scan(&APPROVAL_CONTEXTS, Scan::all())? {
                    tx.delete(&APPROVAL_CONTEXTS, &key);
                }
                Ok(())
            },
            "its context is gone",
        ),
        (
            |tx| {
                for (key, _) in tx.scan(&OPEN_APPROVALS, Scan::all())? {
                    tx.delete(&OPEN_APPROVALS, &key);
                }
                Ok(())
            },
            "holds its file and locale are two things",
        ),
        (
            |tx| {
                for (key, _) in tx.scan(&LICENSED, Scan::all())? {
                    tx.delete(&LICENSED, &key);
                }
                Ok(())
            },
            "nobody counts its active licences",
        ),
        (
            |tx| {
                for (key, _) in tx.scan(&LICENCE_EXPIRIES, Scan::all())? {
                    tx.delete(&LICENCE_EXPIRIES, &key);
                }
                Ok(())
            },
            "its time does not run",
        ),
        (
            |tx| {
                for (key, _) in tx.scan(&LICENCE_HEADS, Scan::all())? {
                    tx.delete(&LICENCE_HEADS, &key);
                }
                Ok(())
            },
            "whether it is its locale's are two things",
        ),
    ];
    for (deed, expected) in deeds {
        let world = World::open().await;
        let id = world.request().await;
        world.fake.decide(&format!("d-{id}"), Status::Approved);
        world.settle(id, SubjectKind::ApprovalRequest, "e").await.unwrap();
        world.write_draft(1, "Neu").await;
        world.request().await;
        world.licence().await;
        world.verify();
        world.bench.run(move |tx, _| Ok(deed(tx)?)).unwrap();
        let findings = crate::verify(&world.read()).unwrap();
        assert!(findings.iter().any(|finding| finding.contains(expected)), "{expected}: {findings:?}");
    }
}
