//! The configuration: one TOML file, the environment and flags, put together into one checked whole.
//!
//! Precedence: flag, then environment, then file, then default. Every problem is collected and told with
//! its place; nothing starts on a configuration that has one. A relative `file:` reference to a secret
//! is looked up in the data directory.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use quintet_platform::secrets::Secret;
use toml::de::{DeTable, DeValue};

pub mod sample;
pub mod schema;
pub mod value;

#[cfg(test)]
mod tests;

use schema::{Kind, Nearest, SETTINGS, Setting, dotted};
pub use value::Network;
use value::Value;

/// Where the configuration file lies when nobody names one.
pub const DEFAULT_FILE: &str = "/etc/quintet/quintet.toml";

/// What every variable that sets a key starts with.
const VARIABLE_PREFIX: &str = "QUINTET_";

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A flag on the command line.
    Flag(&'static str),
    /// An environment variable.
    Environment(String),
    /// A line (counted from 1) of the file.
    File(PathBuf, usize),
    /// Nobody said anything.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Flag(name) => write!(f, "flag {name}"),
            Origin::Environment(variable) => write!(f, "environment {variable}"),
            Origin::File(path, line) => write!(f, "{}:{line}", path.display()),
            Origin::Default => f.write_str("default"),
        }
    }
}

/// A key's value and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Effective {
    /// The key's path.
    pub path: Vec<String>,
    /// What its values may be.
    pub kind: Kind,
    /// The value in force.
    pub value: Value,
    /// Where it came from.
    pub origin: Origin,
}

impl Effective {
    /// The path as TOML writes it.
    #[must_use]
    pub fn dotted(&self) -> String {
        dotted(&self.path)
    }
}

/// One thing that is wrong with the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// File and line, or the variable.
    pub place: String,
    /// What is wrong, and what was probably meant.
    pub message: String,
}

/// Everything that is wrong with the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{}: {}", problem.place, problem.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// What the configuration is put together from.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The file named on the command line; it must exist.
    pub file: Option<PathBuf>,
    /// Whether the file at the default place is read when none is named and it exists.
    pub reads_default_file: bool,
    /// The directory named with `--data`.
    pub data_dir: Option<PathBuf>,
    /// The environment.
    pub environment: Vec<(String, String)>,
}

impl Sources {
    /// The sources of this process, with the two flags that bear on the configuration.
    #[must_use]
    pub fn of_process(file: Option<PathBuf>, data_dir: Option<PathBuf>) -> Sources {
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.to_string_lossy().into_owned())))
            .filter(|(name, _)| name.starts_with(VARIABLE_PREFIX))
            .collect();
        Sources { file, reads_default_file: true, data_dir, environment }
    }
}

/// The addresses to listen on; `None` where a listener is off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen(BTreeMap<String, Option<SocketAddr>>);

impl Listen {
    /// The address of the listener of this name, if it is on.
    #[must_use]
    pub fn of(&self, name: &str) -> Option<SocketAddr> {
        self.0.get(name).copied().flatten()
    }
}

/// A registry of images.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registry {
    /// Its host and port.
    pub host: String,
    /// Whether it is spoken to without TLS.
    pub plain_http: bool,
    /// Who is asking; empty: nobody in particular.
    pub username: String,
}

