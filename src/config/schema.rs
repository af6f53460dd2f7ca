//! Every key the configuration knows: its path, what its values may be, and its default.
//!
//! Reading, checking and printing all work from this one table; a key that is not in it is an error.

/// What the values of a key may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Any text.
    Text,
    /// A path in the file system, or empty.
    Path,
    /// `ADDRESS:PORT`, or `off`.
    Listen,
    /// `HOST:PORT` to send to, or empty.
    Endpoint,
    /// A whole number in this range, both ends included.
    Integer(i64, i64),
    /// A number in this range, both ends included.
    Number(f64, f64),
    /// `true` or `false`.
    Boolean,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// An absolute `http://` or `https://` address, or empty.
    Url,
    /// `file:PATH`, `credential:NAME`, or the secret itself; never printed.
    Secret,
    /// Where the root key comes from: `file:PATH`, `credential:NAME` or `passphrase:ENV`.
    RootKey,
    /// A list of networks in CIDR notation.
    Networks,
}

/// What a key is worth when nobody says anything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Default {
    /// A text.
    Text(&'static str),
    /// A number.
    Integer(i64),
    /// A truth value.
    Boolean(bool),
    /// The empty list.
    EmptyList,
    /// Nothing: the key takes part only when it is written.
    Unset,
}

/// One key of the configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// Its path; a segment `*` stands for a name the operator chooses.
    pub path: &'static [&'static str],
    /// What its values may be.
    pub kind: Kind,
    /// Its value when nobody says anything.
    pub default: Default,
}

/// A shorthand for the table below.
const fn setting(path: &'static [&'static str], kind: Kind, default: Default) -> Setting {
    Setting { path, kind, default }
}

const MAX: i64 = i64::MAX;
const GIB_AS_MB: i64 = 1024 * 1024;

