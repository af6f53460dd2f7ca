//! What black-box tests cannot bring about: a store that has stopped, a reader beside a posting that is under way,
//! bodies that fail on their way, and the size of a posting on disk.

use std::path::Path;

use axum::body::Body;
use axum::response::Response;
use http::{Method, StatusCode};
use http_body_util::BodyExt as _;
use quintet_platform::Foundation;
use quintet_platform::access::{Authority, Service};
use quintet_platform::clock::parse_rfc3339;
use quintet_platform::idempotency::{RequestDigest, Scope};
use quintet_platform::service::{Answer, Entered, describe, once};
use quintet_storage::{Abort, Failure, Store, Timestamp, WriteTx};
use quintet_support::tenant_and_key;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::context::TURNS;
use super::dialect::of_verb;
use super::transactions::write_posted;
use super::*;
use crate::accounts::{self, CreateAccount, FloorInput};
use crate::asset_types::{self, CreateAssetType};
use crate::model::{AccountId, Kind, Side, TenantId, Tracking};
use crate::money::Amount;
use crate::posting::{self, NewEntry, PostTransaction};
use crate::refusal::Refusal;

struct Room {
    context: Context,
    tenant_id: TenantId,
    api_key: String,
    directory: tempfile::TempDir,
}

impl Room {
    fn open() -> Room {
        let (directory, store, clock) = quintet_support::store_of_a_room(crate::TABLES);
        let permissions = ["ledger_admin", "ledger_partner", "ledger_poster", "ledger_reader"];
        let (tenant_id, api_key) = tenant_and_key(&store, Service::Ledger, &permissions);
        let context = Context::new(Foundation::new(store, clock, Authority::Embedded), 0, 0);
        Room { context, tenant_id: TenantId(tenant_id), api_key, directory }
    }

    async fn call(&self, method: Method, path: &str, key: &str, body: &Value) -> (StatusCode, Response, Value) {
        self.send(method, path, key, Body::from(body.to_string())).await
    }

    async fn send(&self, method: Method, path: &str, key: &str, body: Body) -> (StatusCode, Response, Value) {
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {}", self.api_key))
            .header("idempotency-key", key)
            .body(body)
            .unwrap();
        let mut response = routes(self.context.clone()).oneshot(request).await.unwrap();
        let bytes = std::mem::take(response.body_mut()).collect().await.unwrap().to_bytes();
        let value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        (response.status(), response, value)
    }
}

#[tokio::test]
async fn every_route_is_served_and_asks_for_a_key() {
    let room = Room::open();
    for route in crate::served() {
        let path = route.path.replace("{id}", "01890000-0000-7000-8000-000000000000").replace("{key_id}", "x");
        let request = http::Request::builder().method(route.method.as_str()).uri(&path).body(Body::empty()).unwrap();
        let response = routes(room.context.clone()).oneshot(request).await.unwrap();
        let expected = if route.permission.is_empty() { 200 } else { 401 };
        assert_eq!(response.status().as_u16(), expected, "{}", route.template());
    }
    room.context.store.shutdown();
}

#[tokio::test]
async fn a_store_that_has_stopped_still_reads_and_replays() {
    let room = Room::open();
    let body = json!({"code": "EUR", "kind": "fiat", "scale": 2});
    let (status, _, first) = room.call(Method::POST, "/v1/asset-types", "k1", &body).await;
    assert_eq!(status, 201);
    room.context.store.shutdown();

    let (status, response, error) = room.call(Method::POST, "/v1/asset-types", "k2", &body).await;
    assert_eq!((status.as_u16(), &error["error"]["code"]), (503, &json!("STATEMENT_TIMEOUT")));
    assert!(response.headers().contains_key("retry-after"));
    let (status, response, again) = room.call(Method::POST, "/v1/asset-types", "k1", &body).await;
    assert_eq!((status.as_u16(), again), (201, first));
    assert_eq!(response.headers()["idempotent-replayed"], "true");
    let (status, _, listed) = room.call(Method::GET, "/v1/asset-types", "", &body).await;
    assert_eq!((status.as_u16(), listed["asset_types"].as_array().unwrap().len()), (200, 1));
}

