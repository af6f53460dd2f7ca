//! The operator's side of the ledger: quotas, proofs, balances, searches, exports, explanations.

use serde_json::{Value, json};

use crate::ledger::{Books, FUTURE, refused, text, transfer};
use crate::support::appliance::{Setup, run, shared, stderr, stdout};

#[test]
fn quotas_are_set_and_kept() {
    let appliance = Setup::new().rehearsal().start();
    let books = Books::open(&appliance);
    let quota = |more: &[&str]| {
        let arguments = [&["tenant", "quota", &books.tenant_id, "--service", "ledger"], more].concat();
        appliance.cli_json(&arguments)
    };
    let before = quota(&[]);
    assert_eq!((&before["monthly_calls"], &before["burst_per_second"]), (&Value::Null, &Value::Null));
    let used = before["calls"].as_u64().unwrap();
    assert_eq!(used, 1, "the asset type");
    let set = quota(&["--monthly-calls", "4"]);
    assert_eq!((&set["monthly_calls"], &set["burst_per_second"]), (&json!(4), &Value::Null));
    for _ in 0..2 {
        books.client.get("/v1/accounts").expect(200);
    }
    // Sub-tenants use up their parent's.
    let partner = appliance.persona("ledger", &books.tenant_id, &["ledger_partner"]);
    let body = json!({"name": "c", "kind": "sandbox", "contact_email": "a@example.com"});
    partner.post("/v1/sub-tenants", &body).expect(201);
    let answer = books.client.get("/v1/accounts");
    refused(&answer, 429, "QUOTA_EXCEEDED");
    let seconds: u64 = answer.header("retry-after").parse().unwrap();
    assert!(seconds > 0 && seconds <= 31 * 86_400, "{seconds}");
    // Who is not let in does not count, and is told so first.
    let reader = appliance.persona("ledger", &books.tenant_id, &["ledger_reader"]);
    refused(&reader.post("/v1/accounts", &json!({})), 403, "FORBIDDEN");
    assert_eq!(quota(&[])["calls"], 4);
    // A new month.
    assert!(appliance.cli(&["clock", "advance", &seconds.to_string()]).status.success());
    books.client.get("/v1/accounts").expect(200);
    assert_eq!(quota(&[])["calls"], 1);
    let lifted = quota(&["--monthly-calls", "unlimited", "--burst-per-second", "1"]);
    assert_eq!((&lifted["monthly_calls"], &lifted["burst_per_second"]), (&Value::Null, &json!(1)));
    let statuses: Vec<u16> = (0..10).map(|_| books.client.get("/v1/accounts").status).collect();
    assert!(statuses.contains(&200) && statuses.contains(&429), "{statuses:?}");
    quota(&["--burst-per-second", "unlimited"]);

    let refusal = |arguments: &[&str]| {
        let output = appliance.cli(arguments);
        (output.status.code(), stderr(&output))
    };
    let (code, reason) = refusal(&["tenant", "quota", &books.tenant_id, "--service", "ledger", "--monthly-calls", "x"]);
    assert_eq!(code, Some(2), "{reason}");
    let (code, reason) = refusal(&["tenant", "quota", &books.tenant_id, "--service", "larder"]);
    assert_eq!(code, Some(2), "{reason}");
    let (code, reason) =
        refusal(&["tenant", "quota", &books.tenant_id, "--service", "ledger", "--burst-per-second", "0"]);
    assert!(code == Some(2) && reason.contains("at least 1"), "{reason}");
    let (code, reason) = refusal(&["tenant", "quota", "c", "--service", "ledger", "--monthly-calls", "1"]);
    assert!(code == Some(2) && reason.contains("parent"), "{reason}");
    let (code, _) = refusal(&["tenant", "quota", "nobody", "--service", "ledger"]);
    assert_eq!(code, Some(1));
}

#[test]
fn usage_survives_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let appliance = Setup::new().on(&data).rehearsal().start();
    let books = Books::open(&appliance);
    assert!(appliance.cli(&["clock", "advance", "60"]).status.success());
    assert_eq!(appliance.stop(), Some(0));
    let appliance = Setup::new().on(&data).rehearsal().start();
    let quota = appliance.cli_json(&["tenant", "quota", &books.tenant_id, "--service", "ledger"]);
    assert_eq!(quota["calls"], 1);
}

