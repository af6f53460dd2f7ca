//! What goes wrong with one delivery is nobody else's trouble, and is found.

use quintet_storage::{Read as _, Scan};

use super::super::tables::{BODIES, BY_SUBJECT, BodyRow, COUNTERS, DELIVERIES, DUE, HEALTH, Mark, OLD, Place};
use super::*;

/// What of a delivery's way panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Panics {
    Attempting,
    Settling,
}

/// One of many is left alone, wherever it goes wrong; all others arrive once, and whoever moves the clock gets through.
#[tokio::test(flavor = "multi_thread")]
async fn one_that_cannot_be_seen_to_holds_up_nobody() {
    for way in [Panics::Attempting, Panics::Settling] {
        let (world, receiver) = (World::new(), Receiver::start().await);
        *world.room.panics.lock().unwrap() = Some((42, way));
        world.enqueue(TENANT, None, &receiver.url("/204"), 100);
        world.enqueue(2, None, &receiver.url("/204"), 30);
        tokio::time::timeout(Duration::from_secs(30), world.rest()).await.unwrap();
        let arrived = if way == Panics::Attempting { 129 } else { 130 };
        assert_eq!(receiver.count(), arrived, "{way:?}: each once");
        for (tenant, count) in [(TENANT, 100), (2, 30)] {
            for id in (1..=count).filter(|id| *id != 42) {
                assert_eq!(world.delivery(tenant, id).end, Some(End::Delivered), "{way:?}: {id}");
            }
        }
        assert_eq!((world.delivery(TENANT, 42).end, world.pump.in_flight()), (None, 0));
        // It has its turn again after a start.
        *world.room.panics.lock().unwrap() = None;
        let world = World::open(world.test);
        world.rest().await;
        assert_eq!(world.delivery(TENANT, 42).end, Some(End::Delivered));
        world.check();
    }
}

/// An endpoint may go while it is called.
#[tokio::test(flavor = "multi_thread")]
async fn of_an_endpoint_that_goes_while_it_is_called_nothing_stays() {
    let (world, receiver) = (World::new(), Receiver::start().await);
    world.at(&receiver.url("/slow"));
    // More than go in one transaction.
    world.enqueue(TENANT, Some(ENDPOINT), "x", 210);
    let clock = world.test.clock.clone();
    let moving = tokio::spawn(async move { clock.advance(0).await });
    while receiver.count() == 0 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    world.write(|tx, now| drop_target(tx, now, outbox(TENANT), ENDPOINT));
    moving.await.unwrap().unwrap();
    world.rest().await;
    let read = world.test.store.read();
    assert!(read.scan(&HEALTH, Scan::all()).unwrap().is_empty());
    assert!(read.scan(&DELIVERIES, Scan::all()).unwrap().is_empty());
    world.check();
}

/// Every kind of disagreement between the rows of a delivery is told.
#[tokio::test(flavor = "multi_thread")]
async fn verify_tells_whatever_does_not_agree() {
    type Damage = fn(&mut WriteTx<'_>, Place) -> Result<(), Failure>;
    let damages: [(&str, Damage); 11] = [
        ("has no body", |tx, place| {
            let mut row = tx.get(&DELIVERIES, &place)?.unwrap();
            row.sealed = None;
            tx.put(&DELIVERIES, &place, &row)
        }),
        ("or two", |tx, place| {
            let sealed = tx.get(&DELIVERIES, &place)?.unwrap().sealed.unwrap();
            tx.put(&BODIES, &place, &BodyRow { sealed })
        }),
        ("and no such delivery", |tx, (tenant_id, service, id)| {
            let sealed = tx.get(&DELIVERIES, &(tenant_id, service, id))?.unwrap().sealed.unwrap();
            tx.put(&BODIES, &(tenant_id, service, 99), &BodyRow { sealed })
        }),
        ("place in its index", |tx, (tenant_id, service, id)| {
            tx.delete(&BY_SUBJECT, &(tenant_id, service, ENDPOINT, id));
            Ok(())
        }),
        ("is found under", |tx, (tenant_id, service, id)| {
            tx.put(&BY_SUBJECT, &(tenant_id, service, Uuid::nil(), id), &Mark)
        }),
        ("has no next attempt", |tx, (tenant_id, service, id)| {
            tx.delete(&DUE, &(START, tenant_id, service, id));
            Ok(())
        }),
        ("is due at", |tx, (tenant_id, service, id)| {
            let row = tx.get(&DUE, &(START, tenant_id, service, id))?.unwrap();
            tx.put(&DUE, &(START.plus_seconds(1), tenant_id, service, id), &row)
        }),
        ("is to go in hour", |tx, (tenant_id, service, id)| tx.put(&OLD, &(1, tenant_id, service, id), &Mark)),
        ("and counts", |tx, (tenant_id, service, _)| {
            tx.delete(&COUNTERS, &(tenant_id, service));
            Ok(())
        }),
        ("counts what waits for its endpoints", |tx, (tenant_id, service, _)| {
            let mut row = tx.get(&COUNTERS, &(tenant_id, service))?.unwrap();
            row.waits(outbox(TENANT), Target::Endpoint(Uuid::from_u128(8)));
            tx.put(&COUNTERS, &(tenant_id, service), &row)
        }),
        ("counts deliveries that wait, and has none", |tx, (tenant_id, service, _)| {
            let row = tx.get(&COUNTERS, &(tenant_id, service))?.unwrap();
            tx.put(&COUNTERS, &(Uuid::from_u128(5), service), &row)
        }),
    ];
    for (finding, damage) in damages {
        let world = World::unattended(TestStore::open(START));
        world.enqueue(TENANT, Some(ENDPOINT), "x", 2);
        world.check();
        world.write(move |tx, _| damage(tx, outbox(TENANT).place(2)));
        let found = crate::verify(&world.test.store.read()).unwrap();
        assert!(found.iter().any(|one| one.contains(finding)), "{finding}: {found:?}");
    }
    let world = World::unattended(TestStore::open(START));
    world.write(|tx, now| {
        let event_id = tx.new_id();
        for target in [NewTarget::Inline("http://a.example/", None); 2] {
            enqueue(tx, now, new(outbox(TENANT), target, event_id), |_| Vec::new())?;
        }
        Ok(())
    });
    let found = crate::verify(&world.test.store.read()).unwrap();
    assert!(found.iter().any(|one| one.contains("once more")), "{found:?}");
}
