//! What black-box tests cannot bring about: a store that has stopped or is damaged, bodies that break off.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use http_body_util::BodyExt as _;
use quintet_platform::Foundation;
use quintet_platform::access::AccessRefusal;
use quintet_platform::access::{Authority, Service, revoke_key};
use quintet_platform::service::{Content, Dialect as _, Fault, KeyRule, ServiceRefusal as _, Turn, describe, refuse};
use quintet_storage::large::{collect, next_deadline};
use quintet_storage::{Abort, Failure, Read as _, Uuid};
use quintet_support::{tenant_and_key, write};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::Localization;
use super::pieces::body_of;
use crate::access::{KEY_PERMISSIONS, TEMPLATES, Wanted};
use crate::content::{CATALOGUES, CatalogueRow, FILE_LOCALES, FileId, FileLocaleRow, KEY_FILES_BY_PROJECT, KeyFileRow};
use crate::context::{Context, DOCUMENTS_BYTES_MAX, SMALL_DOCUMENT_BYTES_MAX, SMALL_DOCUMENTS};
use crate::language::Locale;
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::spaces::{ProjectId, WORKSPACE_SLUGS, WORKSPACES, WorkspaceId, WorkspaceSlugRow};
use crate::{ENDPOINTS, routes};

mod noted;

struct Room {
    context: Context,
    tenant_id: Uuid,
    api_key: String,
    _directory: Arc<tempfile::TempDir>,
}

impl Room {
    fn open() -> Room {
        let (directory, store, clock) = quintet_support::store_of_a_room(crate::TABLES);
        let context = Context::new(Foundation::new(store, clock.clone(), Authority::Embedded));
        clock.attend(&context.store);
        crate::due_work(&context).into_iter().for_each(|work| clock.register(work));
        tokio::spawn(async move { clock.run_real_time(std::future::pending()).await });
        Room::of_tenant(context, directory.into())
    }

    /// The same store as another, new tenant sees it.
    fn stranger(&self) -> Room {
        Room::of_tenant(self.context.clone(), Arc::clone(&self._directory))
    }

    fn of_tenant(context: Context, directory: Arc<tempfile::TempDir>) -> Room {
        let (tenant_id, api_key) = tenant_and_key(&context.store, Service::Localization, KEY_PERMISSIONS);
        Room { context, tenant_id, api_key, _directory: directory }
    }

    /// Under a fresh key.
    async fn send(&self, method: &str, path: &str, body: Body) -> (u16, Value) {
        self.send_under(&Uuid::from_u128(fastrand::u128(..)).to_string(), method, path, body).await
    }

