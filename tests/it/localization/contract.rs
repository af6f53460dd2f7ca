//! Localization against its own description: every answer has the documented shape, every route is called, every code
//! is provoked by a test.

use std::collections::BTreeSet;

use quintet_platform::service::Route;
use serde_json::{Value, json};

use crate::localization::files::Shelf;
use crate::localization::{Desk, refused, text};
use crate::support::appliance::{Answer, Setup, fresh_key, shared};
use crate::support::contract::{self, faults};
use crate::tidy::provoked;

/// Every code, and the test that provokes it.
const PROVOKED: &[(&str, &str)] = &[
    ("invalid_body", "it/localization/spaces::bodies_that_are_wrong"),
    ("invalid_field", "it/localization/spaces::bodies_that_are_wrong"),
    ("invalid_parameter", "it/localization/spaces::paths_methods_and_parameters"),
    ("malformed_json", "it/localization/spaces::bodies_that_are_wrong"),
    ("unknown_field", "it/localization/spaces::bodies_that_are_wrong"),
    ("unknown_parameter", "it/localization/spaces::paths_methods_and_parameters"),
    ("unauthenticated", "it/localization/access::a_credential_and_its_tenant"),
    ("forbidden", "it/localization/access::permissions_open_and_shut_doors"),
    ("not_found", "it/localization/spaces::workspaces_are_made_read_and_listed"),
    ("revision_not_found", "it/localization/files::exports_hold_the_translations_and_nothing_else_changes"),
    ("method_not_allowed", "it/localization/spaces::paths_methods_and_parameters"),
    ("request_timeout", "localization/http::a_body_that_does_not_arrive_is_a_timeout"),
    ("conflict", "it/localization/spaces::workspaces_are_made_read_and_listed"),
    ("format_mismatch", "it/localization/files::uploads_are_checked_in_order"),
    ("idempotency_in_progress", "it/localization/files::a_repeat_beside_its_first_is_turned_away_or_answered_alike"),
    ("key_obsolete", "it/localization/files::putting_a_translation_is_checked_in_order"),
    ("revision_mismatch", "it/localization/review::transitions_are_judged_in_order"),
    ("invalid_transition", "it/localization/review::every_cell_of_the_table_of_states"),
    ("qa_failed", "it/localization/review::a_failed_blocking_check_stops_review_and_approval"),
    ("revision_superseded", "it/localization/files::exports_hold_the_translations_and_nothing_else_changes"),
    ("precondition_failed", "it/localization/spaces::target_locales_are_replaced_under_their_version"),
    ("payload_too_large", "it/localization/spaces::bodies_that_are_wrong"),
    ("upload_too_large", "it/localization/files::uploads_are_checked_in_order"),
    ("unsupported_media_type", "it/localization/spaces::bodies_that_are_wrong"),
    ("context_invalid", "it/localization/files::key_context_belongs_to_paths_and_survives_uploads"),
    ("duplicate_key", "it/localization/files::files_that_cannot_be_read"),
    ("edit_shape", "it/localization/files::translations_are_written_and_read"),
    ("encoding_invalid", "it/localization/files::files_that_cannot_be_read"),
    ("format_not_offered", "it/localization/files::uploads_are_checked_in_order"),
    ("idempotency_key_reused", "it/localization/access::idempotency_keys"),
    ("key_invalid", "it/localization/files::files_that_cannot_be_read"),
    ("key_too_long", "it/localization/files::files_that_cannot_be_read"),
    ("key_unknown", "it/localization/files::key_context_belongs_to_paths_and_survives_uploads"),
    ("length_range", "it/localization/files::key_context_belongs_to_paths_and_survives_uploads"),
    ("locale_deprecated_no_replacement", "it/localization/spaces::target_locales_are_replaced_under_their_version"),
    ("locale_duplicate", "it/localization/spaces::target_locales_are_replaced_under_their_version"),
    ("locale_ill_formed", "it/localization/spaces::target_locales_are_replaced_under_their_version"),
    ("locale_invalid_subtag", "it/localization/spaces::target_locales_are_replaced_under_their_version"),
    ("locale_not_translatable", "it/localization/spaces::target_locales_are_replaced_under_their_version"),
    ("locale_script_required", "it/localization/spaces::target_locales_are_replaced_under_their_version"),
    ("locale_too_long", "it/localization/files::translations_are_written_and_read"),
    ("malformed", "it/localization/files::files_that_cannot_be_read"),
    ("nesting_too_deep", "it/localization/files::files_that_cannot_be_read"),
    ("parse_timeout", "localization/http::a_file_that_takes_too_long_is_refused"),
    ("register_scope", "it/localization/terms::styles_are_set_read_and_deleted"),
    ("term_exists", "it/localization/terms::what_an_entry_says_is_judged_in_order"),
    ("term_invalid", "it/localization/terms::what_an_entry_says_is_judged_in_order"),
    ("term_shape", "it/localization/terms::what_an_entry_says_is_judged_in_order"),
    ("too_many_units", "it/localization/files::files_that_cannot_be_read"),
    ("units_refused", "it/localization/exchange::a_document_with_a_fault_changes_nothing"),
    ("unsupported_construct", "it/localization/files::files_that_cannot_be_read"),
    ("value_too_long", "it/localization/files::translations_are_written_and_read"),
    ("value_unrepresentable", "it/localization/files::translations_are_written_and_read"),
    ("yaml_alias_refused", "it/localization/files::files_that_cannot_be_read"),
    ("yaml_tag_refused", "it/localization/files::files_that_cannot_be_read"),
    ("precondition_required", "it/localization/spaces::target_locales_are_replaced_under_their_version"),
    ("quota_exceeded", "it/localization/access::quotas_hold"),
    ("internal_error", "localization/http::damaged_data_is_an_internal_error_without_detail"),
    ("authorization_unavailable", "it/localization/contract::without_its_authorization_system_nobody_is_let_in"),
    ("busy", "localization/http::failures_of_the_store_have_codes_of_their_own"),
    ("ai_unavailable", "it/localization/translate::without_an_engine_it_is_told_behind_everything_else"),
    ("language_core_unavailable", "it/localization/spaces::a_core_that_fails_stops_what_needs_it_and_nothing_else"),
    ("outcome_unknown", "localization/http::failures_of_the_store_have_codes_of_their_own"),
    ("storage_full", "it/localization/contract::a_disk_down_to_its_reserve_takes_nothing_and_goes_on_reading"),
    ("writing_stopped", "localization/http::a_store_that_has_stopped_takes_nothing"),
];

