//! What is stored of checks follows the checks: each file is noted to be judged anew, which is done once the appliance
//! runs. Directories of format 2 and before have translations without verdicts, and files whose words nobody has counted;
//! those of formats 3 to 5 have verdicts of checks that passed more than they should (Q01 and Q03; Q03; Q03). Whoever changes
//! what a check says adds a step.

use std::collections::HashSet;

use quintet_storage::{Failure, Migrating, Migration, Read, Scan};

use crate::content::rejudge::{Cause, REJUDGES, note};
use crate::content::{FILES, FileId};
use crate::model::{ProjectId, TenantId};

/// How many files one transaction notes.
const FILES_PER_STEP: usize = 200;

/// The steps.
pub const MIGRATIONS: &[Migration] = &[
    Migration { from: 2, name: "translations without verdicts", run: |migrating| note_files(migrating, false) },
    Migration { from: 3, name: "verdicts of checks that have changed", run: |migrating| note_files(migrating, true) },
    Migration { from: 4, name: "verdicts of Q03, which has changed", run: |migrating| note_files(migrating, true) },
    Migration { from: 5, name: "verdicts of Q03 on SVG", run: |migrating| note_files(migrating, true) },
];

/// Notes every file, or those whose words nobody has counted; not those that are noted already.
fn note_files(migrating: &mut Migrating<'_>, notes_all: bool) -> Result<(), Failure> {
    let mut after: Option<(TenantId, ProjectId, FileId)> = None;
    let mut waiting = Waiting::default();
    loop {
        let (behind, mut known) = (after.take(), std::mem::take(&mut waiting));
        let (files, last, known) = migrating.write(move |tx| {
            let scan = Scan::all().limit(FILES_PER_STEP);
            let rows = tx.scan(&FILES, behind.iter().fold(scan, Scan::after))?;
            let last = rows.last().map(|(key, _)| *key);
            let mut noted = 0;
            for ((tenant_id, project_id, file_id), row) in rows {
                if (notes_all || row.words.is_none()) && !known.has(tx, (tenant_id, project_id), file_id)? {
                    note(tx, row.updated_at, tenant_id, project_id, Cause::File(file_id))?;
                    noted += 1;
                }
            }
            Ok((noted, last, known))
        })?;
        migrating.done(files);
        waiting = known;
        match last {
            None => return Ok(()),
            last => after = last,
        }
    }
}

/// The files of the project that is being looked at, as it was found, that are noted to be judged anew and with which nobody
/// has begun yet. A project may have very many files: they are looked up once.
#[derive(Default)]
struct Waiting {
    project: Option<(TenantId, ProjectId)>,
    files: HashSet<FileId>,
}

impl Waiting {
    fn has(&mut self, read: &impl Read, project: (TenantId, ProjectId), file_id: FileId) -> Result<bool, Failure> {
        if self.project != Some(project) {
            let rows = read.scan(&REJUDGES, Scan::prefix(&project))?.into_iter();
            self.files = rows
                .filter_map(|(_, row)| match row.cause {
                    Cause::File(file_id) if row.done.is_none() => Some(file_id),
                    _ => None,
                })
                .collect();
            self.project = Some(project);
        }
        Ok(self.files.contains(&file_id))
    }
}
