//! Withdrawing a release.

use quintet_platform::json::Json;
use quintet_storage::{Abort, Timestamp, WriteTx};

use super::find::get_row;
use super::model::{Release, ReleaseId};
use super::tables::{RELEASES, WithdrawnRow};
use super::tell::tell_release;
use crate::audit::{self, Actor, Event};
use crate::refusal::Refusal;

/// Marks a release as withdrawn, once: again is as before (localization, Z3). It stays readable.
///
/// # Errors
/// [`Refusal::NotFound`]
pub fn withdraw_release(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    release_id: ReleaseId,
) -> Result<Release, Abort<Refusal>> {
    let mut row = get_row(tx, actor.tenant_id, release_id)?;
    if row.withdrawn.is_none() {
        row.withdrawn = Some(WithdrawnRow { at: now, by: actor.principal_id.into_bytes() });
        let event = Event::about("release.withdrawn", "release", release_id.0).with([
            ("project_id", Json::from(row.project_id.0.to_string())),
            ("sha256", Json::from(data_encoding::HEXLOWER.encode(&row.sha256))),
        ]);
        audit::record(tx, now, actor, event)?;
        tell_release(tx, now, actor, release_id, &row)?;
        tx.put(&RELEASES, &(actor.tenant_id, release_id), &row)?;
    }
    Ok(row.told(release_id))
}
