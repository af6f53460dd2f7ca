//! What is stored of checks follows the checks: each file is noted to be judged anew, which is done once the appliance
//! runs. Directories of format 2 and before have translations without verdicts, and files whose words nobody has counted;
//! those of format 3 have verdicts of checks that passed more than they should (Q01, Q03). Whoever changes what a check
//! says adds a step.

use quintet_storage::{Failure, Migrating, Migration, Read as _, Scan};

use crate::content::rejudge::{Cause, note};
use crate::content::{FILES, FileId};
use crate::model::{ProjectId, TenantId};

/// How many files one transaction notes.
const FILES_PER_STEP: usize = 200;

/// The steps.
pub const MIGRATIONS: &[Migration] = &[
    Migration { from: 2, name: "translations without verdicts", run: |migrating| note_files(migrating, false) },
    Migration { from: 3, name: "verdicts of checks that have changed", run: |migrating| note_files(migrating, true) },
];

/// Notes every file, or those whose words nobody has counted.
fn note_files(migrating: &mut Migrating<'_>, notes_all: bool) -> Result<(), Failure> {
    let mut after: Option<(TenantId, ProjectId, FileId)> = None;
    loop {
        let behind = after.take();
        let (files, last) = migrating.write(move |tx| {
            let scan = Scan::all().limit(FILES_PER_STEP);
            let rows = tx.scan(&FILES, behind.iter().fold(scan, Scan::after))?;
            let last = rows.last().map(|(key, _)| *key);
            let mut noted = 0;
            for ((tenant_id, project_id, file_id), row) in rows {
                if notes_all || row.words.is_none() {
                    note(tx, row.updated_at, tenant_id, project_id, Cause::File(file_id))?;
                    noted += 1;
                }
            }
            Ok((noted, last))
        })?;
        migrating.done(files);
        match last {
            None => return Ok(()),
            last => after = last,
        }
    }
}