#[tokio::test]
async fn a_body_that_breaks_off_is_not_the_last_word() {
    let room = Room::open();
    let text = json!({"code": "EUR", "kind": "fiat", "scale": 2}).to_string();
    // A body that fails before its end, as one does whose connection breaks.
    let cut = Body::new(http_body_util::Limited::new(Body::from(text.clone()), 5));
    let (status, response, error) = room.send(Method::POST, "/v1/asset-types", "k", cut).await;
    assert_eq!((status.as_u16(), &error["error"]["code"]), (400, &json!("INVALID_REQUEST")));
    assert!(!response.headers().contains_key("retry-after"));
    let (status, response, _) = room.send(Method::POST, "/v1/asset-types", "k", Body::from(text)).await;
    assert_eq!(status, 201, "nothing was remembered under the key");
    assert!(!response.headers().contains_key("idempotent-replayed"));
    room.context.store.shutdown();
}

#[tokio::test]
async fn a_balance_lacks_nothing_up_to_its_instant() {
    let room = Room::open();
    let tenant_id = room.tenant_id;
    let accounts = run(&room.context.store, move |tx, now| open_accounts(tx, now, tenant_id, 2));
    let path = format!("/v1/accounts/{}/balance", accounts[0]);
    // A posting has its instant, and is not done.
    let (began, beginning) = std::sync::mpsc::channel();
    let (finish, finishing) = std::sync::mpsc::channel::<()>();
    let store = room.context.store.clone();
    let posting = std::thread::spawn(move || {
        run(&store, move |tx, now| {
            began.send(now).unwrap();
            finishing.recv().unwrap();
            let entry = |account: usize, direction| NewEntry {
                account_id: accounts[account],
                direction,
                amount: Amount::parse("1").unwrap(),
            };
            let entries = vec![entry(0, Side::Debit), entry(1, Side::Credit)];
            posting::post_transaction(tx, now, immediate(tenant_id, entries))
        })
    });
    let posted_at = beginning.recv().unwrap();
    while room.context.clock.now() <= posted_at.plus_micros(1000) {
        std::thread::yield_now();
    }
    let read = async || {
        let (status, _, balance) = room.call(Method::GET, &path, "", &Value::Null).await;
        assert_eq!(status, 200);
        (balance["version"].as_u64().unwrap(), parse_rfc3339(balance["as_of"].as_str().unwrap()).unwrap())
    };
    let (version, as_of) = read().await;
    assert!(version == 0 && as_of < posted_at, "without the posting at {posted_at:?}: {as_of:?}");
    finish.send(()).unwrap();
    assert_eq!(posting.join().unwrap().created_at, posted_at);
    let (version, as_of) = read().await;
    assert!(version == 1 && as_of >= posted_at, "with the posting at {posted_at:?}: {as_of:?}");
    room.context.store.shutdown();
}

#[test]
fn nothing_that_is_said_of_it_is_loose() {
    assert_eq!(describe::loose_ends::<Ledger>(ENDPOINTS), Vec::<String>::new());
}

#[tokio::test]
async fn a_panic_answers_in_the_envelope() {
    let response = refuse::<Ledger>(Fault::Internal, &http::Extensions::new());
    assert_eq!(response.status(), 500);
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let expected = br#"{"error":{"code":"INTERNAL_ERROR","message":"Something went wrong inside the ledger."}}"#;
    assert_eq!(bytes, expected.as_slice());
}

