//! The pages of runs and of what starts them: who sees them, what can be done there, and what a refusal looks like. Nothing is
//! ever started here: the engine is off. tests/privileged has the containers.

use serde_json::{Value, json};

use super::{Browser, appliance, member_link};
use crate::support::appliance::{Answer, Client};

/// A name that would do something if it were markup.
const HOSTILE: &str = "<script>alert(1)</script>\u{202e}";
/// How a page shows it.
const SHOWN: &str = "&lt;script&gt;alert(1)&lt;/script&gt;<span class=\"char\">U+202E</span>";

/// A tenant that runs something.
struct Office {
    tenant: String,
    client: Client,
}

impl Office {
    fn open() -> Office {
        let tenant = appliance().tenant();
        let client = appliance().persona("runs", &tenant, &[]);
        Office { tenant, client }
    }

    /// Somebody who comes in with these permissions.
    fn member(&self, email: &str, permissions: &[&str]) -> Browser {
        let mut arguments = vec!["member", "create", email, "--tenant", &self.tenant];
        arguments.extend(permissions.iter().flat_map(|name| ["--permission", *name]));
        appliance().cli_json(&arguments);
        Browser::at(appliance(), "console").sign_in(&member_link(appliance(), &self.tenant, email))
    }

    fn reader(&self) -> Browser {
        self.member("ann@example.org", &["svc_run_read"])
    }

    fn controller(&self) -> Browser {
        self.member("zoe@example.org", &["svc_run_read", "svc_run_submit", "svc_run_control"])
    }

    /// Makes something; its id.
    fn made(&self, path: &str, body: &Value, id: &str) -> String {
        let answer = self.client.post(path, body);
        assert!([201, 202].contains(&answer.status), "{answer:?}");
        answer.json()[id].as_str().unwrap().to_owned()
    }

    fn run(&self, name: &str) -> String {
        let body = json!({"image": "busybox", "name": name, "tags": ["t"], "env": {"TOKEN": "hunter2"}});
        self.made("/api/v1/runs", &body, "track_id")
    }

    /// A gate with what follows it.
    fn workflow(&self, name: &str) -> String {
        let nodes = json!([{"ref": "a b/c", "type": "approval"}, {"ref": HOSTILE, "type": "approval"}]);
        let edges = json!([{"from": "a b/c", "to": HOSTILE}]);
        let body = json!({"name": name, "nodes": nodes, "edges": edges});
        self.made("/api/v1/workflows", &body, "workflow_id")
    }
}

/// What makes the form of a page one change.
#[track_caller]
fn once(page: &Answer) -> String {
    let rest = page.text.split("name=\"once\" value=\"").nth(1).unwrap_or_else(|| panic!("no form: {}", page.text));
    rest.split('"').next().unwrap().to_owned()
}

#[track_caller]
fn shown(browser: &Browser, path: &str) -> Answer {
    let answer = browser.get(path);
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    assert!(!answer.text.contains("<script>alert") && !answer.text.contains('\u{202e}'), "{path}: {}", answer.text);
    assert_eq!(answer.text.matches("<h1").count(), 1, "{path}");
    answer
}

#[test]
fn who_may_not_read_finds_nothing() {
    let office = Office::open();
    let (run, workflow) = (office.run("n"), office.workflow("w"));
    let stranger = office.member("max@example.org", &["ledger_reader"]);
    let other = Office::open().reader();
    let reader = office.reader();
    for path in [
        format!("/runs/{run}"),
        format!("/runs/{run}/logs.txt"),
        format!("/runs/{run}/logs/tail?from=p0-0"),
        format!("/workflows/{workflow}"),
        format!("/workflows/{workflow}/graph.svg"),
        format!("/workflows/{workflow}/nodes/a%20b%2Fc"),
    ] {
        assert_eq!(reader.get(&path).status, 200, "{path}");
        assert_eq!((stranger.get(&path).status, other.get(&path).status), (404, 404), "{path}");
    }
    for list in ["/runs", "/workflows", "/templates", "/timers", "/schedules", "/webhooks"] {
        assert_eq!((reader.get(list).status, stranger.get(list).status), (200, 404), "{list}");
    }
    for nonsense in ["/runs/x", "/runs/x/logs.txt", "/workflows/x", "/templates/x", "/schedules/x", "/webhooks/x"] {
        assert_eq!(reader.get(nonsense).status, 404, "{nonsense}");
    }
    assert_eq!(reader.get("/runs?state=strange").status, 400);
    assert_eq!(reader.get(&format!("/runs/{run}/logs/tail")).status, 400);
}

