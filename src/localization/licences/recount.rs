//! Counting what has changed since licences were given: at once after an upload or a change of classes, and before
//! anybody relies on a licence (localization, P3 and P4).

use std::collections::{BTreeMap, BTreeSet};
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
/// And how many uploads: of each all numbers are read.
const IMPORTS_MAX: usize = 64;

/// What was counted for one licence.
struct Counted {
    id: Uuid,
    /// How many prose keys there are, if that was counted.
    prose_keys: Option<u64>,
    /// How many of them have changed.
    changed: u64,
    /// Files whose changes are more than they were.
    files: Vec<(FileId, LicenceChangesRow)>,
    /// How many of a file's changes are prose, where that was counted.
    counts: Vec<(FileId, u64)>,
}

/// What was counted in a project.
struct Found {
    tenant_id: TenantId,
    project_id: ProjectId,
    /// The notes that are done with it.
    numbers: Vec<u64>,
    counted: Vec<Counted>,
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
    /// Licences that have become active.
    activated: BTreeSet<Uuid>,
}

impl Noted {
    /// The first notes of a project, up to a number.
    fn read(read: &impl Read, tenant_id: TenantId, project_id: ProjectId, last: u64) -> Result<Noted, Failure> {
        let mut all = Noted::default();
        let rows = read.scan(&RECOUNTS, Scan::prefix(&(tenant_id, project_id)).limit(NOTES_MAX))?;
        for ((.., number), row) in rows.into_iter().take_while(|((.., number), _)| *number <= last) {
            match row.change {
                Change::Import { .. } if all.imports.len() == IMPORTS_MAX => break,
                Change::Import { file_id, audit_seq } => {
                    let file_id = FileId(Uuid::from_bytes(file_id));
                    let replaced = replaced_numbers(read, tenant_id, file_id, audit_seq)?;
                    all.imports.push((file_id, audit_seq, replaced));
                }
                Change::Classes => all.is_everywhere = true,
                Change::ClassesOf { file_id } => drop(all.classes.insert(FileId(Uuid::from_bytes(file_id)))),
                Change::Activated { licence_id } => drop(all.activated.insert(Uuid::from_bytes(licence_id))),
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
    if noted.activated.contains(&id) {
        // It was decided some time before it became active.
        each_file(read, tenant_id, project, |file| {
            for seq in imports_after(read, tenant_id, file.file_id, decided_seq)? {
                take(file.file_id, &replaced_numbers(read, tenant_id, file.file_id, seq)?);
            }
            Ok(())
        })?;
        prose_keys = Some(prose::count(read, tenant_id, project)?);
    }
    changed.retain(|_, numbers| !numbers.is_empty());
    let (mut total, mut counts) = (0, Vec::new());
    for (file_id, numbers) in &changed {
        let known = read.get(&LICENCE_COUNTS, &(tenant_id, id, *file_id))?;
        let is_touched = noted.is_everywhere || noted.classes.contains(file_id) || grown.contains(file_id);
        // An upload can also take a key away, or bring it back.
        let is_touched = is_touched || noted.imports.iter().any(|(of, ..)| of == file_id);
        total += match known.filter(|_| !is_touched) {
            Some(known) => known.prose,
            None => {
                let prose = prose::count_of(read, tenant_id, project, *file_id, numbers)?;
                counts.push((*file_id, prose));
                prose
            }
        };
    }
    let files = grown.into_iter().filter_map(|file_id| Some((file_id, changed.remove(&file_id)?)));
    let files = files.map(|(file_id, numbers)| (file_id, LicenceChangesRow { numbers })).collect();
    Ok(Counted { id, prose_keys, changed: total, files, counts })
}

/// Counts what the first notes of a project say, up to a number; none: there are none.
fn look(
    read: &impl Read,
    tenant_id: TenantId,
    project_id: ProjectId,
    last: u64,
) -> Result<Option<Found>, Abort<Refusal>> {
    let noted = Noted::read(read, tenant_id, project_id, last)?;
    if noted.numbers.is_empty() {
        return Ok(None);
    }
    let project = get_project(read, tenant_id, project_id)?;
    let licences = active(read, tenant_id, project_id)?;
    let counted = licences.iter().map(|licence| count(read, &project, &noted, licence));
    let counted = counted.collect::<Result<_, Failure>>()?;
    Ok(Some(Found { tenant_id, project_id, numbers: noted.numbers, counted }))
}

/// Writes down what was counted; a licence of whose prose too much has changed lapses.
fn write(tx: &mut WriteTx<'_>, now: Timestamp, found: Found) -> Result<(), Failure> {
    let Found { tenant_id, project_id, numbers, counted } = found;
    numbers.iter().for_each(|number| tx.delete(&RECOUNTS, &(tenant_id, project_id, *number)));
    for Counted { id, prose_keys, changed, files, counts } in counted {
        let Some(mut licence) = get_licence(tx, tenant_id, project_id, id)? else { continue };
        if licence.row.state != LicenceState::Active {
            continue;
        }
        licence.row.prose_keys = prose_keys.unwrap_or(licence.row.prose_keys);
        licence.row.prose_changed = changed;
        tx.put(&LICENCES, &(tenant_id, project_id, id), &licence.row)?;
        for (file_id, row) in files {
            tx.put(&LICENCE_CHANGES, &(tenant_id, id, file_id), &row)?;
        }
        for (file_id, prose) in counts {
            tx.put(&LICENCE_COUNTS, &(tenant_id, id, file_id), &LicenceCountRow { prose })?;
        }
        if let Some(reason) = due_lapse(&licence.row, now) {
            lapse(tx, now, &Actor::operator(tenant_id), licence, reason)?;
        }
    }
    Ok(())
}

/// Counts a project anew, as far as that is due, and ends what has to end: whoever relies on a licence does so first. What is
/// noted goes, and nobody's licence grows: it goes on below the disk reserve. What is noted meanwhile is not waited for.
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
        while let Some(found) =
            context.in_turn(tenant_id, move |store| look(&store.read(), tenant_id, project_id, last)).await?
        {
            let deadline = Instant::now() + WRITER_TIME;
            context
                .store
                .write_freeing(deadline, move |tx, now| Ok::<_, Abort<Refusal>>(write(tx, now, found)?))
                .await?;
        }
    }
    let now = context.clock.now();
    let late: Vec<Licence> = active(&context.store.read(), tenant_id, project_id)?
        .into_iter()
        .filter(|licence| due_lapse(&licence.row, now).is_some())
        .collect();
    if late.is_empty() {
        return Ok(());
    }
    let deadline = Instant::now() + WRITER_TIME;
    let ended = context.store.write_freeing(deadline, move |tx, now| {
        for licence in &late {
            let Some(licence) = get_licence(tx, tenant_id, project_id, licence.subject.id)? else { continue };
            if let Some(reason) = due_lapse(&licence.row, now) {
                lapse(tx, now, &Actor::operator(tenant_id), licence, reason)?;
            }
        }
        Ok::<_, Abort<Refusal>>(())
    });
    ended.await
}

/// Counts what is noted, at once.
pub struct Recounting {
    context: Context,
}

impl Recounting {
    /// Of the store that the context has.
    #[must_use]
    pub fn new(context: Context) -> Recounting {
        Recounting { context }
    }

    async fn run_slice(&self) -> Result<Progress, Failure> {
        let first = self.context.store.read().scan(&RECOUNTS, Scan::all().limit(1))?;
        let Some(((tenant_id, project_id, _), _)) = first.into_iter().next() else { return Ok(Progress::Rest) };
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
