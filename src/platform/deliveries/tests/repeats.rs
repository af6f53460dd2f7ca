//! What was sent once more is known without looking through what is about the same, for that may be without end: a file of
//! translations has a delivery for each of its changes and each endpoint.

use bincode::{Decode, Encode};
use quintet_storage::{Family, Row, Table};

use super::super::model::Repeat;
use super::super::tables::{DELIVERIES, DeliveryRow, Place};
use super::*;

/// A row that nobody can read.
#[derive(Clone, Debug, Encode, Decode)]
pub(super) struct Unreadable;

impl Row for Unreadable {
    const VERSION: u8 = 99;
}

pub(super) const UNREADABLE: Table<Place, Unreadable> = Table::new(0x0140, Family::APPLIANCE, "platform.deliveries");

fn dead_page(world: &World, from: u64) -> DeadPage {
    let wanted = Dead { endpoint_id: ENDPOINT, since: START, from, until: u64::MAX, limit: 64 };
    dead(&world.test.store.read(), outbox(TENANT), &wanted).unwrap()
}

/// All pages, and how many there were.
fn all_dead(world: &World) -> (Vec<u64>, usize) {
    let (mut ids, mut from, mut pages) = (Vec::new(), Some(0), 0);
    while let Some(next) = from {
        let page = dead_page(world, next);
        assert!(page.looked_at <= 2_048, "a page is bounded by what it looks at");
        ids.extend(page.ids);
        from = page.next;
        pages += 1;
    }
    (ids, pages)
}

/// As before version 4 of a delivery's row.
pub(super) fn make_old(world: &World, ids: std::ops::RangeInclusive<u64>) {
    world.write(move |tx, _| {
        for id in ids {
            let row = tx.get(&DELIVERIES, &outbox(TENANT).place(id))?.unwrap();
            let (sealed, delivery) = (row.sealed.clone(), row.into_delivery(id));
            let old = Delivery { repeat: Repeat::Unsaid, ..delivery };
            tx.put(&DELIVERIES, &outbox(TENANT).place(id), &DeliveryRow::new(&old, sealed))?;
        }
        Ok(())
    });
}

pub(super) fn again(world: &World, id: u64) -> u64 {
    let body = |sent: &[u8], _: u64| sent.to_vec();
    let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| redeliver(tx, now, outbox(TENANT), id, 5, body);
    world.test.store.write_blocking(Instant::now() + Duration::from_secs(10), verb).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_else_about_the_same_is_looked_at() {
    let (world, receiver) = (World::new(), Receiver::start().await);
    world.at(&receiver.url("/404"));
    world.enqueue(TENANT, Some(ENDPOINT), "x", 20);
    world.rest().await;
    let other = world.enqueue(TENANT, Some(Uuid::from_u128(8)), "x", 1);
    world.write(move |tx, _| tx.put(&UNREADABLE, &outbox(TENANT).place(other), &Unreadable));
    assert_eq!(dead_page(&world, 0).ids, (1..=20).collect::<Vec<_>>());
}

/// Whoever upgrades had sent some once more without a word of it in what was sent.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_sent_once_more_before_it_was_written_down_is_not_sent_twice() {
    let (world, receiver) = (World::new(), Receiver::start().await);
    world.at(&receiver.url("/404"));
    world.enqueue(TENANT, Some(ENDPOINT), "x", 10);
    world.rest().await;
    world.at(&receiver.url("/204"));
    assert_eq!(again(&world, 4), 11);
    world.rest().await;
    make_old(&world, 1..=11);
    world.check();
    assert_eq!(dead_page(&world, 0).ids, [1, 2, 3, 5, 6, 7, 8, 9, 10]);
    assert_eq!(again(&world, 5), 12);
    assert_eq!(world.delivery(TENANT, 5).repeated_by(), Some(12));
    assert_eq!(dead_page(&world, 0).ids, [1, 2, 3, 6, 7, 8, 9, 10]);
    // Of one that has too much about the same behind it nobody can say: it is sent by its number alone.
    world.enqueue(TENANT, Some(Uuid::from_u128(8)), "x", 300);
    let (ids, pages) = all_dead(&world);
    assert_eq!((ids, pages), (vec![], 2), "a page ends when it has looked at enough");
    assert_eq!(again(&world, 6), 313);
    world.rest().await;
    world.check();
}

/// The page is bounded however much an endpoint has.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_ends_when_it_has_looked_at_enough() {
    let (world, receiver) = (World::new(), Receiver::start().await);
    world.at(&receiver.url("/204"));
    world.enqueue(TENANT, Some(ENDPOINT), "x", 2_100);
    world.rest().await;
    world.at(&receiver.url("/404"));
    world.enqueue(TENANT, Some(ENDPOINT), "x", 70);
    world.rest().await;
    let first = dead_page(&world, 0);
    assert_eq!((first.ids.len(), first.looked_at, first.next), (0, 2_048, Some(2_049)));
    let (ids, pages) = all_dead(&world);
    assert_eq!((ids, pages), ((2_101..=2_170).collect(), 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repetition_that_is_not_written_down_is_found() {
    let (world, receiver) = (World::new(), Receiver::start().await);
    world.at(&receiver.url("/404"));
    world.enqueue(TENANT, Some(ENDPOINT), "x", 1);
    world.rest().await;
    again(&world, 1);
    world.check();
    world.write(|tx, _| {
        let row = tx.get(&DELIVERIES, &outbox(TENANT).place(1))?.unwrap();
        let (sealed, delivery) = (row.sealed.clone(), row.into_delivery(1));
        let wrong = Delivery { repeat: Repeat::No, ..delivery };
        tx.put(&DELIVERIES, &outbox(TENANT).place(1), &DeliveryRow::new(&wrong, sealed))
    });
    let findings = crate::verify(&world.test.store.read()).unwrap();
    assert!(findings.iter().any(|one| one.contains("has no word in what it repeats")), "{findings:?}");
}
