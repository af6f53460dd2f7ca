//! kill -9 of the real binary under load: everything that was answered is there, nothing is there twice.
//!
//! `QUINTET_KILLS=N` makes more rounds.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::appliance::{Appliance, Client, Setup};

const CALLERS: usize = 16;
const ACCOUNTS: usize = 8;

/// One posting as it was sent, and what came back if anything did.
pub struct Posting {
    pub key: String,
    pub body: Value,
    pub answer: Option<Value>,
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_happens_twice() {
    let rounds = std::env::var("QUINTET_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(4);
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let mut appliance = Setup::new().on(&data).start();
    let tenant = appliance.tenant();
    let (_, api_key) = appliance.key(&tenant, &["ledger_admin", "ledger_poster", "ledger_reader"]);
    let accounts = make_accounts(&appliance.client("ledger", &api_key));
    let mut all: Vec<Posting> = Vec::new();
    for round in 0..rounds {
        let unanswered = post_until_killed(appliance, &api_key, &accounts, round, &mut all);
        appliance = Setup::new().on(&data).start();
        let client = appliance.client("ledger", &api_key);
        for posting in unanswered {
            // Whether it had happened or not: the same key makes it have happened once.
            let answer = client.post_under(&posting.key, "/v1/transactions", &posting.body).expect(201);
            all.push(Posting { answer: Some(answer), ..posting });
        }
        check_transactions(&client, &all, round);
        check_balances(&client, &accounts, &all);
    }
    println!("{rounds} kills, {} postings acknowledged, none lost, none twice", all.len());
    assert!(all.len() > rounds * 20, "only {} postings in {rounds} rounds", all.len());
    assert_eq!(appliance.stop(), Some(0));
}

/// Accounts that anything may be posted between.
pub fn make_accounts(client: &Client) -> Vec<String> {
    let asset = json!({"code": "EUR", "kind": "fiat", "scale": 2});
    let asset = client.post("/v1/asset-types", &asset).expect(201)["asset_type_id"].clone();
    let account = |n: usize| {
        let body = json!({
            "asset_type_id": asset, "name": format!("account {n}"), "normal_side": "debit", "balance_floor": null,
        });
        client.post("/v1/accounts", &body).expect(201)["account_id"].as_str().unwrap().to_string()
    };
    (0..ACCOUNTS).map(account).collect()
}

/// Posts with many callers, kills the appliance in the middle; the postings nobody answered.
fn post_until_killed(
    appliance: Appliance,
    api_key: &str,
    accounts: &[String],
    round: usize,
    all: &mut Vec<Posting>,
) -> Vec<Posting> {
    let dead = AtomicBool::new(false);
    let sent = AtomicU64::new(0);
    let done = Mutex::new(Vec::new());
    let client = appliance.client("ledger", api_key);
    std::thread::scope(|scope| {
        for caller in 0..CALLERS {
            let (client, dead, sent, done) = (client.clone(), &dead, &sent, &done);
            scope.spawn(move || {
                while !dead.load(Ordering::Relaxed) {
                    let n = sent.fetch_add(1, Ordering::Relaxed);
                    let posting = post_one(&client, accounts, format!("round-{round}-{caller}-{n}"), n);
                    done.lock().unwrap().push(posting);
                }
            });
        }
        let wanted = 60 + 40 * round as u64;
        while sent.load(Ordering::Relaxed) < wanted {
            std::thread::sleep(Duration::from_millis(1));
        }
        appliance.kill();
        dead.store(true, Ordering::Relaxed);
    });
    let (answered, unanswered) = done.into_inner().unwrap().into_iter().partition(|p: &Posting| p.answer.is_some());
    all.extend::<Vec<Posting>>(answered);
    unanswered
}

/// Posts between two of the accounts; which ones and how much follows from `n`.
pub fn post_one(client: &Client, accounts: &[String], key: String, n: u64) -> Posting {
    let from = &accounts[n as usize % accounts.len()];
    let to = &accounts[(n as usize + 1 + n as usize / 7 % (accounts.len() - 1)) % accounts.len()];
    let amount = format!("{}.{:02}", n % 90 + 1, n % 100);
    let body = json!({
        "description": key,
        "pending": false,
        "entries": [
            {"account_id": to, "direction": "debit", "amount": amount},
            {"account_id": from, "direction": "credit", "amount": amount},
        ],
    });
    // A connection that the kill has cut is no answer.
    let answer = client.try_post_under(&key, "/v1/transactions", &body).map(|answer| answer.expect(201));
    Posting { key, body, answer }
}

/// The newest round's postings are all there, and a sample of the older ones.
fn check_transactions(client: &Client, all: &[Posting], round: usize) {
    let prefix = format!("round-{round}-");
    for (n, posting) in all.iter().enumerate().filter(|(n, posting)| posting.key.starts_with(&prefix) || n % 17 == 0) {
        let id = posting.answer.as_ref().unwrap()["transaction_id"].as_str().unwrap();
        let found = client.get(&format!("/v1/transactions/{id}")).expect(200);
        assert_eq!(found["state"], "committed", "posting {n}");
        assert_eq!(found["description"], posting.body["description"]);
        assert_eq!(found["entries"].as_array().unwrap().len(), 2);
    }
}

/// The counters are the sum of what was acknowledged: no more, no less.
pub fn check_balances(client: &Client, accounts: &[String], all: &[Posting]) {
    let mut expected: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for entry in all.iter().flat_map(|posting| posting.body["entries"].as_array().unwrap()) {
        let minor: u64 = entry["amount"].as_str().unwrap().replace('.', "").parse().unwrap();
        let place = (entry["account_id"].as_str().unwrap(), entry["direction"].as_str().unwrap());
        *expected.entry(place).or_default() += minor;
    }
    for account in accounts {
        let balance = client.get(&format!("/v1/accounts/{account}/balance")).expect(200);
        for (direction, field) in [("debit", "debits_minor"), ("credit", "credits_minor")] {
            let sum = expected.get(&(account.as_str(), direction)).copied().unwrap_or(0).to_string();
            assert_eq!(balance["posted"][field], sum, "{field} of {account}");
        }
    }
}
