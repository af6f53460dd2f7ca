//! Stored answers on a real store, and their collection under a rehearsal clock.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bincode::{Decode, Encode};
use quintet_storage::{Abort, Family, Refusal, Row, Scan, Store, Table, Timestamp};
use uuid::Uuid;

use http::HeaderMap;
use quintet_storage::seal::{self, Erased, KeyOwner};
use quintet_storage::{Failure, Read as _};

use super::tables::{ANSWERS, ANSWERS_BY_EXPIRY, AnswerRow, StoredBody, StoredType};
use super::*;
use crate::access::Service;
use crate::clock::DueWork as _;
use crate::jobs::HOUR_MICROS;
use crate::jobs::{Rows, Sweep};
use crate::testing::TestStore;

const START: Timestamp = Timestamp::from_micros(1_750_000_000_000_000);

#[derive(Debug, PartialEq, Eq)]
struct No;

impl Refusal for No {}

fn scope(key: &str) -> Scope {
    Scope {
        service: Service::Ledger,
        tenant_id: Uuid::from_u128(1),
        within: "POST /v1/things".to_owned(),
        key: key.to_owned(),
    }
}

fn request(body: &str) -> RequestDigest {
    RequestDigest::of("POST", "/v1/things", "", body.as_bytes())
}

fn answer(body: &str) -> StoredAnswer {
    StoredAnswer { status: 201, content_type: "application/json".to_owned(), body: body.into() }
}

fn collector_of(store: &Store) -> Arc<Sweep<Rows<ExpiredAnswers>>> {
    Arc::new(Sweep(Rows::new(store.clone(), ExpiredAnswers)))
}

fn keep(store: &Store, scope: Scope, digest: RequestDigest, answer: StoredAnswer) {
    keep_for(KEPT_SECONDS, store, scope, digest, answer);
}

fn keep_for(seconds: i64, store: &Store, scope: Scope, digest: RequestDigest, answer: StoredAnswer) {
    let kept: Result<(), Abort<No>> = store.write_blocking(Instant::now() + Duration::from_secs(20), move |tx, now| {
        assert_eq!(lookup(tx, &scope, &digest, now), Ok(Lookup::Fresh));
        Ok(remember(tx, now, &Entered { scope, digest }, &answer, seconds)?)
    });
    assert_eq!(kept, Ok(()));
}

fn rows(store: &Store) -> (usize, usize) {
    let read = store.read();
    (read.scan(&ANSWERS, Scan::all()).unwrap().len(), read.scan(&ANSWERS_BY_EXPIRY, Scan::all()).unwrap().len())
}

#[test]
fn the_same_request_is_answered_the_same() {
    let test = TestStore::open(START);
    let store = &test.store;
    let found = |scope: &Scope, digest: &RequestDigest, now| lookup(&store.read(), scope, digest, now);
    assert_eq!(found(&scope("k"), &request("a"), START), Ok(Lookup::Fresh));
    keep(store, scope("k"), request("a"), answer("{\"n\":1}"));
    assert_eq!(found(&scope("k"), &request("a"), START), Ok(Lookup::Replay(answer("{\"n\":1}"))));
    assert_eq!(found(&scope("k"), &request("b"), START), Ok(Lookup::Mismatch));
    let elsewhere = [
        scope("K"),
        scope(""),
        Scope { service: Service::Runs, ..scope("k") },
        Scope { tenant_id: Uuid::from_u128(2), ..scope("k") },
        Scope { within: "POST /v1/other".to_owned(), ..scope("k") },
    ];
    for other in &elsewhere {
        assert_eq!(found(other, &request("a"), START), Ok(Lookup::Fresh), "{other:?}");
    }
}

#[test]
fn every_kind_of_answer_comes_back_exactly() {
    let test = TestStore::open(START);
    for (place, content_type) in
        ["application/json", "application/problem+json", "", "text/csv; charset=utf-8"].iter().enumerate()
    {
        let kept = StoredAnswer { status: 409, content_type: (*content_type).to_owned(), body: vec![0, 255, 10] };
        let scope = scope(&place.to_string());
        keep(&test.store, scope.clone(), request("a"), kept.clone());
        assert_eq!(lookup(&test.store.read(), &scope, &request("a"), START), Ok(Lookup::Replay(kept)));
    }
}