    async fn send_under(&self, key: &str, method: &str, path: &str, body: Body) -> (u16, Value) {
        let (parts, bytes) = self.call(Some(key), method, path, body).await;
        (parts.status.as_u16(), serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    async fn call(
        &self,
        key: Option<&str>,
        method: &str,
        path: &str,
        body: Body,
    ) -> (http::response::Parts, bytes::Bytes) {
        let is_document =
            ["/xliff", "/memory", "/tbx"].iter().any(|end| path.split('?').next().unwrap().ends_with(end));
        let mut request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {}", self.api_key))
            .header("l10n-tenant", self.tenant_id.to_string())
            .header("content-type", if is_document { "application/xml" } else { "application/json" });
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        let response = routes(self.context.clone()).oneshot(request.body(body).unwrap()).await.unwrap();
        let (parts, body) = response.into_parts();
        (parts, body.collect().await.unwrap().to_bytes())
    }

    /// The events of the tenant's chain behind that number: action and payload.
    fn events_behind(&self, seq: u64) -> Vec<(String, Value)> {
        let events = crate::audit::events_after(&self.context.store.read(), TenantId(self.tenant_id), seq, 100);
        let payload = |text: &str| serde_json::from_str(text).unwrap_or(Value::Null);
        events.unwrap().into_iter().map(|(_, row)| (row.action, payload(&row.payload))).collect()
    }

    fn events(&self) -> u64 {
        self.events_behind(0).len() as u64
    }

    async fn post(&self, slug: &str) -> (u16, Value) {
        let body = Body::from(json!({"slug": slug, "name": "n"}).to_string());
        self.send_under("k", "POST", "/v1/workspaces", body).await
    }
}

impl Room {
    /// A project and a JSON file in it: their ids.
    async fn file(&self, content: &Value) -> (String, String) {
        let id = |value: &Value, name: &str| value[name].as_str().unwrap_or_else(|| panic!("{value}")).to_owned();
        let (_, workspace) = self.post("first").await;
        let wish = json!({"workspace_id": workspace["id"], "slug": "ab", "name": "n", "source_locale": "en"});
        let project = id(&self.send("POST", "/v1/projects", Body::from(wish.to_string())).await.1, "id");
        let path = format!("/v1/projects/{project}/files?kind=json&path=a.json");
        let imported = self.send("POST", &path, Body::from(content.to_string())).await.1;
        (project, id(&imported, "file_id"))
    }
}

#[tokio::test]
async fn every_route_is_served_and_asks_for_a_key() {
    let room = Room::open();
    for route in crate::served() {
        let path: Vec<&str> =
            route.path.split('/').map(|part| if part.starts_with('{') { "x" } else { part }).collect();
        let request =
            http::Request::builder().method(route.method.as_str()).uri(path.join("/")).body(Body::empty()).unwrap();
        let response = routes(room.context.clone()).oneshot(request).await.unwrap();
        // What is open may ask for something else, but never for a key.
        assert_eq!(response.status() != 401, route.permission.is_empty(), "{}", route.template());
        assert_ne!(response.status(), 404, "{}", route.template());
    }
    room.context.store.shutdown();
}

#[tokio::test]
async fn a_store_that_has_stopped_still_reads() {
    let room = Room::open();
    assert_eq!(room.post("first").await.0, 201);
    room.context.store.shutdown();
    let (status, problem) = room.post("second").await;
    // The key was used for another request, which the snapshot tells.
    assert_eq!((status, &problem["code"]), (422, &json!("idempotency_key_reused")));
    assert_eq!(room.post("first").await.0, 201, "a repeat is answered");
    assert_eq!(room.send("GET", "/v1/workspaces", Body::empty()).await.0, 200);
    let body = Body::from(json!({"tag": "de"}).to_string());
    assert_eq!(room.send("POST", "/v1/locales/validate", body).await.0, 200);
    let path = "/v1/projects";
    let wish = json!({"workspace_id": Uuid::nil().to_string(), "slug": "ab", "name": "n", "source_locale": "en"});
    let (status, _) = room.send("POST", path, Body::from(wish.to_string())).await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn a_store_that_has_stopped_takes_nothing() {
    let room = Room::open();
    room.context.store.shutdown();
    let (status, problem) = room.post("first").await;
    assert_eq!((status, &problem["code"]), (503, &json!("writing_stopped")));
}

#[tokio::test]
async fn damaged_data_is_an_internal_error_without_detail() {
    let room = Room::open();
    let tenant_id = TenantId(room.tenant_id);
    let (_, workspace) = room.post("first").await;
    let workspace_id = WorkspaceId(workspace["id"].as_str().unwrap().parse().unwrap());
    let wish = json!({"workspace_id": workspace["id"], "slug": "ab", "name": "n", "source_locale": "en"});
    let (status, project) = room.send("POST", "/v1/projects", Body::from(wish.to_string())).await;
    assert_eq!(status, 201, "{project}");
    write::<_, AccessRefusal>(&room.context.store, move |tx, _| {
        tx.delete(&WORKSPACES, &(tenant_id, workspace_id));
        tx.put(&WORKSPACE_SLUGS, &(tenant_id, "x".into()), &WorkspaceSlugRow { workspace_id })?;
        Ok(())
    });
    let path = format!("/v1/projects/{}", project["id"].as_str().unwrap());
    let (status, problem) = room.send("GET", &path, Body::empty()).await;
    assert_eq!((status, &problem["code"]), (500, &json!("internal_error")));
    assert!(problem.get("detail").is_none(), "{problem}");
    room.context.store.shutdown();
}

#[tokio::test]
async fn a_body_that_breaks_off_is_malformed() {
    let room = Room::open();
    let broken = Body::from_stream(stream::iter([Ok("{"), Err(std::io::Error::other("gone"))]));
    let (status, problem) = room.send("POST", "/v1/workspaces", broken).await;
    assert_eq!((status, &problem["code"]), (400, &json!("invalid_body")));
    room.context.store.shutdown();
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_arrive_is_a_timeout() {
    let room = Room::open();
    let never = Body::from_stream(stream::pending::<Result<Vec<u8>, std::io::Error>>());
    let (status, problem) = room.send("POST", "/v1/workspaces", never).await;
    assert_eq!((status, &problem["code"]), (408, &json!("request_timeout")));
    room.context.store.shutdown();
}

#[tokio::test]
async fn nothing_is_stored_of_an_upload_that_is_refused() {
    let room = Room::open();
    let stored = || next_deadline(&room.context.store.read()).unwrap();
    let nowhere = format!("/v1/projects/{}/files?path=a.json&kind=", Uuid::nil());
    let large = || Body::from(vec![b' '; 3 << 20]);
    assert_eq!(room.send("POST", &format!("{nowhere}json"), large()).await.0, 404);
    assert_eq!(stored(), None);
    let (project, _) = room.file(&json!({"a": "A"})).await;
    let files = format!("/v1/projects/{project}/files?path=b.json&kind=");
    assert_eq!(room.stranger().send("POST", &format!("{files}json"), large()).await.0, 404);
    assert_eq!(room.send("POST", &format!("{files}android"), large()).await.1["code"], "format_not_offered");
    assert_eq!(stored(), None);
    // Its size comes first all the same, though nobody has said it.
    let chunks = std::iter::repeat_n(Ok::<_, std::convert::Infallible>(vec![b' '; 1 << 20]), 51);
    let path = format!("{nowhere}json");
    let (status, problem) = room.send("POST", &path, Body::from_stream(stream::iter(chunks))).await;
    assert_eq!((status, &problem["code"]), (413, &json!("upload_too_large")));
    room.context.store.shutdown();
}

/// Whatever becomes of a body that was let in and stored as it came: unless it is published, nothing of it is left.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_of_what_is_not_published() {
    let room = Room::open();
    let (project, file) = room.file(&json!({"a": "A"})).await;
    let upload = format!("/v1/projects/{project}/files?kind=json&path=b.json");
    let (xliff, tmx) = (format!("/v1/projects/{project}/files/{file}/xliff"), format!("/v1/projects/{project}/memory"));
    let piece = || Ok::<_, std::io::Error>(vec![b' '; 1 << 20]);
    let too_much = || Body::from_stream(stream::iter((0..51).map(move |_| piece())));
    let broken = || Body::from_stream(stream::iter([piece(), piece(), Err(std::io::Error::other("gone"))]));
    let (status, problem) = room.send("POST", &upload, too_much()).await;
    assert_eq!((status, &problem["code"]), (413, &json!("upload_too_large")));
    room.nothing_staged().await;
    for path in [&upload, &xliff, &tmx] {
        let (status, problem) = room.send("POST", path, broken()).await;
        assert_eq!((status, &problem["code"]), (400, &json!("invalid_body")), "{path}");
        room.nothing_staged().await;
        assert_eq!(room.send("POST", path, Body::from(vec![b' '; 3 << 20])).await.0, 422, "{path}");
        room.nothing_staged().await;
    }
    // One that is published is stored once, however often it is sent.
    let content = || Body::from(json!({"b": "B".repeat(50_000)}).to_string());
    for _ in 0..2 {
        assert_eq!(room.send_under("one", "POST", &upload, content()).await.0, 201);
        room.nothing_staged().await;
    }
    let format = upload.replace("kind=json", "kind=properties");
    assert_eq!(room.send("POST", &format, Body::from("b=B")).await.1["code"], "format_mismatch");
    room.nothing_staged().await;
    // Of several at a time one wins the race for the version, and the others' lists of keys are theirs alone.
    let texts =
        (0..8).map(|number| room.send("POST", &upload, Body::from(json!({"c": number.to_string()}).to_string())));
    let answers = futures_util::future::join_all(texts).await;
    assert!(answers.iter().all(|(status, _)| [201, 409].contains(status)), "{answers:?}");
    assert!(answers.iter().any(|(status, _)| *status == 201), "{answers:?}");
    room.nothing_staged().await;
    assert_eq!(crate::verify::verify(&room.context.store.read()).unwrap(), Vec::<String>::new());
    room.context.store.shutdown();
}

/// What one tenant looks for at length leaves turns to others.
#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_that_looks_for_much_leaves_turns_to_others() {
    let room = Room::open();
    let (go, until) = (std::sync::Arc::new(std::sync::Barrier::new(3)), std::time::Duration::from_secs(60));
    let look = |tenant: u128, go: Option<std::sync::Arc<std::sync::Barrier>>| {
        let context = room.context.clone();
        let work = move |_: &quintet_storage::Snapshot| {
            if let Some(go) = go {
                go.wait();
            }
            Ok(())
        };
        tokio::spawn(async move { context.aside(TenantId(Uuid::from_u128(tenant)), work).await })
    };
    // Two are let through together with this test: as many as may look at a time.
    let slow: Vec<_> = (0..4).map(|_| look(1, Some(std::sync::Arc::clone(&go)))).collect();
    let other = tokio::time::timeout(until, look(2, None)).await;
    assert!(other.is_ok(), "another tenant's has its turn");
    for _ in 0..2 {
        let go = std::sync::Arc::clone(&go);
        tokio::task::spawn_blocking(move || go.wait()).await.unwrap();
    }
    for looked in slow {
        looked.await.unwrap().unwrap();
    }
    room.context.store.shutdown();
}

/// Who leaves in the middle of a body, or does not go on, leaves nothing either.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_of_a_body_whose_sender_leaves() {
    let room = Arc::new(Room::open());
    let (project, _) = room.file(&json!({"a": "A"})).await;
    let path = format!("/v1/projects/{project}/files?kind=json&path=b.json");
    let begun = stream::iter([Ok::<_, std::io::Error>(vec![b' '; 1 << 20])]).chain(stream::pending());
    let sender = Arc::clone(&room);
    let sending = tokio::spawn(async move { sender.send("POST", &path, Body::from_stream(begun)).await });
    while next_deadline(&room.context.store.read()).unwrap().is_none() {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    sending.abort();
    assert!(sending.await.unwrap_err().is_cancelled());
    room.nothing_staged().await;
    room.context.store.shutdown();
}

/// The largest request of the contract, in every respect; and a file's share of such requests.
#[tokio::test]
async fn context_of_any_size_is_set_whole() {
    let room = Room::open();
    let path_of = |number: usize| format!("{number:04}{}", "\u{10400}".repeat(1020));
    let content = (0..1_000).map(|number| (path_of(number), json!("x"))).collect::<serde_json::Map<_, _>>();
    let (project, file) = room.file(&Value::Object(content)).await;
    let path = format!("/v1/projects/{project}/files/{file}/context");
    let wish = |text: &str| {
        let entry = |number| json!({"path": path_of(number), "context": text, "class": null, "min_length": 1, "max_length": 100_000});
        json!({"keys": (0..1_000).map(entry).collect::<Vec<_>>()}).to_string()
    };
    let largest = "\u{1f600}".repeat(2_000);
    // The characters outside ASCII as escapes, which is the longest way to write them.
    let mut escaped = String::new();
    for c in wish(&largest).chars() {
        if c.is_ascii() {
            escaped.push(c);
        } else {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| escaped.push_str(&format!("\\u{unit:04x}")));
        }
    }
    assert!(escaped.len() > 36_000_000);
    let (status, first) = room.send_under("1", "PUT", &path, Body::from(escaped.clone())).await;
    assert_eq!(status, 200, "{first:.300}");
    assert_eq!((&first["file"], first["keys"].as_array().unwrap().len()), (&json!(file), 1_000));
    assert_eq!(first["keys"][999]["context"], json!(largest));
    let (status, again) = room.send_under("1", "PUT", &path, Body::from(escaped)).await;
    assert!(status == 200 && again == first, "a repeat is answered with the same");
    assert_eq!(room.send_under("1", "PUT", &path, Body::from(wish("other"))).await.0, 422);
    let (_, all) = room.send("GET", &path, Body::empty()).await;
    assert!(all["keys"] == first["keys"], "all of it is stored");
    // One entry replaces one.
    let one = json!({"keys": [{"path": path_of(7), "context": "seven"}]}).to_string();
    assert_eq!(room.send_under("2", "PUT", &path, Body::from(one)).await.0, 200);
    let (_, all) = room.send("GET", &path, Body::empty()).await;
    assert_eq!(all["keys"].as_array().unwrap().len(), 1_000);
    let seven = json!({"path": path_of(7), "context": "seven", "min_length": null, "max_length": null});
    assert!(all["keys"][7] == seven && all["keys"][8] == first["keys"][8]);
    assert_eq!(crate::verify::verify(&room.context.store.read()).unwrap(), Vec::<String>::new());
    room.context.store.shutdown();
}

/// Each change of glossary and style leaves one event, which says nothing of what people wrote.
#[tokio::test]
async fn glossary_and_style_leave_an_event_for_each_change() {
    let room = Room::open();
    let (project, _) = room.file(&json!({"a": "A"})).await;
    let (glossary, style) = (format!("/v1/projects/{project}/glossary"), format!("/v1/projects/{project}/style"));
    let before = room.events();
    let secret = |locale: &str| json!({"kind": "term", "locale": locale, "source": "Secret", "target": "Geheim", "note": "Secret"});
    let send = async |method: &str, path: &str, body: Value| {
        let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
        room.send(method, path, body).await
    };
    let (status, made) = send("POST", &glossary, secret("de-at")).await;
    assert_eq!((status, send("POST", &glossary, secret("de-AT")).await.0), (201, 409));
    let entry = format!("{glossary}/{}", made["id"].as_str().unwrap());
    assert_eq!(send("PUT", &entry, secret("fr")).await.0, 200);
    assert_eq!(send("PUT", &entry, json!({"kind": "dnt", "source": "Secret"})).await.0, 400);
    assert_eq!(send("DELETE", &entry, Value::Null).await.0, 200);
    assert_eq!(send("DELETE", &entry, Value::Null).await.0, 404);
    for (text, register, status) in
        [("Secret", json!("formal"), 200), ("", json!("formal"), 422), ("", Value::Null, 200)]
    {
        let body = json!({"locale": "*", "scope": "default", "text": text, "register": register});
        assert_eq!(send("PUT", &style, body).await.0, status);
    }
    let term = |locale: &str| json!({"project_id": project, "kind": "term", "locale": locale});
    let set = |register: Value, deleted: bool| json!({"locale": "*", "scope": "default", "register": register, "deleted": deleted});
    let expected = [
        ("glossary_term.create", term("de-AT")),
        ("glossary_term.update", term("fr")),
        ("glossary_term.delete", term("fr")),
        ("project_style.set", set(json!("formal"), false)),
        ("project_style.set", set(Value::Null, true)),
    ];
    assert_eq!(room.events_behind(before), expected.map(|(action, payload)| (action.to_owned(), payload)));
    room.context.store.shutdown();
}

/// Every translation the schema knows meets the rule about its length before the cap of bodies, however it is written.
#[tokio::test]
async fn long_translations_are_told_so() {
    let room = Room::open();
    room.file(&json!({"k_one": "x", "k_other": "x"})).await;
    let (_, projects) = room.send("GET", "/v1/projects", Body::empty()).await;
    let keys = format!("/v1/projects/{}/keys", projects["projects"][0]["id"].as_str().unwrap());
    let key = room.send("GET", &keys, Body::empty()).await.1["keys"][0]["id"].as_str().unwrap().to_owned();
    let put = async |name: &str, text: &str| {
        let form = |name: &str| format!("\"{name}\":\"{text}\"");
        let forms = ["zero", "one", "two", "few", "many", "other"].map(form).join(",");
        let body = Body::from(format!("{{\"forms\":{{{forms}}}}}"));
        room.send_under(name, "PUT", &format!("/v1/keys/{key}/translations/ar"), body).await
    };
    // The longest answer, too: control characters are escapes in it.
    assert_eq!(put("1", &"\\u0001".repeat(65_536)).await.0, 201);
    assert_eq!(put("2", &"\\u0061".repeat(65_536)).await.0, 200);
    for (key, text) in [("3", "\\u0061".repeat(65_537)), ("4", "\\ud83d\\ude00".repeat(262_144))] {
        let (status, problem) = put(key, &text).await;
        assert_eq!((status, &problem["code"]), (422, &json!("value_too_long")));
    }
    room.context.store.shutdown();
}

#[test]
fn failures_of_the_store_have_codes_of_their_own() {
    for (failure, code) in [
        (Failure::Busy, "busy"),
        (Failure::OutcomeUnknown, "outcome_unknown"),
        (Failure::StorageFull, "storage_full"),
        (Failure::Panicked, "internal_error"),
    ] {
        assert_eq!(Refusal::from(Fault::of_failure(&failure)).verdict().code, code);
    }
    assert_eq!(refuse::<Localization>(Fault::Internal, &http::Extensions::new()).status(), 500);
}

#[test]
fn nothing_that_is_said_of_it_is_loose() {
    assert_eq!(describe::loose_ends::<Localization>(ENDPOINTS), Vec::<String>::new());
    let text = describe::guide(ENDPOINTS);
    for template in TEMPLATES {
        assert!(text.contains(&format!("- {}: ", template.name)), "{}", template.name);
    }
}

#[test]
fn what_is_made_leads_to_what_takes_it() {
    let document = describe::document(ENDPOINTS);
    let links = |path: &str| document["paths"][path]["post"]["responses"]["201"]["links"].clone();
    assert!(links("/v1/workspaces")["get_workspace"].is_object());
    let of_project = links("/v1/projects");
    assert_eq!(of_project["upload_file"]["parameters"], json!({"project_id": "$response.body#/id"}));
    let of_file = links("/v1/projects/{project_id}/files");
    let place = json!({"project_id": "$request.path.project_id", "file_id": "$response.body#/file_id"});
    assert_eq!(of_file["export_file"]["parameters"], place);
    assert_eq!(of_file["put_key_contexts"]["parameters"], place);
    assert_eq!(of_file["get_manifest"]["parameters"]["seq"], "$response.body#/version");
    let of_keys = &document["paths"]["/v1/projects/{project_id}/keys"]["get"]["responses"]["200"]["links"];
    for name in ["get_translation", "put_translation"] {
        assert_eq!(of_keys[name]["parameters"], json!({"key_id": "$response.body#/keys/0/id"}), "{name}");
    }
    let put = &document["paths"]["/v1/projects/{project_id}/locales"]["put"]["parameters"];
    let if_match = put.as_array().unwrap().iter().find(|parameter| parameter["name"] == "If-Match").unwrap();
    assert_eq!(if_match["schema"]["pattern"], "^\"v[0-9]+\"( *, *\"v[0-9]+\")*$");
}

#[test]
fn a_file_that_takes_too_long_is_refused() {
    let refusal = crate::formats::read(crate::formats::Kind::Json, b"{}", Instant::now()).unwrap_err();
    assert_eq!(refusal.code.as_str(), "parse_timeout");
    for code in crate::formats::Code::ALL {
        assert!(crate::refusal::READER_CODES.contains(&code.as_str()), "{code}");
    }
}

/// Every change and every file handed out leaves one event; reading, refusals and repeats leave none.
#[tokio::test]
async fn what_is_noted_in_the_chain() {
    let room = Room::open();
    let (project, file) = room.file(&json!({"a": "A", "b": "B"})).await;
    let import = room.events_behind(2).remove(0);
    assert_eq!((room.events(), import.0.as_str()), (3, "import"));
    let manifest_path = format!("/v1/projects/{project}/files/{file}/imports/3/manifest");
    let (_, manifest) = room.call(None, "GET", &manifest_path, Body::empty()).await;
    let hex = |bytes: &[u8]| json!(data_encoding::HEXLOWER.encode(&quintet_platform::secrets::digest(bytes)));
    assert_eq!(import.1["manifest_sha256"], hex(&manifest));
    assert_eq!(import.1["sha256"], hex(br#"{"a":"A","b":"B"}"#));
    for (name, count) in [("version", 1), ("added", 2), ("changed", 0), ("obsoleted", 0), ("restored", 0)] {
        assert_eq!(import.1[name], count, "{name}");
    }
    let export = format!("/v1/projects/{project}/files/{file}/export");
    for query in ["", "?locale=de", "?locale=de&fallback=omit&state=approved", "?locale=de&metadata=true"] {
        let path = format!("{export}{query}");
        let before = room.events();
        let (head, nothing) = room.call(None, "HEAD", &path, Body::empty()).await;
        assert_eq!((head.status.as_u16(), nothing.len()), (200, 0));
        assert_eq!(room.events(), before, "HEAD hands nothing out");
        let (got, _) = room.call(None, "GET", &path, Body::empty()).await;
        assert_eq!(head.headers["etag"], got.headers["etag"]);
        let noted = room.events_behind(before);
        assert_eq!((noted.len(), noted[0].0.as_str()), (1, "export"));
        let is_in_locale = query.contains("locale");
        assert_eq!(noted[0].1["locale"], if is_in_locale { json!("de") } else { Value::Null });
        assert_eq!(noted[0].1["fallback"], if query.contains("omit") { "omit" } else { "source" });
    }
    let keys = room.send("GET", &format!("/v1/projects/{project}/keys"), Body::empty()).await.1;
    let translation = format!("/v1/keys/{}/translations/de", keys["keys"][0]["id"].as_str().unwrap());
    let context = format!("/v1/projects/{project}/files/{file}/context");
    for (method, path, good, bad, action) in [
        ("PUT", &translation, json!({"text": "x"}), json!({"forms": {"other": "x"}}), "translation"),
        ("PUT", &context, json!({"keys": [{"path": "a"}]}), json!({"keys": [{"path": "z"}]}), "key_context.set"),
    ] {
        let before = room.events();
        assert_eq!(room.send_under("bad", method, path, Body::from(bad.to_string())).await.0, 422);
        assert_eq!(room.events(), before, "a refusal has changed nothing");
        for _ in 0..2 {
            assert!(room.send_under(action, method, path, Body::from(good.to_string())).await.0 < 300);
        }
        let noted = room.events_behind(before);
        assert_eq!((noted.len(), noted[0].0.as_str()), (1, action), "once, though it was sent twice");
    }
    let before = room.events();
    for path in [&translation, &context, &manifest_path] {
        assert_eq!(room.call(None, "GET", path, Body::empty()).await.0.status.as_u16(), 200);
    }
    assert_eq!(room.call(None, "GET", &format!("{export}?locale=zh"), Body::empty()).await.0.status.as_u16(), 422);
    assert_eq!(room.events(), before, "reading leaves nothing");
    room.context.store.shutdown();
}

/// What goes for every route there is, whatever it does.
#[tokio::test]
async fn what_goes_for_every_route() {
    let room = Room::open();
    let (project, file) = room.file(&json!({"a": "A"})).await;
    let workspace = room.send("GET", "/v1/workspaces", Body::empty()).await.1["workspaces"][0]["id"].clone();
    let keys = room.send("GET", &format!("/v1/projects/{project}/keys"), Body::empty()).await.1;
    let term = Body::from(r#"{"kind":"dnt","source":"x"}"#);
    let term = room.send("POST", &format!("/v1/projects/{project}/glossary"), term).await.1;
    let release = room.send("POST", &format!("/v1/projects/{project}/releases"), Body::empty()).await.1;
    let stranger = room.stranger();
    let mut ids = 0;
    for route in crate::served().filter(|route| !route.permission.is_empty()) {
        let path = route
            .path
            .replace("{workspace_id}", workspace.as_str().unwrap())
            .replace("{project_id}", &project)
            .replace("{file_id}", &file)
            .replace("{key_id}", keys["keys"][0]["id"].as_str().unwrap())
            .replace("{seq}", "3")
            .replace("{locale}", "de")
            .replace("{term_id}", term["id"].as_str().unwrap())
            .replace("{release_id}", release["id"].as_str().unwrap());
        if ELSEWHERE.iter().any(|start| path.starts_with(start)) {
            continue;
        }
        assert!(!path.contains('{'), "{path}");
        let query = match route.name {
            "upload_file" => "?kind=json&path=a.json",
            "export_xliff" => "?locale=de",
            "export_audit" => "?format=ndjson",
            _ => "",
        };
        let body = || match route.body {
            Content::Nothing => Body::empty(),
            Content::Json("KeyContextsPut") => Body::from(r#"{"keys":[{"path":"a"}]}"#),
            Content::Json("TranslationPut") => Body::from(r#"{"text":"x"}"#),
            Content::Json("TranslationTransition") => Body::from(r#"{"action":"review"}"#),
            Content::Json("GlossaryEntryWrite") => Body::from(r#"{"kind":"dnt","source":"y"}"#),
            Content::Json("StylePut") => Body::from(r#"{"locale":"de","scope":"legal","text":"x"}"#),
            Content::Json("LicenceCreate") => {
                Body::from(r#"{"locale":"de","sample_size":300,"corrections":0,"meaning_errors":0,"sample_ref":"x"}"#)
            }
            Content::Json("Policy") => Body::from(r#"{"locale":"de","enabled":true}"#),
            Content::Json("ApprovalRequestCreate" | "PolicyApprove" | "TranslateWish") => {
                Body::from(format!(r#"{{"file":"{file}","locale":"de"}}"#))
            }
            Content::Json("ProjectLocalesPut") => Body::from(r#"{"locales":["de"]}"#),
            Content::Json("SourceLocalePut") => Body::from(r#"{"source_locale":"de"}"#),
            Content::Json("LocaleValidate") => Body::from(r#"{"tag":"de"}"#),
            _ => Body::from("{}"),
        };
        let code = async |room: &Room, key: Option<&str>, path: String| {
            let (parts, bytes) = room.call(key, route.method.as_str(), &path, body()).await;
            let problem: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
            (parts.status.as_u16(), problem["code"].as_str().unwrap_or_default().to_owned())
        };
        let joint = if query.is_empty() { "?" } else { "&" };
        let unknown = code(&room, Some("k1"), format!("{path}{query}{joint}colour=red")).await;
        assert_eq!(unknown, (400, "unknown_parameter".to_owned()), "{}", route.template());
        if route.key == KeyRule::Required {
            for key in [None, Some(""), Some("x".repeat(201).as_str())] {
                let refused = code(&room, key, format!("{path}{query}")).await;
                assert_eq!(refused, (400, "invalid_parameter".to_owned()), "{}", route.template());
            }
        }
        if route.path.contains('{') {
            ids += 1;
            let refused = code(&stranger, Some("k2"), format!("{path}{query}")).await;
            assert_eq!(refused, (404, "not_found".to_owned()), "{}: another tenant's", route.template());
            let known = code(&room, Some(&route.template()), format!("{path}{query}")).await;
            assert_ne!(known.0, 404, "{}: its own is there", route.template());
        }
        if route.parameters.iter().any(|parameter| parameter.name == "limit") {
            for (limit, status) in [("1", 200), ("500", 200), ("0", 400), ("501", 400), ("-1", 400), ("x", 400)] {
                assert_eq!(code(&room, None, format!("{path}?limit={limit}")).await.0, status, "{}", route.template());
            }
        }
    }
    assert!(ids >= 14, "{ids}");
    let create = json!({"workspace_id": workspace, "slug": "cd", "name": "n", "source_locale": "en"});
    let (status, problem) = stranger.send("POST", "/v1/projects", Body::from(create.to_string())).await;
    assert_eq!((status, &problem["code"]), (404, &json!("not_found")), "a workspace in a body, too");
    room.context.store.shutdown();
}

/// How paths begin that other tests call: of people, their keys and grants, of what is decided about, and
/// of webhooks.
const ELSEWHERE: [&str; 6] = [
    "/v1/members/",
    "/v1/service-accounts/",
    "/v1/api-keys/",
    "/v1/grants/",
    "/v1/approval-requests/",
    "/v1/webhooks/",
];

/// The root key of a rails file that nobody names is any spelling of the source locale.
#[tokio::test]
async fn a_rails_root_is_the_source_locale_in_any_spelling() {
    let room = Room::open();
    let (_, workspace) = room.post("first").await;
    let project = async |slug: &str, locale: &str| {
        let wish = json!({"workspace_id": workspace["id"], "slug": slug, "name": "n", "source_locale": locale});
        let (status, project) = room.send_under(slug, "POST", "/v1/projects", Body::from(wish.to_string())).await;
        assert_eq!(status, 201, "{project}");
        project["id"].as_str().unwrap().to_owned()
    };
    let upload = async |project: &str, query: &str, content: String| {
        let path = format!("/v1/projects/{project}/files?kind=yaml&profile=rails{query}");
        let key = quintet_platform::secrets::digest(format!("{path}{content}").as_bytes());
        room.send_under(&data_encoding::HEXLOWER.encode(&key), "POST", &path, Body::from(content)).await
    };
    let taipei = project("taipei", "zh-tw").await;
    for root in ["zh-tw", "zh-TW", "zh-Hant-TW"] {
        let path = format!("&path={root}.yml");
        let (status, imported) = upload(&taipei, &path, format!("{root}:\n  a: x\n")).await;
        assert_eq!((status, &imported["root_locale"]), (201, &json!(root)), "{imported}");
        // Without a root key it is still the same file; another root is not.
        assert_eq!(upload(&taipei, &path, "{}".to_owned()).await.1["root_locale"], json!(root));
        let other = if root == "zh-TW" { "zh-tw" } else { "zh-TW" };
        let (status, problem) = upload(&taipei, &path, format!("{other}:\n  a: x\n")).await;
        assert_eq!((status, &problem["code"]), (409, &json!("format_mismatch")));
    }
    for root in ["zh", "zh-Hant", "ZH-TW"] {
        let (status, problem) = upload(&taipei, "&path=other.yml", format!("{root}:\n  a: x\n")).await;
        assert_eq!((status, &problem["code"], &problem["line"]), (422, &json!("key_invalid"), &json!(1)), "{root}");
    }
    // What is wrong further down is told, whichever root it is under.
    let (_, problem) = upload(&taipei, "&path=other.yml", "zh-Hant-TW:\n  a: x\n  a: y\n".to_owned()).await;
    assert_eq!((&problem["code"], &problem["line"]), (&json!("duplicate_key"), &json!(3)));
    // A root that was named is that one alone.
    let (status, _) = upload(&taipei, "&path=named.yml&locale=zh-TW", "zh-Hant-TW:\n  a: x\n".to_owned()).await;
    assert_eq!(status, 422);
    // The source locale that was set last counts.
    let english = project("english", "en").await;
    let path = format!("/v1/projects/{english}/source-locale");
    let request = http::Request::put(&path)
        .header("authorization", format!("Bearer {}", room.api_key))
        .header("l10n-tenant", room.tenant_id.to_string())
        .header("content-type", "application/json")
        .header("if-match", "\"s0\"")
        .body(Body::from(r#"{"source_locale":"zh-CN"}"#));
    assert_eq!(routes(room.context.clone()).oneshot(request.unwrap()).await.unwrap().status().as_u16(), 200);
    assert_eq!(upload(&english, "&path=a.yml", "en:\n  a: x\n".to_owned()).await.0, 422);
    assert_eq!(upload(&english, "&path=a.yml", "zh-CN:\n  a: x\n".to_owned()).await.0, 201);
    room.context.store.shutdown();
}

/// Nobody makes the appliance hold more than it can.
#[tokio::test]
async fn what_is_held_in_memory_is_bounded() {
    let room = Room::open();
    let (project, file) = room.file(&json!({"a": "A"})).await;
    let file_id = FileId(file.parse().unwrap());
    let tenant_id = TenantId(room.tenant_id);
    let keys = room.send("GET", &format!("/v1/projects/{project}/keys"), Body::empty()).await.1;
    let path = |tag: &str| format!("/v1/keys/{}/translations/{tag}", keys["keys"][0]["id"].as_str().unwrap());
    let put = async |tag: &str| room.send_under(tag, "PUT", &path(tag), Body::from(r#"{"text":"four"}"#)).await;
    assert_eq!(put("de").await.0, 201);
    let locale = Locale::parse("de").unwrap();
    let read = room.context.store.read();
    let found = || crate::content::get_file(&read, tenant_id, ProjectId(project.parse().unwrap()), file_id).unwrap();
    let base = crate::content::Base::read(&read, tenant_id, found(), true).unwrap();
    let gather = |bytes_max| base.gather(&read, tenant_id, Some(&locale), bytes_max);
    assert!(gather(4).is_ok());
    assert!(matches!(gather(3), Err(Abort::Refused(Refusal::ValueTooLong))));
    drop(read);
    write::<_, AccessRefusal>(&room.context.store, move |tx, _| {
        for number in 0..crate::content::LOCALES_MAX - 1 {
            tx.put(&FILE_LOCALES, &(tenant_id, file_id, format!("de-x-{number}")), &FileLocaleRow::default())?;
        }
        Ok(())
    });
    let (status, problem) = put("fr").await;
    assert_eq!((status, &problem["code"]), (409, &json!("conflict")));
    assert_eq!(room.send_under("again", "PUT", &path("de"), Body::from(r#"{"text":"x"}"#)).await.0, 200);
    room.context.store.shutdown();
}

/// Pages of keys go on behind files that have none.
#[tokio::test]
async fn keys_are_found_behind_many_empty_files() {
    let room = Room::open();
    let (project, file) = room.file(&json!({"a": "A"})).await;
    let (tenant_id, project_id) = (TenantId(room.tenant_id), ProjectId(project.parse().unwrap()));
    let empty = FileId(Uuid::from_u128(1));
    write::<_, AccessRefusal>(&room.context.store, move |tx, _| {
        let row = tx.get(&CATALOGUES, &(tenant_id, FileId(file.parse().unwrap())))?.unwrap();
        tx.put(&CATALOGUES, &(tenant_id, empty), &CatalogueRow { pages: Vec::new(), ..row })?;
        for prefix in 0..1_200_u64 {
            let place = (tenant_id, project_id, crate::content::key_prefix(empty) & 0xF000 | (prefix << 16));
            tx.put(&KEY_FILES_BY_PROJECT, &place, &KeyFileRow { project_id, file_id: empty })?;
        }
        Ok(())
    });
    let (mut found, mut pages, mut cursor) = (0, 0, String::new());
    loop {
        let path = format!("/v1/projects/{project}/keys?limit=5{cursor}");
        let (status, page) = room.send("GET", &path, Body::empty()).await;
        assert_eq!(status, 200, "{page}");
        found += page["keys"].as_array().unwrap().len();
        pages += 1;
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert!(found == 1 && (3..6).contains(&pages), "{found} keys in {pages} pages");
    room.context.store.shutdown();
}

/// The contract's limits, at the last value that is allowed and the first that is not.
#[tokio::test]
async fn limits_are_where_the_contract_has_them() {
    let room = Room::open();
    let (project, _) = room.file(&json!({"a": "A"})).await;
    let at = |rest: &str| format!("/v1/projects/{project}{rest}");
    let long = |count: usize| "\u{1f600}".repeat(count);
    for (number, (prefixes, status)) in [
        (vec![long(200); 50], 200),
        (vec![long(1); 51], 400),
        (vec![long(201)], 400),
        (vec![String::new()], 400),
        (Vec::new(), 200),
    ]
    .into_iter()
    .enumerate()
    {
        let body = Body::from(json!({"legal_prefixes": prefixes}).to_string());
        assert_eq!(room.send_under(&format!("p{number}"), "PATCH", &at(""), body).await.0, status, "{number}");
    }
    for (name, status) in [(long(200), 200), (long(201), 400)] {
        let body = Body::from(json!({"name": name}).to_string());
        assert_eq!(room.send_under(&format!("n{status}"), "PATCH", &at(""), body).await.0, status);
    }
    for (slug, status) in [("a".repeat(63), 201), ("a".repeat(64), 400), ("ab".into(), 201), ("a".into(), 400)] {
        let body = Body::from(json!({"slug": slug, "name": ""}).to_string());
        assert_eq!(room.send_under(&slug, "POST", "/v1/workspaces", body).await.0, status, "{slug}");
    }
    for (length, status) in [(512, 201), (513, 400)] {
        let path = at(&format!("/files?kind=json&path={}", "%C3%A9".repeat(length)));
        assert_eq!(room.send_under(&format!("f{length}"), "POST", &path, Body::from("{}")).await.0, status);
    }
    for (key, status) in [("k".repeat(200), 201), ("k".repeat(201), 400)] {
        let path = at("/files?kind=json&path=b.json");
        assert_eq!(room.send_under(&key, "POST", &path, Body::from("{}")).await.0, status);
    }
    // A hundred locales: regions of English, and one more.
    let regions = (b'A'..=b'Z').flat_map(|a| (b'A'..=b'Z').map(move |b| format!("en-{}{}", a as char, b as char)));
    let tags: Vec<String> = regions.filter(|tag| Locale::parse(tag).is_ok_and(|l| l.canonical() == tag)).collect();
    for (count, status) in [(101, 400), (100, 200)] {
        let request = http::Request::put(at("/locales"))
            .header("authorization", format!("Bearer {}", room.api_key))
            .header("l10n-tenant", room.tenant_id.to_string())
            .header("content-type", "application/json")
            .header("if-match", "\"v0\"")
            .body(Body::from(json!({"locales": tags[..count]}).to_string()));
        let response = routes(room.context.clone()).oneshot(request.unwrap()).await.unwrap();
        assert_eq!(response.status().as_u16(), status, "{count}");
    }
    room.context.store.shutdown();
}

/// The hash of the source a translation was made from, which stays when the source changes.
#[tokio::test]
async fn metadata_remembers_the_source_a_translation_was_made_from() {
    let room = Room::open();
    let (project, file) = room.file(&json!({"a": "old", "b": "B", "k_one": "one", "k_other": "old"})).await;
    let keys = room.send("GET", &format!("/v1/projects/{project}/keys"), Body::empty()).await.1;
    for (key, body) in [(0, json!({"text": "x"})), (2, json!({"forms": {"one": "1", "other": "n"}}))] {
        let path = format!("/v1/keys/{}/translations/de", keys["keys"][key]["id"].as_str().unwrap());
        assert_eq!(room.send_under(&key.to_string(), "PUT", &path, Body::from(body.to_string())).await.0, 201);
    }
    let path = format!("/v1/projects/{project}/files?kind=json&path=a.json");
    let changed = json!({"a": "new", "b": "B", "k_one": "one", "k_other": "new"});
    assert_eq!(room.send_under("changed", "POST", &path, Body::from(changed.to_string())).await.0, 201);
    let hex = |text: &str| data_encoding::HEXLOWER.encode(&quintet_platform::secrets::digest(text.as_bytes()));
    let export = format!("/v1/projects/{project}/files/{file}/export?metadata=true&locale=de");
    for (query, targets) in [("", ["x", "B", "1", "n"]), ("&state=approved", ["new", "B", "one", "new"])] {
        let (_, metadata) = room.send("GET", &format!("{export}{query}"), Body::empty()).await;
        let found: Vec<_> = metadata["entries"].as_array().unwrap().iter().collect();
        let expected = [("a", "old", "outdated"), ("b", "B", "untranslated"), ("k_one", "one", "outdated")];
        let expected = expected.into_iter().chain([("k_other", "old", "outdated")]).zip(targets);
        assert_eq!(found.len(), 4);
        for (entry, ((key, source, status), target)) in found.into_iter().zip(expected) {
            assert_eq!((&entry["key"], &entry["status"]), (&json!(key), &json!(status)));
            assert_eq!(entry["sourceHash"], hex(source), "{key}{query}");
            assert_eq!(entry["targetHash"], hex(target), "{key}{query}");
        }
    }
    room.context.store.shutdown();
}

/// A document of 1.2 into German: so many units of no key, and all keys of a file.
fn document_of(keys: &[String], strangers: usize) -> String {
    let unit = |id: &str| format!("<trans-unit id='{id}'><source>A</source><target>B</target></trans-unit>");
    let all: String =
        keys.iter().map(|id| unit(id)).chain((0..strangers).map(|number| unit(&number.to_string()))).collect();
    format!(
        "<xliff version='1.2' xmlns='urn:oasis:names:tc:xliff:document:1.2'><file original='f' source-language='en' \
         target-language='de' datatype='plaintext'><body>{all}</body></file></xliff>"
    )
}

impl Room {
    /// The room that all documents have, large and small ones, if nobody has any of it.
    fn whole_room(&self) -> Option<Vec<Turn>> {
        let small = [SMALL_DOCUMENT_BYTES_MAX; SMALL_DOCUMENTS];
        let all = small.into_iter().chain([DOCUMENTS_BYTES_MAX]);
        all.map(|bytes| self.context.room(TenantId(self.tenant_id), bytes).now_or_never()?.ok()).collect()
    }

    /// Collects until no large value is left but what somebody owns, however long it could still be kept. What is given up
    /// in the background is given up soon.
    async fn nothing_staged(&self) {
        let store = &self.context.store;
        let until = Instant::now() + std::time::Duration::from_secs(30);
        loop {
            write::<_, AccessRefusal>(store, |tx, now| Ok(collect(tx, now, 1_000)?));
            if next_deadline(&store.read()).unwrap().is_none() {
                return;
            }
            assert!(Instant::now() < until, "something was left behind");
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    }
}

/// However slowly somebody reads what became of his units: nobody waits for that.
#[tokio::test(flavor = "multi_thread")]
async fn a_report_that_nobody_reads_takes_no_room() {
    let room = Room::open();
    let (project, file) = room.file(&json!({"a": "A", "k_one": "A", "k_other": "A"})).await;
    let keys = room.send("GET", &format!("/v1/projects/{project}/keys"), Body::empty()).await.1;
    let ids: Vec<&str> = [0, 1].map(|place| keys["keys"][place]["id"].as_str().unwrap()).into();
    let path = format!("/v1/projects/{project}/files/{file}/xliff");
    for strangers in [3, 20_000] {
        let named = [ids[0].to_owned(), format!("{}.one", ids[1]), format!("{}.other", ids[1]), ids[0].to_owned()];
        let document = document_of(&named, strangers);
        let request = http::Request::post(&path)
            .header("authorization", format!("Bearer {}", room.api_key))
            .header("l10n-tenant", room.tenant_id.to_string())
            .header("idempotency-key", strangers.to_string())
            .header("content-type", "application/xml");
        let answer = routes(room.context.clone()).oneshot(request.body(Body::from(document)).unwrap()).await.unwrap();
        assert_eq!(answer.status().as_u16(), 200);
        assert!(room.whole_room().is_some(), "{strangers}");
        let told: Value = serde_json::from_slice(&answer.into_body().collect().await.unwrap().to_bytes()).unwrap();
        let units = told["units"].as_array().unwrap();
        assert_eq!((units.len(), &told["skipped"]), (strangers + 4, &json!(strangers + 1)));
        let line = |place: usize| {
            let unit = &units[place];
            (unit["unit"].as_str().unwrap(), &unit["key_id"], &unit["path"], &unit["code"])
        };
        assert_eq!(line(0), (ids[0], &json!(ids[0]), &json!("a"), &Value::Null));
        assert_eq!(line(2), (named[2].as_str(), &json!(ids[1]), &json!("k"), &Value::Null));
        assert_eq!(line(3), (ids[0], &json!(ids[0]), &Value::Null, &json!("unit_repeated")), "its path has been told");
        for stranger in [0, strangers / 2, strangers - 1] {
            let id = stranger.to_string();
            assert_eq!(line(4 + stranger), (id.as_str(), &Value::Null, &Value::Null, &json!("key_unknown")));
        }
        // Neither the document nor the report are left behind.
        room.nothing_staged().await;
    }
    // Nor is the path of a key told over and over that is not in the file any more.
    let upload = format!("/v1/projects/{project}/files?kind=json&path=a.json");
    assert_eq!(room.send("POST", &upload, Body::from(json!({"k_one": "A", "k_other": "A"}).to_string())).await.0, 201);
    let document = document_of(&[ids[0], ids[0], ids[0]].map(str::to_owned), 0);
    let (status, told) = room.send("POST", &path, Body::from(document)).await;
    assert_eq!((status, &told["skipped"]), (200, &json!(3)));
    let line = |place: usize| (&told["units"][place]["path"], &told["units"][place]["code"]);
    assert_eq!(line(0), (&json!("a"), &json!("key_obsolete")));
    assert_eq!([line(1), line(2)], [(&Value::Null, &json!("unit_repeated")); 2]);
    room.context.store.shutdown();
}

/// However large the documents are that others have sent, and whoever is next with one.
#[tokio::test]
async fn a_small_document_waits_behind_no_large_ones() {
    let room = Room::open();
    let (project, _) = room.file(&json!({"a": "A"})).await;
    let other = TenantId(room.stranger().tenant_id);
    let largest = room.context.room(other, DOCUMENTS_BYTES_MAX).await.unwrap();
    let mut next = std::pin::pin!(room.context.room(other, DOCUMENTS_BYTES_MAX));
    assert!(next.as_mut().now_or_never().is_none());
    let tmx = "<tmx version='1.4'><header srclang='en'/><body><tu><tuv xml:lang='en'><seg>a</seg></tuv>\
               <tuv xml:lang='de'><seg>b</seg></tuv></tu></body></tmx>";
    let (status, told) = room.send("POST", &format!("/v1/projects/{project}/memory"), Body::from(tmx)).await;
    assert_eq!((status, &told["written"]), (200, &json!(1)));
    drop(largest);
    drop(next.await.unwrap());
    room.context.store.shutdown();
}

/// String files wait for room as documents do; who does not wait leaves nothing behind.
#[tokio::test(flavor = "multi_thread")]
async fn a_string_file_waits_for_its_room() {
    let room = Arc::new(Room::open());
    let (project, _) = room.file(&json!({"a": "A"})).await;
    let held = room.whole_room().unwrap();
    let send = |key: &'static str| {
        let (sender, path) = (Arc::clone(&room), format!("/v1/projects/{project}/files?kind=json&path={key}.json"));
        tokio::spawn(async move { sender.send_under(key, "POST", &path, Body::from(r#"{"b":"B"}"#)).await })
    };
    let (patient, other) = (send("patient"), send("other"));
    // The bytes of both have arrived, and are nobody's yet.
    while next_deadline(&room.context.store.read()).unwrap().is_none() {
        tokio::task::yield_now().await;
    }
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    assert!(!patient.is_finished() && !other.is_finished());
    other.abort();
    assert!(other.await.unwrap_err().is_cancelled());
    drop(held);
    assert_eq!(patient.await.unwrap().0, 201);
    room.nothing_staged().await;
    assert!(room.whole_room().is_some());
    room.context.store.shutdown();
}

/// Who leaves gives nothing back of what his document still takes.
#[tokio::test(flavor = "multi_thread")]
async fn a_document_keeps_its_room_until_it_is_done_with() {
    let room = Arc::new(Room::open());
    let (project, file) = room.file(&json!({"a": "A"})).await;
    let tmx = "<tmx version='1.4'><header srclang='en'/><body><tu><tuv xml:lang='en'><seg>a</seg></tuv>\
               <tuv xml:lang='de'><seg>b</seg></tuv></tu></body></tmx>";
    let tbx = "<martif type='TBX' xml:lang='en'><text><body><termEntry><langSet xml:lang='en'><tig><term>a</term></tig>\
               </langSet></termEntry></body></text></martif>";
    let at = |end: &str| format!("/v1/projects/{project}/{end}");
    let documents = [
        (at("memory"), tmx.to_owned()),
        (at("glossary/tbx"), tbx.to_owned()),
        (at(&format!("files/{file}/xliff")), document_of(&[], 1)),
    ];
    for (path, document) in documents {
        // Somebody's files are being read, so that this one waits.
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let (started, begun) = std::sync::mpsc::channel();
        let wait = Arc::new(std::sync::Mutex::new(wait));
        let reading: Vec<_> = (0..2)
            .map(|_| {
                let (context, wait, tenant_id) = (room.context.clone(), Arc::clone(&wait), TenantId(room.tenant_id));
                let started = started.clone();
                tokio::spawn(async move {
                    let held = context.in_turn(tenant_id, move |_| {
                        started.send(()).unwrap();
                        Ok::<_, Abort<Refusal>>(wait.lock().unwrap().recv())
                    });
                    drop(held.await);
                })
            })
            .collect();
        (0..2).for_each(|_| begun.recv().unwrap());
        let sender = Arc::clone(&room);
        let (to, body) = (path.clone(), document.clone());
        let sending = tokio::spawn(async move { sender.send("POST", &to, Body::from(body)).await });
        let pause = || tokio::time::sleep(std::time::Duration::from_millis(20));
        while room.whole_room().is_some() {
            pause().await;
        }
        // Who asks takes it for a moment: what was handed on meanwhile has arrived behind that.
        pause().await;
        sending.abort();
        assert!(sending.await.unwrap_err().is_cancelled());
        assert!(room.whole_room().is_none(), "{path}");
        (0..2).for_each(|_| go.send(()).unwrap());
        for held in reading {
            held.await.unwrap();
        }
        while room.whole_room().is_none() {
            tokio::task::yield_now().await;
        }
        room.nothing_staged().await;
    }
    room.context.store.shutdown();
}

#[tokio::test]
async fn whoever_reads_slowly_reads_no_longer_than_it_may() {
    let room = Room::open();
    let request = http::Request::builder()
        .header("authorization", format!("Bearer {}", room.api_key))
        .header("l10n-tenant", room.tenant_id.to_string());
    let (parts, ()) = request.body(()).unwrap().into_parts();
    let caller = Localization::admit(&room.context, ENDPOINTS[0][0].route, &parts).await.unwrap();
    caller.demand(&room.context.store.read(), Wanted::Org("org_audit-read")).unwrap();
    let key_id = caller.key.key_id.clone();
    let mut body = body_of(room.context.clone(), caller, "1", (), |_, (), _| Ok(Some("more")));
    for expected in ["1", "more"] {
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), expected);
    }
    write(&room.context.store, move |tx, now| revoke_key(tx, now, None, &key_id).map(drop));
    assert!(body.frame().await.unwrap().is_err());
}
