//! Changing a project's source locale, which its keys must not be in yet.

use quintet_storage::{Abort, Timestamp, WriteTx};

use super::files::has_files;
use crate::audit::Actor;
use crate::refusal::Refusal;
use crate::spaces::{self, Expected, GivenLocale, ProjectId, SourceLocale};

/// Replaces the source locale of a project that has no file yet.
///
/// # Errors
/// As [`spaces::put_source_locale`].
pub fn put_source_locale(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    project_id: ProjectId,
    expected: &Expected,
    locale: GivenLocale,
) -> Result<SourceLocale, Abort<Refusal>> {
    let has_files = has_files(tx, actor.tenant_id, project_id)?;
    spaces::put_source_locale(tx, now, actor, project_id, expected, locale, has_files)
}