fn keep_secret(store: &Store, scope: Scope, digest: RequestDigest, answer: StoredAnswer) -> Result<(), Abort<Erased>> {
    store.write_blocking(Instant::now() + Duration::from_secs(20), move |tx, now| {
        assert_eq!(lookup(tx, &scope, &digest, now), Ok(Lookup::Fresh));
        let entered = Entered { scope, digest };
        remember_secret(tx, now, &entered, &answer, KEPT_SECONDS)?;
        assert_eq!(lookup(tx, &entered.scope, &digest, now), Ok(Lookup::Replay(answer)));
        Ok(())
    })
}

/// How often some bytes occur in the files of a directory.
fn occurrences(directory: &std::path::Path, wanted: &[u8]) -> usize {
    let mut found = 0;
    for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
        found += if entry.file_type().unwrap().is_dir() {
            occurrences(&entry.path(), wanted)
        } else {
            // The store may put a file in another's place at any moment.
            match std::fs::read(entry.path()) {
                Ok(bytes) => bytes.windows(wanted.len()).filter(|part| *part == wanted).count(),
                Err(error) => {
                    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
                    0
                }
            }
        };
    }
    found
}

#[test]
fn a_secret_answer_is_nowhere_on_the_disk_and_comes_back_exactly() {
    let test = TestStore::open(START);
    // Random, so that no compression hides them.
    let [secret, public] = [(); 2].map(|()| data_encoding::BASE64URL.encode(&crate::secrets::random_bytes::<48>()));
    let secret_answer = answer(&format!("{{\"api_key\":\"rak_{secret}\"}}"));
    keep_secret(&test.store, scope("secret"), request("a"), secret_answer.clone()).unwrap();
    keep(&test.store, scope("public"), request("a"), answer(&public));
    let directory = test.close();
    let places = ["wal", "live"].map(|name| directory.path().join("data").join(name));
    for place in &places {
        assert!(occurrences(place, public.as_bytes()) > 0, "the search finds what is there, in {}", place.display());
        assert_eq!(occurrences(place, secret.as_bytes()), 0, "in {}", place.display());
    }
    let test = TestStore::open_in(directory, START);
    let found = lookup(&test.store.read(), &scope("secret"), &request("a"), START);
    assert_eq!(found, Ok(Lookup::Replay(secret_answer)));
    assert_eq!(lookup(&test.store.read(), &scope("secret"), &request("b"), START), Ok(Lookup::Mismatch));
}

#[test]
fn an_answer_that_tells_of_a_member_ends_with_that_member() {
    let test = TestStore::open(START);
    let (member, other) = (Uuid::from_u128(5), Uuid::from_u128(6));
    let keep = |key: &str, member: Uuid, kept: StoredAnswer| {
        let entered = Entered { scope: scope(key), digest: request("a") };
        test.store.write_blocking(Instant::now() + Duration::from_secs(20), move |tx, now| {
            remember_personal(tx, now, &entered, &kept, KEPT_SECONDS, member)
        })
    };
    let personal = data_encoding::BASE64URL.encode(&crate::secrets::random_bytes::<48>());
    keep("k", member, answer(&personal)).unwrap();
    keep("other", other, answer("o")).unwrap();
    let found = |key: &str| lookup(&test.store.read(), &scope(key), &request("a"), START).unwrap();
    assert_eq!(found("k"), Lookup::Replay(answer(&personal)));
    let another = lookup(&test.store.read(), &scope("k"), &request("b"), START);
    assert_eq!(another, Ok(Lookup::Mismatch), "another request");
    // Nor can anybody who has the disk try what was asked.
    assert_eq!(occurrences(test.directory.path(), request("a").bytes()), 0);
    assert_eq!(occurrences(test.directory.path(), personal.as_bytes()), 0);
    let destroyed = test.store.write_blocking(Instant::now() + Duration::from_secs(20), move |tx, now| {
        Ok::<_, Abort<Erased>>(seal::destroy(tx, now, KeyOwner::Member { tenant: scope("").tenant_id, member })?)
    });
    assert_eq!(destroyed, Ok(true));
    let gone = Lookup::Erased { member_id: member, status: 201 };
    assert_eq!((found("k"), found("other")), (gone, Lookup::Replay(answer("o"))));
    assert_eq!(keep("again", member, answer("x")), Err(Abort::Refused(Erased)));
}

