//! The configuration's rules, one table a rule.

use super::*;

/// The sample that operators start from, as the documentation shows it.
const SAMPLE: &str = r#"
data_dir = "/var/lib/quintet"

[listen]
localization = "127.0.0.1:7410"
runs = "127.0.0.1:7420"
ledger = "127.0.0.1:7430"
messaging = "127.0.0.1:7440"
diagrams = "127.0.0.1:7450"
operations = "127.0.0.1:7400"
console = "127.0.0.1:7460"

[storage]
disk_reserve_mb = 512
copy_window_minutes = 15
copy_keep_mb = 0
write_buffer_mb = 64
cache_mb = 64
root_key = "file:root.key"

[localization]
public_url = "https://l10n.example.com"
[localization.identity]
issuer = ""
client_id = ""
client_secret = "file:…"

[decision]
mode = "embedded"
url = ""
api_key = "file:…"
webhook_secret = "file:…"
policy = "default"

[ai]
url = ""
model = ""
api_key = "file:…"

[ledger]
edge_rate_per_second = 10
edge_burst = 20

[runs]
workers = 0
network = "none"
scratch_mb = 1024
runner_dir = "/var/lib/quintet-runner"
runner_socket = "/run/quintet/runner.sock"
[runs.registries."registry.example.com:5000"]
plain_http = false
username = ""
password = "file:…"
[runs.ceilings]

[egress]
allow_private = []

[authorization]
url = ""
api_key = "file:…"

[audit]
anchor_file = ""

[diagrams]
require_key = false
fonts_dir = ""
cache_mb = 512

[console]
public_url = ""

[tls]
cert = ""
key = ""
extra_ca = ""

[http]
trusted_proxies = []

[messaging]
domain = "agents.example.com"
smtp_listen = "off"
smtp_resolver = ""
smtp_relay = ""
smtp_relay_tls = "opportunistic"
smtp_relay_user = ""
smtp_relay_password = ""
public_url = ""
rate_per_second = 0
rate_burst = 40
signup = "off"
"#;

fn load(text: &str, environment: &[(&str, &str)]) -> Result<Config, Problems> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("q.toml");
    std::fs::write(&file, text).unwrap();
    let environment = environment.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    Config::load(&Sources { file: Some(file), environment, ..Sources::default() })
}

fn complaints(text: &str, environment: &[(&str, &str)]) -> String {
    let problems = load(text, environment).unwrap_err().0;
    let last_part = |place: &str| place.rsplit('/').next().unwrap().to_string();
    problems.iter().map(|p| format!("{}: {}", last_part(&p.place), p.message)).collect::<Vec<_>>().join("\n")
}

fn value_of(config: &Config, key: &str) -> (String, String) {
    let entry = config.effective.iter().find(|entry| entry.dotted() == key).unwrap();
    let origin = entry.origin.to_string();
    (entry.value.shown(entry.kind).to_string(), origin.rsplit('/').next().unwrap().to_string())
}

#[test]
fn the_anchor_file_is_the_same_to_everybody() {
    let told = complaints("[audit]\nanchor_file = \"anchors\"\n", &[]);
    assert_eq!(told, "q.toml:2: audit.anchor_file must be an absolute path, or empty");
    let config = load("[audit]\nanchor_file = \"/srv/anchors\"\n", &[]).unwrap();
    assert_eq!(config.audit_anchor_file.as_deref(), Some(Path::new("/srv/anchors")));
    assert_eq!(load("", &[]).unwrap().audit_anchor_file, None);
}

#[test]
fn messaging_is_as_it_is_written() {
    let text = "[messaging]\npublic_url = \"https://agents.example.com\"\nrate_per_second = 7\nsignup = \"off\"\n\
                smtp_relay_tls = \"required\"\nsmtp_relay_password = \"hunter2\"\n";
    let config = load(text, &[("QUINTET_MESSAGING__RATE_BURST", "9")]).unwrap();
    assert_eq!((config.messaging_rate_per_second, config.messaging_rate_burst), (7, 9));
    assert_eq!(config.messaging_public_url, "https://agents.example.com");
    assert!(!value_of(&config, "messaging.smtp_relay_password").0.contains("hunter2"));
    for bad in ["Example.com", "example..com", "-a.com", "a b", "agents@example.com", &"a".repeat(64)] {
        let told = complaints(&format!("[messaging]\ndomain = \"{bad}\"\n"), &[]);
        assert_eq!(
            told,
            "q.toml:2: messaging.domain must be a domain in lower case, such as agents.example.com, or empty"
        );
    }
    assert_eq!(load("[messaging]\ndomain = \"a-1.example\"\n", &[]).unwrap().messaging_domain, "a-1.example");
}

