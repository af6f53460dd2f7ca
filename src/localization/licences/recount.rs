//! Counting what has changed since licences were given: at once after an upload or a change of classes, and before
//! anybody relies on a licence (localization, P3 and P4).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use quintet_platform::clock::BoxFuture;
use quintet_platform::jobs::{Job, Progress};
use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, Uuid, WriteTx};

use super::lapse::{due_lapse, get_licence, lapse};
use super::model::Licence;
use super::prose::count_of;
use super::states::LicenceState;
use super::tables::{LICENCE_CHANGES, LICENCE_HEADS, LICENCES, LicenceChangesRow};
use crate::audit::Actor;
use crate::census::{Change, RECOUNTS, is_open};
use crate::content::{FileId, replaced_numbers};
use crate::context::Context;
use crate::model::{ProjectId, TenantId};
use crate::refusal::Refusal;
use crate::rows;
use crate::spaces::get_project;

/// How long writing may wait for the writer.
const WRITER_TIME: Duration = Duration::from_secs(10);
/// How many changes are looked at in one go.
const CHANGES_MAX: usize = 64;

/// What was counted for one licence.
struct Counted {
    id: Uuid,
    changed: u64,
    /// Files whose changes are more than they were.
    files: Vec<(FileId, LicenceChangesRow)>,
}

/// What was counted in a project.
struct Found {
    tenant_id: TenantId,
    project_id: ProjectId,
    /// What is done with it.
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

fn look(read: &impl Read, tenant_id: TenantId, project_id: ProjectId) -> Result<Option<Found>, Abort<Refusal>> {
    let noted = read.scan(&RECOUNTS, Scan::prefix(&(tenant_id, project_id)).limit(CHANGES_MAX))?;
    if noted.is_empty() {
        return Ok(None);
    }
    let project = get_project(read, tenant_id, project_id)?;
    let licences = active(read, tenant_id, project_id)?;
    let mut replaced: Vec<(FileId, u64, Vec<u64>)> = Vec::new();
    for (_, row) in &noted {
        if let (Change::Import { file_id, audit_seq }, false) = (row.change, licences.is_empty()) {
            let file_id = FileId(Uuid::from_bytes(file_id));
            replaced.push((file_id, audit_seq, replaced_numbers(read, tenant_id, file_id, audit_seq)?));
        }
    }
    let mut counted = Vec::new();
    for licence in licences {
        let id = licence.subject.id;
        let mut changed: BTreeMap<FileId, Vec<u64>> = BTreeMap::new();
        rows::each_of(
            read,
            &LICENCE_CHANGES,
            || Scan::prefix(&(tenant_id, id)),
            |(.., file_id), row| {
                changed.insert(file_id, row.numbers);
                Ok::<_, Failure>(())
            },
        )?;
        let mut files = Vec::new();
        // What was uploaded before the decision was there when it was taken.
        let since = replaced.iter().filter(|(_, seq, _)| licence.row.decided_seq.is_some_and(|decided| *seq > decided));
        for (file_id, _, numbers) in since {
            let known = changed.entry(*file_id).or_default();
            let before = known.len();
            known.extend(numbers);
            known.sort_unstable();
            known.dedup();
            if known.len() != before {
                files.retain(|(known, _): &(FileId, LicenceChangesRow)| known != file_id);
                files.push((*file_id, LicenceChangesRow { numbers: known.clone() }));
            }
        }
        counted.push(Counted { id, changed: count_of(read, tenant_id, &project, &changed)?, files });
    }
    let numbers = noted.into_iter().map(|((.., number), _)| number).collect();
    Ok(Some(Found { tenant_id, project_id, numbers, counted }))
}

/// Writes down what was counted; a licence of whose prose too much has changed lapses.
fn write(tx: &mut WriteTx<'_>, now: Timestamp, found: Found) -> Result<(), Failure> {
    let Found { tenant_id, project_id, numbers, counted } = found;
    numbers.iter().for_each(|number| tx.delete(&RECOUNTS, &(tenant_id, project_id, *number)));
    for Counted { id, changed, files } in counted {
        let Some(mut licence) = get_licence(tx, tenant_id, project_id, id)? else { continue };
        if licence.row.state != LicenceState::Active {
            continue;
        }
        licence.row.prose_changed = changed;
        tx.put(&LICENCES, &(tenant_id, project_id, id), &licence.row)?;
        for (file_id, row) in files {
            tx.put(&LICENCE_CHANGES, &(tenant_id, id, file_id), &row)?;
        }
        if let Some(reason) = due_lapse(&licence.row, now) {
            lapse(tx, now, &Actor::operator(tenant_id), licence, reason)?;
        }
    }
    Ok(())
}

/// Counts a project anew, as far as that is due, and ends what has to end: whoever relies on a licence does so first. What is
/// noted goes, and nobody's licence grows: it goes on below the disk reserve.
///
/// # Errors
/// Only the store's, and that others keep it waiting.
pub async fn bring_up_to_date(
    context: &Context,
    tenant_id: TenantId,
    project_id: ProjectId,
) -> Result<(), Abort<Refusal>> {
    if is_open(&context.store.read(), tenant_id, project_id)? {
        // One at a time: what is counted is more than what was.
        let lock = context.lock(project_id.0.as_u128()).await;
        let _alone = lock.map_err(|fault| Abort::Refused(fault.into()))?;
        while let Some(found) =
            context.in_turn(tenant_id, move |store| look(&store.read(), tenant_id, project_id)).await?
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