#[test]
fn a_secret_answer_ends_with_its_tenant() {
    let test = TestStore::open(START);
    keep_secret(&test.store, scope("k"), request("a"), answer("s")).unwrap();
    let erased: Result<bool, Abort<No>> =
        test.store.write_blocking(Instant::now() + Duration::from_secs(20), |tx, now| {
            Ok(seal::destroy(tx, now, KeyOwner::Tenant(Uuid::from_u128(1)))?)
        });
    assert_eq!(erased, Ok(true));
    // Not fresh: what was done must not be done again.
    assert_eq!(lookup(&test.store.read(), &scope("k"), &request("a"), START), Ok(Lookup::Mismatch));
    let again = keep_secret(&test.store, scope("other"), request("a"), answer("s"));
    assert_eq!(again, Err(Abort::Refused(Erased)));
}

/// An answer as version 1 had it: every body in the clear.
#[derive(Clone, Debug, Encode, Decode)]
struct FirstAnswerRow {
    digest: RequestDigest,
    answered_at: Timestamp,
    status: u16,
    content_type: StoredType,
    body: Vec<u8>,
}

impl Row for FirstAnswerRow {}

/// An answer as version 2 had it: all of them were kept for as long.
#[derive(Clone, Debug, Encode, Decode)]
struct SecondAnswerRow {
    digest: RequestDigest,
    answered_at: Timestamp,
    status: u16,
    content_type: StoredType,
    body: StoredBody,
}

impl Row for SecondAnswerRow {
    const VERSION: u8 = 2;
}

/// [`ANSWERS`] as it was then.
const FIRST_ANSWERS: Table<(Uuid, u128), FirstAnswerRow> = Table::new(0x0110, Family::APPLIANCE, "platform.answers");
const SECOND_ANSWERS: Table<(Uuid, u128), SecondAnswerRow> = Table::new(0x0110, Family::APPLIANCE, "platform.answers");

#[test]
fn answers_of_earlier_versions_are_read_and_kept_for_thirty_days() {
    let test = TestStore::open(START);
    let (digest, status) = (request("a"), 201);
    let stored: Result<(), Abort<No>> =
        test.store.write_blocking(Instant::now() + Duration::from_secs(20), move |tx, now| {
            let (content_type, body) = (StoredType::Json, b"{}".to_vec());
            let first = FirstAnswerRow { digest, answered_at: now, status, content_type, body };
            tx.put(&FIRST_ANSWERS, &scope("1").table_key(), &first)?;
            let (content_type, body) = (StoredType::Json, StoredBody::Plain(b"{}".to_vec()));
            let second = SecondAnswerRow { digest, answered_at: now, status, content_type, body };
            Ok(tx.put(&SECOND_ANSWERS, &scope("2").table_key(), &second)?)
        });
    assert_eq!(stored, Ok(()));
    let read = test.store.read();
    let thirty_days_on = START.plus_seconds(30 * 86_400);
    for key in ["1", "2"] {
        let found = |now| lookup(&read, &scope(key), &digest, now);
        assert_eq!(found(thirty_days_on.plus_micros(-1)), Ok(Lookup::Replay(answer("{}"))));
        assert_eq!(found(thirty_days_on), Ok(Lookup::Fresh));
        let row = read.get(&ANSWERS, &scope(key).table_key()).unwrap().unwrap();
        assert_eq!((row.body, row.status, row.expires_at), (StoredBody::Plain(b"{}".to_vec()), 201, thirty_days_on));
    }
    assert!(matches!(AnswerRow::migrate(9, &[]), Err(Failure::Damaged(_))));
}

#[test]
fn digests_tell_requests_apart() {
    let base = RequestDigest::of("POST", "/a", "x=1", b"body");
    assert_eq!(base, RequestDigest::of("POST", "/a", "x=1", b"body"));
    for other in [
        RequestDigest::of("PUT", "/a", "x=1", b"body"),
        RequestDigest::of("POST", "/b", "x=1", b"body"),
        RequestDigest::of("POST", "/a", "x=2", b"body"),
        RequestDigest::of("POST", "/a", "x=1", b"body "),
        RequestDigest::of("POST", "/ax=1", "", b"body"),
        RequestDigest::of("POST", "/a", "", b"x=1body"),
    ] {
        assert_ne!(base, other);
    }
}