#[test]
fn the_documented_sample_is_valid() {
    let config = load(SAMPLE, &[]).unwrap();
    assert_eq!(config.listen.of("ledger"), Some("127.0.0.1:7430".parse().unwrap()));
    assert_eq!(value_of(&config, "storage.disk_reserve_mb").0, "512");
    let key = r#"runs.registries."registry.example.com:5000".plain_http"#;
    assert_eq!(value_of(&config, key), ("false".into(), "q.toml:51".into()));
}

#[test]
fn the_sample_names_every_key_but_the_ceilings() {
    let config = load(SAMPLE, &[]).unwrap();
    let from_defaults: Vec<_> =
        config.effective.iter().filter(|entry| entry.origin == Origin::Default).map(Effective::dotted).collect();
    assert_eq!(from_defaults, Vec::<String>::new());
}

/// The file that packages install.
const INSTALLED: &str = include_str!("../../packaging/quintet.toml");

/// That file with every key in force: a line `#key = value` or `#[section]` loses its `#`, a line `# words` stays.
fn uncommented(text: &str) -> String {
    let lines = text.lines().map(|line| match line.strip_prefix('#') {
        Some(rest) if !rest.is_empty() && !rest.starts_with(' ') => rest,
        _ => line,
    });
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_installed_file_changes_nothing() {
    let config = load(INSTALLED, &[]).unwrap();
    let set: Vec<_> = config.effective.iter().filter(|e| e.origin != Origin::Default).map(Effective::dotted).collect();
    assert_eq!(set, Vec::<String>::new());
}

/// What is wrong with a file that is to show every key at its default.
fn misshown(text: &str) -> Vec<String> {
    let config = load(&uncommented(text), &[]).unwrap();
    let mut found = Vec::new();
    for setting in SETTINGS {
        let name = setting.path.join(".");
        let shown = config.effective.iter().find(|e| setting.is_at(&e.path) && e.origin != Origin::Default);
        match (shown, Value::from_default(setting.default)) {
            (None, _) => found.push(format!("{name} is missing")),
            (Some(shown), Some(default)) if shown.value != default => {
                found.push(format!("{name} is shown as {}, its default is {default}", shown.value));
            }
            _ => {}
        }
    }
    found
}

#[test]
fn the_installed_file_shows_every_key_at_its_default() {
    assert_eq!(misshown(INSTALLED), Vec::<String>::new());
    let lacking = INSTALLED.replace("#edge_burst = 20\n", "").replace("#cache_mb = 512\n", "#cache_mb = 64\n");
    assert_eq!(
        misshown(&lacking),
        ["ledger.edge_burst is missing", "diagrams.cache_mb is shown as 64, its default is 512"]
    );
}

#[test]
fn defaults_alone_are_valid() {
    let config = load("", &[]).unwrap();
    assert_eq!(config.data_dir, PathBuf::from("/var/lib/quintet"));
    assert_eq!(value_of(&config, "ledger.edge_burst"), ("20".into(), "default".into()));
}

#[test]
fn what_was_printed_reads_back_as_the_same() {
    let config = load(SAMPLE, &[]).unwrap();
    let again = load(&config.to_toml(), &[]).unwrap();
    let values =
        |config: &Config| config.effective.iter().map(|e| (e.path.clone(), e.value.clone())).collect::<Vec<_>>();
    assert_eq!(values(&config), values(&again));
}

#[test]
fn flag_before_environment_before_file_before_default() {
    let text = "data_dir = \"/file\"\n[ledger]\nedge_burst = 5\nedge_rate_per_second = 6\n";
    let config = load(text, &[("QUINTET_LEDGER__EDGE_BURST", "7"), ("QUINTET_DATA_DIR", "/environment")]).unwrap();
    assert_eq!(config.ledger_edge_burst, 7);
    assert_eq!(config.ledger_edge_rate_per_second, 6);
    assert_eq!(value_of(&config, "data_dir"), ("\"/environment\"".into(), "environment QUINTET_DATA_DIR".into()));
    let environment = vec![("QUINTET_DATA_DIR".to_string(), "/environment".to_string())];
    let sources = Sources { data_dir: Some("/flag".into()), environment, ..Sources::default() };
    let config = Config::load(&sources).unwrap();
    assert_eq!(config.data_dir, PathBuf::from("/flag"));
    assert_eq!(value_of(&config, "data_dir").1, "flag --data");
}

#[test]
fn unknown_keys_are_named_with_the_nearest_known_one() {
    let cases = [
        ("datadir = 1", "q.toml:1: unknown key datadir; did you mean data_dir?"),
        ("\n[listen]\nleger = 1", "q.toml:3: unknown key listen.leger; did you mean listen.ledger?"),
        ("[lisen]\nledger = 1", "q.toml:1: unknown key lisen; did you mean listen?"),
        ("edge_burst = 3", "q.toml:1: unknown key edge_burst; did you mean ledger.edge_burst?"),
        (
            "[runs.ceilings]\nmax_daily_run = 3",
            "q.toml:2: unknown key runs.ceilings.max_daily_run; did you mean runs.ceilings.max_daily_runs?",
        ),
        (
            "[runs.registries.\"a:1\"]\nuser = 1",
            "q.toml:2: unknown key runs.registries.\"a:1\".user; did you mean runs.registries.\"a:1\".username?",
        ),
        (
            "[ledger]\nedge_rate = 5",
            "q.toml:2: unknown key ledger.edge_rate; did you mean ledger.edge_rate_per_second?",
        ),
        ("edge_rate = 5", "q.toml:1: unknown key edge_rate; did you mean ledger.edge_rate_per_second?"),
        ("[tls]\nextra = \"/x\"", "q.toml:2: unknown key tls.extra; did you mean tls.extra_ca?"),
        ("[auth]\nurl = \"\"", "q.toml:1: unknown key auth; did you mean authorization?"),
        ("[runs]\nrunner = \"/x\"", "q.toml:2: unknown key runs.runner; did you mean runs.runner_dir?"),
        ("[runs.ceiling]\nmax_cpu = 1", "q.toml:1: unknown key runs.ceiling; did you mean runs.ceilings?"),
        ("\"\" = 1", "q.toml:1: unknown key \"\"; did you mean ai?"),
        (
            "frobnicate_all_widgets = 1",
            "q.toml:1: unknown key frobnicate_all_widgets; the nearest known one is listen.ledger",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(complaints(text, &[]), expected, "{text}");
    }
}

#[test]
fn types_and_ranges_are_checked_in_their_place() {
    let cases = [
        ("[ledger]\nedge_burst = 0", "q.toml:2: ledger.edge_burst must be a whole number from 1 to 1000000"),
        (
            "[storage]\ncopy_window_minutes = 0",
            "q.toml:2: storage.copy_window_minutes must be a whole number from 1 to 1440",
        ),
        (
            "[storage]\ncopy_window_minutes = 1441",
            "q.toml:2: storage.copy_window_minutes must be a whole number from 1 to 1440",
        ),
        ("[storage]\ncopy_keep_mb = -1", "q.toml:2: storage.copy_keep_mb must be a whole number from 0 to 1073741824"),
        ("[storage]\nwrite_buffer_mb = 7", "q.toml:2: storage.write_buffer_mb must be a whole number from 8 to 16384"),
        ("[storage]\ncache_mb = 7", "q.toml:2: storage.cache_mb must be a whole number from 8 to 1048576"),
        ("[ledger]\nedge_burst = \"20\"", "q.toml:2: ledger.edge_burst must be a whole number from 1 to 1000000"),
        (
            "[listen]\nledger = \"localhost\"",
            "q.toml:2: listen.ledger must be an address such as \"127.0.0.1:7430\" (port 0: a free one), or \"off\"",
        ),
        ("listen = 3", "q.toml:1: listen must be a section"),
        ("[decision]\nmode = \"other\"", "q.toml:2: decision.mode must be one of embedded, external"),
        (
            "[egress]\nallow_private = [\"10.0.0.0/33\"]",
            "q.toml:2: egress.allow_private holds \"10.0.0.0/33\", which is not a network such as \"10.0.0.0/8\"",
        ),
        (
            "[ai]\nurl = \"ftp://x\"",
            "q.toml:2: ai.url must be an address that starts with http:// or https://, or empty",
        ),
        (
            "[storage]\nroot_key = \"hunter2\"",
            "q.toml:2: storage.root_key must be \"file:PATH\", \"credential:NAME\" or \"passphrase:VARIABLE\"",
        ),
        ("[tls]\ncert = \"/c.pem\"", "q.toml:2: tls.cert needs tls.key as well"),
        (
            "[listen]\nledger = \"127.0.0.1:9\"\nruns = \"127.0.0.1:9\"",
            "q.toml:3: listen.runs and listen.ledger are both 127.0.0.1:9",
        ),
        (
            "[listen]\nledger = \"0.0.0.0:9\"\nruns = \"127.0.0.1:9\"",
            "q.toml:3: listen.runs (127.0.0.1:9) and listen.ledger (0.0.0.0:9) are the same port of one address",
        ),
        (
            "[messaging]\nsmtp_listen = \"127.0.0.1:7430\"",
            "q.toml:2: messaging.smtp_listen and listen.ledger are both 127.0.0.1:7430",
        ),
        (
            "[http]\ntrusted_proxies = [\"10.0.0.1/8\"]",
            "q.toml:2: http.trusted_proxies holds \"10.0.0.1/8\", an address within a network; \
             did you mean \"10.0.0.0/8\", or \"10.0.0.1\"?",
        ),
        (
            "[http]\ntrusted_proxies = [\"fd00::1/0\"]",
            "q.toml:2: http.trusted_proxies holds \"fd00::1/0\", an address within a network; \
             did you mean \"::/0\", or \"fd00::1\"?",
        ),
        (
            "[http]\ntrusted_proxies = [\"proxy.example.com\"]",
            "q.toml:2: http.trusted_proxies holds \"proxy.example.com\", which is not a network such as \"10.0.0.0/8\"",
        ),
        (
            "[http]\ntrusted_proxies = \"10.0.0.0/8\"",
            "q.toml:2: http.trusted_proxies must be a list of networks such as [\"10.0.0.0/8\"]",
        ),
        ("[tls]\ncert = 1", "q.toml:2: tls.cert must be a text"),
        ("[tls]\nkey = \"/k.pem\"", "q.toml:2: tls.key needs tls.cert as well"),
        ("data_dir = \"\"", "q.toml:1: data_dir must not be empty"),
        (
            "[ledger]\nedge_burst = 99999999999999999999",
            "q.toml:2: ledger.edge_burst 99999999999999999999 is too large a number",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(complaints(text, &[]), expected, "{text}");
    }
}

#[test]
fn all_mistakes_are_told_at_once() {
    let told = complaints("a = 1\nb = 2\n", &[("QUINTET_LEDGER__EDGE_BURST", "x")]);
    assert_eq!(told.lines().count(), 3, "{told}");
}

#[test]
fn what_is_said_twice_is_told_with_its_line() {
    let told = complaints("[ledger]\nedge_burst = 1\nedge_burst = 2\n", &[]);
    assert!(told.starts_with("q.toml:3: not valid TOML: ") && told.contains("duplicate"), "{told}");
    let told = complaints("[ledger]\n[tls]\n[ledger]\n", &[]);
    assert!(told.starts_with("q.toml:3: not valid TOML: "), "{told}");
}

#[test]
fn broken_toml_is_told_with_its_line() {
    let told = complaints("data_dir = \"/x\"\n[listen\n", &[]);
    assert!(told.starts_with("q.toml:2: not valid TOML: "), "{told}");
}

#[test]
fn variables_of_the_environment_are_checked_alike() {
    let cases = [
        (("QUINTET_LISTEN__LEGER", "x"), "unknown key listen.leger; did you mean QUINTET_LISTEN__LEDGER?"),
        (("QUINTET_LISTEN_LEDGER", "x"), "unknown key listen_ledger; did you mean QUINTET_LISTEN__LEDGER?"),
        (
            ("QUINTET_LEDGER__EDGE_RATE", "5"),
            "unknown key ledger.edge_rate; did you mean QUINTET_LEDGER__EDGE_RATE_PER_SECOND?",
        ),
        (("QUINTET_EDGE_BURST", "5"), "unknown key edge_burst; did you mean QUINTET_LEDGER__EDGE_BURST?"),
        (("QUINTET_AUTH__URL", ""), "unknown key auth.url; did you mean QUINTET_AUTHORIZATION__URL?"),
        (("QUINTET_LEDGER__EDGE_BURST", "many"), "ledger.edge_burst must be a whole number from 1 to 1000000"),
        (("QUINTET_DIAGRAMS__REQUIRE_KEY", "yes"), "diagrams.require_key must be true or false"),
    ];
    for ((name, value), expected) in cases {
        assert_eq!(complaints("", &[(name, value)]), format!("environment {name}: {expected}"));
    }
    let config = load("", &[("QUINTET_HTTP__TRUSTED_PROXIES", "10.0.0.0/8, fd00::/8")]).unwrap();
    assert_eq!(config.trusted_proxies.len(), 2);
}

#[test]
fn a_passphrase_may_have_any_variable() {
    let environment = [("QUINTET_STORAGE__ROOT_KEY", "passphrase:QUINTET_PASS"), ("QUINTET_PASS", "x")];
    assert!(load("", &environment).is_ok());
}

#[test]
fn secrets_are_never_shown() {
    let text = "[ai]\napi_key = \"sk-hunter2\"\n[decision]\napi_key = \"file:decision.key\"\n";
    let config = load(text, &[]).unwrap();
    assert_eq!(value_of(&config, "ai.api_key").0, "\"[redacted]\"");
    assert_eq!(value_of(&config, "decision.api_key").0, "\"file:decision.key\"");
    assert!(!config.to_toml().contains("hunter2"));
    assert!(!config.to_json().to_string().contains("hunter2"));
    assert!(!complaints("[ai]\napi_key = 12345678\n", &[]).contains("1234"));
}

#[test]
fn passwords_in_addresses_are_never_shown() {
    let text = "[ai]\nurl = \"https://joe:hunter2@ai.example.com:8443/v1?a=@\"\n\
        [messaging]\nsmtp_relay = \"joe:hunter2@relay.example.com:25\"\n";
    let config = load(text, &[]).unwrap();
    assert_eq!(value_of(&config, "ai.url").0, "\"https://[redacted]@ai.example.com:8443/v1?a=@\"");
    assert_eq!(value_of(&config, "messaging.smtp_relay").0, "\"[redacted]@relay.example.com:25\"");
    assert!(!config.to_json().to_string().contains("hunter2"));
    assert_eq!(value_of(&load("[ai]\nurl = \"https://a/@\"", &[]).unwrap(), "ai.url").0, "\"https://a/@\"");
}

#[test]
fn listeners_can_be_off() {
    let config = load("[listen]\nledger = \"off\"\n", &[]).unwrap();
    assert_eq!(config.listen.of("ledger"), None);
}

#[test]
fn networks_hold_what_they_should() {
    let holds = |network: &str, address: &str| Network::parse(network).unwrap().contains(address.parse().unwrap());
    assert!(holds("10.0.0.0/8", "10.255.1.2"));
    assert!(!holds("10.0.0.0/8", "11.0.0.1"));
    assert!(holds("0.0.0.0/0", "192.0.2.1"));
    assert!(holds("192.0.2.7", "192.0.2.7"));
    assert!(!holds("192.0.2.7", "192.0.2.8"));
    assert!(holds("10.0.0.0/8", "::ffff:10.1.1.1"));
    assert!(holds("fd00::/8", "fd12::1"));
    assert!(!holds("fd00::/8", "fe80::1"));
    assert!(holds("::/0", "2001:db8::1"));
}
