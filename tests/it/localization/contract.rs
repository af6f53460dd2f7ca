//! Localization against its own description: every answer has the documented shape, every route is called, every code
//! is provoked by a test.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use quintet_platform::service::Route;
use serde_json::{Value, json};

use crate::localization::files::Shelf;
use crate::localization::{Desk, refused, text};
use crate::support::appliance::{Answer, Appliance, Setup, fresh_key, shared};
use crate::support::contract::faults;
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
    ("origin_refused", "it/localization/sign_in/attacks::requests_from_other_sites"),
    ("not_found", "it/localization/spaces::workspaces_are_made_read_and_listed"),
    ("revision_not_found", "it/localization/files::exports_hold_the_translations_and_nothing_else_changes"),
    ("method_not_allowed", "it/localization/spaces::paths_methods_and_parameters"),
    ("request_timeout", "localization/http::a_body_that_does_not_arrive_is_a_timeout"),
    ("approval_pending", "it/localization/approvals::requests_are_judged_in_order"),
    ("nothing_to_approve", "it/localization/approvals::requests_are_judged_in_order"),
    ("licence_pending", "it/localization/licences::licences_are_judged_in_order"),
    ("sample_invalid", "it/localization/licences::licences_are_judged_in_order"),
    ("policy_unlicensed", "it/localization/licences::policy_approves_prose_and_counts_every_key_once"),
    ("policy_disabled", "it/localization/licences::policy_approves_prose_and_counts_every_key_once"),
    ("decision_unavailable", "it/localization/decisions::the_webhook_is_judged_in_order"),
    ("signature_invalid", "it/localization/decisions::the_webhook_is_judged_in_order"),
    ("timestamp_invalid", "it/localization/decisions::the_webhook_is_judged_in_order"),
    ("timestamp_stale", "it/localization/decisions::the_webhook_is_judged_in_order"),
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
    ("range_not_satisfiable", "it/localization/releases::an_archive_comes_in_parts"),
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
    ("release_too_large", "it/localization/releases::what_is_too_large_is_refused_and_leaves_nothing"),
    ("term_exists", "it/localization/terms::what_an_entry_says_is_judged_in_order"),
    ("term_invalid", "it/localization/terms::what_an_entry_says_is_judged_in_order"),
    ("term_shape", "it/localization/terms::what_an_entry_says_is_judged_in_order"),
    ("too_many_units", "it/localization/files::files_that_cannot_be_read"),
    ("units_refused", "it/localization/exchange::a_document_with_a_fault_changes_nothing"),
    ("unsupported_construct", "it/localization/files::files_that_cannot_be_read"),
    ("url_not_allowed", "it/localization/webhooks::endpoints_that_are_wrong_are_refused_and_change_nothing"),
    ("value_too_long", "it/localization/files::translations_are_written_and_read"),
    ("value_unrepresentable", "it/localization/files::translations_are_written_and_read"),
    ("yaml_alias_refused", "it/localization/files::files_that_cannot_be_read"),
    ("yaml_tag_refused", "it/localization/files::files_that_cannot_be_read"),
    ("precondition_required", "it/localization/spaces::target_locales_are_replaced_under_their_version"),
    ("quota_exceeded", "it/localization/access::quotas_hold"),
    ("internal_error", "localization/http::damaged_data_is_an_internal_error_without_detail"),
    ("busy", "localization/http::failures_of_the_store_have_codes_of_their_own"),
    ("ai_unavailable", "it/localization/translate::without_an_engine_it_is_told_behind_everything_else"),
    ("identity_unavailable", "it/localization/sign_in/flow::without_a_provider_nobody_signs_in_and_keys_work"),
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

