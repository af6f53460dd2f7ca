//! The state that lists and figures are told of: one in which nothing is left to be judged anew.

use std::time::Duration;

use quintet_platform::service::{Fault, failed};
use quintet_storage::Snapshot;

use crate::content::rejudge;
use crate::http::Call;
use crate::model::ProjectId;
use crate::refusal::Refusal;

/// How long a list waits for the pass that somebody else has caused.
const PATIENCE: Duration = Duration::from_secs(10);

/// A state in which every verdict of a project is that of now.
///
/// # Errors
/// [`Fault::Busy`] if the pass takes too long.
pub async fn settled(call: &Call, project_id: ProjectId) -> Result<Snapshot, Refusal> {
    let store = &call.foundation().store;
    let read = rejudge::settled(store, call.caller.tenant_id(), project_id, PATIENCE).await;
    read.map_err(|failure| failed::<Refusal>(&failure))?.ok_or_else(|| Fault::Busy.into())
}
