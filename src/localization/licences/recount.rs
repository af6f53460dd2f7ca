//! Counting what has changed since licences were given: at once after an upload or a change of classes, and before
//! anybody relies on a licence (localization, P3 and P4).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use quintet_platform::clock::BoxFuture;
use quintet_platform::jobs::{Job, Progress};
use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, Uuid, WriteTx};

use super::lapse::{due_lapse, get_licence, lapse};
use super::model::Licence;
use super::prose::{self, each_file};
use super::states::LicenceState;
use super::tables::{LICENCE_CHANGES, LICENCE_COUNTS, LICENCE_HEADS, LICENCES, LicenceChangesRow, LicenceCountRow};
use crate::audit::Actor;
use crate::census::{Change, RECOUNTS, last_open};
use crate::content::{FileId, imports_after, replaced_numbers};
use crate::context::Context;
use crate::model::{ProjectId, TenantId};
use crate::refusal::Refusal;
use crate::rows;
use crate::spaces::{Project, get_project};

/// How long writing may wait for the writer.
const WRITER_TIME: Duration = Duration::from_secs(10);
/// How many notes are looked at in one go.
const NOTES_MAX: usize = 1_000;
/// And how many keys of uploads, about.
const REPLACED_MAX: usize = 1_000_000;
/// How many keys are written in one transaction, about, which takes a few megabytes at most; tests write in several.
const WRITTEN_MAX: usize = if cfg!(test) { 2 } else { 200_000 };

/// What was counted for one licence.
struct Counted {
    /// How many prose keys there are, if that was counted.
    prose_keys: Option<u64>,
    /// How many of them have changed.
    changed: u64,
    /// By file, where that was counted.
    files: Vec<CountedFile>,
}

/// What was counted of a file for one licence.
struct CountedFile {
    file_id: FileId,
    /// Its changes, if they are more than they were.
    changes: Option<LicenceChangesRow>,
    /// How many of them are prose.
    prose: u64,
}

/// What is to be counted in a project, and for which licences.
struct Work {
    project: Project,
    noted: Noted,
    licences: Vec<Licence>,
}

/// The active licences of a project.
fn active(read: &impl Read, tenant_id: TenantId, project_id: ProjectId) -> Result<Vec<Licence>, Failure> {
    let mut found = Vec::new();
    let of_project = || Scan::prefix(&(tenant_id, project_id));
    rows::each_of(read, &LICENCE_HEADS, of_project, |_, head| {
        if let Some(id) = head.active {
            found.extend(get_licence(read, tenant_id, project_id, Uuid::from_bytes(id))?);
        }
        Ok::<_, Failure>(())
    })?;
    Ok(found)
}

/// What notes say.
#[derive(Default)]
struct Noted {
    numbers: Vec<u64>,
    /// Uploads: the file, the audit event, the keys whose source it replaced.
    imports: Vec<(FileId, u64, Vec<u64>)>,
    /// Files in which classes became others.
    classes: BTreeSet<FileId>,
    /// Whether classes may have become others anywhere.
    is_everywhere: bool,
    /// Licences that have become active; whether anything had happened between their decision and its reading.
    activated: BTreeMap<Uuid, bool>,
}

impl Noted {
    /// The first notes of a project, up to a number.
    fn read(read: &impl Read, tenant_id: TenantId, project_id: ProjectId, last: u64) -> Result<Noted, Failure> {
        let (mut all, mut replaced_keys) = (Noted::default(), 0);
        let rows = read.scan(&RECOUNTS, Scan::prefix(&(tenant_id, project_id)).limit(NOTES_MAX))?;
        for ((.., number), row) in rows.into_iter().take_while(|((.., number), _)| *number <= last) {
            match row.change {
                Change::Import { .. } if replaced_keys >= REPLACED_MAX => break,
                Change::Import { file_id, audit_seq } => {
                    let file_id = FileId(Uuid::from_bytes(file_id));
                    let replaced = replaced_numbers(read, tenant_id, file_id, audit_seq)?;
                    replaced_keys += replaced.len();
                    all.imports.push((file_id, audit_seq, replaced));
                }
                Change::Classes => all.is_everywhere = true,
                Change::ClassesOf { file_id } => drop(all.classes.insert(FileId(Uuid::from_bytes(file_id)))),
                Change::Activated { licence_id } => drop(all.activated.insert(Uuid::from_bytes(licence_id), false)),
                Change::ActivatedLate { licence_id } => drop(all.activated.insert(Uuid::from_bytes(licence_id), true)),
            }
            all.numbers.push(number);
        }
        Ok(all)
    }
}

