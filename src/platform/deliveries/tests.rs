//! Deliveries over a real store, made to servers on this machine.

mod crowded;
mod damage;
mod lists;
mod repeats;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use quintet_storage::{Abort, Failure, Read as _, Refusal, Scan, Snapshot, Timestamp, WriteTx};
use uuid::Uuid;

use super::*;
use crate::access::Service;
use crate::clock::DueWork;
use crate::egress::Egress;
use crate::jobs::{Agenda, Rows, Sweep};
use crate::secrets::Secret;
use crate::testing::TestStore;

const START: Timestamp = Timestamp::from_micros(1_750_000_000_000_000);
const TENANT: u128 = 1;
const ENDPOINT: Uuid = Uuid::from_u128(7);
const DAY: u64 = 86_400;

static POLICY: Policy = Policy {
    delays: &[Duration::from_secs(10), Duration::from_secs(60), Duration::from_secs(300), Duration::from_secs(1800)],
    jitter_permille: 100,
    retry_after_max: Duration::from_secs(3600),
    is_retried: |status| matches!(status, 408 | 429) || !(400..500).contains(&status),
    lane_in_flight_max: 4,
    outbox_in_flight_max: 64,
    connect_time: Duration::from_secs(5),
    whole_time: Duration::from_millis(600),
};

#[derive(Debug)]
struct Never;
impl Refusal for Never {}

/// A room whose endpoints are where the test says.
struct TestRoom {
    destination: Mutex<Destination>,
    settled: Mutex<Vec<(Verdict, usize)>>,
    /// What panics for the delivery of which number.
    panics: Mutex<Option<(u64, damage::Panics)>>,
}

impl TestRoom {
    fn panic_at(&self, delivery: &Delivery, way: damage::Panics) {
        let panics = *self.panics.lock().unwrap();
        assert!(panics != Some((delivery.id, way)), "as the test wants it");
    }
}

impl DeliveryRoom for TestRoom {
    fn service(&self) -> Service {
        Service::Runs
    }

    fn policy(&self) -> &Policy {
        &POLICY
    }

    fn destination(&self, _: &Snapshot, _: Outbox, _: Uuid) -> Result<Destination, Failure> {
        Ok(self.destination.lock().unwrap().clone())
    }

    fn head(&self, attempt: &Attempt<'_>) -> HeaderMap {
        self.panic_at(attempt.delivery, damage::Panics::Attempting);
        let signature = attempt.key.map_or(0, |key| hmac_sha256(key, &[attempt.body])[0]);
        let values = [i64::from(attempt.number), attempt.timestamp, i64::from(signature)];
        let names = ["x-number", "x-timestamp", "x-signed"].map(HeaderName::from_static);
        names.into_iter().zip(values.map(HeaderValue::from)).collect()
    }

    fn settled(&self, _: &mut WriteTx<'_>, now: Timestamp, settled: &Settled<'_>) -> Result<(), Failure> {
        self.panic_at(settled.delivery, damage::Panics::Settling);
        let deads = settled.health.map_or(0, |(_, _, after)| after.dead_of_a_day(now));
        self.settled.lock().unwrap().push((settled.verdict, deads));
        Ok(())
    }
}

/// A request that arrived: path, number of the attempt, body.
type Arrived = (String, String, String);

/// A server that answers by the path: `/204` with that status, `/after/30` with 503 and Retry-After, `/slow` never.
struct Receiver {
    address: SocketAddr,
    arrived: Arc<Mutex<Vec<Arrived>>>,
    at_once: AtOnce,
}

/// Slow requests under way, and how many there were at most.
type AtOnce = Arc<(AtomicUsize, AtomicUsize)>;

/// A request that ends, or is given up.
struct Leaves(Shared);