#[test]
fn every_code_has_a_test_that_provokes_it() {
    let known: BTreeSet<&str> = quintet_localization::CODES.iter().map(|known| known.code).collect();
    provoked::every_code_is_provoked(&known, PROVOKED);
}

#[test]
fn without_its_authorization_system_nobody_is_let_in() {
    let appliance = contract::without_authorization();
    let desk = Desk { client: appliance.client("localization", "rak_key"), tenant_id: appliance.tenant() };
    let answer = desk.get("/v1/me");
    refused(&answer, 503, "authorization_unavailable");
    assert!(answer.header("retry-after").parse::<u64>().unwrap() > 0);
}

#[test]
fn a_disk_down_to_its_reserve_takes_nothing_and_goes_on_reading() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let appliance = Setup::new().on(&data).start();
    let shelf = Shelf::open(&appliance);
    let file_id = shelf.json("a.json", &json!({"a": "A"}));
    let (_, api_key) = appliance.key(&shelf.desk.tenant_id, &[]);
    assert_eq!(appliance.stop(), Some(0));
    let appliance = Setup::new().on(&data).env("QUINTET_STORAGE__DISK_RESERVE_MB", "1073741824").start();
    let desk = Desk { client: appliance.client("localization", &api_key), tenant_id: shelf.desk.tenant_id.clone() };
    let shelf = Shelf { desk, ..shelf };
    let answer = shelf.upload("kind=json&path=b.json", b"{}");
    refused(&answer, 503, "storage_full");
    assert!(answer.header("retry-after").parse::<u64>().unwrap() > 0);
    refused(&shelf.desk.post("/v1/workspaces", &json!({"slug": "ab", "name": "n"})), 503, "storage_full");
    // An export leaves an audit event, which there is no room for.
    refused(&shelf.export(&file_id, ""), 503, "storage_full");
    assert_eq!(shelf.keys().len(), 1, "reading goes on");
}

