//! The ledger's pages: who sees them, statements that add up, and what is saved of them.

use serde_json::{Value, json};

use super::{Browser, appliance, member_link};
use crate::ledger::{Books, text, transfer};
use crate::support::appliance::Answer;

/// A name that would do something in a page, or in a spreadsheet.
const HOSTILE: &str = "=HYPERLINK(\"x\")<script>\u{202e}";

/// Somebody of a tenant with these permissions.
fn member(tenant: &str, email: &str, permissions: &[&str]) -> Browser {
    let mut arguments = vec!["member", "create", email, "--tenant", tenant];
    arguments.extend(permissions.iter().flat_map(|name| ["--permission", *name]));
    appliance().cli_json(&arguments);
    Browser::at(appliance(), "console").sign_in(&member_link(appliance(), tenant, email))
}

fn reader(books: &Books) -> Browser {
    member(&books.tenant_id, "ann@example.org", &["ledger_reader"])
}

/// What stands in the elements with this id.
#[track_caller]
fn figure<'t>(page: &'t str, id: &str) -> &'t str {
    let from = page.split(&format!("id=\"{id}\">")).nth(1).unwrap_or_else(|| panic!("no {id}: {page}"));
    from.split('<').next().unwrap()
}

/// A decimal of two digits in minor units.
fn cents(text: &str) -> i64 {
    text.trim_start_matches('+').replace('.', "").parse().unwrap_or_else(|_| panic!("{text}"))
}

/// The changes and the balances of a statement's page, the newest first.
fn lines(page: &str) -> Vec<(i64, i64)> {
    let rows = page.split("id=\"closing\"").nth(1).unwrap().split("<tr>").skip(1);
    let cells = |row: &str| -> Vec<i64> {
        let parts = row.split("<td class=\"number\">").skip(1);
        parts.map(|part| cents(part.split('<').next().unwrap())).collect()
    };
    rows.map(cells).filter(|cells| cells.len() == 2).map(|cells| (cells[0], cells[1])).collect()
}

/// Where a page leads on.
fn next(answer: &Answer) -> Option<String> {
    let link = answer.text.split("\" rel=\"next\"").next().filter(|text| text.len() < answer.text.len())?;
    Some(link.rsplit("href=\"").next()?.replace("&amp;", "&").replace("&#38;", "&"))
}

#[test]
fn who_may_not_read_finds_nothing() {
    let books = Books::open(appliance());
    let account = books.account("credit");
    let stranger = member(&books.tenant_id, "max@example.org", &["svc_run_read"]);
    let page = format!("/ledger/accounts/{account}");
    for path in ["/ledger", &page, &format!("{page}/statement.csv")] {
        assert_eq!(stranger.get(path).status, 404, "{path}");
    }
    let reader = reader(&books);
    assert_eq!((reader.get("/ledger").status, reader.get(&page).status), (200, 200));
    // What is another tenant's is not there.
    let other = Books::open(appliance());
    let elsewhere = format!("/ledger/accounts/{}", other.account("credit"));
    for path in [&elsewhere, &format!("{elsewhere}/statement.csv")] {
        assert_eq!(reader.get(path).status, 404, "{path}");
    }
    for nonsense in ["/ledger/accounts/x", "/ledger/transactions/x", "/ledger/accounts/..%2Fasset-types"] {
        assert!([400, 404].contains(&reader.get(nonsense).status), "{nonsense}");
    }
    assert_eq!(reader.post(&page, "").status, 405, "nothing is written here");
}

