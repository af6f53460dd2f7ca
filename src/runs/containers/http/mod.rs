//! Runs over HTTP: submitting them, reading and deleting them, pausing and ending them, what they leave.
//!
//! Reading order: this file (the routes on one screen), `path` (what a path names) · `submission` with `words` and `webhook` (what it
//! is read with), `records` (runs as they stand), `controls`, `leavings` (results, logs, samples).

mod controls;
mod leavings;
mod path;
mod records;
mod submission;
pub(crate) mod webhook;
pub(crate) mod words;

use quintet_platform::service::Endpoint;

use crate::dialect::Runs;

/// What is served of runs.
pub(crate) const ENDPOINTS: &[Endpoint<Runs>] = &[
    Endpoint::new(&submission::SUBMIT, |call| Box::pin(submission::submit(call))),
    Endpoint::new(&records::LIST, |call| Box::pin(records::list(call))),
    Endpoint::new(&records::GET, |call| Box::pin(records::get(call))),
    Endpoint::new(&leavings::RESULT, |call| Box::pin(leavings::result(call))),
    Endpoint::new(&leavings::LOGS, |call| Box::pin(leavings::logs(call))),
    Endpoint::new(&leavings::UTILIZATION, |call| Box::pin(leavings::utilization(call))),
    Endpoint::new(&controls::PAUSE, |call| Box::pin(controls::pause(call))),
    Endpoint::new(&controls::RESUME, |call| Box::pin(controls::resume(call))),
    Endpoint::new(&controls::STOP, |call| Box::pin(controls::stop(call))),
    Endpoint::new(&controls::KILL, |call| Box::pin(controls::kill(call))),
    Endpoint::new(&records::DELETE, |call| Box::pin(records::delete(call))),
];