/// The configuration in force: the keys that this version acts on, typed, and all of them for printing.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The data directory.
    pub data_dir: PathBuf,
    /// The listeners' addresses.
    pub listen: Listen,
    /// Where the root key comes from.
    pub root_key: String,
    /// Where the root key came from before, as long as a move to [`Config::root_key`] is under way.
    pub root_key_previous: Option<String>,
    /// How long a plain copy of the directory may take, in minutes.
    pub copy_window_minutes: u32,
    /// Below this much free disk space writes are refused, in MiB; 0: never.
    pub disk_reserve_mb: u64,
    /// The most that is kept on disk for copies alone, in MiB; 0: a tenth of the disk, 8 GiB at most.
    pub copy_keep_mb: u64,
    /// Memory for rows that are not in the tables' files yet, in MiB.
    pub write_buffer_mb: u32,
    /// Memory for rows that were read, in MiB.
    pub cache_mb: u32,
    /// Requests a second that the ledger takes from one source address; 0: no limit.
    pub ledger_edge_rate_per_second: u32,
    /// How many of them may come at once.
    pub ledger_edge_burst: u32,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<Network>,
    /// Networks outside the public internet that may be called.
    pub egress_allow_private: Vec<Network>,
    /// The base address of the external authorization system; empty: the appliance decides itself.
    pub authorization_url: String,
    /// Whether another system takes decisions.
    pub decision_is_external: bool,
    /// The base address of that system; empty: nobody has said where it is.
    pub decision_url: String,
    /// By which policy decisions are taken.
    pub decision_policy: String,
    /// The file that checkpoints of localization's audit chains are anchored in.
    pub audit_anchor_file: Option<PathBuf>,
    /// The address under which people reach localization; empty: nobody said.
    pub localization_public_url: String,
    /// The issuer of the identity provider; empty: there is none.
    pub identity_issuer: String,
    /// What localization is called there.
    pub identity_client_id: String,
    /// The AI engine's address; empty: there is none.
    pub ai_url: String,
    /// The model it is asked for.
    pub ai_model: String,
    /// Whether diagrams take a key.
    pub diagrams_require_key: bool,
    /// Where fonts of the operator's own lie, that pictures are painted with before the embedded ones.
    pub diagrams_fonts_dir: Option<PathBuf>,
    /// How many MiB of finished diagrams are kept.
    pub diagrams_cache_mb: u32,
    /// Containers at once; 0: from the machine's cores and memory.
    pub runs_workers: u32,
    /// The writable layer of a container, in MiB.
    pub runs_scratch_mb: u32,
    /// The runner's directory.
    pub runs_runner_dir: PathBuf,
    /// The runner's socket, or `off`.
    pub runs_runner_socket: PathBuf,
    /// Whether the operator says where the runner is.
    pub runs_runner_is_placed: bool,
    /// What no tenant may exceed, by the names of the quotas; processor time in thousandths of a core.
    pub runs_ceilings: Vec<(String, u64)>,
    /// Where images come from.
    pub runs_registries: Vec<Registry>,
    /// Where mail is taken in, if anywhere.
    pub messaging_smtp_listen: Option<SocketAddr>,
    /// Which name server is asked where mail comes from; `None`: those that the system asks.
    pub messaging_smtp_resolver: Option<SocketAddr>,
    /// Whether that is spoken to encrypted: `opportunistic`, `required` or `off`.
    pub messaging_smtp_relay_tls: String,
    /// Who signs in there; empty: nobody, or who is named before the `@`.
    pub messaging_smtp_relay_user: String,
    /// Whether everybody may sign up for messaging who has an address of mail.
    pub messaging_signup_open: bool,
    /// Under which address messaging is reached; empty: its listener's.
    pub messaging_public_url: String,
    /// Requests a second that messaging takes with one key; 0: no limit.
    pub messaging_rate_per_second: u32,
    /// How many of them may come at once.
    pub messaging_rate_burst: u32,
    /// What agents' addresses end with; empty: there is no mail from or to the outside.
    pub messaging_domain: String,
    /// The address under which people reach the members' pages; empty: on this machine alone.
    pub console_public_url: String,
    /// The files of the listeners' certificate and of its key; absent: they speak plain HTTP.
    pub tls_pair: Option<(PathBuf, PathBuf)>,
    /// Certificates (PEM) of authorities that are trusted besides the system's, on connections to other systems.
    pub tls_extra_ca: Option<PathBuf>,
    /// Every key with its value and origin, in the order of the schema.
    pub effective: Vec<Effective>,
}

