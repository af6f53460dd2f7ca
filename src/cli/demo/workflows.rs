//! The demo's template: a release that somebody has to agree to. One such workflow has ended, another one waits.

use std::net::SocketAddr;

use data_encoding::HEXLOWER;
use http::StatusCode;
use quintet_platform::secrets;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::content::{Line, Service};
use super::runs::IMAGE;
use crate::cli::CliError;

/// What the demo has launched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowsContent {
    /// What every Idempotency-Key of this content begins with; empty: nothing was begun.
    key_prefix: String,
    /// How many were launched.
    launched: u32,
    /// The one that ended first; empty: none yet.
    finished: String,
    /// The one that waits.
    waiting: String,
}

impl WorkflowsContent {
    /// Fixes what repetitions have in common. Whether anything changed.
    pub fn plan(&mut self) -> bool {
        let is_new = self.key_prefix.is_empty();
        if is_new {
            self.key_prefix = format!("demo-workflow-{}", HEXLOWER.encode(&secrets::random_bytes::<8>()));
        }
        is_new
    }

    /// Makes what is missing, and another one that waits where somebody has decided the last.
    pub async fn make(&mut self, address: SocketAddr, key: &str) -> Result<(), CliError> {
        let prefix = self.key_prefix.clone();
        let service = Service { name: "runs", address, key, tenant_id: "", key_prefix: &prefix };
        if self.finished.is_empty() {
            service.create("/api/v1/templates", "template", &template()).await?;
            let Some(workflow) = self.launch(&service).await? else { return Ok(()) };
            let path = format!("/api/v1/workflows/{workflow}");
            service
                .create(&format!("{path}/nodes/agree/approve"), "approve", &json!({"comment": "by the demo"}))
                .await?;
            service.call("GET", &format!("{path}?wait=30"), "", &Value::Null).await?;
            self.finished = workflow;
        }
        let (status, stands) =
            service.call("GET", &format!("/api/v1/workflows/{}", self.waiting), "", &Value::Null).await?;
        let is_decided = stands.get("state").is_none_or(|state| state != "running" && state != "pending");
        if self.waiting.is_empty() || status != StatusCode::OK || is_decided {
            self.waiting = self.launch(&service).await?.unwrap_or_default();
        }
        Ok(())
    }

    /// Runs the template for the next version; none: somebody has tried how to delete it.
    async fn launch(&mut self, service: &Service<'_>) -> Result<Option<String>, CliError> {
        let (path, number) = ("/api/v1/templates/release/run", self.launched);
        let body = json!({"params": {"version": format!("1.{number}")}});
        let (status, made) = service.call("POST", path, &format!("{}-{number}", service.key_prefix), &body).await?;
        match status {
            StatusCode::ACCEPTED => {
                self.launched += 1;
                Ok(made.get("workflow_id").and_then(Value::as_str).map(str::to_owned))
            }
            StatusCode::NOT_FOUND => Ok(None),
            _ => Err(CliError::failed(format!("runs answered {status} to POST {path}: {made}"))),
        }
    }

    /// Lines to paste into a shell: see what waits, decide it, run the template.
    pub fn curl_lines(&self, address: SocketAddr, key: &str) -> Vec<Line> {
        if self.waiting.is_empty() {
            return Vec::new();
        }
        let (base, who) = (format!("http://{address}/api/v1"), format!("-H 'Authorization: Bearer {key}'"));
        let waiting = format!("{base}/workflows/{}", self.waiting);
        let run = format!(
            "curl -s {base}/templates/release/run {who} -H 'Content-Type: application/json' -d \
             '{{\"params\":{{\"version\":\"2.0\"}}}}'"
        );
        vec![
            Line::new("see a workflow that waits for somebody to agree", format!("curl -s {waiting} {who}")),
            Line::new("draw it (as SVG, for a browser)", format!("curl -s {waiting}/graph.svg {who}")),
            Line::new(
                "agree: its next step runs in a container",
                format!("curl -s -X POST {waiting}/nodes/agree/approve {who}"),
            ),
            Line::new("run its template once more", run),
        ]
    }
}

fn template() -> Value {
    json!({
        "name": "release",
        "params": [{"name": "version", "type": "string", "required": true, "pattern": "^[0-9.]+$"}],
        "definition": {
            "name": "release ${{ version }}",
            "nodes": [
                {"ref": "build", "image": IMAGE, "command": ["--version"], "memory_limit_mb": 64},
                {"ref": "agree", "type": "approval"},
                {"ref": "ship", "image": IMAGE, "command": ["render", "--help"], "memory_limit_mb": 64},
                {"ref": "tell why", "image": IMAGE, "command": ["--version"], "memory_limit_mb": 64},
            ],
            "edges": [
                {"from": "build", "to": "ship"},
                {"from": "agree", "to": "ship"},
                {"from": "agree", "to": "tell why", "condition": "on_failure"},
            ],
        },
    })
}
