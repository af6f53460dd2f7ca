//! The route table: what is served, who may call it, and what it is described with.

use quintet_platform::http::describe::Parameter;

/// A served route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Its method; a GET serves HEAD as well.
    pub method: &'static str,
    /// Its path.
    pub path: &'static str,
    /// The permission a key must have; empty: everybody may call it.
    pub permission: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// The status of success.
    pub status: u16,
    /// The schema of the request's body; empty: none.
    pub request: &'static str,
    /// The schema of the answer; empty: no JSON.
    pub answer: &'static str,
    /// What its query may say.
    pub parameters: &'static [Parameter],
    /// Its own error codes, besides those that go with its kind.
    pub own_codes: &'static [&'static str],
}

macro_rules! route {
    ($method:literal $path:literal $permission:literal, $summary:literal, $request:literal => $status:literal $answer:literal $(, $name:ident: $value:expr)*) => {
        Route {
            $($name: $value,)*
            ..Route {
                method: $method,
                path: $path,
                permission: $permission,
                summary: $summary,
                status: $status,
                request: $request,
                answer: $answer,
                parameters: &[],
                own_codes: &[],
            }
        }
    };
}

const fn parameter(name: &'static str, schema: &'static str, about: &'static str) -> Parameter {
    Parameter { name, is_required: false, schema, about }
}