/// The budget is 700 bytes, compacted. Here nothing is compacted but only flushed, and the accounts are counted in.
#[test]
fn a_posting_fits_its_budget_on_disk() {
    const POSTINGS: u64 = 30_000;
    const ACCOUNTS: u64 = 1_000;
    let room = Room::open();
    let tenant_id = room.tenant_id;
    let accounts = run(&room.context.store, move |tx, now| open_accounts(tx, now, tenant_id, ACCOUNTS));
    let store = room.context.store.clone();
    for batch in 0..POSTINGS / 500 {
        let accounts = accounts.clone();
        run(&store, move |tx, now| {
            for number in batch * 500..(batch + 1) * 500 {
                post_between(tx, now, tenant_id, &accounts, number)?;
            }
            Ok(())
        });
    }
    store.shutdown();
    let each = tables_bytes(room.directory.path()) / POSTINGS;
    println!("{each} bytes a posting");
    assert!(each <= 700, "{each} bytes a posting");
}

/// The `number`th posting as a request would make it, idempotency record included, between two accounts that
/// anybody could have chosen.
fn post_between(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: TenantId,
    accounts: &[AccountId],
    number: u64,
) -> Result<Answer, Abort<Refusal>> {
    let dice = |salt: u64| ((number * 2 + salt).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) % accounts.len() as u64;
    let entry = |salt, direction| NewEntry {
        account_id: accounts[usize::try_from(dice(salt)).unwrap()],
        direction,
        amount: Amount::parse("123.45").unwrap(),
    };
    let command = immediate(tenant_id, vec![entry(0, Side::Debit), entry(1, Side::Credit)]);
    let key = number.to_string();
    let digest = RequestDigest::of("POST", "/v1/transactions", "", key.as_bytes());
    let route = crate::served().find(|route| route.name == "post_transaction").unwrap();
    let scope = Scope { service: Service::Ledger, tenant_id: tenant_id.0, within: route.template(), key };
    let verb =
        |tx: &mut WriteTx<'_>, now| of_verb(201, posting::post_transaction(tx, now, command), write_posted).map(Some);
    Ok(once::<Ledger>(tx, now, &Entered { scope, digest }, route, verb)?.unwrap())
}

fn immediate(tenant_id: TenantId, entries: Vec<NewEntry>) -> PostTransaction {
    PostTransaction {
        tenant_id,
        description: None,
        external_id: None,
        metadata: None,
        effective_at: None,
        hold_until: None,
        entries,
    }
}

fn run<T: Send + 'static>(
    store: &Store,
    verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<Refusal>> + Send + 'static,
) -> T {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    match store.write_blocking(deadline, verb) {
        Ok(value) => value,
        Err(Abort::Refused(refusal)) => panic!("{refusal:?}"),
        Err(Abort::Failed(failure)) => panic!("{failure}"),
    }
}

fn open_accounts(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: TenantId,
    count: u64,
) -> Result<Vec<AccountId>, Abort<Refusal>> {
    let define = CreateAssetType { tenant_id, code: "EUR".into(), kind: Kind::Fiat, scale: 2 };
    let asset_type_id = asset_types::create_asset_type(tx, now, define)?.asset_type_id;
    let mut opened = Vec::new();
    for number in 0..count {
        let command = CreateAccount {
            tenant_id,
            asset_type_id,
            name: format!("account {number}"),
            normal_side: Side::Debit,
            tracking: Tracking::Sync,
            floor: Some(FloorInput::Unbounded),
            metadata: None,
        };
        opened.push(accounts::create_account(tx, now, command)?.account_id);
    }
    Ok(opened)
}

/// What the tables take on disk, the log apart.
fn tables_bytes(directory: &Path) -> u64 {
    let files = std::fs::read_dir(directory.join("live")).unwrap().map(Result::unwrap);
    let tables = files.filter(|file| file.path().extension().is_some_and(|extension| extension == "sst"));
    tables.map(|file| file.metadata().unwrap().len()).sum()
}