/// A ledger with a posting, a backdated one with texts, a hold, and one that was voided.
fn some_books() -> (Books, String, String) {
    let books = Books::open(shared());
    let (source, alice) = (books.source(), books.account("credit"));
    books.post(&source, &alice, "10.00").expect(201);
    let mut body = transfer(&source, &alice, "2.50");
    body["description"] = json!("Rent, \"March\"; paid");
    body["external_id"] = json!("order-7");
    body["metadata"] = json!({"project": "alpha", "number": 7});
    body["effective_at"] = json!("2020-03-01T00:00:00Z");
    books.client.post("/v1/transactions", &body).expect(201);
    let hold = text(&books.hold(&alice, &source, "1.00").expect(201), "transaction_id");
    books.settle(&hold, "void").expect(200);
    books.hold(&alice, &source, "3.00").expect(201);
    (books, source, alice)
}

#[test]
fn the_proof_and_the_trial_balance_agree() {
    let (books, source, alice) = some_books();
    let proof = shared().cli_json(&["ledger", "prove"]);
    assert_eq!((&proof["findings_total"], &proof["findings"]), (&json!(0), &json!([])));
    assert!(proof["transactions"].as_u64().unwrap() >= 4, "{proof}");
    assert!(stdout(&shared().cli(&["ledger", "prove"])).contains("Everything fits."));

    let balance = shared().cli_json(&["ledger", "trial-balance", "--tenant", &books.tenant_id]);
    assert_eq!(balance["balanced"], true);
    let row = |id: &str| {
        let rows = balance["items"].as_array().unwrap();
        rows.iter().find(|row| row["account_id"] == id).unwrap().clone()
    };
    assert_eq!((&row(&source)["debits_minor"], &row(&alice)["credits_minor"]), (&json!("1250"), &json!("1250")));
    assert_eq!(balance["totals"][0]["debits"], "12.50");
    assert_eq!(balance["totals"][0]["credits"], "12.50");
    let shown = stdout(&shared().cli(&["ledger", "trial-balance", "--tenant", &books.tenant_id]));
    assert!(shown.contains("posted debits 12.50, posted credits 12.50"), "{shown}");
    let nobody = shared().cli(&["ledger", "trial-balance", "--tenant", "no such tenant"]);
    assert_eq!(nobody.status.code(), Some(1));
}

#[test]
fn transactions_are_found() {
    let (books, source, alice) = some_books();
    let find = |filters: &[&str]| {
        let found = shared().cli_json(&[&["ledger", "search", "--tenant", &books.tenant_id], filters].concat());
        found["items"].as_array().unwrap().len()
    };
    assert_eq!(find(&[]), 4);
    assert_eq!(find(&["--limit", "3"]), 3);
    assert_eq!(find(&["--account", &source]), 4);
    assert_eq!(find(&["--account", &alice, "--external-id", "order-7"]), 1);
    assert_eq!(find(&["--account", &books.tenant_id]), 0);
    assert_eq!(find(&["--external-id", "order-8"]), 0);
    assert_eq!(find(&["--description", "rent, \"march"]), 1);
    assert_eq!(find(&["--metadata", "project=alpha"]), 1);
    assert_eq!(find(&["--metadata", "number=7"]), 1);
    assert_eq!(find(&["--metadata", "number=8"]), 0);
    assert_eq!(find(&["--metadata", "alpha"]), 1);
    assert_eq!(find(&["--since", FUTURE]), 0);
    assert_eq!(find(&["--until", FUTURE]), 4);
    assert_eq!(find(&["--since", "2020-01-01T00:00:00Z", "--until", "2020-12-31T00:00:00Z"]), 0);
    let wrong = shared().cli(&["ledger", "search", "--tenant", &books.tenant_id, "--since", "yesterday"]);
    assert_eq!(wrong.status.code(), Some(2), "{}", stderr(&wrong));
    let shown = stdout(&shared().cli(&["ledger", "search", "--tenant", &books.tenant_id]));
    assert!(shown.contains("order-7") && shown.contains("voided"), "{shown}");
}