/// Counts for a licence what notes say has changed.
fn count(read: &impl Read, project: &Project, noted: &Noted, licence: &Licence) -> Result<Counted, Failure> {
    let (tenant_id, id) = (licence.subject.tenant_id, licence.subject.id);
    let mut changed: BTreeMap<FileId, Vec<u64>> = BTreeMap::new();
    let of_licence = || Scan::prefix(&(tenant_id, id));
    rows::each_of(read, &LICENCE_CHANGES, of_licence, |(.., file_id), row| {
        changed.insert(file_id, row.numbers);
        Ok::<_, Failure>(())
    })?;
    let mut grown: BTreeSet<FileId> = BTreeSet::new();
    let mut take = |file_id: FileId, numbers: &[u64]| {
        let known = changed.entry(file_id).or_default();
        let before = known.len();
        known.extend(numbers);
        known.sort_unstable();
        known.dedup();
        if known.len() != before {
            grown.insert(file_id);
        }
    };
    // What was uploaded before the decision was there when it was taken.
    let decided_seq = licence.row.decided_seq.unwrap_or_default();
    for (file_id, seq, numbers) in &noted.imports {
        if *seq > decided_seq {
            take(*file_id, numbers);
        }
    }
    let mut prose_keys = None;
    if let Some(is_late) = noted.activated.get(&id) {
        // It was decided some time before it became active.
        each_file(read, tenant_id, project, |file| {
            for seq in imports_after(read, tenant_id, file.file_id, decided_seq)? {
                take(file.file_id, &replaced_numbers(read, tenant_id, file.file_id, seq)?);
            }
            Ok(())
        })?;
        let now = prose::count(read, tenant_id, project)?;
        // What has become prose since the decision nobody decided about, and nobody knows how much that is.
        prose_keys = Some(if *is_late { now.min(licence.row.prose_keys) } else { now });
    }
    changed.retain(|_, numbers| !numbers.is_empty());
    let (mut total, mut files) = (0, Vec::new());
    for (file_id, numbers) in changed {
        let known = read.get(&LICENCE_COUNTS, &(tenant_id, id, file_id))?;
        let has_grown = grown.contains(&file_id);
        let is_touched = noted.is_everywhere || noted.classes.contains(&file_id) || has_grown;
        // An upload can also take a key away, or bring it back.
        let is_touched = is_touched || noted.imports.iter().any(|(of, ..)| *of == file_id);
        let prose = match known.filter(|_| !is_touched) {
            Some(known) => {
                total += known.prose;
                continue;
            }
            None => prose::count_of(read, tenant_id, project, file_id, &numbers)?,
        };
        total += prose;
        let changes = has_grown.then_some(LicenceChangesRow { numbers });
        files.push(CountedFile { file_id, changes, prose });
    }
    Ok(Counted { prose_keys, changed: total, files })
}

/// What the first notes of a project say, up to a number, and whom that concerns; none: there are none.
fn look(
    read: &impl Read,
    tenant_id: TenantId,
    project_id: ProjectId,
    last: u64,
) -> Result<Option<Work>, Abort<Refusal>> {
    let noted = Noted::read(read, tenant_id, project_id, last)?;
    if noted.numbers.is_empty() {
        return Ok(None);
    }
    let project = get_project(read, tenant_id, project_id)?;
    let licences = active(read, tenant_id, project_id)?;
    Ok(Some(Work { project, noted, licences }))
}