#[tokio::test]
async fn a_busy_writer_turns_requests_away() {
    let room = Room::open();
    let (began, beginning) = std::sync::mpsc::channel();
    let (finish, finishing) = std::sync::mpsc::channel::<()>();
    let store = room.context.store.clone();
    let holding = std::thread::spawn(move || {
        run(&store, move |_, _| {
            began.send(()).unwrap();
            finishing.recv().unwrap();
            Ok(())
        })
    });
    beginning.recv().unwrap();
    // The queue behind it fills up.
    let mut waiting = Vec::new();
    loop {
        let store = room.context.store.clone();
        let task = tokio::spawn(async move {
            let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
            store.write(deadline, |_, _| Ok::<_, Abort<Refusal>>(())).await
        });
        tokio::task::yield_now().await;
        if task.is_finished() {
            assert!(matches!(task.await.unwrap(), Err(Abort::Failed(Failure::Busy))));
            break;
        }
        waiting.push(task);
    }
    let body = json!({"code": "EUR", "kind": "fiat", "scale": 2});
    let (status, response, error) = room.call(Method::POST, "/v1/asset-types", "k", &body).await;
    assert_eq!((status.as_u16(), &error["error"]["code"]), (409, &json!("LOCK_TIMEOUT")));
    assert_eq!(response.headers()["retry-after"], "1");
    finish.send(()).unwrap();
    holding.join().unwrap();
    for task in waiting {
        assert!(task.await.unwrap().is_ok());
    }
    let (status, _, _) = room.call(Method::POST, "/v1/asset-types", "k", &body).await;
    assert_eq!(status, 201, "the same key succeeds");
    room.context.store.shutdown();
}

#[tokio::test]
async fn damaged_data_is_an_internal_error_without_detail() {
    /// What reads as no account.
    const OTHER: quintet_storage::Table<(TenantId, AccountId), crate::tables::HoldRow> =
        quintet_storage::Table::new(0x0203, crate::tables::FAMILY, "ledger_account_books");
    let room = Room::open();
    let tenant_id = room.tenant_id;
    let accounts = run(&room.context.store, move |tx, now| open_accounts(tx, now, tenant_id, 1));
    let key = (tenant_id, accounts[0]);
    run(&room.context.store, move |tx, _| Ok(tx.put(&OTHER, &key, &crate::tables::HoldRow)?));
    let path = format!("/v1/accounts/{}/balance", accounts[0]);
    let (status, _, error) = room.call(Method::GET, &path, "", &Value::Null).await;
    let message = "Something went wrong inside the ledger.";
    assert_eq!((status.as_u16(), error), (500, json!({"error": {"code": "INTERNAL_ERROR", "message": message}})));
    room.context.store.shutdown();
}