impl Config {
    /// Puts the configuration together and checks it.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn load(sources: &Sources) -> Result<Config, Problems> {
        let mut collected = Collected::default();
        for setting in SETTINGS {
            if let Some(value) = Value::from_default(setting.default) {
                let path = setting.path.iter().map(ToString::to_string).collect();
                collected.set(setting, path, value, Origin::Default);
            }
        }
        if let Some((path, text)) = read_file(sources)? {
            collected.take_file(&path, &text);
        }
        collected.take_environment(&sources.environment);
        if let Some(directory) = &sources.data_dir {
            collected.take_data_flag(directory);
        }
        collected.finish()
    }

    /// A secret as it is written: itself, or where it lies. Empty if nobody wrote one.
    #[must_use]
    pub fn secret(&self, key: &str) -> Secret {
        let entry = self.effective.iter().find(|entry| entry.kind == Kind::Secret && entry.dotted() == key);
        match entry.map(|entry| &entry.value) {
            Some(Value::Text(text)) => Secret::new(text.clone()),
            _ => Secret::default(),
        }
    }

    /// Where mail leaves by, as `HOST:PORT`, with who signs in there and his password before an `@`; empty: it does not.
    #[must_use]
    pub fn smtp_relay(&self) -> Secret {
        let entry = self.effective.iter().find(|entry| entry.dotted() == "messaging.smtp_relay");
        match entry.map(|entry| &entry.value) {
            Some(Value::Text(text)) => Secret::new(text.clone()),
            _ => Secret::default(),
        }
    }

    /// The effective configuration as a TOML document, the origin of each value beside it.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let rows = self
            .effective
            .iter()
            .map(|entry| (format!("{} = {}", entry.dotted(), entry.value.shown(entry.kind)), entry.origin.to_string()));
        let rows: Vec<_> = rows.collect();
        let width = rows.iter().map(|(text, _)| text.chars().count()).max().unwrap_or(0).min(60);
        rows.iter().map(|(text, origin)| format!("{text:width$}  # {origin}\n")).collect()
    }

    /// The effective configuration as JSON: `{items: [{key, value, origin}]}`.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        let items = self.effective.iter().map(|entry| {
            serde_json::json!({
                "key": entry.dotted(),
                "value": entry.value.shown(entry.kind).to_json(),
                "origin": entry.origin.to_string(),
            })
        });
        serde_json::json!({ "items": items.collect::<Vec<_>>() })
    }
}

/// The file's path and text; `None` when no file is named and none lies at the default place.
fn read_file(sources: &Sources) -> Result<Option<(PathBuf, String)>, Problems> {
    let default_file = sources.reads_default_file.then(|| PathBuf::from(DEFAULT_FILE));
    let Some(path) = sources.file.clone().or(default_file) else { return Ok(None) };
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some((path, text))),
        Err(error) if sources.file.is_none() && error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Problems(vec![Problem {
            place: path.display().to_string(),
            message: format!("cannot read the configuration file: {error}"),
        }])),
    }
}

/// The configuration while it is being put together.
#[derive(Default)]
struct Collected {
    /// By the setting's place in the schema, then by path (operators name registries).
    values: BTreeMap<(usize, Vec<String>), Effective>,
    problems: Vec<Problem>,
}

impl Collected {
    fn set(&mut self, setting: &Setting, path: Vec<String>, value: Value, origin: Origin) {
        let index = SETTINGS.iter().position(|known| known == setting).unwrap_or(usize::MAX);
        let entry = Effective { path: path.clone(), kind: setting.kind, value, origin };
        self.values.insert((index, path), entry);
    }

    fn problem(&mut self, place: impl fmt::Display, message: String) {
        self.problems.push(Problem { place: place.to_string(), message });
    }

    fn take_file(&mut self, file: &Path, text: &str) {
        let line_of = |offset: usize| {
            text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count().saturating_add(1)
        };
        match DeTable::parse(text) {
            Ok(table) => self.take_table(file, &line_of, &mut Vec::new(), table.get_ref()),
            Err(error) => {
                let line = error.span().map_or(1, |span| line_of(span.start));
                self.problem(Origin::File(file.into(), line), format!("not valid TOML: {}", error.message()));
            }
        }
    }

    fn take_table(
        &mut self,
        file: &Path,
        line_of: &dyn Fn(usize) -> usize,
        path: &mut Vec<String>,
        table: &DeTable<'_>,
    ) {
        for (name, value) in table {
            path.push(name.get_ref().to_string());
            let origin = Origin::File(file.into(), line_of(name.span().start));
            let setting = SETTINGS.iter().find(|setting| setting.is_at(path));
            let is_table = SETTINGS.iter().any(|setting| setting.is_below(path));
            match (setting, value.get_ref()) {
                (Some(setting), value) => match Value::from_toml(setting.kind, value) {
                    Ok(value) => self.set(setting, path.clone(), value, origin),
                    Err(wrong) => self.problem(origin, format!("{} {wrong}", dotted(path))),
                },
                // Sixteen levels are more than any known key has; the parser bounds the rest.
                (None, DeValue::Table(inner)) if is_table => self.take_table(file, line_of, path, inner),
                (None, _) if is_table => self.problem(origin, format!("{} must be a section", dotted(path))),
                (None, _) => self.problem(origin, unknown(path, schema::nearest_key(path))),
            }
            path.pop();
        }
    }