#[test]
fn journals_are_exported_in_three_forms() {
    let (books, _, alice) = some_books();
    let export = |format: &str| {
        let output = shared().cli(&["ledger", "export", "--tenant", &books.tenant_id, "--format", format]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output)
    };
    let lines: Vec<Value> = export("jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[1]["metadata"], json!({"project": "alpha", "number": 7}));
    assert_eq!(lines[2]["state"], "voided");
    let csv = export("csv");
    assert_eq!(csv.lines().count(), 9, "{csv}");
    assert!(csv.contains("\"Rent, \"\"March\"\"; paid\""), "{csv}");
    let hledger = export("hledger");
    assert!(hledger.contains(&format!("account {alice}  -2.50 ")), "{hledger}");
    assert!(hledger.contains("= -12.50 "), "{hledger}");
    assert!(hledger.contains("* (order-7) Rent, \"March\", paid"), "{hledger}");
}

/// hledger itself reads the journal, proves every assertion, and comes to the balances of the trial balance.
#[test]
fn hledger_reads_its_export_and_agrees() {
    let (books, source, alice) = some_books();
    let texts = ["(x) y", "* starred", "! = 5", "=2020-01-01", "a | b ; c", "\u{1f600}\ttab\nline", "  ", "1.5 EUR"];
    for (number, description) in texts.into_iter().enumerate() {
        let mut body = transfer(&source, &alice, "0.01");
        body["description"] = json!(description);
        body["external_id"] = json!(format!(") {description} ({number}"));
        books.client.post("/v1/transactions", &body).expect(201);
        let name = format!("{description}\t: x  y;{number}");
        let odd = json!({"asset_type_id": books.asset_type_id, "name": name, "normal_side": "credit"});
        let odd = text(&books.client.post("/v1/accounts", &odd).expect(201), "account_id");
        books.post(&source, &odd, "0.10").expect(201);
    }
    let output = shared().cli(&["ledger", "export", "--tenant", &books.tenant_id, "--format", "hledger"]);
    let directory = tempfile::tempdir().unwrap();
    let journal = directory.path().join("books.journal");
    std::fs::write(&journal, output.stdout).unwrap();
    let hledger = |arguments: &[&str]| {
        let mut command = std::process::Command::new("hledger");
        let output = command.arg("-f").arg(&journal).args(arguments).env("LANG", "C.UTF-8").output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    hledger(&["check", "assertions", "ordereddates"]);
    let balances = hledger(&["balance", "--no-total", "--flat", "-O", "csv"]);
    let trial = shared().cli_json(&["ledger", "trial-balance", "--tenant", &books.tenant_id]);
    let rows = trial["items"].as_array().unwrap();
    assert!(rows.len() >= 10, "{trial}");
    for row in rows {
        let minor = |side: &str| row[side].as_str().unwrap().parse::<i128>().unwrap();
        let balance = minor("debits_minor") - minor("credits_minor");
        let line = balances.lines().find(|line| line.contains(row["account_id"].as_str().unwrap()));
        let digits = |text: &str| text.chars().filter(|c| c.is_ascii_digit() || *c == '-').collect::<String>();
        let theirs = line
            .map_or(0, |line| digits(line.rsplit(",\"").next().unwrap().split(' ').next().unwrap()).parse().unwrap());
        assert_eq!(theirs, balance, "{row} {line:?}");
    }
}

#[test]
fn every_code_is_explained() {
    let all = run(&["ledger", "explain", "--json"]);
    let all: Value = serde_json::from_str(&stdout(&all)).unwrap();
    assert_eq!(all["items"].as_array().unwrap().len(), quintet_ledger::EXPLANATIONS.len());
    let one = stdout(&run(&["ledger", "explain", "hold_expired"]));
    assert!(one.starts_with("410 HOLD_EXPIRED\n") && one.contains("cure "), "{one}");
    let retried = stdout(&run(&["ledger", "explain", "LOCK_TIMEOUT"]));
    assert!(retried.contains("same Idempotency-Key"), "{retried}");
    let unknown = run(&["ledger", "explain", "NO_SUCH_CODE"]);
    assert_eq!(unknown.status.code(), Some(1));
}