#[test]
fn an_answer_lives_for_as_long_as_it_was_said() {
    let test = TestStore::open(START);
    let store = &test.store;
    for (key, seconds) in [("month", KEPT_SECONDS), ("day", 86_400), ("hour", 3_600)] {
        keep_for(seconds, store, scope(key), request("a"), answer("1"));
        let over = START.plus_seconds(seconds);
        let found = |request: &RequestDigest, now| lookup(&store.read(), &scope(key), request, now);
        assert_eq!(found(&request("a"), over.plus_micros(-1)), Ok(Lookup::Replay(answer("1"))), "{key}");
        assert_eq!(found(&request("a"), over), Ok(Lookup::Fresh), "{key}");
        assert_eq!(found(&request("b"), over), Ok(Lookup::Fresh), "{key}");
    }
}

/// What is kept for a day comes in before what is kept for a month, and goes before it.
#[tokio::test]
async fn answers_of_different_lives_are_collected_each_in_its_time() {
    let test = TestStore::open(START);
    let collector = collector_of(&test.store);
    test.clock.register(collector.clone());
    let hour_after = |at: Timestamp| at.plus_micros(HOUR_MICROS - at.as_micros() % HOUR_MICROS);
    keep(&test.store, scope("month"), request("a"), answer("1"));
    assert_eq!(collector.next_due(), Some(hour_after(START.plus_seconds(KEPT_SECONDS))));
    for day in 0..3 {
        let now = test.clock.now();
        keep_for(86_400, &test.store, scope(&format!("day {day}")), request("a"), answer("1"));
        assert_eq!(collector.next_due(), Some(hour_after(now.plus_seconds(86_400))), "day {day}");
        assert_eq!(rows(&test.store), (2, 2), "the one of the day before is gone");
        test.clock.advance(25 * 3_600).await.unwrap();
    }
    assert_eq!(rows(&test.store), (1, 1));
    test.clock.advance(KEPT_SECONDS.cast_unsigned()).await.unwrap();
    assert_eq!(rows(&test.store), (0, 0));
}

/// Who acts, and on what: a room that gives each acting agent keys of its own says so in what they are unique within.
#[test]
fn the_caller_that_a_room_chooses_has_keys_of_its_own() {
    let test = TestStore::open(START);
    let of = |agent: &str, path: &str| {
        let scope = Scope { within: format!("7\n{agent}\nPOST {path}"), ..scope("k") };
        Entered { scope, digest: RequestDigest::of("POST", path, "", b"a") }
    };
    let first = of("ada", "/v1/messages/1/reply");
    let kept = first.clone();
    let remembered: Result<(), Abort<No>> =
        test.store.write_blocking(Instant::now() + Duration::from_secs(20), move |tx, now| {
            Ok(remember(tx, now, &kept, &answer("1"), 86_400)?)
        });
    assert_eq!(remembered, Ok(()));
    let in_flight = InFlight::default();
    let _guard = in_flight.enter(&first).ok().unwrap();
    assert_eq!(in_flight.enter(&first).err(), Some(Beside::Same));
    for other in [of("bob", "/v1/messages/1/reply"), of("ada", "/v1/messages/2/reply")] {
        assert_eq!(lookup(&test.store.read(), &other.scope, &other.digest, START), Ok(Lookup::Fresh));
        assert!(in_flight.enter(&other).is_ok());
    }
    let again = of("ada", "/v1/messages/1/reply");
    let found = lookup(&test.store.read(), &again.scope, &again.digest, START);
    assert_eq!(found, Ok(Lookup::Replay(answer("1"))));
}

#[tokio::test]
async fn a_reused_key_leaves_one_answer() {
    let test = TestStore::open(START);
    keep(&test.store, scope("k"), request("a"), answer("1"));
    test.clock.advance(KEPT_SECONDS.cast_unsigned()).await.unwrap();
    keep(&test.store, scope("k"), request("b"), answer("2"));
    assert_eq!(rows(&test.store), (1, 1));
    let again = lookup(&test.store.read(), &scope("k"), &request("b"), test.clock.now());
    assert_eq!(again, Ok(Lookup::Replay(answer("2"))));
}

