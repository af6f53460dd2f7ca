//! What the interface of runs answers, as far as pages show it (contract 2).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A page of a list.
#[derive(Deserialize)]
pub struct Page<T> {
    pub items: Vec<T>,
    pub next_cursor: Option<String>,
}

#[derive(Deserialize)]
pub struct Run {
    pub track_id: String,
    pub name: Option<String>,
    pub tags: Vec<String>,
    pub image: String,
    pub image_digest: Option<String>,
    pub command: Option<Vec<String>>,
    pub env: BTreeMap<String, String>,
    pub state: String,
    pub reason: Option<String>,
    pub message: Option<String>,
    pub exit_code: Option<i64>,
    pub cpu_limit: f64,
    pub memory_limit_mb: u64,
    pub timeout_seconds: u64,
    pub submitted_at: String,
    pub started_at: Option<String>,
    pub finished_at: Option<String>,
    pub workflow_id: Option<String>,
    pub node_ref: Option<String>,
    pub attempt: u64,
    pub scheduling_info: Scheduling,
}

#[derive(Deserialize)]
pub struct Scheduling {
    pub eligible_start: String,
    pub queue_position: Option<u64>,
    pub estimated_start: Option<String>,
    pub blocked_by: Option<String>,
}

#[derive(Deserialize)]
pub struct RunResult {
    pub signal: Option<i64>,
    pub duration_seconds: f64,
    pub paused_seconds: f64,
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
    pub stdout_truncated: bool,
    pub stderr_truncated: bool,
    /// As it was written: reading its numbers would change them.
    pub output: Box<RawValue>,
    pub peak_memory_mb: u64,
    pub cpu_seconds: f64,
}

#[derive(Deserialize)]
pub struct Logs {
    pub entries: Vec<LogEntry>,
    pub truncated: bool,
    pub next_since: String,
}

#[derive(Deserialize)]
pub struct LogEntry {
    pub ts: String,
    pub stream: String,
    pub line: String,
}

#[derive(Deserialize)]
pub struct Utilization {
    pub samples: Vec<Sample>,
}

#[derive(Clone, Deserialize)]
pub struct Sample {
    pub ts: String,
    pub cpu_percent: f64,
    pub memory_mb: u64,
    pub memory_limit_mb: u64,
}

#[derive(Deserialize)]
pub struct WorkflowItem {
    pub workflow_id: String,
    pub name: Option<String>,
    pub tags: Vec<String>,
    pub state: String,
    pub submitted_at: String,
    pub finished_at: Option<String>,
    pub node_counts: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
pub struct Workflow {
    pub workflow_id: String,
    pub name: Option<String>,
    pub tags: Vec<String>,
    pub state: String,
    pub failure_policy: String,
    pub template_id: Option<String>,
    pub template_version: Option<u64>,
    pub scheduled_start: Option<String>,
    pub submitted_at: String,
    pub started_at: Option<String>,
    pub finished_at: Option<String>,
    pub nodes: Vec<Node>,
    pub edges: Vec<Edge>,
}

#[derive(Deserialize)]
pub struct Node {
    #[serde(rename = "ref")]
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub state: String,
    pub attempt: u64,
    pub current_track_id: Option<String>,
    pub exit_code: Option<i64>,
    pub reason: Option<String>,
}

#[derive(Deserialize)]
pub struct Edge {
    pub from_ref: String,
    pub to_ref: String,
    pub condition: String,
}

#[derive(Deserialize)]
pub struct NodeDetail {
    #[serde(rename = "ref")]
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub image: Option<String>,
    pub state: String,
    pub attempts: Vec<String>,
    pub exit_code: Option<i64>,
    pub reason: Option<String>,
    pub message: Option<String>,
    pub output: Box<RawValue>,
    pub retries: u64,
    pub retry_at: Option<String>,
    pub inputs_from: Vec<String>,
    pub decision: Option<GateDecision>,
    pub started_at: Option<String>,
    pub finished_at: Option<String>,
}

#[derive(Deserialize)]
pub struct GateDecision {
    pub decision: String,
    pub comment: Option<String>,
    pub decided_at: String,
    pub decided_by: String,
}

#[derive(Deserialize)]
pub struct Event {
    pub id: u64,
    pub node_ref: Option<String>,
    pub to_state: String,
    pub detail: Value,
    pub created_at: String,
}

#[derive(Deserialize)]
pub struct Template {
    pub template_id: String,
    pub name: Option<String>,
    pub version: u64,
    pub latest_version: u64,
    pub params: Option<Vec<Param>>,
    pub created_at: String,
    pub updated_at: String,
    #[serde(default)]
    pub definition: Value,
}

#[derive(Deserialize)]
pub struct Param {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub required: Option<bool>,
    pub pattern: Option<String>,
    #[serde(rename = "enum")]
    pub choices: Option<Vec<String>>,
    pub default: Option<String>,
}

#[derive(Deserialize)]
pub struct TemplateVersion {
    pub version: u64,
    pub created_at: String,
    pub node_count: u64,
}

#[derive(Deserialize)]
pub struct Trigger {
    pub name: Option<String>,
    pub cron: String,
    pub timezone: String,
    pub enabled: bool,
    pub next_fires: Vec<String>,
    pub last_workflow_id: Option<String>,
}

#[derive(Deserialize)]
pub struct Timer {
    pub timer_id: String,
    pub name: Option<String>,
    pub fire_at: String,
    pub state: String,
    pub webhook: AlarmWebhook,
    pub delivery: Option<AlarmDelivery>,
}

#[derive(Deserialize)]
pub struct AlarmWebhook {
    pub url: String,
}

#[derive(Deserialize)]
pub struct AlarmDelivery {
    pub state: String,
    pub attempt: u64,
    pub last_error: Option<String>,
}

#[derive(Deserialize)]
pub struct Schedule {
    pub schedule_id: String,
    pub name: Option<String>,
    pub cron: String,
    pub timezone: String,
    pub webhook: AlarmWebhook,
    pub start_at: Option<String>,
    pub end_at: Option<String>,
    pub misfire: String,
    pub enabled: bool,
    pub next_fires: Vec<String>,
    pub last_fire_at: Option<String>,
    pub fire_count: u64,
    pub missed_count: u64,
    pub created_at: String,
}

#[derive(Deserialize)]
pub struct Endpoint {
    pub endpoint_id: String,
    pub url: String,
    pub events: Vec<String>,
    pub description: Option<String>,
    pub active: bool,
    pub disabled_reason: Option<String>,
    pub consecutive_failures: u64,
    pub dead_deliveries_total: u64,
    pub last_delivered_at: Option<String>,
    pub created_at: String,
}

#[derive(Deserialize)]
pub struct Deliveries {
    pub items: Vec<Delivery>,
    pub next_before: Option<u64>,
}

#[derive(Deserialize)]
pub struct Delivery {
    pub delivery_id: u64,
    pub event_type: String,
    pub state: String,
    pub attempt: u64,
    pub max_attempts: u64,
    pub next_attempt_at: Option<String>,
    pub last_status_code: Option<u64>,
    pub last_error: Option<String>,
    pub created_at: String,
    pub redelivery_of: Option<u64>,
}
