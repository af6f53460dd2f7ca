//! Templates of gates, and of containers that nobody starts: the engine is off.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::runs::workflows::text_of;
use crate::runs::{Desk, refused};
use crate::support::appliance::{Appliance, Setup, fresh_key};

static APPLIANCE: LazyLock<Appliance> = LazyLock::new(|| Setup::new().rehearsal().start());

const TEMPLATES: &str = "/api/v1/templates";

/// A template of a gate and a container, whose every kind of place has a parameter in it.
fn release() -> Value {
    json!({
        "name": "release",
        "params": [
            {"name": "app", "type": "string", "required": true, "pattern": "^[a-z]+$"},
            {"name": "where", "type": "enum", "enum": ["test", "live"], "default": "test"},
            {"name": "token", "type": "string", "secret": true, "default": "sesame-by-default"},
        ],
        "definition": {
            "name": "release ${{ app }}", "tags": ["to ${{where}}"],
            "nodes": [
                {"ref": "agree on ${{ app }}", "type": "approval"},
                {"ref": "ship", "image": "busybox:${{ where }}", "env": {"TOKEN": "t=${{ token }}", "LITERAL": "$${{ app }}"}},
            ],
            "edges": [{"from": "agree on ${{ app }}", "to": "ship"}],
            "webhook": {"url": "https://example.com/${{ app }}", "events": ["workflow.*"], "secret": "sesame-of-the-webhook"},
        },
    })
}

