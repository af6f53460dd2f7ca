//! What makes each service's requests expensive, and the requests.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::server::Server;

const JSON: &str = "application/json";
/// Keys of the large file, and how many sets of them it has had: all but the last are obsolete.
const KEYS: usize = 100_000;
const SETS: usize = 8;
/// Postings on one account.
const POSTINGS: usize = 40_000;
/// Runs that wait.
const RUNS: usize = 5_000;

/// Asks a server: which caller, and for which time.
type Ask = Box<dyn Fn(&Server, usize, usize) + Send + Sync>;

/// A request that is as expensive as its service has one.
pub struct Worst {
    /// What is asked for.
    pub name: &'static str,
    /// Asks for it.
    pub ask: Ask,
}

fn worst(name: &'static str, ask: impl Fn(&Server, usize, usize) + Send + Sync + 'static) -> Worst {
    Worst { name, ask: Box::new(ask) }
}

fn made(answer: (u16, Value)) -> Value {
    assert!(answer.0 < 300, "{answer:?}");
    answer.1
}

/// Makes the data; the requests, service by service.
pub fn prepare(server: &Server) -> Vec<Worst> {
    let mut all = localization(server);
    all.extend(ledger(server));
    all.extend(runs(server));
    all.extend(diagrams());
    all
}

fn file(set: usize) -> Vec<u8> {
    let mut text = String::from("{");
    for key in 0..KEYS {
        let comma = if key == 0 { "" } else { "," };
        let _ = write!(text, "{comma}\n\"set{set}.key{key}\": \"The value of key {key} in set {set}\"");
    }
    text.push_str("\n}\n");
    text.into_bytes()
}

fn localization(server: &Server) -> Vec<Worst> {
    const SERVICE: &str = "localization";
    let post =
        |path: &str, key: &str, body: &Value| made(server.post(SERVICE, path, key, JSON, body.to_string().as_bytes()));
    let workspace = post("/v1/workspaces", "w", &json!({"slug": "bench", "name": "Bench"}));
    let body = json!({"workspace_id": workspace["id"], "slug": "bench", "name": "Bench", "source_locale": "en"});
    let project = post("/v1/projects", "p", &body)["id"].as_str().unwrap().to_owned();
    let upload = format!("/v1/projects/{project}/files?kind=json&path=large.json");
    let mut file_id = String::new();
    for set in 0..SETS {
        let imported = made(server.post(SERVICE, &upload, &format!("f{set}"), JSON, &file(set)));
        file_id = imported["file_id"].as_str().unwrap().to_owned();
    }
    let keys = format!("/v1/projects/{project}/keys?limit=500");
    let export = format!("/v1/projects/{project}/files/{file_id}/export");
    let metadata = format!("{export}?locale=de&metadata=true");
    let context = format!("/v1/projects/{project}/files/{file_id}/context");
    let reupload = format!("/v1/projects/{project}/files?kind=json&path=again");
    let body = file(0);
    vec![
        worst("localization: a page of keys, 700,000 obsolete ones beside", move |server, _, _| {
            assert_eq!(server.get(SERVICE, &keys).0, 200);
        }),
        worst("localization: an export of 100,000 keys", move |server, _, _| {
            let _ = server.get(SERVICE, &export);
        }),
        worst("localization: metadata of 100,000 keys", move |server, _, _| {
            let _ = server.get(SERVICE, &metadata);
        }),
        worst("localization: contexts of the large file", move |server, _, _| {
            assert_eq!(server.get(SERVICE, &context).0, 200);
        }),
        worst("localization: an upload of 100,000 keys", move |server, caller, time| {
            let path = format!("{reupload}{caller}.json");
            let _ = server.post(SERVICE, &path, &format!("u{caller}-{time}"), JSON, &body);
        }),
    ]
}