/// Generated requests, each sent several times at once under one key, then once more: it is done once, everybody gets
/// the same bytes, one of them first-hand; and the ledger proves itself after every step.
#[tokio::test]
async fn duplicates_and_retries_change_nothing() {
    let room = Room::open();
    let tenant_id = room.tenant_id;
    let accounts = run(&room.context.store, move |tx, now| open_accounts(tx, now, tenant_id, 3));
    let floored = format!("/v1/accounts/{}", accounts[2]);
    let (status, _, _) = room.call(Method::PATCH, &floored, "floor", &json!({"balance_floor": "0.00"})).await;
    assert_eq!(status, 200);
    let mut done = 0;
    for step in 0..60_usize {
        // The third account is debit-normal with a floor: credits on it are refused now and then.
        let (debit, credit) = (accounts[step * 7 % 3], accounts[(step * 7 + 1 + step % 2) % 3]);
        let amount = format!("{}.00", step % 4 + 1);
        let mut body = json!({"external_id": format!("step {}", step - step % 5), "entries": [
            {"account_id": debit.to_string(), "direction": "debit", "amount": amount},
            {"account_id": credit.to_string(), "direction": "credit", "amount": amount},
        ]});
        if step % 5 != 4 {
            body.as_object_mut().unwrap().remove("external_id");
        }
        if step % 3 == 0 {
            body["pending"] = json!(true);
            body["expires_at"] = json!("2999-01-01T00:00:00Z");
        } else if step % 4 == 0 {
            body["effective_at"] = json!("2020-01-01T00:00:00Z");
        }
        let key = format!("step {step}");
        let before = room.context.store.read().lsn();
        let calls = (0..5).map(|_| room.call(Method::POST, "/v1/transactions", &key, &body));
        let mut answers = futures_util::future::join_all(calls).await;
        assert!(room.context.store.read().lsn() > before, "the first answer was remembered");
        let after = room.context.store.read().lsn();
        answers.push(room.call(Method::POST, "/v1/transactions", &key, &body).await);
        assert_eq!(room.context.store.read().lsn(), after, "a repeat writes nothing");
        let (status, _, first) = &answers[0];
        assert!(answers.iter().all(|(other, _, answer)| (other, answer) == (status, first)), "step {step}");
        let fresh = answers.iter().filter(|(_, response, _)| !response.headers().contains_key("idempotent-replayed"));
        assert_eq!(fresh.count(), 1, "step {step}");
        done += u64::from(*status == 201);
        let proof = crate::verify(&room.context.store.read()).unwrap();
        assert_eq!((proof.findings, proof.transactions), (vec![], done), "step {step}");
    }
    assert!((20..60).contains(&done), "{done} were done, the others refused");
    room.context.store.shutdown();
}

#[tokio::test]
async fn lists_wait_for_a_turn_and_hold_nobody_up() {
    let room = Room::open();
    let [account, sub_tenant] = [(); 2].map(|()| "01890000-0000-7000-8000-000000000000");
    for (path, status) in [
        ("/v1/asset-types".to_owned(), 200),
        ("/v1/accounts".to_owned(), 200),
        (format!("/v1/accounts/{account}/entries"), 404),
        ("/v1/sub-tenants".to_owned(), 200),
        (format!("/v1/sub-tenants/{sub_tenant}/keys"), 404),
    ] {
        let taken = quintet_support::take_all(&room.context.turns, TURNS).await;
        let mut list = std::pin::pin!(room.call(Method::GET, &path, "", &Value::Null));
        for _ in 0..20 {
            let light = tokio::select! {
                biased;
                answer = &mut list => panic!("{path} was answered without a turn: {answer:?}"),
                answer = room.call(Method::GET, "/healthz", "", &Value::Null) => answer,
            };
            assert_eq!(light.0, 200);
        }
        drop(taken);
        assert_eq!(list.await.0, status, "{path}");
    }
    room.context.store.shutdown();
}

#[tokio::test]
async fn what_is_listed_at_once_is_bounded() {
    let room = Room::open();
    let tenant_id = room.tenant_id;
    let work = move |tx: &mut WriteTx<'_>, now| {
        for number in 0..9_999 {
            let command = CreateAssetType { tenant_id, code: format!("A{number}"), kind: Kind::Credit, scale: 0 };
            asset_types::create_asset_type(tx, now, command)?;
        }
        Ok::<_, Abort<Refusal>>(())
    };
    room.context.store.write(std::time::Instant::now() + std::time::Duration::from_secs(60), work).await.unwrap();
    for (key, code, status) in [("last", "B", 201), ("more", "C", 422), ("last", "B", 201)] {
        let body = json!({"code": code, "kind": "credit", "scale": 0});
        let (answered, _, told) = room.call(Method::POST, "/v1/asset-types", key, &body).await;
        assert_eq!(answered, status, "{code}: {told}");
    }
    let (_, _, list) = room.call(Method::GET, "/v1/asset-types", "", &Value::Null).await;
    assert_eq!(list["asset_types"].as_array().unwrap().len(), 10_000);
    room.context.store.shutdown();
}