    fn take_environment(&mut self, environment: &[(String, String)]) {
        let passphrase_of = |variable: &str, key: &str| {
            let given = environment.iter().find(|(name, _)| name == variable).map(|(_, value)| value.clone());
            let reference = given.or_else(|| self.text(key))?;
            reference.strip_prefix("passphrase:").map(str::to_string)
        };
        let passphrase_variables = [
            passphrase_of("QUINTET_STORAGE__ROOT_KEY", "storage.root_key"),
            passphrase_of("QUINTET_STORAGE__ROOT_KEY_PREVIOUS", "storage.root_key_previous"),
        ];
        for (variable, text) in environment {
            let Some(rest) = variable.strip_prefix(VARIABLE_PREFIX) else { continue };
            if passphrase_variables.iter().flatten().any(|named| named == variable) {
                continue;
            }
            let path: Vec<String> = rest.split("__").map(str::to_lowercase).collect();
            let origin = Origin::Environment(variable.clone());
            match SETTINGS.iter().find(|setting| setting.is_at(&path)) {
                Some(setting) if setting.is_named_by_operator() => {
                    self.problem(origin, format!("{} can be set in the file only", dotted(&path)));
                }
                Some(setting) => match Value::from_text(setting.kind, text) {
                    Ok(value) => self.set(setting, path, value, origin),
                    Err(wrong) => self.problem(origin, format!("{} {wrong}", dotted(&path))),
                },
                None => self.problem(origin, unknown(&path, schema::nearest_variable(&path, variable))),
            }
        }
    }

    fn take_data_flag(&mut self, directory: &Path) {
        let Some(setting) = SETTINGS.iter().find(|setting| setting.path == ["data_dir"]) else { return };
        match directory.to_str() {
            Some(text) => {
                self.set(setting, vec!["data_dir".into()], Value::Text(text.to_string()), Origin::Flag("--data"));
            }
            None => self.problem("--data", "the path is not valid UTF-8".to_string()),
        }
    }

    fn get(&self, key: &str) -> Option<&Effective> {
        self.values.values().find(|entry| entry.dotted() == key)
    }

    fn text(&self, key: &str) -> Option<String> {
        match self.get(key).map(|entry| &entry.value) {
            Some(Value::Text(text)) => Some(text.clone()),
            _ => None,
        }
    }

    fn integer(&self, key: &str) -> i64 {
        match self.get(key).map(|entry| &entry.value) {
            Some(Value::Integer(number)) => *number,
            _ => 0,
        }
    }

    fn boolean(&self, key: &str) -> bool {
        matches!(self.get(key).map(|entry| &entry.value), Some(Value::Boolean(true)))
    }

    fn networks(&self, key: &str) -> Vec<Network> {
        match self.get(key).map(|entry| &entry.value) {
            Some(Value::List(items)) => items.iter().filter_map(|item| Network::parse(item)).collect(),
            _ => Vec::new(),
        }
    }

    fn ceilings(&self) -> Vec<(String, u64)> {
        let named = self.values.values().filter_map(|entry| match (entry.path.as_slice(), &entry.value) {
            ([runs, ceilings, name], value) if runs == "runs" && ceilings == "ceilings" => Some((name.clone(), value)),
            _ => None,
        });
        let counted = named.filter_map(|(name, value)| match value {
            Value::Integer(number) => Some((name, u64::try_from(*number).ok()?)),
            // At most 4096 cores.
            Value::Number(number) => Some((name, (number * 1000.0).round() as u64)),
            _ => None,
        });
        counted.collect()
    }