fn ledger(server: &Server) -> Vec<Worst> {
    const SERVICE: &str = "ledger";
    let post =
        |path: &str, key: &str, body: &Value| made(server.post(SERVICE, path, key, JSON, body.to_string().as_bytes()));
    let asset = post("/v1/asset-types", "a", &json!({"code": "EUR", "kind": "fiat", "scale": 2}));
    for number in 1..10_000 {
        let body = json!({"code": format!("A{number}"), "kind": "credit", "scale": 0});
        post("/v1/asset-types", &format!("a{number}"), &body);
    }
    let account = |number: usize| {
        let body = json!({"asset_type_id": asset["asset_type_id"], "name": format!("account {number}"),
            "normal_side": "debit", "balance_floor": null});
        post("/v1/accounts", &format!("acc{number}"), &body)["account_id"].as_str().unwrap().to_owned()
    };
    let accounts: Vec<String> = (0..1_200).map(account).collect();
    let entry =
        |account: &str, direction: &str| json!({"account_id": account, "direction": direction, "amount": "1.00"});
    let transaction = json!({"entries": [entry(&accounts[0], "debit"), entry(&accounts[1], "credit")]});
    let bulk = json!({"atomic": true, "transactions": vec![transaction; 1_000]}).to_string();
    for call in 0..POSTINGS / 1_000 {
        made(server.post(SERVICE, "/v1/transactions/bulk", &format!("b{call}"), JSON, bulk.as_bytes()));
    }
    let statement = format!("/v1/accounts/{}/entries?limit=1000&state=voided", accounts[0]);
    let page = format!("/v1/accounts/{}/entries?limit=1000", accounts[0]);
    let as_of = format!("/v1/accounts/{}/balance-as-of?at=2020-01-01T00:00:00Z", accounts[0]);
    let each = bulk.replace("\"atomic\":true", "\"atomic\":false");
    vec![
        worst("ledger: 1,000 postings in one call, all or none", move |server, caller, time| {
            let key = format!("w{caller}-{time}");
            assert_eq!(server.post(SERVICE, "/v1/transactions/bulk", &key, JSON, bulk.as_bytes()).0, 200);
        }),
        worst("ledger: 1,000 postings in one call, each for itself", move |server, caller, time| {
            let key = format!("x{caller}-{time}");
            assert_eq!(server.post(SERVICE, "/v1/transactions/bulk", &key, JSON, each.as_bytes()).0, 200);
        }),
        worst("ledger: 1,000 lines of a statement", move |server, _, _| {
            assert_eq!(server.get(SERVICE, &page).0, 200);
        }),
        worst("ledger: lines of a statement that has none in this state", move |server, _, _| {
            assert_eq!(server.get(SERVICE, &statement).0, 200);
        }),
        worst("ledger: 1,000 accounts", move |server, _, _| {
            assert_eq!(server.get(SERVICE, "/v1/accounts?limit=1000").0, 200);
        }),
        worst("ledger: 10,000 asset types", move |server, _, _| {
            assert_eq!(server.get(SERVICE, "/v1/asset-types").0, 200);
        }),
        worst("ledger: a balance as of a past instant", move |server, _, _| {
            assert_eq!(server.get(SERVICE, &as_of).0, 200);
        }),
    ]
}

fn runs(server: &Server) -> Vec<Worst> {
    const SERVICE: &str = "runs";
    let body =
        json!({"image": "busybox", "command": ["true"], "name": "waits", "scheduled_start": "2099-01-01T00:00:00Z"});
    let body = body.to_string();
    let mut submitted = 0;
    for number in 0..RUNS {
        // The daily quota ends it earlier.
        let (status, _) = server.post(SERVICE, "/api/v1/runs", &format!("r{number}"), JSON, body.as_bytes());
        if status != 202 {
            break;
        }
        submitted += 1;
    }
    println!("{submitted} runs wait");
    vec![
        worst("runs: a list of which no run is", move |server, _, _| {
            assert_eq!(server.get(SERVICE, "/api/v1/runs?name=nobody&limit=200").0, 200);
        }),
        worst("runs: 200 runs", move |server, _, _| {
            assert_eq!(server.get(SERVICE, "/api/v1/runs?limit=200").0, 200);
        }),
        worst("runs: usage", move |server, _, _| {
            assert_eq!(server.get(SERVICE, "/api/v1/usage").0, 200);
        }),
    ]
}

fn diagrams() -> Vec<Worst> {
    const SERVICE: &str = "diagrams";
    let dense = |seed: usize| {
        let mut source = format!("digraph g{seed} {{\n");
        for node in 0..120 {
            for step in 1..20 {
                let _ = writeln!(source, "n{node} -> n{} [label=\"{node}-{step}\"];", (node * step + seed) % 120);
            }
        }
        source.push('}');
        source
    };
    vec![
        worst("diagrams: a dense graph with labels on all edges", move |server, caller, time| {
            let body = json!({"dotfile": dense(caller * 1_000 + time)}).to_string();
            let _ = server.post(SERVICE, "/graphs?format=svg", "", JSON, body.as_bytes());
        }),
        worst("diagrams: the same as PNG", move |server, caller, time| {
            let body = json!({"dotfile": dense(caller * 1_000 + time + 500)}).to_string();
            let _ = server.post(SERVICE, "/graphs?format=png", "", JSON, body.as_bytes());
        }),
    ]
}
