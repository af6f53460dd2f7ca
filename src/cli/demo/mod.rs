//! `quintet demo`: the appliance with a tenant, keys and a little content, for the first five minutes.

mod console;
mod content;
mod localization;
mod messaging;
mod receiver;
mod runs;
mod webhooks;
mod workflows;

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use quintet_platform::secrets;
use quintet_storage::Uuid;
use serde::{Deserialize, Serialize};

use self::console::Ways;
use self::content::LedgerContent;
use self::localization::LocalizationContent;
use self::messaging::MessagingContent;
use self::receiver::Receiver;
use self::runs::RunsContent;
use self::webhooks::WebhooksContent;
use self::workflows::WorkflowsContent;
use crate::admin::keys::{self, KeyWish};
use crate::admin::task::TaskError;
use crate::admin::tenants::{self, TenantWish};
use crate::app::App;
use crate::cli::CliError;
use crate::cli::output::{self, OutputArguments};
use crate::cli::serve::start_logging;
use crate::config::{Config, Network, Sources};
use crate::serve::{self, Running};
use crate::start_error::StartError;

/// Where the demo's data lie when nobody says otherwise.
const DEFAULT_DATA_DIR: &str = "quintet-data";

/// The demo tenant's name; that of a later one has a part of its id behind it.
const TENANT_NAME: &str = "demo";

/// The file in the data directory that remembers the tenant, the keys and what was posted.
const STATE_FILE: &str = "demo.json";

/// Run the appliance with a demo tenant, keys and a little content
///
/// It stays in the foreground until Ctrl-C; started again it goes on with the same data. The configuration
/// file of an installed appliance is not read; environment variables are.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The data directory [default: QUINTET_DATA_DIR, else ./quintet-data]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// What to log [default: RUST_LOG, else warn]
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,
    #[command(flatten)]
    output: OutputArguments,
}

/// What the demo remembers between two starts.
#[derive(Default, Serialize, Deserialize)]
pub struct State {
    /// The demo tenant. Chosen here, so that it is noted down before it is made.
    pub tenant_id: String,
    /// The tenant's name.
    #[serde(default)]
    pub tenant_name: String,
    /// A key for each service.
    pub keys: BTreeMap<String, String>,
    /// The ledger's content.
    pub ledger: LedgerContent,
    /// Localization's content.
    #[serde(default)]
    pub localization: LocalizationContent,
    /// What was run.
    #[serde(default)]
    pub runs: RunsContent,
    /// Its template, and what was launched of it.
    #[serde(default)]
    pub workflows: WorkflowsContent,
    /// Its workspace.
    #[serde(default)]
    pub messaging: MessagingContent,
    /// Its endpoint of webhooks.
    #[serde(default)]
    pub webhooks: WebhooksContent,
}