#[test]
fn runs_are_listed_and_shown() {
    let office = Office::open();
    let ids: Vec<String> = (0..51).map(|number| office.run(&format!("n{number}"))).collect();
    let hostile = office.run(HOSTILE);
    let browser = office.reader();
    let list = shown(&browser, "/runs").text;
    assert_eq!(list.matches("<th scope=\"row\">").count(), 50);
    assert!(list.contains(SHOWN) && list.contains(">scheduled</span>"), "{list}");
    let next = list.split("\" rel=\"next\"").next().unwrap().rsplit("href=\"").next().unwrap();
    let second = shown(&browser, next).text;
    assert!(second.contains(&ids[0]) && second.contains(&ids[1]) && !second.contains(&hostile), "{second}");
    let found = shown(&browser, "/runs?state=scheduled&name=n7&tag=t").text;
    assert!(found.contains(&ids[7]) && found.matches("<th scope=\"row\">").count() == 1, "{found}");
    assert!(shown(&browser, "/runs?state=failed").text.contains("There are no such runs."));
    let page = shown(&browser, &format!("/runs/{hostile}")).text;
    assert!(page.contains(SHOWN) && page.contains("TOKEN") && !page.contains("hunter2"), "{page}");
    assert!(page.contains("<code>engine</code>"), "what it waits for: {page}");
    assert!(page.contains("Nothing was written yet.") && page.contains("data-tail=\"/runs/"), "{page}");
    let searched = shown(&browser, &format!("/runs/{hostile}?q=%3Cb%3E")).text;
    assert!(searched.contains("No line has this text.") && searched.contains("value=\"&#60;b&#62;\""), "{searched}");
    assert!(!searched.contains("data-tail="), "what is searched stays: {searched}");
    let told = browser.get(&format!("/runs/{hostile}/logs/tail?from=p0-0"));
    assert_eq!(told.header("content-type"), "application/json");
    let told = told.json();
    assert_eq!((&told["lines"], &told["ended"], &told["state"]), (&json!([]), &json!(false), &json!("scheduled")));
    let file = browser.get(&format!("/runs/{hostile}/logs.txt"));
    assert_eq!((file.status, file.text.as_str()), (200, ""));
    assert_eq!(file.header("content-disposition"), format!("attachment; filename=\"run-{hostile}.txt\""));
}

#[test]
fn what_is_refused_stands_on_the_page() {
    let office = Office::open();
    let (run, workflow) = (office.run("n"), office.workflow("w"));
    let (reader, controller) = (office.reader(), office.controller());
    for (path, form) in [
        (format!("/runs/{run}/act"), "act=kill&once=a"),
        (format!("/workflows/{workflow}/act"), "act=cancel&once=b"),
        (format!("/workflows/{workflow}/nodes/a%20b%2Fc"), "act=approve&once=c"),
    ] {
        let refused = reader.post(&path, form);
        assert_eq!(refused.status, 403, "{path}: {refused:?}");
        assert!(refused.text.contains("role=\"alert\""), "{path}: {}", refused.text);
    }
    assert!(!shown(&reader, &format!("/workflows/{workflow}")).text.contains("name=\"act\""), "nor is it offered");
    // It has not begun: there is nothing to kill.
    let refused = controller.post(&format!("/runs/{run}/act"), "act=kill&once=d");
    assert_eq!(refused.status, 409, "{refused:?}");
    assert!(
        refused.text.contains("role=\"alert\"") && refused.text.contains("the run is scheduled"),
        "{}",
        refused.text
    );
    for nonsense in ["", "act=delete", "act=..%2Fx"] {
        assert_eq!(controller.post(&format!("/runs/{run}/act"), nonsense).status, 400, "{nonsense}");
        assert_eq!(controller.post(&format!("/workflows/{workflow}/act"), nonsense).status, 400, "{nonsense}");
    }
    let foreign = controller.post_from(
        &format!("/workflows/{workflow}/act"),
        "act=cancel&once=e",
        &[("origin", "http://evil.example")],
    );
    assert_eq!(foreign.status, 403);
    let stands = office.client.get(&format!("/api/v1/workflows/{workflow}")).expect(200);
    assert_eq!(stands["state"], "running", "nothing of these was done");
}