/// Writes down what was counted of some files, if the licence still holds.
fn write_files(tx: &mut WriteTx<'_>, licence: &Licence, files: Vec<CountedFile>) -> Result<(), Failure> {
    let (tenant_id, id) = (licence.subject.tenant_id, licence.subject.id);
    for CountedFile { file_id, changes, prose } in files {
        if let Some(row) = changes {
            tx.put(&LICENCE_CHANGES, &(tenant_id, id, file_id), &row)?;
        }
        tx.put(&LICENCE_COUNTS, &(tenant_id, id, file_id), &LicenceCountRow { prose })?;
    }
    Ok(())
}

/// The licence as it is now, if it still holds.
fn still_active(read: &impl Read, licence: &Licence) -> Result<Option<Licence>, Failure> {
    let now = get_licence(read, licence.subject.tenant_id, licence.project_id, licence.subject.id)?;
    Ok(now.filter(|licence| licence.row.state == LicenceState::Active))
}

/// Writes down what was counted for a licence; one of whose prose too much has changed lapses. What is counted of a file is
/// the same however often it is done, so that the files come in as many transactions as they need, the licence in the last.
async fn write_counted(context: &Context, licence: Licence, counted: Counted) -> Result<(), Abort<Refusal>> {
    let Counted { prose_keys, changed, files } = counted;
    let (mut some, mut keys) = (Vec::new(), 0);
    for file in files {
        keys += 1 + file.changes.as_ref().map_or(0, |row| row.numbers.len());
        some.push(file);
        if keys > WRITTEN_MAX {
            let (licence, full) = (licence.clone(), std::mem::take(&mut some));
            keys = 0;
            freeing(context, move |tx, _| match still_active(tx, &licence)? {
                Some(licence) => write_files(tx, &licence, full),
                None => Ok(()),
            })
            .await?;
        }
    }
    freeing(context, move |tx, now| {
        let Some(mut licence) = still_active(tx, &licence)? else { return Ok(()) };
        write_files(tx, &licence, some)?;
        licence.row.prose_keys = prose_keys.unwrap_or(licence.row.prose_keys);
        licence.row.prose_changed = changed;
        let (tenant_id, id) = (licence.subject.tenant_id, licence.subject.id);
        tx.put(&LICENCES, &(tenant_id, licence.project_id, id), &licence.row)?;
        match due_lapse(&licence.row, now) {
            Some(reason) => lapse(tx, now, &Actor::operator(tenant_id), licence, reason),
            None => Ok(()),
        }
    })
    .await
}

/// A transaction that goes on below the disk reserve: notes go by it, and nobody's licence grows.
async fn freeing(
    context: &Context,
    work: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<(), Failure> + Send + 'static,
) -> Result<(), Abort<Refusal>> {
    let deadline = Instant::now() + WRITER_TIME;
    context.store.write_freeing(deadline, move |tx, now| Ok::<_, Abort<Refusal>>(work(tx, now)?)).await
}

/// Counts for every licence of a project what its first notes say, up to a number, and does away with them. Whether there
/// were any.
async fn recount(
    context: &Context,
    tenant_id: TenantId,
    project_id: ProjectId,
    last: u64,
) -> Result<bool, Abort<Refusal>> {
    let work = context.in_turn(tenant_id, move |store| look(&store.read(), tenant_id, project_id, last));
    let Some(Work { project, noted, licences }) = work.await? else { return Ok(false) };
    let (project, noted) = (Arc::new(project), Arc::new(noted));
    for licence in licences {
        let (project, said, of) = (Arc::clone(&project), Arc::clone(&noted), licence.clone());
        let counted = context.in_turn(tenant_id, move |store| Ok(count(&store.read(), &project, &said, &of)?));
        write_counted(context, licence, counted.await?).await?;
    }
    freeing(context, move |tx, _| {
        noted.numbers.iter().for_each(|number| tx.delete(&RECOUNTS, &(tenant_id, project_id, *number)));
        Ok(())
    })
    .await?;
    Ok(true)
}