/// Calls that are held against the description.
struct Witness {
    document: Value,
    seen: BTreeSet<String>,
}

impl Witness {
    fn call(
        &mut self,
        desk: &Desk,
        method: &str,
        template: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let key = fresh_key();
        let mut sent = headers.to_vec();
        if method != "GET" {
            sent.push(("idempotency-key", &key));
        }
        if !body.is_empty() && !headers.iter().any(|(name, _)| *name == "content-type") {
            sent.push(("content-type", "application/json"));
        }
        let answer = desk.send(method, path, &sent, body);
        let pointer = format!("/paths/{}/{}", template.replace('/', "~1"), method.to_lowercase());
        let operation = self.document.pointer(&pointer).unwrap_or_else(|| panic!("{pointer} is not described"));
        let response = &operation["responses"][answer.status.to_string()];
        let kind = answer.header("content-type").split(';').next().unwrap().to_owned();
        let schema = &response["content"][&kind]["schema"];
        assert!(schema.is_object(), "{method} {template}: {} {kind} is not described: {answer:?}", answer.status);
        if kind.ends_with("/json") || kind.ends_with("+json") {
            let found = faults(&self.document, schema, &answer.json(), "");
            assert!(found.is_empty(), "{method} {template}: {found:#?}\n{answer:?}");
        }
        if answer.status >= 400 {
            let codes = response["x-codes"].as_array().unwrap();
            assert!(codes.contains(&answer.json()["code"]), "{method} {template}: not documented: {answer:?}");
        } else {
            self.seen.insert(format!("{method} {template}"));
        }
        answer
    }
}