/// Every key, in the order in which `quintet config print` shows them.
pub const SETTINGS: &[Setting] = &[
    setting(&["data_dir"], Kind::Path, Default::Text("/var/lib/quintet")),
    setting(&["listen", "localization"], Kind::Listen, Default::Text("127.0.0.1:7410")),
    setting(&["listen", "runs"], Kind::Listen, Default::Text("127.0.0.1:7420")),
    setting(&["listen", "ledger"], Kind::Listen, Default::Text("127.0.0.1:7430")),
    setting(&["listen", "messaging"], Kind::Listen, Default::Text("127.0.0.1:7440")),
    setting(&["listen", "diagrams"], Kind::Listen, Default::Text("127.0.0.1:7450")),
    setting(&["listen", "operations"], Kind::Listen, Default::Text("127.0.0.1:7400")),
    setting(&["listen", "console"], Kind::Listen, Default::Text("127.0.0.1:7460")),
    setting(&["storage", "disk_reserve_mb"], Kind::Integer(0, 1024 * GIB_AS_MB), Default::Integer(512)),
    setting(&["storage", "copy_window_minutes"], Kind::Integer(1, 1_440), Default::Integer(15)),
    setting(&["storage", "copy_keep_mb"], Kind::Integer(0, 1024 * GIB_AS_MB), Default::Integer(0)),
    setting(&["storage", "write_buffer_mb"], Kind::Integer(8, 16 * 1024), Default::Integer(64)),
    setting(&["storage", "cache_mb"], Kind::Integer(8, GIB_AS_MB), Default::Integer(64)),
    setting(&["storage", "root_key"], Kind::RootKey, Default::Text("file:root.key")),
    setting(&["storage", "root_key_previous"], Kind::RootKey, Default::Unset),
    setting(&["localization", "public_url"], Kind::Url, Default::Text("")),
    setting(&["localization", "identity", "issuer"], Kind::Url, Default::Text("")),
    setting(&["localization", "identity", "client_id"], Kind::Text, Default::Text("")),
    setting(&["localization", "identity", "client_secret"], Kind::Secret, Default::Text("")),
    setting(&["decision", "mode"], Kind::Choice(&["embedded", "external"]), Default::Text("embedded")),
    setting(&["decision", "url"], Kind::Url, Default::Text("")),
    setting(&["decision", "api_key"], Kind::Secret, Default::Text("")),
    setting(&["decision", "webhook_secret"], Kind::Secret, Default::Text("")),
    setting(&["decision", "policy"], Kind::Text, Default::Text("default")),
    setting(&["ai", "url"], Kind::Url, Default::Text("")),
    setting(&["ai", "model"], Kind::Text, Default::Text("")),
    setting(&["ai", "api_key"], Kind::Secret, Default::Text("")),
    setting(&["ledger", "edge_rate_per_second"], Kind::Integer(0, 1_000_000), Default::Integer(10)),
    setting(&["ledger", "edge_burst"], Kind::Integer(1, 1_000_000), Default::Integer(20)),
    setting(&["runs", "workers"], Kind::Integer(0, 10_000), Default::Integer(0)),
    setting(&["runs", "network"], Kind::Choice(&["none"]), Default::Text("none")),
    setting(&["runs", "scratch_mb"], Kind::Integer(1, GIB_AS_MB), Default::Integer(1024)),
    setting(&["runs", "runner_dir"], Kind::Path, Default::Text("/var/lib/quintet-runner")),
    setting(&["runs", "runner_socket"], Kind::Path, Default::Text("/run/quintet/runner.sock")),
    setting(&["runs", "registries", "*", "plain_http"], Kind::Boolean, Default::Unset),
    setting(&["runs", "registries", "*", "username"], Kind::Text, Default::Unset),
    setting(&["runs", "registries", "*", "password"], Kind::Secret, Default::Unset),
    setting(&["runs", "ceilings", "max_concurrent_runs"], Kind::Integer(0, MAX), Default::Unset),
    setting(&["runs", "ceilings", "max_daily_runs"], Kind::Integer(0, MAX), Default::Unset),
    setting(&["runs", "ceilings", "max_timeout_seconds"], Kind::Integer(1, MAX), Default::Unset),
    setting(&["runs", "ceilings", "max_queue_seconds"], Kind::Integer(1, MAX), Default::Unset),
    setting(&["runs", "ceilings", "max_nodes_per_workflow"], Kind::Integer(1, MAX), Default::Unset),
    setting(&["runs", "ceilings", "max_concurrent_workflows"], Kind::Integer(0, MAX), Default::Unset),
    setting(&["runs", "ceilings", "max_webhook_payload_bytes"], Kind::Integer(1, MAX), Default::Unset),
    setting(&["runs", "ceilings", "max_cpu"], Kind::Number(0.01, 4096.0), Default::Unset),
    setting(&["runs", "ceilings", "max_memory_mb"], Kind::Integer(1, MAX), Default::Unset),
    setting(&["runs", "ceilings", "max_image_mb"], Kind::Integer(0, MAX), Default::Unset),
    setting(&["runs", "ceilings", "retention_days"], Kind::Integer(1, MAX), Default::Unset),
    setting(&["runs", "ceilings", "stop_grace_seconds"], Kind::Integer(0, MAX), Default::Unset),
    // What waits is counted by endpoint in one row, which every event writes anew.
    setting(&["runs", "ceilings", "max_webhook_endpoints"], Kind::Integer(0, 1_000), Default::Unset),
    setting(&["egress", "allow_private"], Kind::Networks, Default::EmptyList),
    setting(&["authorization", "url"], Kind::Url, Default::Text("")),
    setting(&["authorization", "api_key"], Kind::Secret, Default::Text("")),
    setting(&["audit", "anchor_file"], Kind::Path, Default::Text("")),
    setting(&["diagrams", "require_key"], Kind::Boolean, Default::Boolean(false)),
    setting(&["diagrams", "fonts_dir"], Kind::Path, Default::Text("")),
    setting(&["diagrams", "cache_mb"], Kind::Integer(0, GIB_AS_MB), Default::Integer(512)),
    setting(&["console", "public_url"], Kind::Url, Default::Text("")),
    setting(&["tls", "cert"], Kind::Path, Default::Text("")),
    setting(&["tls", "key"], Kind::Path, Default::Text("")),
    setting(&["tls", "extra_ca"], Kind::Path, Default::Text("")),
    setting(&["http", "trusted_proxies"], Kind::Networks, Default::EmptyList),
    setting(&["messaging", "public_url"], Kind::Url, Default::Text("")),
    setting(&["messaging", "rate_per_second"], Kind::Integer(0, 1_000_000), Default::Integer(0)),
    setting(&["messaging", "rate_burst"], Kind::Integer(1, 1_000_000), Default::Integer(40)),
    setting(&["messaging", "domain"], Kind::Text, Default::Text("")),
    setting(&["messaging", "smtp_listen"], Kind::Listen, Default::Text("off")),
    setting(&["messaging", "smtp_resolver"], Kind::Endpoint, Default::Text("")),
    setting(&["messaging", "smtp_relay"], Kind::Endpoint, Default::Text("")),
    setting(
        &["messaging", "smtp_relay_tls"],
        Kind::Choice(&["opportunistic", "required", "off"]),
        Default::Text("opportunistic"),
    ),
    setting(&["messaging", "smtp_relay_user"], Kind::Text, Default::Text("")),
    setting(&["messaging", "smtp_relay_password"], Kind::Secret, Default::Text("")),
    setting(&["messaging", "signup"], Kind::Choice(&["off", "open"]), Default::Text("off")),
];