    fn registries(&self) -> Vec<Registry> {
        let mut found: BTreeMap<String, Registry> = BTreeMap::new();
        for entry in self.values.values() {
            let [runs, registries, host, key] = entry.path.as_slice() else { continue };
            if runs != "runs" || registries != "registries" {
                continue;
            }
            let registry =
                found.entry(host.clone()).or_insert_with(|| Registry { host: host.clone(), ..Registry::default() });
            match (key.as_str(), &entry.value) {
                ("plain_http", Value::Boolean(truth)) => registry.plain_http = *truth,
                ("username", Value::Text(text)) => registry.username.clone_from(text),
                _ => {}
            }
        }
        found.into_values().collect()
    }

    fn listeners(&self) -> Listen {
        let named = self.values.values().filter_map(|entry| match (entry.path.as_slice(), &entry.value) {
            ([section, name], Value::Text(text)) if section == "listen" => Some((name.clone(), text.parse().ok())),
            _ => None,
        });
        Listen(named.collect())
    }

    /// What no single key can tell: keys that only make sense together.
    fn check_together(&mut self) {
        let place = |collected: &Collected, key: &str| {
            collected.get(key).map_or_else(|| key.to_string(), |entry| entry.origin.to_string())
        };
        if self.text("data_dir").is_none_or(|text| text.is_empty()) {
            self.problem(place(self, "data_dir"), "data_dir must not be empty".to_string());
        }
        for (key, partner) in [("tls.cert", "tls.key"), ("tls.key", "tls.cert")] {
            let is_set = |key: &str| self.text(key).is_some_and(|text| !text.is_empty());
            if is_set(key) && !is_set(partner) {
                self.problem(place(self, key), format!("{key} needs {partner} as well"));
            }
        }
        const ISSUER: &str = "localization.identity.issuer";
        for partner in ["localization.identity.client_id", "localization.public_url"] {
            let is_set = |key: &str| self.text(key).is_some_and(|text| !text.is_empty());
            if is_set(ISSUER) && !is_set(partner) {
                self.problem(place(self, ISSUER), format!("{ISSUER} needs {partner} as well"));
            }
        }
        // A relative one would be another file to each command.
        if self.text("audit.anchor_file").is_some_and(|path| !path.is_empty() && !Path::new(&path).is_absolute()) {
            let message = "audit.anchor_file must be an absolute path, or empty";
            self.problem(place(self, "audit.anchor_file"), message.to_string());
        }
        if self.text("messaging.domain").is_some_and(|domain| !is_domain(&domain)) {
            let message = "messaging.domain must be a domain in lower case, such as agents.example.com, or empty";
            self.problem(place(self, "messaging.domain"), message.to_string());
        }
        let resolver = self.text("messaging.smtp_resolver").unwrap_or_default();
        if !resolver.is_empty() && resolver.parse::<SocketAddr>().is_err() {
            let message = "messaging.smtp_resolver must be an address such as 192.0.2.53:53, or empty";
            self.problem(place(self, "messaging.smtp_resolver"), message.to_string());
        }
        let smtp = self.text("messaging.smtp_listen").and_then(|text| text.parse().ok());
        let mut listeners: Vec<(String, Option<SocketAddr>)> =
            self.listeners().0.into_iter().map(|(name, address)| (format!("listen.{name}"), address)).collect();
        listeners.push(("messaging.smtp_listen".to_string(), smtp));
        let mut taken: Vec<(String, SocketAddr)> = Vec::new();
        for (name, address) in listeners {
            let Some(address) = address.filter(|address| address.port() != 0) else { continue };
            match taken.iter().find(|(_, other)| overlap(address, *other)) {
                Some((other, same)) if *same == address => {
                    self.problem(place(self, &name), format!("{name} and {other} are both {address}"));
                }
                Some((other, wider)) => {
                    let message = format!("{name} ({address}) and {other} ({wider}) are the same port of one address");
                    self.problem(place(self, &name), message);
                }
                None => taken.push((name, address)),
            }
        }
    }

