//! Lists are bounded by what they look at, and say where to go on.

use super::repeats::{UNREADABLE, Unreadable};
use super::*;

const ALL: Filter<'_> = Filter { endpoint_id: None, resource: None, state: None, since: 0, before: None, limit: 200 };

fn page(world: &World, filter: Filter<'_>) -> Page {
    list(&world.test.store.read(), outbox(TENANT), filter, |delivery| world.pump.state(outbox(TENANT), delivery))
        .unwrap()
}

fn ids(page: &Page) -> Vec<u64> {
    page.items.iter().map(|delivery| delivery.id).collect()
}

#[test]
fn a_list_that_asks_for_what_is_rare_ends_and_goes_on_where_it_ended() {
    let world = World::unattended(TestStore::open(START));
    for _ in 0..13 {
        world.enqueue(TENANT, Some(ENDPOINT), "x", 400);
    }
    for endpoint_id in [None, Some(ENDPOINT)] {
        let dead = Filter { state: Some(DeliveryState::Dead), endpoint_id, ..ALL };
        let first = page(&world, dead);
        assert_eq!((ids(&first), first.is_truncated, first.next_before), (vec![], true, Some(81)));
        let rest = page(&world, Filter { before: first.next_before, ..dead });
        assert_eq!((ids(&rest), rest.is_truncated, rest.next_before), (vec![], false, None));
    }
    let (mut all, mut before) = (Vec::new(), None);
    loop {
        let page = page(&world, Filter { before, since: 4_000, limit: 150, ..ALL });
        all.splice(..0, ids(&page));
        before = page.next_before;
        assert_eq!(page.is_truncated, before.is_some());
        if before.is_none() {
            break;
        }
    }
    assert_eq!(all, (4_001..=5_200).collect::<Vec<_>>(), "each once");
    let none = page(&world, Filter { before: Some(1), ..ALL });
    assert_eq!((ids(&none), none.is_truncated), (vec![], false));
}

/// Of what one endpoint was told about one thing, neither all about the thing nor all of the endpoint is looked at.
#[test]
fn what_an_endpoint_was_told_about_one_thing_is_found_from_both_sides() {
    let world = World::unattended(TestStore::open(START));
    let other = Uuid::from_u128(8);
    world.enqueue(TENANT, Some(ENDPOINT), "x", 3);
    let unreadable = world.enqueue(TENANT, Some(other), "x", 1);
    for _ in 0..3 {
        world.enqueue(TENANT, Some(other), "x", 2_000);
    }
    for _ in 0..3 {
        world.write(|tx, now| {
            for _ in 0..2_000 {
                let to_it = NewTarget::Endpoint(ENDPOINT);
                let about = NewDelivery { resource: "R2", ..new(outbox(TENANT), to_it, tx.new_id()) };
                enqueue(tx, now, about, |_| b"{}".to_vec())?;
            }
            Ok(())
        });
    }
    world.enqueue(TENANT, Some(ENDPOINT), "x", 1);
    world.write(move |tx, _| tx.put(&UNREADABLE, &outbox(TENANT).place(unreadable), &Unreadable));
    let both = Filter { endpoint_id: Some(ENDPOINT), resource: Some("R1"), ..ALL };
    assert_eq!(ids(&page(&world, both)), [1, 2, 3, 12_005]);
    let newest = page(&world, Filter { limit: 2, ..both });
    assert_eq!((ids(&newest), newest.is_truncated, newest.next_before), (vec![3, 12_005], true, Some(3)));
    assert_eq!(ids(&page(&world, Filter { before: Some(3), ..both })), [1, 2]);
    assert_eq!(ids(&page(&world, Filter { since: 2, ..both })), [3, 12_005]);
    assert_eq!(ids(&page(&world, Filter { resource: Some("R3"), ..both })), Vec::<u64>::new());
}
