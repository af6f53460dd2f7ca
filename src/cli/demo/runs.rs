//! The demo's image and its first run.
//!
//! The image has one file: this very program, which needs nothing besides itself. What runs in it is a command of it
//! that needs no data, such as `--version` or `render`.

use std::io::Cursor;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use quintet_runtime::Runner;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::content::{Line, Service};
use crate::app::App;
use crate::cli::CliError;
use crate::cli::runs::rootfs;

/// The image's name.
pub(super) const IMAGE: &str = "quintet-demo";
/// How long the runner may take to answer, and the first run to end.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two looks.
const LOOK_PAUSE: Duration = Duration::from_millis(100);

/// What the demo has run.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunsContent {
    /// The first run; empty: none yet.
    pub track_id: String,
}

impl RunsContent {
    /// Makes the image and runs it once, if there is anything here that can. Whether anything changed.
    pub async fn make(&mut self, app: &App, address: SocketAddr, key: &str) -> Result<bool, CliError> {
        if !self.track_id.is_empty() || !is_ready(app).await {
            return Ok(false);
        }
        let Some(place) = app.runner.clone() else { return Ok(false) };
        let import = move || import(&Runner::new(place.socket));
        tokio::task::spawn_blocking(import).await.map_err(CliError::failed)??;
        let service = Service { name: "runs", address, key, tenant_id: "", key_prefix: "demo-run" };
        let body = json!({"image": IMAGE, "command": ["--version"], "name": "first", "tags": ["demo"]});
        let submitted = service.create("/api/v1/runs", "first", &body).await?;
        let track_id = submitted.get("track_id").and_then(Value::as_str).unwrap_or_default().to_owned();
        service.call("GET", &format!("/api/v1/runs/{track_id}?wait=30"), "", &Value::Null).await?;
        self.track_id = track_id;
        Ok(true)
    }

    /// Lines to paste into a shell: run something else, read what the first run wrote.
    pub fn curl_lines(&self, address: SocketAddr, key: &str) -> Vec<Line> {
        if self.track_id.is_empty() {
            return Vec::new();
        }
        let who = format!("-H 'Authorization: Bearer {key}'");
        let submit = format!(
            "curl -s http://{address}/api/v1/runs {who} -H 'Content-Type: application/json' -d \
             '{{\"image\":\"{IMAGE}\",\"command\":[\"render\",\"--help\"],\"memory_limit_mb\":64}}'"
        );
        let logs = format!("curl -s http://{address}/api/v1/runs/{}/logs {who}", self.track_id);
        vec![Line::new("run a container", submit), Line::new("read what the first container wrote", logs)]
    }
}

/// What clients of the Model Context Protocol want to be told.
pub fn client_line(address: SocketAddr, key: &str) -> Line {
    let client = json!({"type": "http", "url": format!("http://{address}/mcp"), "headers": {"Authorization": format!("Bearer {key}")}});
    Line::new("give runs to a model: for your MCP client, under \"mcpServers\"", json!({"runs": client}).to_string())
}

/// Waits for the engine; a user without privileges and without a runner has none.
async fn is_ready(app: &App) -> bool {
    let is_possible = app.runs.is_engine_up() || rustix::process::geteuid().is_root();
    let until = std::time::Instant::now() + PATIENCE;
    while is_possible && app.runs.has_runner() && std::time::Instant::now() < until {
        if app.runs.is_engine_up() {
            return true;
        }
        tokio::time::sleep(LOOK_PAUSE).await;
    }
    false
}

/// Gives the runner the image, unless it has it.
fn import(runner: &Runner) -> Result<(), CliError> {
    let name = quintet_runs::registry::Reference::parse(IMAGE).map_err(CliError::failed)?.to_string();
    if runner.image(&name).map_err(CliError::failed)?.is_some() {
        return Ok(());
    }
    let program = std::fs::read("/proc/self/exe").map_err(CliError::failed)?;
    let mut layer = Vec::new();
    rootfs::put(&mut layer, "quintet", program.len() as u64, &mut program.as_slice()).map_err(CliError::failed)?;
    drop(program);
    let defaults = json!({"Entrypoint": ["/quintet"], "Cmd": ["--version"]});
    let file = rootfs::image(&mut Cursor::new(layer), &defaults)?;
    runner.import(OwnedFd::from(file), &name, None).map_err(CliError::failed)?;
    Ok(())
}
