//! Makes a release: archive and manifest, stored where nobody sees them.

use std::sync::Arc;

use quintet_platform::background;
use quintet_platform::secrets::Digest;
use quintet_platform::service::{Fault, TURN_TIME};
use quintet_storage::large::{LargeValue, StagedValue, Upload};
use quintet_storage::{Abort, Failure, Store};

use super::entries::{Entries, write_entries};
use super::manifest::read_page;
use super::output::{Archive, Halt, Piece, Pieces, Way, way};
use super::publish::PublishRelease;
use super::zip::Directory;
use crate::content::{begin_value, upload_refused};
use crate::context::Context;
use crate::model::{ProjectId, TenantId};
use crate::refusal::Refusal;

/// Makes a release of a project, until it is published, or the values are dropped that come with it. It waits for its turn:
/// a tenant has one at a time, the appliance two.
///
/// # Errors
/// [`Refusal::ReleaseTooLarge`]; [`Fault::Busy`] if others kept it waiting, or it took longer than it may; the store's.
pub async fn make_release(
    context: &Context,
    tenant_id: TenantId,
    project_id: ProjectId,
) -> Result<(PublishRelease, [StagedValue; 2]), Abort<Refusal>> {
    let turn = context.releases.hold(tenant_id.0, 1, TURN_TIME).await.map_err(Refusal::from)?;
    // The turn ends with the last who works in it, also if the caller leaves meanwhile.
    let turn = Arc::new(turn);
    for is_long in [false, true] {
        match attempt(&context.store, (tenant_id, project_id), is_long, &turn).await {
            Ok(made) => return Ok(made),
            Err(Halt::StateGone) => {}
            // Only those who take pieces give up, and tell why themselves.
            Err(Halt::Abandoned) => return Err(Refusal::from(Fault::Internal).into()),
            Err(Halt::Aborted(Abort::Refused(Refusal::UploadExpired))) => break,
            Err(Halt::Aborted(abort)) => return Err(abort),
        }
    }
    Err(Failure::Busy.into())
}

pub(super) async fn attempt<T: Send + Sync + 'static>(
    store: &Store,
    project: (TenantId, ProjectId),
    is_long: bool,
    turn: &Arc<T>,
) -> Result<(PublishRelease, [StagedValue; 2]), Halt> {
    let mut archive = begin_value(store, project.0).await?;
    let mut manifest = begin_value(store, project.0).await?;
    let (own, held) = (store.clone(), Arc::clone(turn));
    let entries = run(&mut archive, Some(&mut manifest), move |way| {
        let written = write_entries(&own, project, is_long, way);
        drop(held);
        written
    });
    let Entries { archive: begun, survey, count } = entries.await?;
    let staged_manifest = manifest.stage().await.map_err(upload_refused)?;
    let (own, held, value) = (store.clone(), Arc::clone(turn), staged_manifest.value().clone());
    let sha256 = run(&mut archive, None, move |way| {
        let written = write_directory(&own, &value, begun, way);
        drop(held);
        written
    });
    let sha256 = sha256.await?;
    let staged_archive = archive.stage().await.map_err(upload_refused)?;
    let command = PublishRelease {
        project_id: project.1,
        sha256,
        files: survey.files,
        locales: survey.locales.len() as u64,
        entries: count,
        archive: staged_archive.value().clone(),
        manifest: staged_manifest.value().clone(),
    };
    Ok((command, [staged_archive, staged_manifest]))
}

/// Does work on a thread of its own, and stores the pieces that it makes.
async fn run<T: Send + 'static>(
    archive: &mut Upload,
    manifest: Option<&mut Upload>,
    work: impl FnOnce(&Way) -> Result<T, Halt> + Send + 'static,
) -> Result<T, Halt> {
    let (way, pieces) = way();
    let working = background::spawn("release", move || work(&way));
    take(pieces, archive, manifest).await?;
    // Nothing comes of work that panicked.
    working.await.map_err(|_| Halt::Aborted(Abort::Refused(Fault::Internal.into())))?
}

async fn take(mut pieces: Pieces, archive: &mut Upload, mut manifest: Option<&mut Upload>) -> Result<(), Halt> {
    while let Some(piece) = pieces.recv().await {
        let pushed = match (&piece, &mut manifest) {
            (Piece::Archive(bytes), _) => archive.push(bytes).await,
            (Piece::Manifest(bytes), Some(manifest)) => manifest.push(bytes).await,
            (Piece::Manifest(_), None) => Ok(()),
        };
        pushed.map_err(upload_refused)?;
    }
    Ok(())
}

/// Writes the directory of an archive, out of its manifest; SHA-256 of the archive.
fn write_directory(store: &Store, manifest: &LargeValue, mut archive: Archive, way: &Way) -> Result<Digest, Halt> {
    let (mut directory, mut at) = (Directory::default(), 0);
    // What is stored under this name never changes: each page may be read in a state of its own.
    while let Some((entries, next)) = read_page(&store.read(), manifest, at)? {
        for entry in &entries {
            archive.write(way, &directory.header(entry))?;
        }
        at = next;
    }
    archive.write(way, &directory.end())?;
    archive.finish(way)
}