/// Counts a project anew, as far as that is due, and ends what has to end: whoever relies on a licence does so first. What is
/// noted meanwhile is not waited for.
///
/// # Errors
/// Only the store's, and that others keep it waiting.
pub async fn bring_up_to_date(
    context: &Context,
    tenant_id: TenantId,
    project_id: ProjectId,
) -> Result<(), Abort<Refusal>> {
    if let Some(last) = last_open(&context.store.read(), tenant_id, project_id)? {
        // One at a time: what is counted is more than what was.
        let lock = context.locks.lock(project_id.0.as_u128()).await;
        let _alone = lock.map_err(|fault| Abort::Refused(fault.into()))?;
        while recount(context, tenant_id, project_id, last).await? {}
    }
    let now = context.clock.now();
    let late: Vec<Licence> = active(&context.store.read(), tenant_id, project_id)?
        .into_iter()
        .filter(|licence| due_lapse(&licence.row, now).is_some())
        .collect();
    if late.is_empty() {
        return Ok(());
    }
    freeing(context, move |tx, now| {
        for licence in &late {
            let Some(licence) = get_licence(tx, tenant_id, project_id, licence.subject.id)? else { continue };
            if let Some(reason) = due_lapse(&licence.row, now) {
                lapse(tx, now, &Actor::operator(tenant_id), licence, reason)?;
            }
        }
        Ok(())
    })
    .await
}

/// Counts what is noted, at once: projects take turns, so that one that cannot be counted keeps nobody's waiting.
pub struct Recounting {
    context: Context,
    /// The project that was counted last.
    last: Mutex<Option<(TenantId, ProjectId)>>,
}

impl Recounting {
    /// Of the store that the context has.
    #[must_use]
    pub fn new(context: Context) -> Recounting {
        Recounting { context, last: Mutex::default() }
    }

    /// The next project that has notes, in turn.
    fn next(&self) -> Result<Option<(TenantId, ProjectId)>, Failure> {
        let read = self.context.store.read();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let behind = last.map(|(tenant_id, project_id)| (tenant_id, project_id, u64::MAX));
        let mut found = read.scan(&RECOUNTS, behind.iter().fold(Scan::all().limit(1), Scan::after))?;
        if found.is_empty() && behind.is_some() {
            found = read.scan(&RECOUNTS, Scan::all().limit(1))?;
        }
        *last = found.first().map(|((tenant_id, project_id, _), _)| (*tenant_id, *project_id));
        Ok(*last)
    }

    async fn run_slice(&self) -> Result<Progress, Failure> {
        let Some((tenant_id, project_id)) = self.next()? else { return Ok(Progress::Rest) };
        match bring_up_to_date(&self.context, tenant_id, project_id).await {
            Ok(()) => Ok(Progress::More),
            Err(Abort::Failed(failure)) => Err(failure),
            // Others keep it waiting.
            Err(Abort::Refused(_)) => Err(Failure::Busy),
        }
    }
}

impl Job for Recounting {
    fn name(&self) -> &'static str {
        "localization.recounting"
    }

    fn agenda(&self) -> Option<u16> {
        Some(RECOUNTS.spec().tag)
    }

    fn next_due(&self) -> Result<Option<Timestamp>, Failure> {
        let first = self.context.store.read().scan(&RECOUNTS, Scan::all().limit(1))?;
        Ok(first.first().map(|(_, row)| row.noted_at))
    }

    fn slice(&self) -> BoxFuture<'_, Result<Progress, Failure>> {
        Box::pin(self.run_slice())
    }
}