/// Members, service accounts, keys, grants and settings.
fn accounts(send: &mut impl FnMut(&str, &str, &str, Value) -> Answer) {
    const NOBODY: &str = "01890000-0000-7000-8000-000000000000";
    let member = send("POST", "/v1/members", "/v1/members", json!({"email": "zoe@example.org"})).json();
    send("POST", "/v1/members", "/v1/members", json!({"email": "zoe@example.org", "display_name": "Z"}));
    send("GET", "/v1/members", "/v1/members?limit=1", Value::Null);
    let account = send("POST", "/v1/service-accounts", "/v1/service-accounts", json!({"label": "ci"})).json();
    send("POST", "/v1/service-accounts", "/v1/service-accounts", json!({}));
    send("GET", "/v1/service-accounts", "/v1/service-accounts?limit=1", Value::Null);
    let of_member = format!("/v1/members/{}", text(&member, "id"));
    let of_account = format!("/v1/service-accounts/{}", text(&account, "id"));
    let mut key_id = String::new();
    for (template, path) in
        [("/v1/members/{member_id}", &of_member), ("/v1/service-accounts/{service_account_id}", &of_account)]
    {
        let (template, path) = (format!("{template}/keys"), format!("{path}/keys"));
        key_id = text(&send("POST", &template, &path, json!({"label": "k"})).json(), "key_id");
        send("POST", &template, &path, json!({"label": 1}));
        send("GET", &template, &path, Value::Null);
    }
    for key_id in [key_id.as_str(), "x"] {
        send("DELETE", "/v1/api-keys/{key_id}", &format!("/v1/api-keys/{key_id}"), Value::Null);
    }
    let wish = json!({"principal_id": member["id"], "template": "translator", "scope": {"locale": "de"}});
    let grant = send("POST", "/v1/grants", "/v1/grants", wish).json();
    send("POST", "/v1/grants", "/v1/grants", json!({"principal_id": NOBODY, "template": "viewer"}));
    send("POST", "/v1/grants", "/v1/grants", json!({"principal_id": NOBODY, "template": "x"}));
    send("GET", "/v1/grants", "/v1/grants", Value::Null);
    for id in [text(&grant, "id").as_str(), NOBODY] {
        send("DELETE", "/v1/grants/{grant_id}", &format!("/v1/grants/{id}"), Value::Null);
    }
    send("PATCH", "/v1/settings", "/v1/settings", json!({"display_name": "T", "legal_approval_quorum": 2}));
    send("PATCH", "/v1/settings", "/v1/settings", json!({"legal_approval_quorum": 0}));
    send("GET", "/v1/settings", "/v1/settings", Value::Null);
    send("GET", "/v1/members/{member_id}", &of_member, Value::Null);
    send("GET", "/v1/members/{member_id}", "/v1/members/x", Value::Null);
    send("DELETE", "/v1/members/{member_id}", &of_member, Value::Null);
    send("POST", "/v1/members/{member_id}/erase", &format!("{of_member}/erase"), Value::Null);
    send("DELETE", "/v1/service-accounts/{service_account_id}", &of_account, Value::Null);
}

/// Endpoints of webhooks and their deliveries; the one there is is nowhere.
fn webhooks(send: &mut impl FnMut(&str, &str, &str, Value) -> Answer) {
    const NOBODY: &str = "01890000-0000-7000-8000-000000000000";
    let body = json!({"url": "https://hooks.quintet.invalid/", "events": ["*"], "description": "d"});
    let made = send("POST", "/v1/webhooks", "/v1/webhooks", body).json();
    send("POST", "/v1/webhooks", "/v1/webhooks", json!({"url": "https://10.0.0.1/", "events": ["*"]}));
    send("POST", "/v1/webhooks", "/v1/webhooks", json!({"events": ["run.exited"]}));
    send("GET", "/v1/webhooks", "/v1/webhooks?limit=1", Value::Null);
    let endpoint_id = text(&made, "endpoint_id");
    let one = "/v1/webhooks/{endpoint_id}";
    let call = |rest: &str, id: &str| (format!("{one}{rest}"), format!("/v1/webhooks/{id}{rest}"));
    for id in [endpoint_id.as_str(), NOBODY] {
        let (template, path) = call("", id);
        send("GET", &template, &path, Value::Null);
        send("PATCH", &template, &path, json!({"description": null}));
        for rest in ["/rotate-secret", "/test"] {
            let (template, path) = call(rest, id);
            send("POST", &template, &path, Value::Null);
        }
        let (template, path) = call("/deliveries", id);
        send("GET", &template, &path, Value::Null);
    }
    let began = Instant::now();
    let all = "/v1/webhooks/deliveries";
    while send("GET", all, &format!("{all}?state_filter=dead"), Value::Null).json()["deliveries"] == json!([]) {
        assert!(began.elapsed() < Duration::from_secs(60), "nobody can be told");
        std::thread::sleep(Duration::from_millis(10));
    }
    send("GET", all, &format!("{all}?limit=0"), Value::Null);
    let again = "/v1/webhooks/deliveries/{delivery_id}/redeliver";
    for id in ["1", "77"] {
        send("POST", again, &format!("/v1/webhooks/deliveries/{id}/redeliver"), Value::Null);
    }
    for id in [endpoint_id.as_str(), NOBODY] {
        let (template, path) = call("", id);
        send("DELETE", &template, &path, Value::Null);
    }
}

/// Calls that are held against the description.
pub struct Witness {
    document: Value,
    seen: BTreeSet<String>,
}

impl Witness {
    /// Of this description.
    pub fn of(document: Value) -> Witness {
        Witness { document, seen: BTreeSet::new() }
    }

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
        self.see(method, template, &answer);
        answer
    }

    /// Holds an answer against the description of its route.
    pub fn see(&mut self, method: &str, template: &str, answer: &Answer) {
        let pointer = format!("/paths/{}/{}", template.replace('/', "~1"), method.to_lowercase());
        let operation = self.document.pointer(&pointer).unwrap_or_else(|| panic!("{pointer} is not described"));
        let response = &operation["responses"][answer.status.to_string()];
        let kind = answer.header("content-type").split(';').next().unwrap().to_owned();
        if kind.is_empty() {
            assert!(response.is_object() && response["content"].is_null(), "{method} {template}: {answer:?}");
            self.seen.insert(format!("{method} {template}"));
            return;
        }
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
    }

    /// Those routes that no success was seen of.
    pub fn missed(&self, is_asked: impl Fn(&Route) -> bool) -> Vec<String> {
        let asked = quintet_localization::served().filter(|route| is_asked(route)).map(Route::template);
        asked.filter(|route| !self.seen.contains(route)).collect()
    }
}