    fn finish(mut self) -> Result<Config, Problems> {
        self.check_together();
        if !self.problems.is_empty() {
            return Err(Problems(self.problems));
        }
        let path = |key: &str| self.text(key).filter(|path| !path.is_empty()).map(PathBuf::from);
        let small = |key: &str| u32::try_from(self.integer(key)).unwrap_or(u32::MAX);
        Ok(Config {
            data_dir: self.text("data_dir").unwrap_or_default().into(),
            listen: self.listeners(),
            root_key: self.text("storage.root_key").unwrap_or_default(),
            root_key_previous: self.text("storage.root_key_previous"),
            copy_window_minutes: small("storage.copy_window_minutes"),
            disk_reserve_mb: u64::from(small("storage.disk_reserve_mb")),
            copy_keep_mb: u64::from(small("storage.copy_keep_mb")),
            write_buffer_mb: small("storage.write_buffer_mb"),
            cache_mb: small("storage.cache_mb"),
            ledger_edge_rate_per_second: small("ledger.edge_rate_per_second"),
            ledger_edge_burst: small("ledger.edge_burst"),
            trusted_proxies: self.networks("http.trusted_proxies"),
            egress_allow_private: self.networks("egress.allow_private"),
            authorization_url: self.text("authorization.url").unwrap_or_default(),
            decision_is_external: self.text("decision.mode").is_some_and(|mode| mode == "external"),
            decision_url: self.text("decision.url").unwrap_or_default(),
            decision_policy: self.text("decision.policy").unwrap_or_default(),
            audit_anchor_file: path("audit.anchor_file"),
            localization_public_url: self.text("localization.public_url").unwrap_or_default(),
            identity_issuer: self.text("localization.identity.issuer").unwrap_or_default(),
            identity_client_id: self.text("localization.identity.client_id").unwrap_or_default(),
            ai_url: self.text("ai.url").unwrap_or_default(),
            ai_model: self.text("ai.model").unwrap_or_default(),
            diagrams_require_key: self.boolean("diagrams.require_key"),
            diagrams_fonts_dir: path("diagrams.fonts_dir"),
            diagrams_cache_mb: small("diagrams.cache_mb"),
            runs_workers: small("runs.workers"),
            runs_scratch_mb: small("runs.scratch_mb"),
            runs_runner_dir: self.text("runs.runner_dir").unwrap_or_default().into(),
            runs_runner_socket: self.text("runs.runner_socket").unwrap_or_default().into(),
            runs_runner_is_placed: ["runs.runner_dir", "runs.runner_socket"]
                .iter()
                .any(|key| self.get(key).is_some_and(|entry| entry.origin != Origin::Default)),
            runs_ceilings: self.ceilings(),
            runs_registries: self.registries(),
            messaging_smtp_listen: self.text("messaging.smtp_listen").and_then(|text| text.parse().ok()),
            messaging_smtp_resolver: self.text("messaging.smtp_resolver").and_then(|text| text.parse().ok()),
            messaging_smtp_relay_tls: self.text("messaging.smtp_relay_tls").unwrap_or_default(),
            messaging_smtp_relay_user: self.text("messaging.smtp_relay_user").unwrap_or_default(),
            messaging_signup_open: self.text("messaging.signup").as_deref() == Some("open"),
            messaging_public_url: self.text("messaging.public_url").unwrap_or_default(),
            messaging_rate_per_second: small("messaging.rate_per_second"),
            messaging_rate_burst: small("messaging.rate_burst"),
            messaging_domain: self.text("messaging.domain").unwrap_or_default(),
            console_public_url: self.text("console.public_url").unwrap_or_default(),
            tls_pair: path("tls.cert").zip(path("tls.key")),
            tls_extra_ca: path("tls.extra_ca"),
            effective: self.values.into_values().collect(),
        })
    }
}

/// Whether a text can stand behind the `@` of an address: labels of letters, digits and hyphens (RFC 1035, 2.3.1); or is
/// empty.
fn is_domain(text: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.is_empty() || text.len() <= 253 && text.split('.').all(is_label)
}

/// Whether two listeners cannot both be had: one of them may listen on all addresses.
fn overlap(one: SocketAddr, other: SocketAddr) -> bool {
    let is_one_family = one.is_ipv4() == other.is_ipv4();
    let is_any = one.ip().is_unspecified() || other.ip().is_unspecified();
    one.port() == other.port() && (one.ip() == other.ip() || is_one_family && is_any)
}

fn unknown(path: &[String], Nearest { name, is_near }: Nearest) -> String {
    match is_near {
        true => format!("unknown key {}; did you mean {name}?", dotted(path)),
        false => format!("unknown key {}; the nearest known one is {name}", dotted(path)),
    }
}