impl State {
    /// A demo that has not begun.
    fn draw(app: &App) -> Result<State, CliError> {
        let mut bytes = secrets::random_bytes::<16>();
        // A random UUID is marked as one (RFC 9562, version 4).
        let [_, _, _, _, _, _, version, _, variant, ..] = &mut bytes;
        *version = *version & 0x0F | 0x40;
        *variant = *variant & 0x3F | 0x80;
        let tenant_id = Uuid::from_bytes(bytes).to_string();
        let tenant_name = match tenants::show(app, TENANT_NAME) {
            Err(TaskError::NotFound(_)) => TENANT_NAME.to_string(),
            // Conflict: there are even several of that name.
            Ok(_) | Err(TaskError::Conflict(_)) => format!("{TENANT_NAME}-{}", tenant_id.get(..8).unwrap_or_default()),
            Err(error) => return Err(task_error(error)),
        };
        Ok(State {
            tenant_id,
            tenant_name,
            keys: BTreeMap::new(),
            ledger: LedgerContent::draw(),
            localization: LocalizationContent::default(),
            runs: RunsContent::default(),
            workflows: WorkflowsContent::default(),
            messaging: MessagingContent::default(),
            webhooks: WebhooksContent::default(),
        })
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    start_logging(arguments.log_level.as_deref(), "warn")?;
    let from_environment = std::env::var_os("QUINTET_DATA_DIR").map(PathBuf::from);
    let data_dir = arguments.data.clone().or(from_environment).unwrap_or_else(|| DEFAULT_DATA_DIR.into());
    let mut sources = Sources::of_process(None, Some(data_dir));
    // /etc/quintet/quintet.toml speaks of another appliance; its ports and secrets are not the demo's.
    sources.reads_default_file = false;
    let mut config = Config::load(&sources)?;
    // Its webhooks may call its own receiver, and what else the environment allows.
    config.egress_allow_private.push(Network::of(receiver::ADDRESS.into()));
    if config.tls_pair.is_some() {
        return Err(CliError::failed("the demo speaks plain HTTP").hint("leave tls.cert and tls.key empty for it"));
    }
    let output = arguments.output;
    serve::block_on(live(config, output)).map_err(CliError::failed)?
}

async fn live(config: Config, output: OutputArguments) -> Result<(), CliError> {
    let running = match serve::start(config, false, |step| output::progress(&format!("{step} ..."))).await {
        Err(StartError::ToldToStop) => return Ok(()),
        started => started?,
    };
    let outcome = tokio::select! {
        shown = prepare_and_show(&running, output) => match shown {
            Ok(()) => {
                running.until_told().await;
                Ok(())
            }
            Err(error) => Err(error),
        },
        () = running.until_told() => Ok(()),
    };
    if outcome.is_ok() {
        output::progress("\nstopping ...");
    }
    running.stop().await;
    outcome
}

async fn prepare_and_show(running: &Running, output: OutputArguments) -> Result<(), CliError> {
    let path = running.app().store.directory().join(STATE_FILE);
    let mut state = prepare_tenant(running, &path).await?;
    if let Some(address) = address_of(running, "ledger") {
        state = prepare_ledger(running, &path, state, address).await?;
    }
    if let Some(address) = address_of(running, "localization") {
        state = prepare_localization(&path, state, address).await?;
    }
    if let Some(address) = address_of(running, "runs") {
        state = prepare_runs(running, &path, state, address).await?;
        state = prepare_webhooks(running, &path, state, (address, output)).await?;
    }
    if let Some(address) = address_of(running, "messaging") {
        state = prepare_messaging(running, &path, state, address).await?;
    }
    let diagram = prepare_diagram(running, &state).await?;
    let trials = trials(running, &state, diagram.as_deref());
    // Last of all: the links work for a while only.
    let ways = console::prepare(running.app(), &state.tenant_id).await.map_err(task_error)?;
    if output.json {
        let told = serde_json::json!({ "items": trials, "tenant_id": state.tenant_id, "console": ways });
        return output::say_json(&told);
    }
    show(running, &state, (&trials, &ways));
    Ok(())
}

/// The tenant and a key for each service that listens; what an earlier start made is kept.
async fn prepare_tenant(running: &Running, path: &Path) -> Result<State, CliError> {
    let app = running.app();
    let mut state = read_state(path)?;
    if state.tenant_id.is_empty() {
        // Without its notes the demo cannot tell what an earlier one has posted: it begins again, beside it.
        state = State::draw(app)?;
        write_state(path, &state)?;
    }
    match tenants::show(app, &state.tenant_id) {
        Ok(tenant) => state.tenant_name = tenant.name,
        Err(TaskError::NotFound(_)) => {
            output::progress(&format!("creating the tenant {:?} ...", state.tenant_name));
            let (name, id) = (state.tenant_name.clone(), Some(state.tenant_id.clone()));
            tenants::create(app, TenantWish { name, id, services: None }).await.map_err(task_error)?;
        }
        Err(error) => return Err(task_error(error)),
    }
    if ["ledger", "localization", "runs"].iter().any(|service| !state.keys.contains_key(*service)) {
        output::progress("issuing keys ...");
        issue_key(running, path, &mut state).await?;
    }
    Ok(state)
}

async fn issue_key(running: &Running, path: &Path, state: &mut State) -> Result<(), CliError> {
    let wish = KeyWish {
        tenant: state.tenant_id.clone(),
        label: Some("demo".into()),
        permissions: Vec::new(),
        template: None,
        scope: None,
        ttl_days: None,
        runs: None,
    };
    let key = keys::issue(running.app(), wish).await.map_err(task_error)?;
    // One key for all: it may do everything with the tenant's own data.
    state.keys.insert("localization".into(), key.api_key.clone());
    state.keys.insert("runs".into(), key.api_key.clone());
    state.keys.insert("ledger".into(), key.api_key);
    write_state(path, state)
}

async fn prepare_ledger(
    running: &Running,
    path: &Path,
    mut state: State,
    address: SocketAddr,
) -> Result<State, CliError> {
    let key_of = |state: &State| state.keys.get("ledger").cloned().unwrap_or_default();
    if !content::is_key_accepted(address, &key_of(&state)).await? {
        output::progress("the demo's key was revoked; issuing another ...");
        issue_key(running, path, &mut state).await?;
    }
    let key = key_of(&state);
    let now = running.app().clock.now();
    if state.ledger.plan(now) {
        output::progress("posting to the ledger ...");
        write_state(path, &state)?;
    }
    if state.ledger.post(address, &key).await? {
        write_state(path, &state)?;
    }
    Ok(state)
}

async fn prepare_localization(path: &Path, mut state: State, address: SocketAddr) -> Result<State, CliError> {
    let key = state.keys.get("localization").cloned().unwrap_or_default();
    if state.localization.plan() {
        output::progress("uploading a file to localization ...");
        write_state(path, &state)?;
    }
    if state.localization.make(address, &key, &state.tenant_id).await? {
        write_state(path, &state)?;
    }
    Ok(state)
}

async fn prepare_runs(
    running: &Running,
    path: &Path,
    mut state: State,
    address: SocketAddr,
) -> Result<State, CliError> {
    let key = state.keys.get("runs").cloned().unwrap_or_default();
    if state.runs.track_id.is_empty() {
        output::progress("running a container ...");
    }
    if state.runs.make(running.app(), address, &key).await? {
        write_state(path, &state)?;
    } else if state.runs.track_id.is_empty() {
        output::progress("containers need root, or a runner: see `quintet runner --help`");
    }
    if state.runs.track_id.is_empty() {
        return Ok(state);
    }
    if state.workflows.plan() {
        output::progress("running a workflow ...");
        write_state(path, &state)?;
    }
    let before = state.workflows.clone();
    state.workflows.make(address, &key).await?;
    if state.workflows != before {
        write_state(path, &state)?;
    }
    Ok(state)
}

async fn prepare_messaging(
    running: &Running,
    path: &Path,
    mut state: State,
    address: SocketAddr,
) -> Result<State, CliError> {
    if state.messaging.plan() {
        output::progress("having two agents write to each other ...");
        write_state(path, &state)?;
    }
    if state.messaging.open(running.app(), &state.tenant_id).await? {
        state.keys.insert("messaging".into(), state.messaging.admin_key.clone());
        write_state(path, &state)?;
    }
    if state.messaging.make(address).await? {
        write_state(path, &state)?;
    }
    Ok(state)
}

/// Begins to listen for webhooks, after all else has happened: what is told from now on is what somebody tries.
async fn prepare_webhooks(
    running: &Running,
    path: &Path,
    mut state: State,
    (address, output): (SocketAddr, OutputArguments),
) -> Result<State, CliError> {
    let key = state.keys.get("runs").cloned().unwrap_or_default();
    let receiver = Receiver::start(running.app().clock.clone(), output.json).await?;
    state.webhooks.make(address, &key, &receiver).await?;
    write_state(path, &state)?;
    Ok(state)
}

/// Draws the demo's diagram; where it is.
async fn prepare_diagram(running: &Running, state: &State) -> Result<Option<String>, CliError> {
    let Some(address) = address_of(running, "diagrams") else { return Ok(None) };
    let key = state.keys.get("ledger").cloned().unwrap_or_default();
    output::progress("drawing a diagram ...");
    content::draw_diagram(address, &key).await.map(Some)
}

fn task_error(error: TaskError) -> CliError {
    error.problem().into()
}

fn read_state(path: &Path) -> Result<State, CliError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(State::default()),
        Err(error) => return Err(CliError::failed(format!("reading {}: {error}", path.display()))),
    };
    serde_json::from_str(&text).map_err(|error| {
        CliError::failed(format!("{} is not what the demo wrote: {error}", path.display()))
            .hint("remove the file; the demo then makes another tenant")
    })
}