#[test]
fn answers_have_the_documented_shapes() {
    let appliance = shared();
    let document = appliance.stranger("localization").get("/openapi.json");
    let served = document.expect(200);
    assert_eq!(served["openapi"], "3.1.0");
    let sha256 = data_encoding::HEXLOWER.encode(&quintet_platform::secrets::digest(document.text.as_bytes()));
    assert_eq!(document.header("etag"), format!("\"{sha256}\""));
    let mut witness = Witness { document: served, seen: BTreeSet::new() };
    let desk = &Desk::open(appliance);
    let stranger = &Desk { client: appliance.stranger("localization"), tenant_id: desk.tenant_id.clone() };
    for path in ["/healthz", "/readyz", "/openapi.json", "/llms.txt"] {
        witness.call(stranger, "GET", path, path, &[], b"");
    }
    let mut send = |method: &str, template: &str, path: &str, headers: &[(&str, &str)], body: Value| {
        let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        witness.call(desk, method, template, path, headers, &bytes)
    };
    let workspace = send("POST", "/v1/workspaces", "/v1/workspaces", &[], json!({"slug": "ab", "name": "n"})).json();
    let create = json!({"workspace_id": workspace["id"], "slug": "ab", "name": "n", "source_locale": "en"});
    let project = send("POST", "/v1/projects", "/v1/projects", &[], create.clone()).json();
    send("POST", "/v1/projects", "/v1/projects", &[], create);
    let template = |rest: &str| format!("/v1/projects/{{project_id}}{rest}");
    let path = |rest: &str| format!("/v1/projects/{}{rest}", text(&project, "id"));
    send("PATCH", &template(""), &path(""), &[], json!({"name": "m"}));
    send("PUT", &template("/locales"), &path("/locales"), &[("if-match", "\"v0\"")], json!({"locales": ["de"]}));
    send("PUT", &template("/locales"), &path("/locales"), &[("if-match", "\"v0\"")], json!({"locales": ["de"]}));
    let source = [("if-match", "\"s0\"")];
    send("PUT", &template("/source-locale"), &path("/source-locale"), &source, json!({"source_locale": "en-GB"}));
    send("PUT", &template("/source-locale"), &path("/source-locale"), &source, json!({"source_locale": "zh"}));
    send("POST", "/v1/locales/validate", "/v1/locales/validate", &[], json!({"tag": "de"}));
    send("POST", "/v1/locales/validate", "/v1/locales/validate", &[], json!({"tag": "-"}));
    let file = json!({"a": "A", "k_one": "1", "k_other": "2"});
    let imported = send("POST", &template("/files"), &path("/files?kind=json&path=a"), &[], file.clone()).json();
    send("POST", &template("/files"), &path("/files?kind=json&path=a"), &[], json!([]));
    let yaml = [("content-type", "application/octet-stream")];
    witness.call(
        desk,
        "POST",
        &template("/files"),
        &path("/files?kind=yaml&profile=rails&path=y&locale=en"),
        &yaml,
        b"en: {a: b}\n",
    );
    let mut send = |method: &str, template: &str, path: &str, body: Value| {
        let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        witness.call(desk, method, template, path, &[], &bytes)
    };
    let in_file = |rest: &str| path(&format!("/files/{}{rest}", text(&imported, "file_id")));
    let of_file = |rest: &str| template(&format!("/files/{{file_id}}{rest}"));
    send("PUT", &of_file("/context"), &in_file("/context"), json!({"keys": [{"path": "a", "max_length": 5}]}));
    send("PUT", &of_file("/context"), &in_file("/context"), json!({"keys": [{"path": "b"}]}));
    let keys = send("GET", &template("/keys"), &path("/keys"), Value::Null).json();
    let translation = "/v1/keys/{key_id}/translations/{locale}";
    for key in keys["keys"].as_array().unwrap() {
        let path = format!("/v1/keys/{}/translations/de", text(key, "id"));
        send("GET", translation, &path, Value::Null);
        let body =
            if key["plural"] == true { json!({"forms": {"one": "1", "other": "2"}}) } else { json!({"text": "x"}) };
        send("PUT", translation, &path, body.clone());
        send("PUT", translation, &path, body);
        send("PUT", translation, &path, json!({"text": "x", "forms": {"other": ""}}));
        send("GET", translation, &path, Value::Null);
        let of_key = |rest: &str| {
            (format!("/v1/keys/{{key_id}}/{rest}/{{locale}}"), format!("/v1/keys/{}/{rest}/de", text(key, "id")))
        };
        let (annotations, checked) = (of_key("annotations"), of_key("check"));
        send("GET", &annotations.0, &annotations.1, Value::Null);
        send("POST", &checked.0, &checked.1, json!({"text": "x"}));
        let transition = format!("{translation}/transition");
        for action in ["approve", "review", "approve", "publish"] {
            send("POST", &transition, &format!("{path}/transition"), json!({"action": action}));
        }
        let suggestions = of_key("suggestions");
        send("GET", &suggestions.0, &suggestions.1, Value::Null);
    }
    for (locale, from_memory) in [("de", json!(100)), ("fr", json!(100)), ("fr", Value::Null), ("zh", json!(75))] {
        let mut body = json!({"file": imported["file_id"], "locale": locale, "from_memory": from_memory});
        body.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        send("POST", &template("/translate"), &path("/translate"), body);
    }
    for rest in
        ["", "?locale=de", "?locale=de&metadata=true", "?locale=de&revision=1", "?locale=de&revision=99", "?x=1"]
    {
        send("GET", &of_file("/export"), &in_file(&format!("/export{rest}")), Value::Null);
    }
    let term = json!({"kind": "term", "locale": "de", "source": "a", "target": "b"});
    let made = send("POST", &template("/glossary"), &path("/glossary"), term.clone()).json();
    send("POST", &template("/glossary"), &path("/glossary"), term.clone());
    send("POST", &template("/glossary"), &path("/glossary"), json!({"kind": "dnt", "target": "b"}));
    let entry = path(&format!("/glossary/{}", text(&made, "id")));
    for (method, body) in [("GET", Value::Null), ("PUT", term), ("PUT", json!({"kind": "dnt"}))] {
        send(method, &template("/glossary/{term_id}"), &entry, body);
    }
    send("GET", &template("/glossary"), &path("/glossary?kind=term"), Value::Null);
    send("GET", &template("/glossary"), &path("/glossary?kind=verb"), Value::Null);
    send("DELETE", &template("/glossary/{term_id}"), &entry, Value::Null);
    send("DELETE", &template("/glossary/{term_id}"), &entry, Value::Null);
    for scope in ["default", "legal"] {
        let body = json!({"locale": "de", "scope": scope, "text": "x", "register": "formal"});
        send("PUT", &template("/style"), &path("/style"), body);
    }
    send("GET", &template("/style"), &path("/style"), Value::Null);
    for rest in [
        "",
        "?locale=de",
        "?locale=fr&state=untranslated",
        "?state=untranslated",
        "?check=Q01&q=x&limit=1",
        "?check=Q13",
    ] {
        send("GET", &template("/translations"), &path(&format!("/translations{rest}")), Value::Null);
    }
    send("GET", &template("/stats"), &path("/stats"), Value::Null);
    let documents = [
        (of_file("/xliff"), in_file("/xliff"), "?locale=de", "application/xliff+xml"),
        (template("/memory"), path("/memory"), "", "application/x-tmx+xml"),
        (template("/glossary/tbx"), path("/glossary/tbx"), "", "application/x-tbx+xml"),
    ];
    for (template, path, query, media_type) in documents {
        let out = witness.call(desk, "GET", &template, &format!("{path}{query}"), &[], b"");
        witness.call(desk, "GET", &template, &format!("{path}?locale=-"), &[], b"");
        for (body, kind) in [(out.text.as_str(), media_type), ("<x", media_type), ("{}", "application/json")] {
            witness.call(desk, "POST", &template, &path, &[("content-type", kind)], body.as_bytes());
        }
    }
    let mut send = |method: &str, template: &str, path: &str, body: Value| {
        let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        witness.call(desk, method, template, path, &[], &bytes)
    };
    let manifest = of_file("/imports/{seq}/manifest");
    // Two for workspace and project, one for each change of the project.
    for seq in 1..=10 {
        send("GET", &manifest, &in_file(&format!("/imports/{seq}/manifest")), Value::Null);
    }
    let workspace_path = format!("/v1/workspaces/{}", text(&workspace, "id"));
    for (template, path) in [
        ("/v1/me".to_owned(), "/v1/me".to_owned()),
        ("/v1/audit/events".into(), "/v1/audit/events".into()),
        ("/v1/audit/events".into(), "/v1/audit/events?limit=0".into()),
        ("/v1/audit/export".into(), "/v1/audit/export?format=ndjson".into()),
        ("/v1/audit/export".into(), "/v1/audit/export?format=cef".into()),
        ("/v1/audit/export".into(), "/v1/audit/export".into()),
        ("/v1/audit/verify".into(), "/v1/audit/verify".into()),
        ("/v1/workspaces".into(), "/v1/workspaces?limit=1".into()),
        ("/v1/workspaces".into(), "/v1/workspaces?limit=0".into()),
        ("/v1/workspaces/{workspace_id}".into(), workspace_path),
        ("/v1/projects".into(), "/v1/projects".into()),
        (template(""), path("")),
        (template("/locales"), path("/locales")),
        (template("/source-locale"), path("/source-locale")),
        ("/v1/locales".into(), "/v1/locales".into()),
        (template("/files"), path("/files")),
        (of_file("/context"), in_file("/context")),
    ] {
        witness.call(desk, "GET", &template, &path, &[], b"");
        witness.call(stranger, "GET", &template, &path, &[], b"");
    }
    let described = quintet_localization::served().map(Route::template);
    let missed: Vec<String> = described.filter(|route| !witness.seen.contains(route)).collect();
    assert_eq!(missed, Vec::<String>::new());
    let guide = appliance.stranger("localization").get("/llms.txt");
    assert_eq!((guide.status, guide.header("content-type")), (200, "text/plain; charset=utf-8"));
}