const LIST_PARAMETERS: &[Parameter] = &[
    parameter(
        "state",
        r#"{"enum":["scheduled","queued","pulling","running","paused","exited","failed","timeout","killed"]}"#,
        "Runs in this state.",
    ),
    parameter("tag", r#"{"type":"string"}"#, "Runs with this label."),
    parameter("name", r#"{"type":"string"}"#, "Runs of this name."),
    parameter("image", r#"{"type":"string"}"#, "Runs of this image, as it was asked for."),
    parameter("workflow_id", r#"{"type":"string"}"#, "Runs of this workflow."),
    parameter(
        "submitted_after",
        r#"{"type":"string","format":"date-time"}"#,
        "Runs submitted at this instant or later.",
    ),
    parameter("submitted_before", r#"{"type":"string","format":"date-time"}"#, "Runs submitted before this instant."),
    parameter(
        "limit",
        r#"{"type":"integer","minimum":1,"maximum":200,"default":50}"#,
        "The most items of a page. A page can have fewer and still not be the last.",
    ),
    parameter("cursor", r#"{"type":"string"}"#, "The next_cursor of the page before, with the same filters."),
];
const RUN_PARAMETERS: &[Parameter] = &[parameter(
    "wait",
    r#"{"type":"integer","minimum":1,"maximum":60}"#,
    "Answer once the run has ended, or after so many seconds as it stands then.",
)];
const LOG_PARAMETERS: &[Parameter] = &[
    parameter("stream", r#"{"enum":["stdout","stderr","both"],"default":"stdout"}"#, "Which stream."),
    parameter("tail", r#"{"type":"integer","minimum":1,"maximum":50000}"#, "Only the last so many lines."),
    parameter("since", r#"{"type":"string","format":"date-time"}"#, "Only lines written at this instant or later."),
    parameter(
        "follow",
        r#"{"enum":["true","false"],"default":"false"}"#,
        "Server-sent events instead: a `line` for each line, then an `end` once the run has ended.",
    ),
];

pub(super) const HEALTH: Route =
    route!("GET" "/health" "", "How the service is: database, engine, workers", "" => 200 "Health");
pub(super) const OPENAPI: Route = route!("GET" "/openapi.json" "", "The interface in OpenAPI 3.1", "" => 200 "");
pub(super) const LLMS: Route = route!("GET" "/llms.txt" "", "All that an agent needs to use it", "" => 200 "");
pub(super) const RUN_SUBMIT: Route = route!("POST" "/api/v1/runs" "svc_run_submit",
    "Submit a run; it is never refused for want of a slot", "RunSubmit" => 202 "RunSubmitted",
    own_codes: &["daily_quota_exceeded", "image_not_allowed", "metered_quota_exceeded", "unknown_webhook_key",
        "url_not_allowed"]);
pub(super) const RUN_LIST: Route = route!("GET" "/api/v1/runs" "svc_run_read", "List runs, newest first",
    "" => 200 "RunPage", parameters: LIST_PARAMETERS);
pub(super) const RUN_GET: Route = route!("GET" "/api/v1/runs/{track_id}" "svc_run_read",
    "One run: its state, and what it waits for", "" => 200 "Run", parameters: RUN_PARAMETERS);
pub(super) const RUN_RESULT: Route = route!("GET" "/api/v1/runs/{track_id}/result" "svc_run_read",
    "How a run ended", "" => 200 "Result", own_codes: &["not_terminal"]);
pub(super) const RUN_LOGS: Route = route!("GET" "/api/v1/runs/{track_id}/logs" "svc_run_read",
    "What a run wrote; the header X-Log-Source says where that comes from: live, archive or none",
    "" => 200 "Logs", parameters: LOG_PARAMETERS, own_codes: &["engine_unavailable", "busy"]);
pub(super) const RUN_UTILIZATION: Route = route!("GET" "/api/v1/runs/{track_id}/utilization" "svc_run_read",
    "What a run used: a sample a second for ten minutes, then one every five; 100 percent is a full core",
    "" => 200 "Utilization", own_codes: &["engine_unavailable"]);
pub(super) const RUN_PAUSE: Route = route!("POST" "/api/v1/runs/{track_id}/pause" "svc_run_control",
    "Freeze a running run with its memory", "" => 204 "", own_codes: &["invalid_state", "engine_unavailable"]);
pub(super) const RUN_RESUME: Route = route!("POST" "/api/v1/runs/{track_id}/resume" "svc_run_control",
    "Let a paused run go on", "" => 204 "", own_codes: &["invalid_state", "engine_unavailable"]);
pub(super) const RUN_STOP: Route = route!("POST" "/api/v1/runs/{track_id}/stop" "svc_run_control",
    "Send SIGTERM to a running run, and SIGKILL once the grace period is over",
    "" => 204 "", own_codes: &["invalid_state", "engine_unavailable"]);
pub(super) const RUN_KILL: Route = route!("POST" "/api/v1/runs/{track_id}/kill" "svc_run_control",
    "Send SIGKILL to a running or paused run", "" => 204 "", own_codes: &["invalid_state", "engine_unavailable"]);
pub(super) const RUN_DELETE: Route = route!("DELETE" "/api/v1/runs/{track_id}" "svc_run_delete",
    "Delete a run that has ended or has no slot yet, with everything that is kept of it",
    "" => 200 "RunDeleted", own_codes: &["run_active"]);
pub(super) const QUOTAS_GET: Route = route!("GET" "/api/v1/tenant/quotas" "svc_run_read",
    "What the tenant may, with the operator's ceilings taken into account", "" => 200 "Quotas");
pub(super) const QUOTAS_PUT: Route = route!("PUT" "/api/v1/tenant/quotas" "svc_tenant_admin",
    "Change some quotas, up to the operator's ceilings; the others stay as they are", "QuotasChange" => 200 "Quotas",
    own_codes: &["above_ceiling", "invalid_working_hours"]);
pub(super) const USAGE_GET: Route = route!("GET" "/api/v1/usage" "svc_run_read",
    "What the key allows, and what has been used of it", "" => 200 "Usage");

/// Every route, in the order of the documentation.
pub const ROUTES: &[Route] = &[
    HEALTH,
    OPENAPI,
    LLMS,
    RUN_SUBMIT,
    RUN_LIST,
    RUN_GET,
    RUN_RESULT,
    RUN_LOGS,
    RUN_UTILIZATION,
    RUN_PAUSE,
    RUN_RESUME,
    RUN_STOP,
    RUN_KILL,
    RUN_DELETE,
    QUOTAS_GET,
    QUOTAS_PUT,
    USAGE_GET,
];

/// Codes of every route that asks for a key.
const KEYED_CODES: &[&str] = &[
    "unauthorized",
    "forbidden",
    "unknown_query_parameter",
    "validation_failed",
    "quota_exceeded",
    "authorization_unavailable",
];
/// Codes of every route that writes.
const WRITING_CODES: &[&str] = &["storage_full", "busy", "writing_stopped", "outcome_unknown"];
/// Codes of every route with a body.
const BODY_CODES: &[&str] = &["malformed_json", "payload_too_large", "request_timeout", "unsupported_media_type"];

impl Route {
    /// Every error code it can answer with.
    #[must_use]
    pub fn codes(&self) -> Vec<&'static str> {
        let mut codes = self.own_codes.to_vec();
        codes.push("internal_error");
        if !self.permission.is_empty() {
            codes.extend(KEYED_CODES);
        }
        if self.method != "GET" {
            codes.extend(WRITING_CODES);
        }
        if !self.request.is_empty() {
            codes.extend(BODY_CODES);
        }
        if self.path.contains('{') {
            codes.push("not_found");
        }
        codes.sort_unstable();
        codes.dedup();
        codes
    }
}