impl Setting {
    /// Whether the operator chooses part of the key's name.
    #[must_use]
    pub fn is_named_by_operator(&self) -> bool {
        self.path.contains(&"*")
    }

    /// Whether `path` is this key.
    #[must_use]
    pub fn is_at(&self, path: &[String]) -> bool {
        self.path.len() == path.len()
            && self.path.iter().zip(path).all(|(known, given)| *known == "*" || *known == given.as_str())
    }

    /// Whether `path` is a table on the way to this key.
    #[must_use]
    pub fn is_below(&self, path: &[String]) -> bool {
        self.path.len() > path.len()
            && self.path.iter().zip(path).all(|(known, given)| *known == "*" || *known == given.as_str())
    }

    /// The environment variable that sets this key.
    #[must_use]
    pub fn variable(&self) -> String {
        format!("QUINTET_{}", self.path.join("__").to_uppercase())
    }
}

/// A path as TOML writes it: names that are not bare keys are quoted.
#[must_use]
pub fn dotted(path: &[String]) -> String {
    let is_bare = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    let names = path.iter().map(|name| if is_bare(name) { name.clone() } else { format!("{name:?}") });
    names.collect::<Vec<_>>().join(".")
}

/// What an unknown name may have been meant for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// The known name nearest to it.
    pub name: String,
    /// Whether it is near enough to be what was meant.
    pub is_near: bool,
}

/// The known key or section nearest to `path`.
#[must_use]
pub fn nearest_key(path: &[String]) -> Nearest {
    let given = with_names(&path.iter().map(String::as_str).collect::<Vec<_>>(), path);
    let known =
        SETTINGS.iter().flat_map(|setting| (1..=setting.path.len()).filter_map(|depth| setting.path.get(..depth)));
    nearest(path, &given, known.map(|known| (known, with_names(known, path))))
}

/// The variable of a key nearest to `variable`, which would set `path`.
#[must_use]
pub fn nearest_variable(path: &[String], variable: &str) -> Nearest {
    let known = SETTINGS.iter().filter(|setting| !setting.is_named_by_operator());
    nearest(path, variable, known.map(|setting| (setting.path, setting.variable())))
}

/// The nearest of the known paths, each with its name; `given` is what `path` is called among them.
fn nearest<'a>(path: &[String], given: &str, known: impl Iterator<Item = (&'a [&'a str], String)>) -> Nearest {
    let ranked = known.map(|(known, name)| {
        let whole = strsim::damerau_levenshtein(given, &name);
        (whole.min(slips(path, known).unwrap_or(whole)), whole, name)
    });
    let (distance, _, name) = ranked.min().unwrap_or_default();
    Nearest { is_near: distance <= 2.max(name.len() / 4), name }
}

/// How far a given path is from a known one by common slips, however many letters lie between them: names that are begun
/// and not ended are nearest, then the right name in a wrong section, then one that is begun in a wrong section.
fn slips(given: &[String], known: &[&str]) -> Option<usize> {
    let begins =
        |(known, given): (&&str, &String)| *known == "*" || !given.is_empty() && known.starts_with(given.as_str());
    if known.len() == given.len() && known.iter().zip(given).all(begins) {
        return Some(0);
    }
    let (known, given) = (known.last()?, given.last()?);
    let is_begun = begins((known, given)) && *known != "*";
    is_begun.then_some(if *known == given.as_str() { 1 } else { 2 })
}

/// A known path in text, with the operator's own names put where `*` stands.
fn with_names(known: &[&str], given: &[String]) -> String {
    let segments = known.iter().enumerate().map(|(index, segment)| match (*segment, given.get(index)) {
        ("*", Some(name)) => dotted(std::slice::from_ref(name)),
        ("*", None) => "NAME".to_string(),
        (plain, _) => dotted(&[plain.to_string()]),
    });
    segments.collect::<Vec<_>>().join(".")
}
