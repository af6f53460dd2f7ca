//! The manual, in the terminal and on the operations listener.

use serde_json::{Value, json};

use crate::support::appliance::{in_browser, run, shared, stderr, stdout};

#[test]
fn topics_are_listed() {
    let output = run(&["manual"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    let listed = run(&["manual", "--json"]);
    let listed: Value = serde_json::from_str(&stdout(&listed)).unwrap();
    let items = listed["items"].as_array().unwrap();
    assert!(items.len() > 15, "{listed}");
    for item in items {
        let (topic, summary) = (item["topic"].as_str().unwrap(), item["summary"].as_str().unwrap());
        let is_listed = text.lines().any(|line| line.starts_with(&format!("{topic} ")) && line.ends_with(summary));
        assert!(is_listed, "{topic}: {text}");
        assert!(!item["title"].as_str().unwrap().is_empty() && item.get("markdown").is_none(), "{item}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_page_is_plain_text_where_no_terminal_is() {
    let output = run(&["manual", "tls"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.starts_with("TLS and proxies\n===============\n\n"), "{text}");
    assert!(text.contains("  [http]\n  trusted_proxies = ["), "{text}");
    assert!(!text.contains('\u{1b}'));
    let page = run(&["manual", "tls", "--json"]);
    let page: Value = serde_json::from_str(&stdout(&page)).unwrap();
    assert_eq!(page["title"], "TLS and proxies");
    assert!(page["markdown"].as_str().unwrap().starts_with("# TLS and proxies\n"));
}

#[test]
fn an_unknown_topic_is_wrong_usage() {
    let output = run(&["manual", "tlss"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("'tls'"), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
}

#[test]
fn browsers_are_shown_the_same_pages() {
    let operations = shared().stranger("operations");
    let list = operations.get("/manual");
    assert_eq!(list.status, 200);
    let listed: Value = serde_json::from_str(&stdout(&run(&["manual", "--json"]))).unwrap();
    for item in listed["items"].as_array().unwrap() {
        let path = format!("/manual/{}", item["topic"].as_str().unwrap());
        assert!(list.text.contains(&format!("href=\"{path}\"")), "{path}");
        let page = operations.get(&path);
        assert_eq!(page.status, 200, "{path}");
        let heading = item["title"].as_str().unwrap().replace('\'', "&#39;");
        assert!(page.text.contains(&format!(">{heading}</h1>")), "{path}");
        assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
        let policy = page.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; style-src 'self'; "), "{policy}");
        assert!(!policy.contains("unsafe") && !policy.contains("script-src"), "{policy}");
        assert_eq!(page.header("x-content-type-options"), "nosniff");
        assert_eq!(page.header("referrer-policy"), "no-referrer");
    }
    let style = operations.get("/manual/style.css");
    assert_eq!((style.status, style.header("content-type")), (200, "text/css; charset=utf-8"));
}

#[test]
fn unknown_topics_and_methods_get_a_problem() {
    let operations = shared().stranger("operations");
    for path in ["/manual/nothing", "/manual/%ff", "/manual/..%2ftls", "/manual/tls/", "/manual/"] {
        let answer = operations.get(path);
        assert_eq!(answer.expect(404)["code"], "not_found", "{path}");
        assert_eq!(answer.header("content-type"), "application/problem+json");
    }
    assert_eq!(operations.send("HEAD", "/manual/tls", &[], b"").status, 200);
    let answer = operations.send("POST", "/manual", &[], b"");
    assert_eq!(answer.expect(405)["code"], "method_not_allowed");
    assert_eq!(answer.header("allow"), "GET, HEAD");
}

/// The table of the manual's page, against what is answered.
#[test]
fn documented_routes_of_operations_are_served() {
    let page: Value = serde_json::from_str(&stdout(&run(&["manual", "routes", "--json"]))).unwrap();
    let (_, table) = page["markdown"].as_str().unwrap().split_once("\n## Operations\n").unwrap();
    let paths: Vec<&str> =
        table.lines().filter_map(|line| line.strip_prefix("| GET, HEAD | `")?.split('`').next()).collect();
    assert_eq!(paths.len(), 6, "{table}");
    let operations = shared().stranger("operations");
    for path in paths {
        assert_eq!(operations.get(&path.replace("{topic}", "tour")).status, 200, "{path}");
    }
}

#[test]
fn documented_metrics_are_there() {
    let page: Value = serde_json::from_str(&stdout(&run(&["manual", "operations", "--json"]))).unwrap();
    let page = page["markdown"].as_str().unwrap();
    let is_part = |c: char| c.is_ascii_lowercase() || c == '_';
    let named: Vec<&str> =
        page.split('`').filter(|code| code.starts_with("quintet_") && code.chars().all(is_part)).collect();
    assert!(named.len() > 15, "{named:?}");
    // Requests are counted once there was one.
    assert_eq!(shared().stranger("localization").get("/v1/me").status, 401);
    let metrics = shared().stranger("operations").get("/metrics").text;
    let is_there = |name: &str| {
        metrics.lines().any(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '{', '_'])))
    };
    // They are told once there is a backup, a directory that follows, and a tenant with deliveries.
    let later = ["quintet_backup_age_seconds", "quintet_backup_lag_seconds", "quintet_tenant_delivery_dead_total"];
    let missing: Vec<_> = named.iter().filter(|name| !is_there(name) && !later.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// In light on a screen and in the dark on a telephone: nothing breaks the pages' policy, moves sideways or shuts out
/// people who read with their ears or hands.
#[test]
fn pages_are_fit_for_everybody() {
    let given = json!({ "list": format!("http://{}/manual", shared().address("operations")) });
    let Some(said) = in_browser("appliance/manual_pages.mjs", &given) else { return };
    assert_eq!(said.lines().count(), 2, "{said}");
}
