//! `quintet config`, and what the configuration does to a start.

use crate::support::appliance::{Setup, quintet, run, stderr, stdout};

fn file(text: &str) -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("quintet.toml");
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap().to_string();
    (directory, path)
}

#[test]
fn check_names_the_mistake_its_place_and_what_was_meant() {
    let (_directory, path) = file("data_dir = \"/tmp/x\"\n\n[listen]\nleger = \"off\"\n");
    let output = run(&["config", "check", &path]);
    assert_eq!(output.status.code(), Some(1));
    let expected = format!("{path}:4: unknown key listen.leger; did you mean listen.ledger?");
    assert!(stderr(&output).contains(&expected), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
}

#[test]
fn check_tells_mistakes_as_json_too() {
    let (_directory, path) = file("[ledger]\nedge_burst = \"many\"\n");
    let output = run(&["config", "check", &path, "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let told: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(told["valid"], false);
    assert_eq!(told["problems"][0]["place"], format!("{path}:2"));
    assert_eq!(told["problems"][0]["message"], "ledger.edge_burst must be a whole number from 1 to 1000000");
}

#[test]
fn check_accepts_what_is_right() {
    let (_directory, path) = file("[ledger]\nedge_burst = 5\n[messaging]\ndomain = \"agents.example.com\"\n");
    let output = run(&["config", "check", &path]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output), "The configuration is valid.\n");
}

#[test]
fn check_and_serve_refuse_the_same_in_the_same_words() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let text = "[tls]\ncert = \"/c.pem\"\nkey = \"/k.pem\"\n";
    let (_directory, path) = file(text);
    let check = run(&["config", "check", &path]);
    assert_eq!(check.status.code(), Some(1), "{text}");
    let serve = run(&["serve", "--config", &path, "--data", data.to_str().unwrap()]);
    assert_eq!(serve.status.code(), Some(1), "{text}");
    let words = |said: &str| {
        let lines = said.lines().filter(|line| line.contains(":2: "));
        lines.map(|line| line.trim_start_matches("quintet: ").to_string()).collect::<Vec<_>>()
    };
    assert!(!words(&stderr(&check)).is_empty(), "{}", stderr(&check));
    assert_eq!(words(&stderr(&check)), words(&stderr(&serve)));
    assert!(!data.exists());
}

#[test]
fn a_file_that_is_named_must_exist() {
    let output = run(&["config", "check", "/nonexistent/quintet.toml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("/nonexistent/quintet.toml: cannot read the configuration file"));
}

#[test]
fn print_shows_values_with_their_origin_and_no_secrets() {
    let (_directory, path) = file("[ledger]\nedge_burst = 5\n[ai]\napi_key = \"sk-hunter2\"\n");
    let mut command = quintet();
    command.args(["config", "print", "--config", &path, "--data", "/tmp/of-the-flag"]);
    let output = command.env("QUINTET_DIAGRAMS__CACHE_MB", "9").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    let line = |key: &str| text.lines().find(|line| line.starts_with(&format!("{key} ="))).unwrap().to_string();
    let parts = |key: &str| line(key).split("  # ").map(|part| part.trim().to_string()).collect::<Vec<_>>();
    assert_eq!(parts("ledger.edge_burst"), ["ledger.edge_burst = 5".to_string(), format!("{path}:2")]);
    assert_eq!(parts("diagrams.cache_mb"), ["diagrams.cache_mb = 9", "environment QUINTET_DIAGRAMS__CACHE_MB"]);
    assert_eq!(parts("data_dir"), ["data_dir = \"/tmp/of-the-flag\"", "flag --data"]);
    assert_eq!(parts("storage.disk_reserve_mb"), ["storage.disk_reserve_mb = 512", "default"]);
    assert_eq!(parts("ai.api_key")[0], "ai.api_key = \"[redacted]\"");
    assert!(!text.contains("hunter2"));
}

#[test]
fn an_unknown_variable_stops_a_start() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = quintet();
    command.arg("serve").arg("--data").arg(directory.path().join("data"));
    let output = command.env("QUINTET_LISTEN_LEDGER", "127.0.0.1:0").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("did you mean QUINTET_LISTEN__LEDGER?"), "{}", stderr(&output));
    assert!(!directory.path().join("data").exists());
}

#[test]
fn a_listener_that_is_off_is_absent() {
    let appliance = Setup::new().env("QUINTET_LISTEN__OPERATIONS", "off").start();
    assert_eq!(appliance.services(), ["console", "diagrams", "ledger", "localization", "messaging", "runs"]);
    assert_eq!(appliance.stop(), Some(0));
}

#[test]
fn nothing_is_touched_when_a_start_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let data = data.to_str().unwrap();
    assert!(run(&["init", "--data", data]).status.success());
    let held = || {
        let mut names: Vec<_> = std::fs::read_dir(data).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        let format = std::fs::read(format!("{data}/FORMAT")).unwrap();
        (names, format, std::fs::read(format!("{data}/root.key")).unwrap())
    };
    let before = held();
    let cases = [
        ("[tsl]\n", ":1: unknown key tsl; did you mean tls?"),
        ("[tls]\ncret = \"\"\n", ":2: unknown key tls.cret; did you mean tls.cert?"),
        ("[http]\ntrusted_proxy = []\n", ":2: unknown key http.trusted_proxy; did you mean http.trusted_proxies?"),
        ("\n[http]\ntrusted_proxies = [\"10.0.0.0/40\"]\n", ":3: http.trusted_proxies holds \"10.0.0.0/40\""),
        ("[http]\ntrusted_proxies = [\"10.1.2.3/8\"]\n", "did you mean \"10.0.0.0/8\", or \"10.1.2.3\"?"),
        ("[http]\ntrusted_proxies = [10]\n", ":2: http.trusted_proxies must be a list of texts"),
        ("[runs]\nworkers = true\n", ":2: runs.workers must be a whole number from 0 to 10000"),
        ("[ledger]\nedge_burst = 1\nedge_burst = 2\n", ":3: not valid TOML: duplicate key"),
    ];
    for (text, expected) in cases {
        let (_directory, path) = file(text);
        let output = run(&["serve", "--config", &path, "--data", data]);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(stderr(&output).contains(expected), "{text}: {}", stderr(&output));
        let output = run(&["doctor", "--config", &path, "--data", data]);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(stdout(&output).contains(expected), "{text}: {}", stdout(&output));
        assert_eq!(held(), before, "{text}");
    }
    let (_directory, path) = file("[listen]\nledger = \"127.0.0.1\"\n");
    let mut serve = quintet();
    serve.env_remove("QUINTET_LISTEN__LEDGER").args(["serve", "--config", &path, "--data", data]);
    let output = serve.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains(":2: listen.ledger must be an address such as"), "{}", stderr(&output));
    assert_eq!(held(), before);
    assert_eq!(Setup::new().on(std::path::Path::new(data)).start().stop(), Some(0));
}