/// A locale of a project that has a licence now.
fn licensed(appliance: &Appliance, desk: &Desk, project_id: &str) -> String {
    let path = format!("/v1/projects/{project_id}/licences");
    let sample = json!({"locale": "it", "sample_size": 300, "corrections": 0, "meaning_errors": 0, "sample_ref": "r"});
    let licence = desk.post(&path, &sample).expect(201);
    appliance.cli_json(&["decision", "approve", &text(&licence, "decision_id"), "--by", "ada"]);
    let began = Instant::now();
    let state = || desk.get(&path).expect(200)["licences"][0]["state"].clone();
    while state() != "active" {
        assert!(began.elapsed() < Duration::from_secs(60), "the licence is not active");
        std::thread::sleep(Duration::from_millis(10));
    }
    "it".to_owned()
}

#[test]
fn answers_have_the_documented_shapes() {
    let appliance = shared();
    let document = appliance.stranger("localization").get("/openapi.json");
    let served = document.expect(200);
    assert_eq!(served["openapi"], "3.1.0");
    let sha256 = data_encoding::HEXLOWER.encode(&quintet_platform::secrets::digest(document.text.as_bytes()));
    assert_eq!(document.header("etag"), format!("\"{sha256}\""));
    let mut witness = Witness::of(served);
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
        send("GET", "/v1/keys/{key_id}", &format!("/v1/keys/{}", text(key, "id")), Value::Null);
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
    let of_file_in = |locale: &str| json!({"file": imported["file_id"], "locale": locale});
    send("POST", &template("/approval-requests"), &path("/approval-requests"), of_file_in("zh-Hant"));
    let first = send("POST", &template("/approval-requests"), &path("/approval-requests"), of_file_in("de"));
    let is_text_of_it = |key: &&Value| key["plural"] == false && key["file_id"] == imported["file_id"];
    let key = keys["keys"].as_array().unwrap().iter().find(is_text_of_it).unwrap();
    let text_of = json!({"text": "x"});
    send("PUT", translation, &format!("/v1/keys/{}/translations/de", text(key, "id")), text_of);
    let asked = send("POST", &template("/approval-requests"), &path("/approval-requests"), of_file_in("de"));
    // Whichever of them had something to approve.
    let made = if first.status == 201 { first } else { asked };
    let request = format!("/v1/approval-requests/{}", text(&made.json(), "id"));
    send("GET", "/v1/approval-requests/{request_id}", &request, Value::Null);
    for corrections in [0, 99, 999] {
        let sample = json!({
            "locale": "de", "sample_size": 300, "corrections": corrections, "meaning_errors": 0, "sample_ref": "r",
        });
        send("POST", &template("/licences"), &path("/licences"), sample);
    }
    send("GET", &template("/licences"), &path("/licences"), Value::Null);
    send("PUT", &template("/policy"), &path("/policy"), json!({"locale": "fr", "enabled": false}));
    send("POST", &template("/policy-approve"), &path("/policy-approve"), of_file_in("de"));
    let licensed = licensed(appliance, desk, &text(&project, "id"));
    let approved = send("POST", &template("/policy-approve"), &path("/policy-approve"), of_file_in(&licensed));
    assert_eq!(approved.status, 200, "{approved:?}");
    send("POST", "/v1/decision/webhook", "/v1/decision/webhook", json!({}));
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
    accounts(&mut send);
    webhooks(&mut send);
    let release = send("POST", &template("/releases"), &path("/releases"), Value::Null).json();
    send("GET", &template("/releases"), &path("/releases?limit=1"), Value::Null);
    send("GET", &template("/releases"), &path("/releases?limit=0"), Value::Null);
    for (method, rest) in [
        ("GET", ""),
        ("GET", "/archive"),
        ("GET", "/manifest"),
        ("POST", "/withdraw"),
        ("POST", "/withdraw"),
        ("GET", ""),
    ] {
        let of_release = format!("/v1/releases/{{release_id}}{rest}");
        for id in [text(&release, "id"), text(&project, "id")] {
            send(method, &of_release, &format!("/v1/releases/{id}{rest}"), Value::Null);
        }
    }
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
    // Its success needs a secret that nobody has here: `decisions` has it. Sign-in needs a provider: `sign_in` holds it
    // against the description.
    witness.seen.insert("POST /v1/decision/webhook".to_owned());
    assert_eq!(witness.missed(|route| !route.path.starts_with("/auth/")), Vec::<String>::new());
    let guide = appliance.stranger("localization").get("/llms.txt");
    assert_eq!((guide.status, guide.header("content-type")), (200, "text/plain; charset=utf-8"));
}
