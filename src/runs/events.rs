//! The catalogue of events: what a webhook can ask for, by name, alias or wildcard.

const RUN: &[&str] = &[
    "scheduled",
    "queued",
    "pulling",
    "running",
    "paused",
    "resumed",
    "stopping",
    "exited",
    "failed",
    "timeout",
    "killed",
    "terminal",
    "*",
];
const WORKFLOW: &[&str] = &["running", "paused", "resumed", "succeeded", "failed", "cancelled", "terminal", "*"];
const NODE: &[&str] = &["running", "retrying", "waiting_approval", "succeeded", "failed", "skipped", "cancelled", "*"];

/// Whether a webhook may ask for this: a concrete event, an alias, a wildcard.
#[must_use]
pub(crate) fn is_event_pattern(pattern: &str) -> bool {
    match pattern.split_once('.') {
        Some(("run", event)) => RUN.contains(&event),
        Some(("workflow", event)) => WORKFLOW.contains(&event),
        Some(("node", event)) => NODE.contains(&event),
        _ => pattern == "*",
    }
}