/// Hundreds of entries, holds among them that are committed later than others were posted: each page adds up, and where one
/// ends the next begins.
#[test]
fn a_statement_adds_up_over_all_its_pages() {
    let books = Books::open(appliance());
    let (source, account) = (books.source(), books.account("credit"));
    let held = text(&books.hold(&source, &account, "7.00").expect(201), "transaction_id");
    let given_up = text(&books.hold(&source, &account, "9.00").expect(201), "transaction_id");
    for amounts in [1..=100, 101..=150] {
        let all: Vec<Value> = amounts.map(|cents| transfer(&source, &account, &format!("{cents}.01"))).collect();
        let body = json!({"atomic": true, "transactions": all});
        books.client.post("/v1/transactions/bulk", &body).expect(200);
    }
    books.post(&account, &source, "300.33").expect(201);
    books.settle(&held, "commit").expect(200);
    books.settle(&given_up, "void").expect(200);
    let browser = reader(&books);
    let path = format!("/ledger/accounts/{account}");
    let mut answer = browser.get(&path);
    let available = books.available(&account);
    assert_eq!(figure(&answer.text, "closing"), available);
    let (mut pages, mut changes) = (0, Vec::new());
    loop {
        assert_eq!(answer.status, 200, "{answer:?}");
        let (opening, closing) =
            (figure(&answer.text, "opening").to_owned(), figure(&answer.text, "closing").to_owned());
        let shown = lines(&answer.text);
        assert_eq!(shown[0].1, cents(&closing));
        for pair in shown.windows(2) {
            assert_eq!(pair[0].1 - pair[0].0, pair[1].1, "a line is the balance of the one before it and its change");
        }
        let last = shown[shown.len() - 1];
        assert_eq!(last.1 - last.0, cents(&opening));
        changes.extend(shown.iter().map(|(change, _)| *change));
        pages += 1;
        let Some(link) = next(&answer) else {
            assert_eq!(opening, "0.00");
            break;
        };
        // What is posted meanwhile changes nothing of a statement that is being read.
        books.post(&source, &account, "1000.00").expect(201);
        answer = browser.get(&link);
        assert_eq!(figure(&answer.text, "closing"), opening, "where one page ends the next begins");
    }
    assert_eq!((pages, changes.len()), (2, 152), "what was voided is in none");
    assert_eq!(changes.iter().sum::<i64>(), cents(&available));
    assert!(answer.text.contains("role=\"img\" aria-label=\"Balance, from "), "{}", answer.text);
    let voided = browser.get(&format!("{path}?state=voided")).text;
    assert!(voided.contains("9.00") && voided.contains(">voided<"), "{voided}");
}

#[test]
fn balances_are_told_by_both_clocks() {
    let books = Books::open(appliance());
    let (source, account) = (books.source(), books.account("credit"));
    let mut backfilled = transfer(&source, &account, "5.00");
    backfilled["effective_at"] = json!("2020-06-01T00:00:00Z");
    books.client.post("/v1/transactions", &backfilled).expect(201);
    let browser = reader(&books);
    let path = format!("/ledger/accounts/{account}");
    let page = browser.get(&format!("{path}?at=2021-01-01T12%3A30")).text;
    assert!(page.contains("value=\"2021-01-01T12:30:00\""), "{page}");
    let rows: Vec<&str> =
        page.split("<th scope=\"row\">").filter(|row| row.contains("movements") || row.contains("learned")).collect();
    assert!(rows[0].contains(">5.00<") && rows[1].contains(">0.00<"), "{rows:?}");
    assert_eq!(figure(&page, "closing"), "0.00", "the ledger did not know of it then");
    for wrong in ["soon", "2999-01-01T00%3A00"] {
        let page = browser.get(&format!("{path}?at={wrong}"));
        assert_eq!(page.status, 422, "{wrong}");
        assert!(page.text.contains("role=\"alert\"") && figure(&page.text, "closing") == "5.00", "{}", page.text);
    }
    assert_eq!(browser.get(&format!("{path}?after={account}")).status, 404);
}

#[test]
fn names_are_text_in_pages_and_in_files() {
    let books = Books::open(appliance());
    let body = json!({"asset_type_id": books.asset_type_id, "name": HOSTILE, "normal_side": "credit"});
    let account = text(&books.client.post("/v1/accounts", &body).expect(201), "account_id");
    let source = books.source();
    let mut posting = transfer(&source, &account, "12.34");
    posting["description"] = json!(HOSTILE);
    let made = text(&books.client.post("/v1/transactions", &posting).expect(201), "transaction_id");
    let browser = reader(&books);
    let path = format!("/ledger/accounts/{account}");
    for page in ["/ledger", &path, &format!("/ledger/transactions/{made}")] {
        let answer = browser.get(page);
        assert_eq!(answer.status, 200, "{page}");
        assert!(answer.text.contains("&lt;script&gt;<span class=\"char\">U+202E</span>"), "{page}: {}", answer.text);
        assert!(!answer.text.contains("<script>"), "{page}");
    }
    let file = browser.get(&format!("{path}/statement.csv"));
    assert_eq!((file.status, file.header("content-type")), (200, "text/csv; charset=utf-8"));
    assert_eq!(file.header("content-disposition"), format!("attachment; filename=\"statement-{account}.csv\""));
    let mut records = file.text.split("\r\n");
    assert_eq!(records.next().unwrap().split(',').count(), 11);
    let record = records.next().unwrap();
    assert!(record.starts_with("\"'=HYPERLINK(\"\"x\"\")<script>\u{202e}\",\"EUR"), "{record}");
    assert!(record.ends_with(",credit,12.34,12.34,12.34"), "{record}");
    assert_eq!((records.next(), records.next()), (Some(""), None));
}