#[test]
fn a_workflow_is_paused_decided_tried_again_and_cancelled() {
    let office = Office::open();
    let workflow = office.workflow(HOSTILE);
    let browser = office.controller();
    let path = format!("/workflows/{workflow}");
    let state = || office.client.get(&format!("/api/v1{path}")).expect(200)["state"].clone();
    let act = |act: &str| {
        let form = format!("act={act}&once={}", once(&browser.get(&path)));
        let answer = browser.post(&format!("{path}/act"), &form);
        assert_eq!((answer.status, answer.header("location")), (303, path.as_str()), "{answer:?}");
    };
    assert!(shown(&browser, "/workflows").text.contains(SHOWN));
    act("pause");
    assert_eq!(state(), "paused");
    act("resume");
    let page = shown(&browser, &path).text;
    assert!(page.contains("/nodes/a%20b%2Fc\"") && page.contains(&format!("src=\"{path}/graph.svg\"")), "{page}");
    assert!(page.contains("waits for a decision") && page.contains("if it succeeds"), "{page}");
    let picture = browser.get(&format!("{path}/graph.svg"));
    assert_eq!((picture.status, picture.header("content-type")), (200, "image/svg+xml"));
    assert!(picture.text.contains("<svg") && !picture.text.contains("<script"), "{}", picture.text);
    let gate = format!("{path}/nodes/a%20b%2Fc");
    let form = format!("act=reject&comment=not+yet&once={}", once(&shown(&browser, &gate)));
    let decided = browser.post(&gate, &form);
    assert_eq!((decided.status, decided.header("location")), (303, gate.as_str()), "{decided:?}");
    let page = shown(&browser, &gate).text;
    assert!(page.contains(">rejected</span>") && page.contains("not yet"), "{page}");
    assert_eq!(state(), "failed");
    // Decided is decided; what was typed is not lost.
    let again = browser.post(&gate, "act=approve&comment=but+yes&once=x");
    assert_eq!(again.status, 409, "{again:?}");
    assert!(again.text.contains("role=\"alert\""), "{}", again.text);
    let form = format!("act=retry&once={}", once(&browser.get(&gate)));
    assert_eq!(browser.post(&gate, &form).status, 303);
    assert_eq!(state(), "running");
    act("cancel");
    assert_eq!(state(), "cancelled");
    let page = shown(&browser, &path).text;
    assert!(!page.contains("name=\"act\"") && page.contains(">cancelled</span>"), "{page}");
}

