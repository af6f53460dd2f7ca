//! Deliveries that are made, and what the operator does with those that were given up.

use std::sync::Arc;

use bincode::{Decode, Encode};
use quintet_platform::deliveries::{Dead, NewTarget, OldDeliveries, Pump, dead, enqueue};
use quintet_platform::egress::Egress;
use quintet_platform::jobs::{Rows, Sweep};
use quintet_platform::webhooks::Operator;
use quintet_storage::{Family, Row, Table};
use quintet_support::{rehearsal_of_a_room, write};

use super::*;

const START_MICROS: i64 = 1_700_000_000_000_000;

/// A row that nobody can read.
#[derive(Clone, Debug, Encode, Decode)]
struct Unreadable;

impl Row for Unreadable {
    const VERSION: u8 = 99;
}

/// The platform's deliveries.
const UNREADABLE: Table<(Uuid, u8, u64), Unreadable> = Table::new(0x0140, Family::APPLIANCE, "platform.deliveries");

/// A file of translations has a delivery for each of its changes and each endpoint. Whoever sends once more what one endpoint did
/// not take looks at none of the others, in the writer's transaction least of all; and each is in the chain.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_sent_once_more_is_found_without_a_look_at_all_that_is_about_the_same() {
    let (_directory, store, clock) = rehearsal_of_a_room(crate::TABLES, START_MICROS);
    let egress = Egress::new(|_| false);
    let pump = Pump::new((*store).clone(), clock.clone(), egress.clone(), vec![Arc::new(WEBHOOKS) as _]);
    clock.register(Arc::new(pump.clone()));
    clock.register(Arc::new(Sweep(Rows::new((*store).clone(), OldDeliveries))));
    // An address that must not be called: what is told there is given up at once.
    let endpoint = NewEndpoint { url: "https://10.0.0.1/hook".to_owned(), ..new(&["release"], true) };
    let create = move |tx: &mut WriteTx<'_>, now| create(tx, now, &actor(TENANT), endpoint);
    let (id, _) = write(&store, create);
    for _ in 0..10 {
        write(&store, |tx, now| Ok::<_, Abort<Refusal>>(tell(tx, now, &actor(TENANT), release())?));
    }
    clock.advance(0).await.unwrap();
    let outbox = WEBHOOKS.outbox(TENANT.0);
    assert_eq!(counters(&store.read(), outbox).unwrap().dead_total, 10);
    write(&store, move |tx, now| {
        let event = quintet_platform::webhooks::Event {
            event_id: Uuid::from_u128(77),
            name: "release".to_owned(),
            occurred_at: now,
            tenant_id: TENANT.0,
            resource_type: "release",
            resource_id: Uuid::from_u128(5).to_string(),
            data: Json::object([("a", Json::Null)]),
        };
        let other = WEBHOOKS.delivery_of(&event, NewTarget::Endpoint(Uuid::from_u128(99)), 30);
        let number = enqueue(tx, now, other, |_| b"{}".to_vec())?.unwrap();
        // 0 stands for localization in keys.
        let place = (TENANT.0, 0, number);
        Ok::<_, Abort<Refusal>>(tx.put(&UNREADABLE, &place, &Unreadable)?)
    });
    let wanted = Dead { endpoint_id: id, since: clock.now(), from: 0, until: 10, limit: 64 };
    let page = dead(&store.read(), outbox, &wanted).unwrap();
    assert_eq!(page.ids, (1..=10).collect::<Vec<_>>());
    let redeliver = |page: quintet_platform::deliveries::DeadPage| {
        let verb = move |tx: &mut WriteTx<'_>, now| {
            WEBHOOKS.redeliver_dead(tx, now, key_of(id), &page).map_err(|_| Abort::Refused(Refusal::NotFound))
        };
        write(&store, verb)
    };
    assert_eq!(redeliver(page.clone()), 10);
    assert_eq!(redeliver(page), 0, "nothing goes out twice, whatever the page says");
    assert_eq!(dead(&store.read(), outbox, &wanted).unwrap().ids, Vec::<u64>::new());
    let chain = events_after(&store.read(), TENANT, 0, 100).unwrap();
    let sent = chain.iter().filter(|(_, row)| row.action == "webhook.redeliver" && row.actor_kind.name() == "system");
    assert_eq!(sent.count(), 10);
    let operator = Operator { webhooks: WEBHOOKS, store: (*store).clone(), clock, pump, egress };
    assert_eq!(operator.standing().unwrap().endpoints, 1);
}