#[test]
fn an_aborted_effect_leaves_no_answer() {
    let test = TestStore::open(START);
    let aborted: Result<(), Abort<No>> =
        test.store.write_blocking(Instant::now() + Duration::from_secs(20), |tx, now| {
            let entered = Entered { scope: scope("k"), digest: request("a") };
            remember(tx, now, &entered, &answer("1"), KEPT_SECONDS)?;
            Err(No.into())
        });
    assert_eq!(aborted, Err(Abort::Refused(No)));
    assert_eq!(rows(&test.store), (0, 0));
}

#[tokio::test]
async fn expired_answers_are_collected_by_the_hour() {
    let test = TestStore::open(START);
    let store = test.store.clone();
    let collector = collector_of(&store);
    assert_eq!(collector.next_due(), None);
    test.clock.register(collector.clone());
    // More than two slices of one hour, and one answer two hours later.
    let many: Result<(), Abort<No>> = store
        .write(Instant::now() + Duration::from_secs(20), |tx, now| {
            for n in 0..1200 {
                let entered = Entered { scope: scope(&n.to_string()), digest: request("a") };
                remember(tx, now, &entered, &answer("1"), KEPT_SECONDS)?;
            }
            Ok(())
        })
        .await;
    assert_eq!(many, Ok(()));
    test.clock.advance(2 * 3600).await.unwrap();
    keep(&store, scope("later"), request("a"), answer("1"));
    assert_eq!(rows(&store), (1201, 1201));
    let due = collector.next_due().unwrap();
    assert_eq!(due.as_micros() % HOUR_MICROS, 0);
    assert!(due >= START.plus_seconds(KEPT_SECONDS) && due < START.plus_seconds(KEPT_SECONDS + 3600));
    let report = test.clock.advance((KEPT_SECONDS - 3600).cast_unsigned()).await.unwrap();
    assert_eq!(report.steps, 1);
    assert_eq!(rows(&store), (1, 1));
    test.clock.advance(2 * 3600).await.unwrap();
    assert_eq!(rows(&store), (0, 0));
    assert_eq!(collector.next_due(), None);
}

#[tokio::test]
async fn a_collector_goes_on_hour_after_hour() {
    let test = TestStore::open(START);
    let collector = collector_of(&test.store);
    test.clock.register(collector.clone());
    // An answer every 50 minutes for 35 days: those of the first five days go.
    let mut kept = Vec::new();
    for n in 0..(35 * 24 * 60 / 50) {
        keep(&test.store, scope(&n.to_string()), request("a"), answer("1"));
        kept.push(test.clock.now());
        test.clock.advance(50 * 60).await.unwrap();
    }
    let now = test.clock.now();
    // Collected by the hour: each one from the full hour after its time.
    let hour_began = now.as_micros() / HOUR_MICROS * HOUR_MICROS;
    let left = kept.iter().filter(|at| at.plus_seconds(KEPT_SECONDS).as_micros() > hour_began).count();
    assert_eq!(rows(&test.store), (left, left));
    assert!(left < kept.len() - 100, "{left} of {}", kept.len());
    // A collector that has seen nothing finds the same.
    assert_eq!(collector_of(&test.store).next_due(), collector.next_due());
}

#[tokio::test]
async fn a_collector_that_cannot_write_tries_again() {
    let test = TestStore::open(START);
    keep(&test.store, scope("k"), request("a"), answer("1"));
    let collector = collector_of(&test.store);
    let due = collector.next_due();
    test.store.shutdown();
    collector.run_due().await;
    assert_eq!(collector.next_due(), due);
}

#[test]
fn keys_of_requests() {
    let of = |lines: &[&[u8]]| {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(IDEMPOTENCY_KEY, http::HeaderValue::from_bytes(line).unwrap());
        }
        request_key(&headers, 5)
    };
    assert_eq!(of(&[]), Ok(None));
    assert_eq!(of(&[b"a b-1"]), Ok(Some("a b-1".to_owned())));
    assert_eq!(of(&["\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}".as_bytes()]), Ok(Some("\u{e9}".repeat(5))));
    for bad in
        [&[&b""[..]][..], &[b"123456"], &[b"\xff"], &[b"a\tb"], &["\u{85}".as_bytes()], &[b"a", b"a"], &[b"a", b""]]
    {
        assert_eq!(of(bad), Err(MalformedKey), "{bad:?}");
    }
}
