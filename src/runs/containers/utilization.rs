//! What a run has used: samples from its container while that is there, from its archive afterwards. Blocking.

use quintet_runtime::{Refusal as RunnerRefusal, RunnerError, Sample};
use quintet_storage::Abort;

use super::logs::{Kept, kept};
use super::runner::refusal_of;
use crate::context::Context;
use crate::model::RunKey;
use crate::refusal::Refusal;

/// The samples of a run, oldest first.
pub(crate) fn samples(context: &Context, run_key: RunKey) -> Result<Vec<Sample>, Abort<Refusal>> {
    // As with logs: the archive is there before the container goes.
    for _ in 0..2 {
        let id = match kept(context, run_key)? {
            Kept::Archive(reader) => return Ok(reader.samples()?),
            Kept::Container(id) => id,
            Kept::Nowhere => break,
        };
        let Some(runner) = &context.runner else { break };
        match runner.samples(&id, 0) {
            Ok(samples) => return Ok(samples),
            Err(RunnerError::Refused(RunnerRefusal::NoSuchContainer)) => {}
            Err(error) => return Err(refusal_of(&error).into()),
        }
    }
    Ok(Vec::new())
}