fn write_state(path: &Path, state: &State) -> Result<(), CliError> {
    let failed = |error: &dyn std::fmt::Display| CliError::failed(format!("writing {}: {error}", path.display()));
    let text = serde_json::to_string_pretty(state).map_err(|error| failed(&error))?;
    let half_written = path.with_extension("json.tmp");
    let file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&half_written);
    let written = file.and_then(|mut file| {
        writeln!(file, "{text}")?;
        file.sync_all()?;
        std::fs::rename(&half_written, path)
    });
    written.map_err(|error| failed(&error))
}

/// Where a client on this machine reaches a service.
fn address_of(running: &Running, service: &str) -> Option<SocketAddr> {
    let (_, mut address) = running.addresses().into_iter().find(|(name, _)| *name == service)?;
    if address.ip().is_unspecified() {
        let loopback = if address.is_ipv4() { IpAddr::from(Ipv4Addr::LOCALHOST) } else { Ipv6Addr::LOCALHOST.into() };
        address.set_ip(loopback);
    }
    Some(address)
}

/// Something to try on one service.
#[derive(Serialize)]
struct Trial {
    service: &'static str,
    address: String,
    key: Option<String>,
    curl: Vec<content::Line>,
}

fn trials(running: &Running, state: &State, diagram: Option<&str>) -> Vec<Trial> {
    let mut trials = Vec::new();
    for (service, _) in running.addresses() {
        let Some(address) = address_of(running, service) else { continue };
        // The key is good for all services of the tenant; diagrams ask for one only if they are told to.
        let key = match service {
            "diagrams" if running.app().config.diagrams_require_key => state.keys.get("ledger").cloned(),
            _ => state.keys.get(service).cloned(),
        };
        let curl = match (service, &key) {
            ("diagrams", key) => {
                diagram.map_or_else(Vec::new, |url| content::diagram_lines(address, key.as_deref(), url))
            }
            ("ledger", Some(key)) => state.ledger.curl_lines(address, key),
            ("runs", Some(key)) => {
                let mut lines = state.runs.curl_lines(address, key);
                lines.extend(state.workflows.curl_lines(address, key));
                lines.extend(state.webhooks.curl_lines(address, key));
                lines.push(runs::client_line(address, key));
                lines
            }
            ("messaging", _) => {
                let mut lines = state.messaging.curl_lines(address);
                lines.extend(state.messaging.lines_of_others(address, &program(), running.app().store.directory()));
                lines.push(state.messaging.client_line(address));
                lines
            }
            ("localization", Some(key)) => {
                let mut lines = state.localization.curl_lines(address, key, &state.tenant_id);
                lines.extend(state.localization.desk_line(&program(), running.app().store.directory()));
                lines
            }
            ("operations", _) => {
                vec![content::Line::new("see the metrics", format!("curl -s http://{address}/metrics"))]
            }
            _ => Vec::new(),
        };
        trials.push(Trial { service, address: format!("http://{address}"), key, curl });
    }
    trials
}

