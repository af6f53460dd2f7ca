//! An external authorization system that is told of grants: one that does what it is told, and one that answers late, wrong,
//! that it cannot, or not at all.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::localization::accounts::{account, path_of};
use crate::localization::members::key_of;
use crate::localization::{Desk, refused, text};
use crate::support::appliance::{Appliance, Setup, fresh_key, run, stderr, stdout};
use crate::support::receiver::heard;

const OWN: &str = "appliance-credential";
/// Longer than the appliance waits for an answer, and shorter than anybody waits for a test.
const LATE: Duration = Duration::from_secs(4);
/// For how long a state is waited for that the reconciler brings about, which comes by every ten seconds.
const PATIENCE: Duration = Duration::from_secs(90);

/// How the system answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    /// It does what it is told.
    Tame,
    /// It does it, and says so too late.
    Late,
    /// It grants when nobody waits any more, and does the rest at once.
    Behind,
    /// It says that it cannot.
    Unavailable,
    /// It refuses what it is told.
    Refusing,
    /// It says yes to everything, and what it has is no JSON.
    Senseless,
    /// A gateway is there in its place.
    Elsewhere,
    /// It hangs up.
    HangingUp,
}

/// A small authorization system: by principal, the intents that it was told of.
#[derive(Clone)]
struct System(Arc<Mutex<State>>);

struct State {
    intents: BTreeMap<String, BTreeMap<String, Value>>,
    mood: Mood,
    asked: u64,
}

impl System {
    fn open() -> (System, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/authz", listener.local_addr().unwrap());
        let state = State { intents: BTreeMap::new(), mood: Mood::Tame, asked: 0 };
        let system = System(Arc::new(Mutex::new(state)));
        let serving = system.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { break };
                let serving = serving.clone();
                std::thread::spawn(move || serving.serve(stream));
            }
        });
        (system, url)
    }

    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream);
        let Some((head, body)) = heard(&mut reader) else { return };
        let lower = head.to_lowercase();
        assert!(lower.contains(&format!("authorization: bearer {OWN}\r\n")), "{head}");
        let mut words = head.split_whitespace();
        let (method, path) = (words.next().unwrap(), words.next().unwrap());
        let mood = {
            let mut state = self.0.lock().unwrap();
            state.asked += 1;
            state.mood
        };
        let (status, answer) = match mood {
            Mood::Unavailable => (503, "{}".to_owned()),
            Mood::Refusing => (422, "{}".to_owned()),
            Mood::Senseless => (200, "<html>".to_owned()),
            Mood::Elsewhere => (404, json!({"message": "no Route matched with those values"}).to_string()),
            Mood::HangingUp => return,
            Mood::Behind if method == "PUT" => {
                std::thread::sleep(LATE);
                self.answer(method, path, &body)
            }
            Mood::Tame | Mood::Late | Mood::Behind => self.answer(method, path, &body),
        };
        if mood == Mood::Late {
            std::thread::sleep(LATE);
        }
        let length = answer.len();
        let response = format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{answer}");
        let _ = reader.into_inner().write_all(response.as_bytes());
    }

    fn answer(&self, method: &str, path: &str, body: &[u8]) -> (u16, String) {
        let mut state = self.0.lock().unwrap();
        let mut names = path.strip_prefix("/authz/intents/").unwrap().split('/').map(str::to_owned);
        let (principal, intent) = (names.next().unwrap(), names.next());
        let own = state.intents.entry(principal.clone()).or_default();
        match (method, intent) {
            ("PUT", Some(intent)) => {
                let told: Value = serde_json::from_slice(body).unwrap();
                let members: BTreeSet<&str> = told.as_object().unwrap().keys().map(String::as_str).collect();
                let known = ["intent_id", "permissions", "principal_id", "target", "tenant_id"];
                assert_eq!(members, BTreeSet::from(known));
                assert_eq!((&told["principal_id"], &told["intent_id"]), (&json!(principal), &json!(intent)));
                own.insert(intent, told);
                (201, String::new())
            }
            ("DELETE", Some(intent)) => (if own.remove(&intent).is_some() { 204 } else { 404 }, String::new()),
            ("GET", None) if own.is_empty() => (404, json!({"code": "principal_not_found"}).to_string()),
            ("GET", None) => (200, json!({"intents": own.values().collect::<Vec<_>>()}).to_string()),
            other => panic!("{other:?}"),
        }
    }

    fn mood(&self, mood: Mood) {
        self.0.lock().unwrap().mood = mood;
    }

    /// What it has of a principal.
    fn intents(&self, principal: &Value) -> Vec<Value> {
        let state = self.0.lock().unwrap();
        state.intents.get(principal.as_str().unwrap()).map(|own| own.values().cloned().collect()).unwrap_or_default()
    }

    /// How often it was asked or told something.
    fn asked(&self) -> u64 {
        self.0.lock().unwrap().asked
    }

    /// Somebody takes everything from a principal, without asking the appliance.
    fn forget(&self, principal: &Value) {
        self.0.lock().unwrap().intents.remove(principal.as_str().unwrap());
    }
}

