//! States as people read them: a word, and a colour beside it.

/// The key of the word for a state: of a run, a workflow, a node, a timer, a delivery.
pub fn word(state: &str) -> &'static str {
    match state {
        "scheduled" => "runs.scheduled",
        "queued" => "runs.queued",
        "pulling" => "runs.pulling",
        "running" => "runs.running",
        "paused" => "runs.paused",
        "exited" => "runs.exited",
        "failed" => "runs.failed",
        "timeout" => "runs.timeout",
        "killed" => "runs.killed",
        "pending" => "runs.pending",
        "succeeded" => "runs.succeeded",
        "cancelled" => "runs.cancelled",
        "retrying" => "runs.retrying",
        "waiting_approval" => "runs.waiting_approval",
        "skipped" => "runs.skipped",
        "fired" => "runs.fired",
        "delivering" => "runs.delivering",
        "delivered" => "runs.delivered",
        "dead" => "runs.dead",
        _ => "runs.other",
    }
}

/// How a state looks: `good`, `fair`, `bad`, or like everything else.
pub fn look(state: &str) -> &'static str {
    match state {
        "exited" | "succeeded" | "fired" | "delivered" => "good",
        "paused" | "retrying" | "waiting_approval" => "fair",
        "failed" | "timeout" | "killed" | "dead" => "bad",
        _ => "",
    }
}

/// The states of runs, as the interface calls them.
pub const OF_RUNS: [&str; 9] =
    ["scheduled", "queued", "pulling", "running", "paused", "exited", "failed", "timeout", "killed"];
/// Those of workflows.
pub const OF_WORKFLOWS: [&str; 6] = ["pending", "running", "paused", "succeeded", "failed", "cancelled"];
/// Those of timers.
pub const OF_TIMERS: [&str; 3] = ["pending", "fired", "cancelled"];

/// Whether a run, a workflow or a node has ended.
pub fn has_ended(state: &str) -> bool {
    matches!(state, "exited" | "failed" | "timeout" | "killed" | "succeeded" | "cancelled" | "skipped")
}
