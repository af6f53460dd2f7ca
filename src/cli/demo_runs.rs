//! The demo's image and its first run.
//!
//! The image has one file: this very program, which needs nothing besides itself. What runs in it is a command of it
//! that needs no data, such as `--version` or `render`.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use data_encoding::HEXLOWER;
use quintet_platform::secrets::digest;
use quintet_runtime::Runner;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::CliError;
use super::demo_content::{Line, Service};
use crate::app::App;

/// The image's name.
const IMAGE: &str = "quintet-demo";
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
    let layer = archive(&[("quintet", &program)]);
    drop(program);
    let diff_id = format!("sha256:{}", HEXLOWER.encode(&digest(&layer)));
    let config = json!({
        "architecture": "amd64", "os": "linux", "config": {"Entrypoint": ["/quintet"], "Cmd": ["--version"]},
        "rootfs": {"type": "layers", "diff_ids": [diff_id]},
    });
    let config = config.to_string().into_bytes();
    let config_name = format!("{}.json", HEXLOWER.encode(&digest(&config)));
    let manifest = json!([{"Config": config_name, "RepoTags": [IMAGE], "Layers": ["layer.tar"]}]).to_string();
    let files: [(&str, &[u8]); 3] =
        [(&config_name, &config), ("manifest.json", manifest.as_bytes()), ("layer.tar", &layer)];
    let mut file = tempfile()?;
    std::io::Write::write_all(&mut file, &archive(&files)).map_err(CliError::failed)?;
    std::io::Seek::rewind(&mut file).map_err(CliError::failed)?;
    runner.import(OwnedFd::from(file), &name, None).map_err(CliError::failed)?;
    Ok(())
}

/// A file that has no name.
fn tempfile() -> Result<std::fs::File, CliError> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let made = rustix::fs::open(std::env::temp_dir(), flags, Mode::from_raw_mode(0o600));
    made.map(std::fs::File::from).map_err(|error| CliError::failed(format!("a temporary file: {error}")))
}

/// A tar of files that everybody may execute.
fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = Vec::new();
    for (name, content) in files {
        let size = format!("{:011o}\0", content.len());
        let fields: [(usize, &[u8]); 7] = [
            (100, b"0000755\0"),
            (108, b"0000000\0"),
            (116, b"0000000\0"),
            (124, size.as_bytes()),
            (136, b"14000000000\0"),
            (156, b"0"),
            (257, b"ustar\x0000"),
        ];
        let mut header = vec![0_u8; 512];
        let mut put = |at: usize, bytes: &[u8]| {
            header.iter_mut().skip(at).zip(bytes).for_each(|(to, from)| *to = *from);
        };
        put(0, name.as_bytes());
        put(148, b"        ");
        fields.iter().for_each(|(at, bytes)| put(*at, bytes));
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        let text = format!("{sum:06o}\0 ");
        header.iter_mut().skip(148).zip(text.as_bytes()).for_each(|(to, from)| *to = *from);
        tar.extend_from_slice(&header);
        tar.extend_from_slice(content);
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
    tar.resize(tar.len() + 1024, 0);
    tar
}