impl Drop for Leaves {
    fn drop(&mut self) {
        self.0.at_once.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[derive(Clone)]
struct Shared {
    arrived: Arc<Mutex<Vec<Arrived>>>,
    at_once: AtOnce,
}

async fn answer(
    State(shared): State<Shared>,
    uri: Uri,
    headers: HeaderMap,
    body: String,
) -> (StatusCode, [(&'static str, String); 1]) {
    let number = headers["x-number"].to_str().unwrap().to_owned();
    shared.arrived.lock().unwrap().push((uri.path().to_owned(), number, body));
    let mut parts = uri.path().trim_start_matches('/').split('/');
    match (parts.next(), parts.next()) {
        (Some("after"), Some(value)) => (StatusCode::SERVICE_UNAVAILABLE, [("retry-after", value.to_owned())]),
        (Some("slow"), _) => {
            let at_once = shared.at_once.0.fetch_add(1, Ordering::SeqCst) + 1;
            shared.at_once.1.fetch_max(at_once, Ordering::SeqCst);
            let _leaves = Leaves(shared);
            std::future::pending().await
        }
        (Some(status), _) => {
            (StatusCode::from_u16(status.parse().unwrap_or(204)).unwrap(), [("location", "/".to_owned())])
        }
        _ => (StatusCode::NO_CONTENT, [("x", String::new())]),
    }
}

impl Receiver {
    async fn start() -> Receiver {
        let shared = Shared { arrived: Arc::default(), at_once: Arc::default() };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(answer).with_state(shared.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Receiver { address, arrived: shared.arrived, at_once: shared.at_once }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn count(&self) -> usize {
        self.arrived.lock().unwrap().len()
    }
}

struct World {
    test: TestStore,
    room: Arc<TestRoom>,
    pump: Pump,
}

fn outbox(tenant: u128) -> Outbox {
    Outbox { tenant_id: Uuid::from_u128(tenant), service: Service::Runs }
}

fn new(outbox: Outbox, target: NewTarget<'_>, event_id: Uuid) -> NewDelivery<'_> {
    NewDelivery {
        outbox,
        target,
        event_id,
        event: "run.exited",
        resource: "R1",
        attempts_max: 5,
        is_counted: true,
        redelivery_of: None,
        kept_days: 30,
    }
}

impl World {
    fn open(test: TestStore) -> World {
        let world = World::unattended(test);
        let World { test, pump, .. } = &world;
        test.clock.register(Arc::new(pump.clone()));
        test.clock.register(Arc::new(Sweep(Rows::new(test.store.clone(), OldDeliveries))));
        test.clock.register(Arc::new(Sweep(Rows::new(test.store.clone(), DroppedTargets))));
        world
    }

    /// One whose pump the clock knows nothing of.
    fn unattended(test: TestStore) -> World {
        let room = Arc::new(TestRoom {
            destination: Mutex::new(Destination::Gone),
            settled: Mutex::default(),
            panics: Mutex::default(),
        });
        let egress = Egress::new(|address| address.is_loopback());
        let pump = Pump::new(test.store.clone(), test.clock.clone(), egress, vec![Arc::clone(&room) as _]);
        World { test, room, pump }
    }

    fn new() -> World {
        World::open(TestStore::open(START))
    }

    fn at(&self, url: &str) {
        *self.room.destination.lock().unwrap() =
            Destination::At { url: url.to_owned(), key: Some(Secret::new(b"key".to_vec())) };
    }

    /// Has a verb done.
    fn write<T: Send + 'static>(
        &self,
        verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Failure> + Send + 'static,
    ) -> T {
        let deadline = Instant::now() + Duration::from_secs(10);
        let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| verb(tx, now).map_err(Abort::<Never>::Failed);
        self.test.store.write_blocking(deadline, verb).unwrap()
    }

    /// Enqueues so many of a tenant; the last one's number.
    fn enqueue(&self, tenant: u128, endpoint: Option<Uuid>, url: &str, count: usize) -> u64 {
        let url = url.to_owned();
        self.write(move |tx, now| {
            let mut last = 0;
            for _ in 0..count {
                let target = endpoint.map_or(NewTarget::Inline(&url, Some(b"secret")), NewTarget::Endpoint);
                let new = new(outbox(tenant), target, tx.new_id());
                last = enqueue(tx, now, new, |id| format!("{{\"id\":{id}}}").into_bytes())?.unwrap();
            }
            Ok(last)
        })
    }

    /// Everything that is due is done.
    async fn rest(&self) {
        self.test.clock.advance(0).await.unwrap();
    }

    fn delivery(&self, tenant: u128, id: u64) -> Delivery {
        find(&self.test.store.read(), outbox(tenant), id).unwrap().unwrap()
    }

    fn health(&self) -> Health {
        health_of(&self.test.store.read(), outbox(TENANT), ENDPOINT).unwrap()
    }

    #[track_caller]
    fn check(&self) {
        assert_eq!(crate::verify(&self.test.store.read()).unwrap(), Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_enqueued_arrives_signed_and_once() {
    let (world, receiver) = (World::new(), Receiver::start().await);
    world.at(&receiver.url("/204/endpoint"));
    world.enqueue(TENANT, Some(ENDPOINT), "http://old.example/", 1);
    world.enqueue(TENANT, None, &receiver.url("/200/inline"), 1);
    world.rest().await;
    let mut arrived = receiver.arrived.lock().unwrap().clone();
    arrived.sort();
    let arrived: Vec<(&str, &str, &str)> =
        arrived.iter().map(|(a, b, c)| (a.as_str(), b.as_str(), c.as_str())).collect();
    assert_eq!(arrived, [("/200/inline", "1", "{\"id\":2}"), ("/204/endpoint", "1", "{\"id\":1}")]);
    let first = world.delivery(TENANT, 1);
    assert_eq!((first.end, first.attempts, first.last_status), (Some(End::Delivered), 1, Some(204)));
    assert_eq!(first.url, Some(receiver.url("/204/endpoint")), "where it went");
    assert_eq!((first.next_attempt_at, first.settled_at, first.last_error), (None, Some(START), None));
    assert_eq!(world.pump.state(outbox(TENANT), &first), DeliveryState::Delivered);
    let counted = counters(&world.test.store.read(), outbox(TENANT)).unwrap();
    assert_eq!(counted, Counters { last_id: 2, pending: 0, dead_total: 0 });
    assert_eq!(world.health().last_delivered_at, Some(START));
    world.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_is_tried_again_so_often_and_then_given_up() {
    let (world, receiver) = (World::new(), Receiver::start().await);
    world.at(&receiver.url("/500"));
    world.enqueue(TENANT, Some(ENDPOINT), "x", 1);
    world.rest().await;
    let mut waits = Vec::new();
    for attempts in 1..5 {
        let delivery = world.delivery(TENANT, 1);
        assert_eq!((delivery.attempts, delivery.last_error), (attempts, Some(LastError::BadStatus)));
        let now = world.test.clock.now();
        waits.push(delivery.next_attempt_at.unwrap().micros_since(now) / 1_000_000);
        let seconds = u64::try_from(waits.last().unwrap() + 1).unwrap();
        world.test.clock.advance(seconds).await.unwrap();
        let ran_at = world.delivery(TENANT, 1);
        assert_eq!(ran_at.attempts, attempts + 1, "the advance waits for the attempt");
    }
    for (wait, delay) in waits.iter().zip([10, 60, 300, 1800]) {
        assert!((delay * 9 / 10 - 1..=delay * 11 / 10).contains(wait), "{waits:?}");
    }
    let delivery = world.delivery(TENANT, 1);
    assert_eq!((delivery.end, delivery.attempts), (Some(End::Dead), 5));
    let numbers: Vec<String> = receiver.arrived.lock().unwrap().iter().map(|(_, number, _)| number.clone()).collect();
    assert_eq!(numbers, ["1", "2", "3", "4", "5"]);
    let health = world.health();
    assert_eq!((health.consecutive_failures, health.dead_total), (5, 1));
    assert_eq!(*world.room.settled.lock().unwrap().last().unwrap(), (Verdict::Dead, 1));
    world.test.clock.advance(31 * DAY).await.unwrap();
    assert!(find(&world.test.store.read(), outbox(TENANT), 1).unwrap().is_none(), "it is not kept for ever");
    assert_eq!(counters(&world.test.store.read(), outbox(TENANT)).unwrap().dead_total, 1);
    world.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_answers_decide() {
    let (world, receiver) = (World::new(), Receiver::start().await);
    let refused = "http://10.0.0.1/".to_owned();
    let cut = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let cut_url = format!("http://{}/", cut.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = cut.accept().await {
            drop(stream);
        }
    });
    let cases = [
        (receiver.url("/200"), Some(End::Delivered), Some(200), None),
        (receiver.url("/299"), Some(End::Delivered), Some(299), None),
        (receiver.url("/301"), None, Some(301), Some(LastError::Redirect)),
        (receiver.url("/400"), Some(End::Dead), Some(400), Some(LastError::BadStatus)),
        (receiver.url("/401"), Some(End::Dead), Some(401), Some(LastError::BadStatus)),
        (receiver.url("/408"), None, Some(408), Some(LastError::BadStatus)),
        (receiver.url("/410"), Some(End::Dead), Some(410), Some(LastError::BadStatus)),
        (receiver.url("/429"), None, Some(429), Some(LastError::BadStatus)),
        (receiver.url("/599"), None, Some(599), Some(LastError::BadStatus)),
        (receiver.url("/slow"), None, None, Some(LastError::TimedOut)),
        (cut_url, None, None, Some(LastError::ConnectionFailed)),
        ("http://127.0.0.1:1/".to_owned(), None, None, Some(LastError::ConnectionFailed)),
        (receiver.url("/200").replace("http:", "https:"), None, None, Some(LastError::TlsFailed)),
        ("https://there-is-no-such-name.invalid/".to_owned(), None, None, Some(LastError::NameNotResolved)),
        (refused, Some(End::Dead), None, Some(LastError::UrlNotAllowed)),
        ("no address".to_owned(), Some(End::Dead), None, Some(LastError::UrlNotAllowed)),
    ];
    let ids: Vec<u64> = cases.iter().map(|(url, ..)| world.enqueue(TENANT, None, url, 1)).collect();
    world.rest().await;
    for ((url, end, status, error), id) in cases.iter().zip(ids) {
        let delivery = world.delivery(TENANT, id);
        let found = (delivery.end, delivery.last_status, delivery.last_error, delivery.attempts);
        assert_eq!(found, (*end, *status, *error, 1), "{url}");
    }
    world.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_can_ask_for_more_time_but_not_for_ever() {
    let (world, receiver) = (World::new(), Receiver::start().await);
    for (asked, least, most) in [("30", 30, 30), ("3", 9, 11), ("99999", 3600, 3600), ("tomorrow", 9, 11)] {
        let id = world.enqueue(TENANT, None, &receiver.url(&format!("/after/{asked}")), 1);
        world.rest().await;
        let next = world.delivery(TENANT, id).next_attempt_at.unwrap();
        let wait = next.micros_since(world.test.clock.now()) / 1_000_000;
        assert!((least..=most).contains(&wait), "{asked}: {wait}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_never_answers_is_in_nobodys_way() {
    let (world, receiver) = (World::new(), Receiver::start().await);
    let shutdown = Arc::new(tokio::sync::Notify::new());
    world.test.clock.attend(&world.test.store);
    let (clock, stop) = (world.test.clock.clone(), Arc::clone(&shutdown));
    let running = tokio::spawn(async move { clock.run_real_time(stop.notified()).await });
    // One lane for each path would be wrong: it is the authority that counts, so the slow one has another address.
    let slow = Receiver::start().await;
    world.enqueue(TENANT, None, &slow.url("/slow"), 3_000);
    world.enqueue(TENANT, None, &receiver.url("/204"), 300);
    world.enqueue(2, None, &receiver.url("/204"), 300);
    let started = Instant::now();
    while receiver.count() < 600 {
        assert!(started.elapsed() < Duration::from_secs(30), "{} of 600 arrived", receiver.count());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(slow.at_once.1.load(Ordering::SeqCst), POLICY.lane_in_flight_max, "and no more of one lane");
    let waiting = world.delivery(TENANT, 3_000);
    assert_eq!((waiting.attempts, world.pump.state(outbox(TENANT), &waiting)), (0, DeliveryState::Pending));
    world.pump.stop(Duration::from_secs(10)).await;
    assert_eq!(world.pump.in_flight(), 0);
    shutdown.notify_one();
    running.await.unwrap();
    world.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_queue_is_worked_off_to_its_end_each_once() {
    let (world, receiver) = (World::new(), Receiver::start().await);
    world.enqueue(TENANT, None, &receiver.url("/204"), 2_500);
    world.enqueue(2, None, &receiver.url("/204"), 10);
    world.rest().await;
    assert_eq!(receiver.count(), 2_510);
    let mut bodies: Vec<String> = receiver.arrived.lock().unwrap().iter().map(|(_, _, body)| body.clone()).collect();
    bodies.sort();
    bodies.dedup();
    assert_eq!(bodies.len(), 2_500, "the numbers of the second tenant's are among the first's");
    assert_eq!(counters(&world.test.store.read(), outbox(TENANT)).unwrap().pending, 0);
    world.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_that_a_crash_cut_off_is_made_again_under_its_number() {
    let (world, slow) = (World::unattended(TestStore::open(START)), Receiver::start().await);
    world.at(&slow.url("/slow"));
    world.enqueue(TENANT, Some(ENDPOINT), "x", 3);
    let pump = world.pump.clone();
    let running = tokio::spawn(async move { pump.run_due().await });
    while slow.at_once.0.load(Ordering::SeqCst) < 3 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    running.abort();
    let delivery = world.delivery(TENANT, 2);
    assert_eq!(world.pump.state(outbox(TENANT), &delivery), DeliveryState::Delivering);
    // Nothing that comes of these attempts is written down.
    let World { test, room: _, pump } = world;
    test.store.shutdown();
    let weak = pump.downgrade();
    drop((pump, running.await));
    while weak.strong_count() > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let directory = test.close();
    let world = World::open(TestStore::open_in(directory, START));
    let receiver = Receiver::start().await;
    world.at(&receiver.url("/204"));
    world.rest().await;
    let mut arrived = receiver.arrived.lock().unwrap().clone();
    arrived.sort();
    let arrived: Vec<String> = arrived.into_iter().map(|(_, number, body)| number + &body).collect();
    assert_eq!(arrived, ["1{\"id\":1}", "1{\"id\":2}", "1{\"id\":3}"]);
    world.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_nobody_to_go_to_ends_and_counts_nowhere() {
    let (world, receiver) = (World::new(), Receiver::start().await);
    for (destination, error) in
        [(Destination::Inactive, LastError::EndpointDisabled), (Destination::Gone, LastError::EndpointDeleted)]
    {
        *world.room.destination.lock().unwrap() = destination;
        let id = world.enqueue(TENANT, Some(ENDPOINT), "x", 1);
        world.rest().await;
        let delivery = world.delivery(TENANT, id);
        assert_eq!((delivery.end, delivery.last_error, delivery.attempts), (Some(End::Dead), Some(error), 0));
    }
    assert_eq!(world.health(), Health::default());
    assert_eq!(counters(&world.test.store.read(), outbox(TENANT)).unwrap().dead_total, 0);
    assert_eq!(receiver.count(), 0);
    world.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_ended_can_be_sent_once_more() {
    let (world, receiver) = (World::new(), Receiver::start().await);
    world.at(&receiver.url("/404"));
    world.enqueue(TENANT, Some(ENDPOINT), "x", 1);
    let again = |id: u64| {
        let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| {
            let body = |sent: &[u8], number: u64| [sent, number.to_string().as_bytes()].concat();
            redeliver(tx, now, outbox(TENANT), id, 5, body)
        };
        world.test.store.write_blocking(Instant::now() + Duration::from_secs(10), verb)
    };
    assert_eq!(again(1), Err(Abort::Refused(NotRedelivered::NotTerminal)));
    assert_eq!(again(9), Err(Abort::Refused(NotRedelivered::NotFound)));
    world.rest().await;
    assert_eq!(world.delivery(TENANT, 1).end, Some(End::Dead));
    world.at(&receiver.url("/204"));
    assert_eq!(again(1), Ok(2));
    world.rest().await;
    let repeated = world.delivery(TENANT, 2);
    assert_eq!((repeated.end, repeated.redelivery_of, repeated.attempts), (Some(End::Delivered), Some(1), 1));
    assert_eq!(repeated.event_id, world.delivery(TENANT, 1).event_id);
    assert_eq!(receiver.arrived.lock().unwrap()[1].2, "{\"id\":1}2");
    world.check();
}

/// What is long stands in a row of its own, and goes the same ways.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_long_is_sent_and_sent_once_more_and_goes() {
    let (world, receiver) = (World::new(), Receiver::start().await);
    world.at(&receiver.url("/404"));
    let long = "x".repeat(10_000);
    let body = long.clone().into_bytes();
    world.write(move |tx, now| {
        let new = new(outbox(TENANT), NewTarget::Endpoint(ENDPOINT), tx.new_id());
        enqueue(tx, now, new, |_| body)
    });
    let bodies = || world.test.store.read().scan(&tables::BODIES, Scan::all()).unwrap().len();
    assert_eq!(bodies(), 1);
    world.rest().await;
    let again = world.write(|tx, now| {
        let again = redeliver(tx, now, outbox(TENANT), 1, 5, |sent: &[u8], _| sent.to_vec());
        again.map_err(|abort| match abort {
            Abort::Failed(failure) => failure,
            Abort::Refused(refusal) => panic!("{refusal}"),
        })
    });
    assert_eq!((again, bodies()), (2, 2));
    world.rest().await;
    let arrived = receiver.arrived.lock().unwrap().clone();
    assert_eq!(arrived.iter().filter(|(.., sent)| *sent == long).count(), 2);
    world.check();
    world.write(|tx, now| drop_target(tx, now, outbox(TENANT), ENDPOINT));
    assert_eq!(bodies(), 0);
    world.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn with_an_endpoint_go_its_deliveries_however_many() {
    let (world, receiver) = (World::new(), Receiver::start().await);
    world.at(&receiver.url("/204"));
    world.enqueue(TENANT, Some(ENDPOINT), "x", 300);
    world.rest().await;
    *world.room.destination.lock().unwrap() = Destination::Gone;
    world.enqueue(TENANT, Some(ENDPOINT), "x", 450);
    world.enqueue(TENANT, Some(Uuid::from_u128(8)), "x", 1);
    world.write(|tx, now| drop_target(tx, now, outbox(TENANT), ENDPOINT));
    world.rest().await;
    let read = world.test.store.read();
    let all = Filter { endpoint_id: None, resource: None, state: None, since: 0, before: None, limit: 200 };
    let left = list(&read, outbox(TENANT), all, |delivery| world.pump.state(outbox(TENANT), delivery)).unwrap();
    assert_eq!(left.items.iter().map(|delivery| delivery.id).collect::<Vec<_>>(), [751]);
    assert_eq!(world.health(), Health::default());
    assert_eq!(counters(&read, outbox(TENANT)).unwrap().pending, 0);
    // Another one goes at the same instant, whose id is smaller.
    let smaller = Uuid::from_u128(ENDPOINT.as_u128() - 1);
    world.enqueue(TENANT, Some(smaller), "x", 450);
    world.write(move |tx, now| drop_target(tx, now, outbox(TENANT), smaller));
    world.rest().await;
    assert_eq!(deliveries_of(&world, smaller), 0);
    world.check();
}

/// How many deliveries of an endpoint there are, up to 200.
fn deliveries_of(world: &World, endpoint_id: Uuid) -> usize {
    let all =
        Filter { endpoint_id: Some(endpoint_id), resource: None, state: None, since: 0, before: None, limit: 200 };
    let state = |delivery: &Delivery| world.pump.state(outbox(TENANT), delivery);
    list(&world.test.store.read(), outbox(TENANT), all, state).unwrap().items.len()
}

#[test]
fn what_is_too_much_for_one_transaction_is_written_down() {
    let world = World::unattended(TestStore::open(START));
    world.enqueue(TENANT, Some(ENDPOINT), "x", 250);
    world.write(|tx, now| drop_target(tx, now, outbox(TENANT), ENDPOINT));
    let read = world.test.store.read();
    assert_eq!(DroppedTargets.next(&read, DroppedTargets::FIRST), Ok(Some(START)));
    assert_eq!(counters(&read, outbox(TENANT)).unwrap().pending, 50);
    world.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_keep_the_newest_in_ascending_order() {
    let (world, receiver) = (World::new(), Receiver::start().await);
    world.at(&receiver.url("/404"));
    world.enqueue(TENANT, Some(ENDPOINT), "x", 400);
    world.enqueue(TENANT, None, &receiver.url("/204"), 400);
    world.rest().await;
    world.enqueue(TENANT, None, &receiver.url("/204"), 1);
    world.enqueue(2, None, &receiver.url("/204"), 1);
    let read = world.test.store.read();
    let all = Filter { endpoint_id: None, resource: None, state: None, since: 0, before: None, limit: 3 };
    let ids = |filter: Filter<'_>| {
        let page = list(&read, outbox(TENANT), filter, |delivery| world.pump.state(outbox(TENANT), delivery)).unwrap();
        (page.items.iter().map(|delivery| delivery.id).collect::<Vec<_>>(), page.is_truncated)
    };
    assert_eq!(ids(all), (vec![799, 800, 801], true));
    assert_eq!(ids(Filter { since: 799, ..all }), (vec![800, 801], false));
    assert_eq!(ids(Filter { since: u64::MAX, ..all }), (vec![], false));
    assert_eq!(ids(Filter { endpoint_id: Some(ENDPOINT), ..all }), (vec![398, 399, 400], true));
    assert_eq!(ids(Filter { endpoint_id: Some(ENDPOINT), since: 398, ..all }), (vec![399, 400], false));
    assert_eq!(ids(Filter { state: Some(DeliveryState::Dead), ..all }), (vec![398, 399, 400], true));
    assert_eq!(ids(Filter { state: Some(DeliveryState::Pending), ..all }), (vec![801], false));
    assert_eq!(ids(Filter { state: Some(DeliveryState::Delivering), ..all }), (vec![], false));
    assert_eq!(ids(Filter { resource: Some("R1"), since: 799, ..all }), (vec![800, 801], false));
    assert_eq!(ids(Filter { resource: Some("R2"), ..all }), (vec![], false));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_given_up_is_found_part_by_part_and_not_twice() {
    let (world, receiver) = (World::new(), Receiver::start().await);
    world.at(&receiver.url("/404"));
    world.enqueue(TENANT, Some(ENDPOINT), "x", 70);
    world.enqueue(TENANT, None, &receiver.url("/404"), 3);
    world.rest().await;
    let whole = Dead { endpoint_id: ENDPOINT, since: START, from: 0, until: u64::MAX, limit: 64 };
    let found = |wanted: Dead| dead(&world.test.store.read(), outbox(TENANT), &wanted).unwrap();
    let first = found(whole);
    assert_eq!((first.ids.clone(), first.next), ((1..=64).collect(), Some(65)));
    assert_eq!(first.looked_at, 64);
    let rest = found(Dead { from: 65, ..whole });
    assert_eq!((rest.ids, rest.next), ((65..=70).collect(), None), "those of others are not among them");
    assert_eq!(found(Dead { until: 2, ..whole }).ids, [1, 2]);
    let later = found(Dead { since: world.test.clock.now().plus_micros(1), ..whole });
    assert_eq!((later.ids, later.looked_at), (vec![], 70));
    // What somebody has sent once more is left out, whether or not the page knew of it.
    world.at(&receiver.url("/204"));
    let body = |sent: &[u8], _: u64| sent.to_vec();
    let again = move |tx: &mut WriteTx<'_>, now: Timestamp| redeliver(tx, now, outbox(TENANT), 3, 5, body);
    let number = world.test.store.write_blocking(Instant::now() + Duration::from_secs(10), again).unwrap();
    assert_eq!(number, 74);
    assert_eq!(found(Dead { until: 4, ..whole }).ids, [1, 2, 4]);
    assert_eq!(world.delivery(TENANT, 3).repeated_by(), Some(number));
    world.rest().await;
    world.check();
    // What was given up is counted by tenant, and the count is held against what there is.
    let told = |dead_total: u64| Counters { last_id: 74, pending: 0, dead_total };
    assert_eq!(all_counters(&world.test.store.read(), Service::Runs).unwrap(), [(Uuid::from_u128(TENANT), told(73))]);
    assert_eq!(all_counters(&world.test.store.read(), Service::Ledger).unwrap(), []);
    world.write(move |tx, _| {
        let mut counters = tx.get(&tables::COUNTERS, &outbox(TENANT).key())?.unwrap();
        counters.dead_total = 72;
        tx.put(&tables::COUNTERS, &outbox(TENANT).key(), &counters)
    });
    let findings = crate::verify(&world.test.store.read()).unwrap();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].contains("73 that were given up, and counts"), "{findings:?}");
}

/// Those about something were found by a digest among those of endpoints, up to version 2 of a delivery's row.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_enqueued_before_resources_had_an_index_is_found_and_goes() {
    const RESOURCE: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    let (world, receiver) = (World::new(), Receiver::start().await);
    world.at(&receiver.url("/404"));
    let tell = || {
        world.write(|tx, now| {
            let new =
                NewDelivery { resource: RESOURCE, ..new(outbox(TENANT), NewTarget::Endpoint(ENDPOINT), tx.new_id()) };
            Ok(enqueue(tx, now, new, |_| b"{}".to_vec())?.unwrap())
        })
    };
    for _ in 0..3 {
        tell();
    }
    world.write(|tx, _| {
        for id in 1..=3 {
            let place = outbox(TENANT).place(id);
            let row = tx.get(&tables::DELIVERIES, &place)?.unwrap();
            let (sealed, now) = (row.sealed.clone(), row.into_delivery(id));
            let before = Delivery { is_by_resource: false, ..now.clone() };
            for (index, subject) in tables::indexes(&now) {
                tx.delete(index, &(place.0, place.1, subject, id));
            }
            for (index, subject) in tables::indexes(&before) {
                assert_eq!(index.spec().tag, tables::BY_SUBJECT.spec().tag);
                tx.put(index, &(place.0, place.1, subject, id), &tables::Mark)?;
            }
            tx.put(&tables::DELIVERIES, &place, &tables::DeliveryRow::new(&before, sealed))?;
        }
        Ok(())
    });
    world.check();
    assert_eq!((tell(), tell()), (4, 5));
    let listed = |since: u64, limit: usize| {
        let filter = Filter { endpoint_id: None, resource: Some(RESOURCE), state: None, since, before: None, limit };
        let state = |delivery: &Delivery| world.pump.state(outbox(TENANT), delivery);
        let page = list(&world.test.store.read(), outbox(TENANT), filter, state).unwrap();
        page.items.iter().map(|delivery| delivery.id).collect::<Vec<_>>()
    };
    assert_eq!((listed(0, 9), listed(0, 3), listed(2, 9)), (vec![1, 2, 3, 4, 5], vec![3, 4, 5], vec![3, 4, 5]));
    world.rest().await;
    let again = move |tx: &mut WriteTx<'_>, now: Timestamp| {
        redeliver(tx, now, outbox(TENANT), 2, 5, |sent: &[u8], _| sent.to_vec())
    };
    assert_eq!(world.test.store.write_blocking(Instant::now() + Duration::from_secs(10), again), Ok(6));
    assert_eq!(world.delivery(TENANT, 2).repeated_by(), Some(6));
    world.check();
    world.write(|tx, now| drop_target(tx, now, outbox(TENANT), ENDPOINT));
    let read = world.test.store.read();
    for index in [&tables::BY_SUBJECT, &tables::BY_RESOURCE] {
        assert_eq!(read.scan(index, Scan::all()).unwrap().len(), 0);
    }
    world.check();
}
