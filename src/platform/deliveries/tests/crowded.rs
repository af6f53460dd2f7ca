//! What waits for an endpoint is counted, and bounded where the room says so.

use super::super::tables::COUNTERS;
use super::repeats::{again, make_old};
use super::*;

const OTHER: Uuid = Uuid::from_u128(8);

/// Tells endpoints of so many events, where so many may wait for each.
fn tell(world: &World, endpoints: &'static [Uuid], events: usize, waiting_max: u64) {
    tell_at_most(world, endpoints, events, WaitingMax { of_failing: waiting_max, of_any: waiting_max });
}

fn tell_at_most(world: &World, endpoints: &'static [Uuid], events: usize, most: WaitingMax) {
    let room = Arc::clone(&world.room);
    world.write(move |tx, now| {
        for _ in 0..events {
            let event_id = tx.new_id();
            let all = endpoints.iter().map(|id| new(outbox(TENANT), NewTarget::Endpoint(*id), event_id));
            let body = |id: u64, _: &NewDelivery<'_>| format!("{{\"id\":{id}}}").into_bytes();
            enqueue_all(tx, now, &*room, (outbox(TENANT), most), all, body)?;
        }
        Ok(())
    });
}

fn waiting(world: &World, target: Target) -> u64 {
    waiting_for(&world.test.store.read(), outbox(TENANT), target).unwrap()
}

fn counted(world: &World) -> Counters {
    counters(&world.test.store.read(), outbox(TENANT)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_much_for_an_endpoint_is_given_up_at_once() {
    let (world, receiver) = (World::new(), Receiver::start().await);
    world.at(&receiver.url("/204"));
    tell(&world, &[ENDPOINT], 5, 5);
    world.enqueue(TENANT, None, &receiver.url("/204"), 7);
    world.check();
    tell(&world, &[ENDPOINT, OTHER], 3, 5);
    world.check();
    assert_eq!(
        [Target::Endpoint(ENDPOINT), Target::Endpoint(OTHER), Target::Inline].map(|one| waiting(&world, one)),
        [5, 3, 7]
    );
    assert_eq!(counted(&world), Counters { last_id: 18, pending: 15, dead_total: 3 });
    let given_up = world.delivery(TENANT, 13);
    assert_eq!((given_up.end, given_up.last_error), (Some(End::Dead), Some(LastError::TooMuchWaiting)));
    assert_eq!((given_up.attempts, given_up.settled_at, given_up.next_attempt_at), (0, Some(START), None));
    assert_eq!((world.health().dead_total, world.health().dead_of_a_day(START)), (3, 3));
    let followed = [(Verdict::Dead, 1), (Verdict::Dead, 2), (Verdict::Dead, 3)];
    assert_eq!(*world.room.settled.lock().unwrap(), followed, "what follows from a death follows from these");
    world.rest().await;
    assert_eq!((counted(&world).pending, receiver.count()), (0, 15));
    assert_eq!(waiting(&world, Target::Endpoint(ENDPOINT)), 0);
    tell(&world, &[ENDPOINT], 1, 5);
    assert_eq!(waiting(&world, Target::Endpoint(ENDPOINT)), 1, "when it has caught up, it is told again");
    assert_eq!(again(&world, 13), 20);
    world.rest().await;
    assert_eq!(world.delivery(TENANT, 20).end, Some(End::Delivered));
    world.check();
    world.test.clock.advance(31 * DAY).await.unwrap();
    assert_eq!(world.test.store.read().scan(&tables::DELIVERIES, Scan::all()).unwrap().len(), 0);
    world.check();
}

#[test]
fn what_waits_goes_with_its_endpoint_and_is_counted_no_more() {
    let world = World::unattended(TestStore::open(START));
    tell(&world, &[ENDPOINT, OTHER], 10, 100);
    world.write(|tx, now| drop_target(tx, now, outbox(TENANT), ENDPOINT));
    assert_eq!([ENDPOINT, OTHER].map(|id| waiting(&world, Target::Endpoint(id))), [0, 10]);
    world.check();
}

/// What was enqueued before it was counted by endpoint never is, and takes nothing away when it ends.
#[tokio::test(flavor = "multi_thread")]
async fn what_waited_before_it_was_counted_is_in_nobodys_count() {
    let (world, receiver) = (World::new(), Receiver::start().await);
    world.at(&receiver.url("/503"));
    tell(&world, &[ENDPOINT], 4, 100);
    make_old(&world, 1..=4);
    world.write(|tx, _| {
        // As version 1 had the row.
        let bytes = quintet_storage::encode_plain(&(4_u64, 4_u64, 0_u64))?;
        let row = <tables::CountersRow as quintet_storage::Row>::migrate(1, &bytes)?;
        tx.put(&tables::COUNTERS, &outbox(TENANT).key(), &row)
    });
    world.check();
    tell(&world, &[ENDPOINT], 2, 100);
    assert_eq!((waiting(&world, Target::Endpoint(ENDPOINT)), counted(&world).pending), (2, 6));
    world.rest().await;
    world.check();
    world.at(&receiver.url("/204"));
    world.test.clock.advance(60).await.unwrap();
    assert_eq!((waiting(&world, Target::Endpoint(ENDPOINT)), counted(&world).pending), (0, 0));
    world.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_is_merely_behind_gets_all_it_is_told() {
    let (world, receiver) = (World::new(), Receiver::start().await);
    let most = WaitingMax { of_failing: 5, of_any: 100 };
    world.at(&receiver.url("/204"));
    tell_at_most(&world, &[ENDPOINT], 50, most);
    assert_eq!((counted(&world).pending, counted(&world).dead_total), (50, 0), "nothing was tried yet");
    world.rest().await;
    assert_eq!(receiver.count(), 50);
    // It fails for an hour, and more than a few times.
    world.at(&receiver.url("/503"));
    tell_at_most(&world, &[ENDPOINT], 50, most);
    world.rest().await;
    assert!(world.health().consecutive_failures >= 50);
    tell_at_most(&world, &[ENDPOINT], 1, most);
    assert_eq!(counted(&world).dead_total, 0, "it took something a moment ago");
    world.test.clock.advance(3_600).await.unwrap();
    let before = counted(&world);
    tell_at_most(&world, &[ENDPOINT], 10, most);
    let after = counted(&world);
    assert!(before.pending <= 5 && after.pending == 5 && after.dead_total == before.dead_total + 5 + before.pending);
    world.check();
}

/// The row that is written with each delivery does not grow with endpoints where a tenant may have many.
#[tokio::test(flavor = "multi_thread")]
async fn what_waits_is_not_counted_by_endpoint_where_those_are_many() {
    let world = World::new();
    let of_messaging = Outbox { service: Service::Messaging, ..outbox(TENANT) };
    world.write(move |tx, now| {
        for id in 1..=1_000 {
            let event_id = tx.new_id();
            let delivery = new(of_messaging, NewTarget::Endpoint(Uuid::from_u128(id)), event_id);
            enqueue(tx, now, delivery, |_| b"{}".to_vec())?;
        }
        Ok(())
    });
    let row = world.test.store.read().get(&COUNTERS, &of_messaging.key()).unwrap().unwrap();
    assert_eq!((row.waiting().count(), Counters::from(row).pending), (0, 1_000));
    world.check();
}