/// All that a client can be told of templates and their workflows.
fn all_told(desk: &Desk, workflow_id: &str) -> String {
    let mut told = String::new();
    for path in [
        TEMPLATES.to_owned(),
        format!("{TEMPLATES}/release"),
        format!("{TEMPLATES}/release/versions"),
        format!("/api/v1/workflows/{workflow_id}"),
        format!("/api/v1/workflows/{workflow_id}/events"),
        format!("/api/v1/workflows/{workflow_id}/nodes/ship"),
        format!("/api/v1/workflows/{workflow_id}/graph.svg"),
        format!("/api/v1/runs?workflow_id={workflow_id}"),
        "/api/v1/webhooks/deliveries".to_owned(),
    ] {
        let answer = desk.client.get(&path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        told.push_str(&answer.text);
    }
    told
}

#[test]
fn a_template_has_a_picture_of_each_version() {
    let desk = Desk::open(&APPLIANCE);
    desk.client.post(TEMPLATES, &release()).expect(201);
    let path = format!("{TEMPLATES}/release");
    let gate = json!({"nodes": [{"ref": "<only> this", "type": "approval"}]});
    let replaced = json!({"name": "release", "definition": gate}).to_string();
    desk.client.send("PUT", &path, &[("content-type", "application/json")], replaced.as_bytes()).expect(200);
    let first = desk.client.get(&format!("{path}/graph.svg?version=1"));
    assert_eq!((first.status, first.header("content-type")), (200, "image/svg+xml"), "{}", first.text);
    let text = text_of(&first.text);
    for told in ["release", "version 1", "agree on ${{ app }}", "(gate)", "ship", "on_success"] {
        assert!(text.contains(told), "{told}: {text}");
    }
    assert!(!first.text.contains("sesame") && !text.contains("pending"), "{text}");
    let latest = desk.client.get(&format!("{path}/graph.svg"));
    let text = text_of(&latest.text);
    assert!(text.contains("version 2") && text.contains("&lt;only&gt; this") && !text.contains("ship"), "{text}");
    refused(&desk.client.get(&format!("{path}/graph.svg?version=3")), 404, "not_found");
    refused(&Desk::open(&APPLIANCE).client.get(&format!("{path}/graph.svg")), 404, "not_found");
}

#[test]
fn a_template_is_run_with_values_in_the_places_of_its_parameters() {
    let desk = Desk::open(&APPLIANCE);
    let made = desk.client.post(TEMPLATES, &release()).expect(201);
    let id = made["template_id"].as_str().unwrap();
    assert_eq!((&made["version"], &made["latest_version"], &made["name"]), (&json!(1), &json!(1), &json!("release")));
    assert_eq!(made["params"][2]["default"], "***");
    assert_eq!(made["definition"]["webhook"]["secret"], Value::Null);
    assert_eq!(desk.client.get(&format!("{TEMPLATES}/{id}")).expect(200), made);
    let run = format!("{TEMPLATES}/release/run");
    let body = json!({"params": {"app": "web", "token": "sesame-of-the-run"}, "tags": ["by hand", "to test"]});
    let told = desk.client.post(&run, &body).expect(202);
    assert_eq!((&told["template_id"], &told["version"], &told["status"]), (&json!(id), &json!(1), &json!("pending")));
    let workflow_id = told["workflow_id"].as_str().unwrap();
    let path = format!("/api/v1/workflows/{workflow_id}");
    let workflow = desk.client.get(&path).expect(200);
    assert_eq!((&workflow["name"], &workflow["tags"]), (&json!("release web"), &json!(["to test", "by hand"])));
    assert_eq!((&workflow["template_id"], &workflow["template_version"]), (&json!(id), &json!(1)));
    assert_eq!(workflow["nodes"][0]["ref"], "agree on web");
    desk.client.send("POST", &format!("{path}/nodes/agree%20on%20web/approve"), &[], b"").expect(200);
    let run_id = desk.client.get(&format!("{path}/nodes/ship")).expect(200)["current_track_id"].clone();
    let of_ship = desk.run(run_id.as_str().unwrap());
    assert_eq!((&of_ship["image"], &of_ship["env"]["TOKEN"]), (&json!("busybox:test"), &json!("***")));
    // Nobody sees a secret, wherever they look; and those that are not secret are seen.
    let told = all_told(&desk, workflow_id);
    assert!(told.contains("release web") && !told.contains("sesame"), "{told}");
    assert!(!APPLIANCE.log().contains("sesame"));
    // What is run later, under another name, of the same template, with a webhook of its own.
    let later = json!({
        "params": {"app": "shop", "where": "live"}, "name": "by night", "version": 1,
        "scheduled_start": "2999-01-01T00:00:00Z",
        "webhook": {"url": "https://example.com/own", "events": ["workflow.terminal"]},
    });
    let key = fresh_key();
    let first = desk.client.post_under(&key, &run, &later).expect(202);
    assert_eq!(desk.client.post_under(&key, &run, &later).expect(202), first, "a repeat launches nothing");
    refused(&desk.client.post_under(&key, &run, &body), 422, "idempotency_key_mismatch");
    let listed = desk.client.get(&format!("/api/v1/workflows?template_id={id}&state=pending")).expect(200);
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    assert_eq!(listed["items"][0]["name"], "by night");
    assert_eq!(listed["items"][0]["scheduled_start"], "2999-01-01T00:00:00.000000Z", "{listed}");
    // Its workflows go on without it.
    let delete = |path: &str| desk.client.send("DELETE", path, &[], b"");
    assert_eq!(delete(&format!("{TEMPLATES}/release")).expect(200), json!({"template_id": id, "deleted": true}));
    refused(&delete(&format!("{TEMPLATES}/{id}")), 404, "not_found");
    refused(&desk.client.post(&run, &body), 404, "not_found");
    assert_eq!(desk.client.get(&path).expect(200)["template_id"], *id);
    desk.client.post(TEMPLATES, &release()).expect(201);
}

/// A template of one gate that is called so.
fn gate(reference: &str) -> Value {
    json!({"definition": {"nodes": [{"ref": reference, "type": "approval"}]}})
}

#[test]
fn a_template_is_made_once_under_its_key() {
    let (desk, key) = (Desk::open(&APPLIANCE), fresh_key());
    let first = desk.client.post_under(&key, TEMPLATES, &gate("a")).expect(201);
    assert_eq!(desk.client.post_under(&key, TEMPLATES, &gate("a")).expect(201), first);
    refused(&desk.client.post_under(&key, TEMPLATES, &gate("b")), 422, "idempotency_key_mismatch");
    assert_eq!(desk.client.get(TEMPLATES).expect(200)["items"].as_array().unwrap().len(), 1);
    let triggers = format!("{TEMPLATES}/{}/triggers", first["template_id"].as_str().unwrap());
    let (key, nightly) = (fresh_key(), |cron: &str| json!({"cron": cron}));
    let first = desk.client.post_under(&key, &triggers, &nightly("0 4 * * *")).expect(201);
    assert_eq!(desk.client.post_under(&key, &triggers, &nightly("0 4 * * *")).expect(201), first);
    let other = desk.client.post_under(&key, &triggers, &nightly("0 5 * * *"));
    refused(&other, 422, "idempotency_key_mismatch");
    assert_eq!(desk.client.get(&triggers).expect(200)["items"].as_array().unwrap().len(), 1);
}

#[test]
fn versions_stay_and_are_pinned() {
    let desk = Desk::open(&APPLIANCE);
    let mut body = gate("a");
    body["name"] = json!("deploy");
    let id = desk.client.post(TEMPLATES, &body).expect(201)["template_id"].as_str().unwrap().to_owned();
    let path = format!("{TEMPLATES}/{id}");
    let put = |body: &Value| {
        let body = body.to_string();
        desk.client.send("PUT", &path, &[("content-type", "application/json")], body.as_bytes())
    };
    assert_eq!(put(&body).expect(200)["version"], 1, "the same is no new version");
    let second = put(&gate("b")).expect(200);
    assert_eq!((&second["version"], &second["name"]), (&json!(2), &json!("deploy")), "a name that is not given stays");
    let params = json!({"params": [{"name": "unused", "type": "string"}]});
    let third = desk.client.patch(&path, &params).expect(200);
    assert_eq!((&third["version"], &third["definition"]["nodes"][0]["ref"]), (&json!(3), &json!("b")));
    let renamed = desk.client.patch(&path, &json!({"name": "release-2"})).expect(200);
    assert_eq!((&renamed["version"], &renamed["name"]), (&json!(3), &json!("release-2")));
    refused(&desk.client.get(&format!("{TEMPLATES}/deploy")), 404, "not_found");
    let versions = desk.client.get(&format!("{TEMPLATES}/release-2/versions?limit=2")).expect(200);
    let numbers: Vec<&Value> = versions["items"].as_array().unwrap().iter().map(|one| &one["version"]).collect();
    assert_eq!(numbers, [3, 2]);
    assert_eq!(versions["items"][0]["node_count"], 1);
    let rest = format!("{TEMPLATES}/release-2/versions?cursor={}", versions["next_cursor"].as_str().unwrap());
    let rest = desk.client.get(&rest).expect(200);
    assert_eq!((&rest["items"][0]["version"], &rest["next_cursor"]), (&json!(1), &Value::Null));
    let first = desk.client.get(&format!("{path}?version=1")).expect(200);
    assert_eq!((&first["version"], &first["latest_version"]), (&json!(1), &json!(3)));
    assert_eq!(first["definition"]["nodes"][0]["ref"], "a");
    let pinned = desk.client.post(&format!("{path}/run"), &json!({"version": 1})).expect(202);
    let workflow = format!("/api/v1/workflows/{}", pinned["workflow_id"].as_str().unwrap());
    assert_eq!(desk.client.get(&workflow).expect(200)["nodes"][0]["ref"], "a");
    let latest = desk.client.send("POST", &format!("{path}/run"), &[], b"").expect(202);
    assert_eq!(latest["version"], 3, "a body may be absent");
    for (way, status, code) in [
        ("?version=4", 404, "not_found"),
        ("?version=0", 422, "validation_failed"),
        ("?v=1", 400, "unknown_query_parameter"),
    ] {
        refused(&desk.client.get(&format!("{path}{way}")), status, code);
    }
    refused(&desk.client.post(&format!("{path}/run"), &json!({"version": 4})), 404, "not_found");
    refused(&desk.client.post(&format!("{path}/run"), &json!({"version": 0})), 422, "validation_failed");
}

#[test]
fn templates_that_are_wrong_are_refused_and_change_nothing() {
    let desk = Desk::open(&APPLIANCE);
    let param = |param: Value| {
        let mut body = gate("a");
        body["params"] = json!([param]);
        body
    };
    let defined = |definition: Value| json!({"definition": definition});
    let secret = |definition: Value| json!({"params": [{"name": "s", "type": "string", "secret": true}], "definition": definition});
    let node = |node: Value| json!({"nodes": [node]});
    let cyclic = json!({
        "nodes": [{"ref": "${{ s }}", "type": "approval"}, {"ref": "b", "type": "approval"}],
        "edges": [{"from": "${{ s }}", "to": "b"}, {"from": "b", "to": "${{ s }}"}],
    });
    let many: Vec<Value> = (0..51).map(|number| json!({"ref": format!("n{number}"), "type": "approval"})).collect();
    for (body, status, code, field) in [
        (json!({}), 422, "validation_failed", "definition"),
        (json!({"name": "Release", "definition": {}}), 422, "validation_failed", "name"),
        (json!({"nam": 1, "definition": {}}), 422, "validation_failed", "nam"),
        (param(json!({"name": "1", "type": "string"})), 422, "validation_failed", "params[0].name"),
        (param(json!({"name": "a", "type": "number"})), 422, "validation_failed", "params[0].type"),
        (param(json!({"name": "a", "type": "string", "pattern": "(a"})), 422, "validation_failed", "params[0].pattern"),
        (
            param(json!({"name": "a", "type": "string", "pattern": "(a)\\1"})),
            422,
            "validation_failed",
            "params[0].pattern",
        ),
        (
            param(json!({"name": "a", "type": "string", "pattern": "((a{1,1000}){1,1000}){1,1000}"})),
            422,
            "validation_failed",
            "params[0].pattern",
        ),
        (param(json!({"name": "a", "type": "enum"})), 422, "validation_failed", "params[0].enum"),
        (
            param(json!({"name": "a", "type": "enum", "enum": ["x"], "default": "y"})),
            422,
            "validation_failed",
            "params[0].default",
        ),
        (defined(json!({"nodes": []})), 422, "validation_failed", "definition.nodes"),
        (
            defined(json!({"nodes": [{"ref": "a", "type": "approval"}], "scheduled_start": "2999-01-01T00:00:00Z"})),
            422,
            "validation_failed",
            "definition.scheduled_start",
        ),
        (
            defined(node(json!({"ref": "${{ a }}", "type": "approval"}))),
            422,
            "validation_failed",
            "definition.nodes[0].ref",
        ),
        (
            defined(node(json!({"ref": "${{ a", "type": "approval"}))),
            422,
            "validation_failed",
            "definition.nodes[0].ref",
        ),
        (secret(node(json!({"ref": "a", "image": "${{ s }}"}))), 422, "validation_failed", "definition.nodes[0].image"),
        (
            secret(node(json!({"ref": "a", "image": "b", "x": ["${{ s }}"]}))),
            422,
            "validation_failed",
            "definition.nodes[0].x[0]",
        ),
        (
            defined(
                json!({"nodes": [{"ref": "a", "type": "approval"}], "webhook": {"url": "https://127.0.0.1/", "events": ["*"]}}),
            ),
            422,
            "url_not_allowed",
            "definition.webhook.url",
        ),
        (
            defined(
                json!({"nodes": [{"ref": "a", "type": "approval"}], "webhook": {"x": 1, "url": "", "events": ["*"]}}),
            ),
            422,
            "unknown_webhook_key",
            "definition.webhook.x",
        ),
        (
            json!({"params": [{"name": "s", "type": "string"}], "definition": cyclic}),
            400,
            "invalid_graph",
            "definition.edges",
        ),
        (defined(json!({"nodes": many})), 400, "too_many_nodes", "nodes"),
    ] {
        let problem = refused(&desk.client.post(TEMPLATES, &body), status, code);
        assert_eq!(problem["field"].as_str().unwrap_or_default(), field, "{body} {problem}");
    }
    assert_eq!(desk.client.get(TEMPLATES).expect(200)["items"], json!([]), "nothing was stored");
    let mut first = release();
    first["definition"].as_object_mut().unwrap().remove("webhook");
    desk.client.post(TEMPLATES, &first).expect(201);
    refused(&desk.client.post(TEMPLATES, &first), 409, "name_taken");
    let other = desk.client.post(TEMPLATES, &gate("a")).expect(201);
    let other = format!("{TEMPLATES}/{}", other["template_id"].as_str().unwrap());
    refused(&desk.client.patch(&other, &json!({"name": "release"})), 409, "name_taken");
    refused(&desk.client.patch(&other, &json!({"definition": {"nodes": []}})), 422, "validation_failed");
    assert_eq!(desk.client.get(&other).expect(200)["latest_version"], 1);
    let run = format!("{TEMPLATES}/release/run");
    for (params, field) in [
        (json!({}), "params.app"),
        (json!({"app": null}), "params.app"),
        (json!({"app": 1}), "params.app"),
        (json!({"app": "A"}), "params.app"),
        (json!({"app": "web", "where": "nowhere"}), "params.where"),
        (json!({"app": "web", "token": "x".repeat(8193)}), "params.token"),
        (json!({"app": "web", "x": "y"}), "params.x"),
    ] {
        let problem = refused(&desk.client.post(&run, &json!({"params": params})), 422, "invalid_params");
        assert_eq!(problem["field"], field, "{problem}");
    }
    refused(&desk.client.post(&run, &json!({"params": []})), 422, "validation_failed");
    // What a value makes of the definition is looked at as any submission is.
    let problem =
        refused(&desk.client.post(&run, &json!({"params": {"app": "a".repeat(128)}})), 422, "validation_failed");
    assert_eq!(problem["field"], "definition.name", "{problem}");
    let own = json!({"params": {"app": "web"}, "webhook": {"url": "https://10.0.0.1/", "events": ["*"]}});
    assert_eq!(refused(&desk.client.post(&run, &own), 422, "url_not_allowed")["field"], "webhook.url");
    assert_eq!(desk.client.get("/api/v1/workflows").expect(200)["items"], json!([]), "nothing was launched");
}

#[test]
fn another_tenants_templates_do_not_exist_and_keys_open_what_they_may() {
    let tenant_id = APPLIANCE.tenant();
    let desk = Desk { client: APPLIANCE.persona("runs", &tenant_id, &[]) };
    let reader = Desk { client: APPLIANCE.persona("runs", &tenant_id, &["svc_run_read"]) };
    let writer = Desk { client: APPLIANCE.persona("runs", &tenant_id, &["svc_run_submit"]) };
    let other = Desk::open(&APPLIANCE);
    let mut body = gate("a");
    body["name"] = json!("deploy");
    refused(&reader.client.post(TEMPLATES, &body), 403, "forbidden");
    let id = writer.client.post(TEMPLATES, &body).expect(201)["template_id"].as_str().unwrap().to_owned();
    refused(&writer.client.get(TEMPLATES), 403, "forbidden");
    for called in ["deploy", &id] {
        let path = format!("{TEMPLATES}/{called}");
        reader.client.get(&path).expect(200);
        refused(&writer.client.get(&path), 403, "forbidden");
        for desk in [&reader, &other] {
            let (status, code) = if std::ptr::eq(desk, &reader) { (403, "forbidden") } else { (404, "not_found") };
            refused(&desk.client.send("POST", &format!("{path}/run"), &[], b""), status, code);
            refused(&desk.client.send("DELETE", &path, &[], b""), status, code);
            refused(&desk.client.patch(&path, &json!({"name": "mine"})), status, code);
            let put = body.to_string();
            let json = [("content-type", "application/json")];
            refused(&desk.client.send("PUT", &path, &json, put.as_bytes()), status, code);
        }
        refused(&other.client.get(&path), 404, "not_found");
        refused(&other.client.get(&format!("{path}/versions")), 404, "not_found");
    }
    other.client.post(TEMPLATES, &body).expect(201);
    assert_eq!(desk.client.get(TEMPLATES).expect(200)["items"].as_array().unwrap().len(), 1);
}

#[test]
fn a_trigger_runs_its_template_by_the_clock() {
    let desk = Desk::open(&APPLIANCE);
    let mut body = release();
    body["definition"].as_object_mut().unwrap().remove("webhook");
    let id = desk.client.post(TEMPLATES, &body).expect(201)["template_id"].clone();
    let all = format!("{TEMPLATES}/release/triggers");
    let asked = json!({
        "name": "nightly", "cron": "0  6 * * *", "timezone": "Europe/Berlin", "version": 1, "workflow_name": "by night",
        "params": {"app": "web", "token": "sesame-of-the-trigger"}, "tags": ["by-clock"],
        "webhook": {"url": "https://example.com/told", "events": ["workflow.terminal"], "secret": "sesame-of-its-own"},
    });
    let key = fresh_key();
    let made = desk.client.post_under(&key, &all, &asked).expect(201);
    assert_eq!(desk.client.post_under(&key, &all, &asked).expect(201), made, "a repeat makes no other");
    let path = format!("{all}/{}", made["trigger_id"].as_str().unwrap());
    let now = desk.client.get(&path).expect(200);
    assert_eq!(now, made);
    for (member, value) in [
        ("template_id", id.clone()),
        ("cron", json!("0 6 * * *")),
        ("version", json!(1)),
        ("params", json!({"app": "web", "token": "***"})),
        ("webhook", json!({"url": "https://example.com/told", "events": ["workflow.terminal"]})),
        ("overlap", json!("skip")),
        ("misfire", json!("fire_once")),
        ("enabled", json!(true)),
        ("last_error", Value::Null),
        ("fire_count", json!(0)),
    ] {
        assert_eq!(made[member], value, "{member}");
    }
    assert_eq!((made["next_fires"].as_array().unwrap().len(), &made["next_fires"][0]), (5, &made["next_fire_at"]));
    let listed = desk.client.get(&all).expect(200);
    assert_eq!((&listed["items"], &listed["next_cursor"]), (&json!([made]), &Value::Null));
    // Whoever wants it now.
    let told = desk.client.send("POST", &format!("{path}/run"), &[], b"").expect(202);
    let launched = desk.client.get(&format!("/api/v1/workflows?trigger_id={}", made["trigger_id"].as_str().unwrap()));
    let launched = launched.expect(200)["items"].clone();
    assert_eq!(launched.as_array().unwrap().len(), 1);
    assert_eq!(
        (&launched[0]["workflow_id"], &launched[0]["name"], &launched[0]["tags"]),
        (&told["workflow_id"], &json!("by night"), &json!(["to test", "by-clock"]))
    );
    assert_eq!(launched[0]["trigger_id"], made["trigger_id"]);
    let changed = desk.client.patch(&path, &json!({"name": null, "version": null, "overlap": "allow", "tags": []}));
    let changed = changed.expect(200);
    assert_eq!(
        (&changed["name"], &changed["version"], &changed["overlap"]),
        (&Value::Null, &Value::Null, &json!("allow"))
    );
    assert_eq!((&changed["cron"], &changed["params"]), (&made["cron"], &made["params"]), "the rest stays");
    for _ in 0..2 {
        let paused = desk.client.send("POST", &format!("{path}/pause"), &[], b"").expect(200);
        assert_eq!((&paused["enabled"], &paused["next_fire_at"]), (&json!(false), &Value::Null));
    }
    let resumed = desk.client.send("POST", &format!("{path}/resume"), &[], b"").expect(200);
    assert_eq!(resumed["next_fire_at"], made["next_fire_at"]);
    assert!(!desk.client.get(&path).text.contains("sesame") && !desk.client.get(&all).text.contains("sesame"));
    let other = Desk::open(&APPLIANCE);
    other.client.post(TEMPLATES, &body).expect(201);
    refused(&other.client.get(&path), 404, "not_found");
    refused(&other.client.patch(&path, &json!({"name": "mine"})), 404, "not_found");
    refused(&other.client.send("POST", &format!("{path}/run"), &[], b""), 404, "not_found");
    desk.client.send("DELETE", &path, &[], b"").expect(200);
    refused(&desk.client.get(&path), 404, "not_found");
}

/// What was given as a secret is shown to nobody, also once the template takes it for none.
#[test]
fn a_triggers_secret_stays_one_whatever_becomes_of_its_template() {
    let desk = Desk::open(&APPLIANCE);
    let declared = |is_secret: bool| json!([{"name": "s", "type": "string", "secret": is_secret}]);
    let words = json!({"nodes": [{"ref": "a", "image": "i", "command": ["p", "${{ s }}"]}]});
    desk.client.post(TEMPLATES, &json!({"name": "open", "params": declared(true), "definition": words})).expect(201);
    let all = format!("{TEMPLATES}/open/triggers");
    let shown = json!({"cron": "0 6 * * *", "params": {"s": "***"}});
    refused(&desk.client.post(&all, &shown), 422, "invalid_params");
    let made = desk.client.post(&all, &json!({"cron": "0 6 * * *", "params": {"s": "sesame"}})).expect(201);
    let path = format!("{all}/{}", made["trigger_id"].as_str().unwrap());
    let patch = |path: &str, body: &Value| {
        desk.client.send("PATCH", path, &[("content-type", "application/json")], body.to_string().as_bytes())
    };
    for (params, definition) in [(declared(false), words.clone()), (json!([]), gate("a")["definition"].clone())] {
        patch(&format!("{TEMPLATES}/open"), &json!({"params": params, "definition": definition})).expect(200);
        let told = desk.client.get(&path).expect(200);
        assert_eq!(told["params"]["s"], "***", "{told}");
        refused(&desk.client.send("POST", &format!("{path}/run"), &[], b""), 422, "invalid_params");
    }
    // Given again, it is what it is then.
    patch(&format!("{TEMPLATES}/open"), &json!({"params": declared(false), "definition": words})).expect(200);
    let given = patch(&path, &json!({"params": {"s": "sesame"}})).expect(200);
    assert_eq!(given["params"]["s"], "sesame");
    desk.client.send("POST", &format!("{path}/run"), &[], b"").expect(202);
}

#[test]
fn triggers_that_are_wrong_are_refused_and_change_nothing() {
    let desk = Desk::open(&APPLIANCE);
    desk.client.post(TEMPLATES, &release()).expect(201);
    let all = format!("{TEMPLATES}/release/triggers");
    let with = |member: &str, value: Value| {
        let mut asked = json!({"cron": "0 6 * * *", "params": {"app": "web"}});
        asked[member] = value;
        asked
    };
    for (body, status, code, field) in [
        (json!({"params": {"app": "web"}}), 422, "validation_failed", "cron"),
        (with("cron", json!("0 6 * *")), 422, "invalid_cron", "cron"),
        (with("cron", json!("0 0 30 2 *")), 422, "never_fires", "cron"),
        (with("timezone", json!("Nowhere/Town")), 422, "validation_failed", "timezone"),
        (with("params", json!({})), 422, "invalid_params", "params.app"),
        (with("params", json!({"app": 1})), 422, "invalid_params", "params.app"),
        (with("params", json!([])), 422, "validation_failed", "params"),
        (with("version", json!(0)), 422, "validation_failed", "version"),
        (with("overlap", json!("queue")), 422, "validation_failed", "overlap"),
        (with("misfire", json!("all")), 422, "validation_failed", "misfire"),
        (with("name", json!("")), 422, "validation_failed", "name"),
        (with("start_at", json!("2030-01-01T00:00:00Z")), 422, "validation_failed", "start_at"),
        (with("webhook", json!({"url": "https://10.0.0.1/", "events": ["*"]})), 422, "url_not_allowed", "webhook.url"),
        (with("webhook", json!({"x": 1, "url": "", "events": []})), 422, "unknown_webhook_key", "webhook.x"),
    ] {
        let problem = refused(&desk.client.post(&all, &body), status, code);
        assert_eq!(problem["field"], field, "{body} {problem}");
    }
    refused(&desk.client.post(&all, &with("version", json!(2))), 404, "not_found");
    refused(
        &desk.client.post(&format!("{TEMPLATES}/absent/triggers"), &with("enabled", json!(true))),
        404,
        "not_found",
    );
    assert_eq!(desk.client.get(&all).expect(200)["items"], json!([]), "nothing was made");
    let made = desk.client.post(&all, &with("enabled", json!(true))).expect(201);
    let path = format!("{all}/{}", made["trigger_id"].as_str().unwrap());
    refused(&desk.client.patch(&path, &json!({"params": {"app": "A"}})), 422, "invalid_params");
    refused(&desk.client.patch(&path, &json!({"cron": null})), 422, "validation_failed");
    refused(&desk.client.patch(&path, &json!({"cron": "61 * * * *"})), 422, "invalid_cron");
    assert_eq!(desk.client.get(&path).expect(200), made);
}

/// Where parameters have a say in whom a workflow tells, a trigger is asked about it when its values are given.
#[test]
fn a_trigger_tells_nobody_whom_a_run_could_not_tell() {
    let desk = Desk::open(&APPLIANCE);
    let mut body = gate("a");
    body["name"] = json!("told");
    body["params"] = json!([{"name": "host", "type": "string", "default": "10.0.0.1"}]);
    body["definition"]["webhook"] = json!({"url": "https://${{ host }}/", "events": ["*"]});
    desk.client.post(TEMPLATES, &body).expect(201);
    let all = format!("{TEMPLATES}/told/triggers");
    let host = |host: &str| json!({"cron": "0 6 * * *", "params": {"host": host}});
    for body in [json!({"cron": "0 6 * * *"}), host("127.0.0.1"), host("user@example.com"), host("[::1]")] {
        let problem = refused(&desk.client.post(&all, &body), 422, "url_not_allowed");
        assert_eq!(problem["field"], "definition.webhook.url", "{body}");
    }
    assert_eq!(desk.client.get(&all).expect(200)["items"], json!([]), "nothing was made");
    let made = desk.client.post(&all, &host("example.com")).expect(201);
    let path = format!("{all}/{}", made["trigger_id"].as_str().unwrap());
    let patch = |body: &Value| desk.client.patch(&path, body);
    refused(&patch(&json!({"params": {"host": "169.254.169.254"}})), 422, "url_not_allowed");
    // Its own goes before the definition's, and is asked about where it is taken away as well.
    let own = json!({"url": "https://example.com/own", "events": ["*"]});
    patch(&json!({"params": {"host": "10.0.0.1"}, "webhook": own})).expect(200);
    let problem = refused(&patch(&json!({"webhook": null})), 422, "url_not_allowed");
    assert_eq!(problem["field"], "definition.webhook.url");
    let own = json!({"url": "https://10.0.0.2/", "events": ["*"]});
    assert_eq!(refused(&patch(&json!({"webhook": own})), 422, "url_not_allowed")["field"], "webhook.url");
    desk.client.send("POST", &format!("{path}/run"), &[], b"").expect(202);
    // A later version may say something else of it: then a run is refused, with a code that is documented.
    patch(&json!({"params": {"host": "example.com"}, "webhook": null})).expect(200);
    let webhook = json!({"url": "https://10.0.0.1/${{ host }}", "events": ["*"]});
    let definition = json!({"nodes": body["definition"]["nodes"], "webhook": webhook});
    desk.client.patch(&format!("{TEMPLATES}/told"), &json!({"definition": definition})).expect(200);
    let run = desk.client.send("POST", &format!("{path}/run"), &[], b"");
    assert_eq!(refused(&run, 422, "url_not_allowed")["field"], "definition.webhook.url");
}