#[test]
fn templates_show_their_graph_before_they_run() {
    let office = Office::open();
    let nodes = json!([{"ref": HOSTILE, "type": "approval"}, {"ref": "b", "image": "busybox:${{ tag }}"}]);
    let definition = json!({"nodes": nodes, "edges": [{"from": HOSTILE, "to": "b", "condition": "always"}]});
    let params = json!([{"name": "tag", "type": "string", "pattern": "^[0-9]+$", "default": "1"}]);
    let body = json!({"name": "nightly", "params": params, "definition": definition});
    let template = office.made("/api/v1/templates", &body, "template_id");
    let trigger = json!({"cron": "0 3 * * *", "timezone": "Europe/Berlin", "name": "night"});
    office.made(&format!("/api/v1/templates/{template}/triggers"), &trigger, "trigger_id");
    let browser = office.reader();
    assert!(shown(&browser, "/templates").text.contains(">nightly<"));
    for path in [format!("/templates/{template}"), "/templates/nightly?version=1".to_owned()] {
        let page = shown(&browser, &path).text;
        assert!(page.contains("^[0-9]+$") && page.contains("Europe/Berlin"), "{page}");
        let next = page.split("Europe/Berlin").nth(1).unwrap();
        assert_eq!(next.split("</tr>").next().unwrap().matches("<time").count(), 5, "its next five instants: {next}");
    }
    let picture = browser.get(&format!("/templates/{template}/graph.svg?version=1"));
    assert_eq!((picture.status, picture.header("content-type")), (200, "image/svg+xml"));
    assert_eq!(browser.get("/templates/nightly?version=2").status, 404);
}

#[test]
fn timers_schedules_and_webhooks_are_told_of_and_changed() {
    let office = Office::open();
    let webhook = json!({"url": "https://hooks.example.com/x"});
    let timer = json!({"name": HOSTILE, "fire_at": "2999-01-01T00:00:00Z", "webhook": webhook});
    let timer = office.made("/api/v1/timers", &timer, "timer_id");
    let schedule = json!({"name": "daily", "cron": "@daily", "timezone": "Asia/Tokyo", "webhook": webhook});
    let schedule = office.made("/api/v1/schedules", &schedule, "schedule_id");
    let endpoint = json!({"url": "https://hooks.example.com/y", "events": ["run.*"], "description": HOSTILE});
    let endpoint = office.made("/api/v1/webhooks", &endpoint, "endpoint_id");
    let (reader, browser) = (office.reader(), office.controller());

    let page = shown(&browser, "/timers");
    assert!(page.text.contains(SHOWN) && page.text.contains("https://hooks.example.com/x"), "{}", page.text);
    assert!(!shown(&reader, "/timers").text.contains("name=\"of\""));
    assert_eq!(reader.post("/timers", &format!("act=cancel&of={timer}&once=a")).status, 403);
    let cancelled = browser.post("/timers", &format!("act=cancel&of={timer}&once={}", once(&page)));
    assert_eq!((cancelled.status, cancelled.header("location")), (303, "/timers"), "{cancelled:?}");
    assert!(shown(&browser, "/timers?state=cancelled").text.contains(">cancelled</span>"));
    let again = browser.post("/timers", &format!("act=cancel&of={timer}&once=b"));
    assert!([303, 409].contains(&again.status), "{again:?}");

    assert!(shown(&reader, "/schedules").text.contains("Asia/Tokyo"));
    let path = format!("/schedules/{schedule}");
    let page = shown(&browser, &path);
    assert_eq!(page.text.split("<ol>").nth(1).unwrap().matches("<li>").count(), 5, "{}", page.text);
    assert_eq!(browser.post(&path, &format!("act=pause&once={}", once(&page))).status, 303);
    assert!(shown(&browser, &path).text.contains(">paused</span>"));

    assert!(shown(&reader, "/webhooks").text.contains("https://hooks.example.com/y"));
    let page = shown(&browser, &format!("/webhooks/{endpoint}"));
    assert!(page.text.contains(SHOWN) && page.text.contains("Nothing was delivered yet."), "{}", page.text);
    let tried = browser.post(&format!("/webhooks/{endpoint}"), &format!("act=test&once={}", once(&page)));
    assert_eq!(tried.status, 303, "{tried:?}");
    let page = shown(&browser, &format!("/webhooks/{endpoint}")).text;
    assert!(page.contains("webhook.test"), "{page}");
    let strange = browser.post(&format!("/webhooks/{endpoint}"), "act=redeliver&of=999999&once=c");
    assert_eq!(strange.status, 404, "{strange:?}");
}