fn start(url: &str, data: Option<&std::path::Path>) -> Appliance {
    let setup = Setup::new()
        .env("QUINTET_AUTHORIZATION__URL", url)
        .env("QUINTET_AUTHORIZATION__API_KEY", OWN)
        .env("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.0/8");
    data.into_iter().fold(setup, Setup::on).start()
}

fn viewer(desk: &Desk, principal: &Value) -> Value {
    desk.post("/v1/grants", &json!({"principal_id": principal["id"], "template": "viewer"})).expect(201)
}

fn revoke(desk: &Desk, grant: &Value) -> Value {
    desk.send("DELETE", &format!("/v1/grants/{}", text(grant, "id")), &[], b"").expect(200)
}

/// The grant as it stands.
fn now(desk: &Desk, grant: &Value) -> Value {
    let listed = desk.get("/v1/grants").expect(200);
    listed["grants"].as_array().unwrap().iter().find(|one| one["id"] == grant["id"]).cloned().unwrap()
}

/// Waits until a grant has come to a state.
#[track_caller]
fn becomes(desk: &Desk, grant: &Value, state: &str) -> Value {
    let begun = Instant::now();
    loop {
        let found = now(desk, grant);
        if found["state"] == state {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "it does not become {state}: {found}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn what_it_takes_at_once_holds_at_once() {
    let (system, url) = System::open();
    let appliance = start(&url, None);
    // Whose credentials are worth what it is not asked: a key from the command line works, and its template is not sent there.
    let desk = Desk::open(&appliance);
    let reader = desk.template(&appliance, "viewer", &json!({}));
    reader.get("/v1/projects").expect(200);
    assert_eq!(system.0.lock().unwrap().asked, 0);
    let account = account(&desk, "a");
    let own = key_of(&desk, &path_of(&account));
    let key = fresh_key();
    let body = json!({"principal_id": account["id"], "template": "viewer"});
    let made = desk.json_under(&key, "POST", "/v1/grants", &body).expect(201);
    assert_eq!((&made["state"], &made["permissions"]), (&json!("granted"), &json!(["p_*_read"])));
    let told = system.intents(&account["id"]);
    assert_eq!(told.len(), 1);
    assert_eq!((&told[0]["target"], &told[0]["permissions"]), (&json!("org"), &json!(["p_*_read"])));
    assert_eq!(told[0]["tenant_id"], json!(desk.tenant_id));
    // A repeat tells what the first was told in the end.
    let again = desk.json_under(&key, "POST", "/v1/grants", &body);
    assert_eq!((again.json(), again.header("idempotent-replayed")), (made.clone(), "true"));
    own.get("/v1/projects").expect(200);
    let revoked = revoke(&desk, &made);
    assert_eq!((&revoked["state"], &revoked["permissions"]), (&json!("revoked"), &json!([])));
    assert_eq!(system.intents(&account["id"]), Vec::<Value>::new());
    assert_eq!(appliance.cli(&["verify"]).status.code(), Some(0));
}

#[test]
fn while_it_is_away_requests_work_and_grants_wait() {
    let (system, url) = System::open();
    let appliance = start(&url, None);
    let desk = Desk::open(&appliance);
    let project = desk.project();
    let path = format!("/v1/projects/{}", text(&project, "id"));
    let account = account(&desk, "a");
    let own = key_of(&desk, &path_of(&account));
    let standing = viewer(&desk, &account);
    own.get(&path).expect(200);
    for mood in [Mood::Unavailable, Mood::Refusing, Mood::HangingUp, Mood::Late] {
        system.mood(mood);
        // What stands goes on; what is granted waits; what is revoked confers nothing at once.
        own.get(&path).expect(200);
        let made = desk.post("/v1/grants", &json!({"principal_id": account["id"], "template": "ci"})).expect(201);
        assert_eq!((&made["state"], &made["permissions"]), (&json!("granting"), &json!([])), "{mood:?}");
        assert_eq!(made["intents"][0]["state"], "granting", "{mood:?}");
        let revoked = revoke(&desk, &made);
        assert_eq!((&revoked["state"], &revoked["permissions"]), (&json!("revoking"), &json!([])), "{mood:?}");
        assert_eq!(revoke(&desk, &made), revoked, "again: the same");
    }
    system.mood(Mood::Unavailable);
    let waiting = desk.post("/v1/grants", &json!({"principal_id": account["id"], "template": "ci"})).expect(201);
    let revoking = revoke(&desk, &standing);
    assert_eq!(revoking["state"], "revoking");
    let upload = [("content-type", "application/json"), ("idempotency-key", "u")];
    refused(&own.get(&path), 403, "forbidden");
    let answer = own.send("POST", &format!("{path}/files?kind=json&path=a.json"), &upload, b"{}");
    refused(&answer, 403, "forbidden");
    // Doctor names it.
    let doctor = run(&["doctor", "--data", appliance.data().to_str().unwrap()]);
    assert!(stdout(&doctor).contains("names cannot be told of grants"), "{}", stdout(&doctor));
    // It is back: the reconciler settles what is open.
    system.mood(Mood::Tame);
    assert_eq!(
        becomes(&desk, &waiting, "granted")["permissions"],
        json!(["p_*_export", "p_*_files-write", "p_*_read"])
    );
    becomes(&desk, &standing, "revoked");
    own.send("POST", &format!("{path}/files?kind=json&path=a.json"), &upload, b"{}").expect(201);
    for grant in desk.get("/v1/grants").expect(200)["grants"].as_array().unwrap() {
        if grant["id"] != waiting["id"] {
            becomes(&desk, grant, "revoked");
        }
    }
    assert_eq!(system.intents(&account["id"]).len(), 1, "what was told late was taken back");
    let doctor = run(&["doctor", "--data", appliance.data().to_str().unwrap()]);
    assert!(stdout(&doctor).contains("authorization.url names answers"), "{}", stdout(&doctor));
    assert_eq!(appliance.cli(&["verify"]).status.code(), Some(0));
}

#[test]
fn what_is_granted_there_after_it_was_revoked_is_removed_again() {
    let (system, url) = System::open();
    let appliance = start(&url, None);
    let desk = Desk::open(&appliance);
    // Of somebody whose grant went before it knows nothing: that keeps nobody from being asked about.
    let before = account(&desk, "before");
    let first = viewer(&desk, &before);
    revoke(&desk, &first);
    becomes(&desk, &first, "revoked");
    let account = account(&desk, "a");
    system.mood(Mood::Behind);
    let grant = viewer(&desk, &account);
    assert_eq!(grant["state"], "granting");
    revoke(&desk, &grant);
    let begun = Instant::now();
    let wait_for = |count: usize| {
        while system.intents(&account["id"]).len() != count {
            assert!(begun.elapsed() < PATIENCE, "{:?}", system.intents(&account["id"]));
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    // It is granted there when all is over here, and does not stay.
    wait_for(1);
    wait_for(0);
    becomes(&desk, &grant, "revoked");
    assert_eq!(appliance.cli(&["verify"]).status.code(), Some(0));
}

#[test]
fn who_will_be_an_administrator_has_no_key_of_a_managers() {
    let (system, url) = System::open();
    let appliance = start(&url, None);
    let desk = Desk::open(&appliance);
    let (strong, manager) = (account(&desk, "strong"), desk.template(&appliance, "member_manager", &json!({})));
    system.mood(Mood::Unavailable);
    let wish = json!({"principal_id": strong["id"], "template": "org_admin"});
    let waiting = desk.post("/v1/grants", &wish).expect(201);
    assert_eq!(waiting["state"], "granting");
    // It confers nothing yet, and a key would have it later.
    let keys = format!("{}/keys", path_of(&strong));
    refused(&manager.post(&keys, &json!({})), 403, "forbidden");
    revoke(&desk, &waiting);
    manager.post(&keys, &json!({})).expect(201);
}

#[test]
fn what_is_removed_there_is_degraded_here() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    let (system, url) = System::open();
    let appliance = start(&url, Some(&data));
    let desk = Desk::open(&appliance);
    let reader = desk.template(&appliance, "viewer", &json!({}));
    let (one, other) = (account(&desk, "one"), account(&desk, "other"));
    let own = key_of(&desk, &path_of(&one));
    let (lost, kept) = (viewer(&desk, &one), viewer(&desk, &other));
    // What it says makes no sense, or somebody else says it: nothing is missing for that.
    for mood in [Mood::Senseless, Mood::Elsewhere] {
        let asked = system.asked();
        system.mood(mood);
        let begun = Instant::now();
        while system.asked() < asked + 2 {
            assert!(begun.elapsed() < PATIENCE, "it is not asked for what both have");
            std::thread::sleep(Duration::from_millis(50));
        }
        own.get("/v1/projects").expect(200);
    }
    // Then somebody takes the grant away there.
    system.forget(&one["id"]);
    system.mood(Mood::Tame);
    let found = becomes(&desk, &lost, "degraded");
    assert_eq!((&found["permissions"], &found["intents"][0]["state"]), (&json!([]), &json!("revoked")));
    assert_eq!(own.get("/v1/me").expect(200)["permissions"], json!([]));
    assert_eq!(now(&desk, &kept)["state"], "granted");
    assert!(reader.get("/v1/projects").status == 200, "the operator's are not its business");
    // It is not granted again, after a restart neither; and may be revoked, which needs nobody there.
    assert_eq!(appliance.stop(), Some(0));
    let appliance = start(&url, Some(&data));
    let desk = Desk::of(&appliance, &desk.tenant_id, &[]);
    assert_eq!(now(&desk, &lost)["state"], "degraded");
    assert_eq!(system.intents(&one["id"]), Vec::<Value>::new());
    system.mood(Mood::HangingUp);
    assert_eq!(revoke(&desk, &lost)["state"], "revoked");
    // A member of two grants is removed while it is away: at once here, later there.
    let waiting = revoke(&desk, &kept);
    assert_eq!(waiting["state"], "revoking");
    assert_eq!(appliance.cli(&["verify"]).status.code(), Some(0));
    // Without such a system nobody is left to be told.
    assert_eq!(appliance.stop(), Some(0));
    let appliance = Setup::new().on(&data).start();
    let desk = Desk::of(&appliance, &desk.tenant_id, &[]);
    becomes(&desk, &kept, "revoked");
    assert_eq!(appliance.stop(), Some(0));
    let verified = run(&["verify", "--data", data.to_str().unwrap()]);
    assert_eq!(verified.status.code(), Some(0), "{}", stderr(&verified));
}

#[test]
fn whatever_is_granted_at_once_it_is_told_in_the_end() {
    let (system, url) = System::open();
    let appliance = start(&url, None);
    let desk = Desk::open(&appliance);
    let account = account(&desk, "a");
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let client = desk.client.with_key(&desk.client.api_key());
            let desk = Desk { client, tenant_id: desk.tenant_id.clone() };
            let account = account.clone();
            std::thread::spawn(move || (0..40).map(|_| viewer(&desk, &account)).collect::<Vec<Value>>())
        })
        .collect();
    let made: Vec<Value> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    assert!(made.iter().all(|grant| ["granted", "granting"].contains(&grant["state"].as_str().unwrap())));
    for grant in &made {
        becomes(&desk, grant, "granted");
    }
    assert_eq!(system.intents(&account["id"]).len(), 160);
}