/// What this program is called.
fn program() -> String {
    std::env::args().next().unwrap_or_else(|| "quintet".into())
}

fn show(running: &Running, state: &State, (trials, ways): (&[Trial], &Ways)) {
    output::say("");
    let rows = trials.iter().map(|trial| {
        vec![
            trial.service.to_string(),
            trial.address.clone(),
            trial.key.clone().unwrap_or_else(|| "(none needed)".into()),
        ]
    });
    output::say_table(&["service", "address", "key"], &rows.collect::<Vec<_>>());
    output::say("\nTry:\n");
    for line in trials.iter().flat_map(|trial| &trial.curl) {
        output::say(&format!("# {}\n{}\n", line.about, line.command));
    }
    let data_dir = running.app().store.directory().display();
    let program = program();
    for (whose, way) in [("operators", &ways.operator), ("members", &ways.member)] {
        if let Some(way) = way {
            output::say(&format!("# the pages of {whose}: a link that works once, for ten minutes\n{}\n", way.url));
        }
    }
    output::say(&format!("Tenant {} ({}), data in {data_dir}.", output::plain(&state.tenant_name), state.tenant_id));
    output::say(&format!("`{program} status --data {data_dir}` shows more; `{program} manual` is the manual."));
    output::say(&format!("`{program} console --data {data_dir}` prints another link."));
    output::say("Ctrl-C stops; the next start goes on with the same data.");
}
