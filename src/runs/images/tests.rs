//! What tenants name, held against their quotas.

use super::model::OverQuota;
use super::naming::{Room, find, forget_absent, is_named, name, room};
use crate::model::TenantId;
use crate::testing::{Bench, bench, tenant};

const MIB: u64 = 1 << 20;

/// Names an image of these layers, in MiB.
fn named(bench: &Bench, tenant_id: TenantId, most: u64, digest: &str, layers: &[(&str, u64)]) -> Result<(), OverQuota> {
    let layers = layers.iter().map(|(layer, mb)| ((*layer).to_owned(), mb * MIB)).collect::<Vec<_>>();
    let digest = digest.to_owned();
    bench.run(move |tx, now| Ok(name(tx, now, tenant_id, most, &digest, layers)?)).unwrap()
}

fn room_of(bench: &Bench, tenant_id: TenantId, most: u64) -> Room {
    room(&bench.store.read(), bench.now(), tenant_id, most).unwrap()
}

#[test]
fn layers_count_once_for_each_tenant_that_names_them() {
    let bench = bench();
    let refused = |taken: u64| Err(OverQuota { max_image_mb: 10, taken_bytes: taken * MIB });
    assert_eq!(named(&bench, tenant(1), 10, "a", &[("base", 4), ("a", 2)]), Ok(()));
    assert_eq!(named(&bench, tenant(1), 10, "b", &[("base", 4), ("b", 5)]), refused(6));
    assert_eq!(named(&bench, tenant(1), 10, "b", &[("base", 4), ("b", 4)]), Ok(()), "the base is there");
    let left = room_of(&bench, tenant(1), 10);
    assert_eq!(
        (left.bytes, left.taken_bytes, left.counted),
        (0, 10 * MIB, vec!["a".into(), "b".into(), "base".into()])
    );
    assert_eq!(named(&bench, tenant(1), 10, "c", &[("base", 4)]), Ok(()), "nothing of it is new");
    assert_eq!(named(&bench, tenant(1), 10, "d", &[("d", 1)]), refused(10));
    assert_eq!(
        named(&bench, tenant(1), 3, "a", &[("base", 4), ("a", 2)]),
        Ok(()),
        "it is named since the quota was more"
    );
    // Another tenant counts all of it, and is not counted with.
    assert_eq!(named(&bench, tenant(2), 10, "big", &[("big", 11)]), refused(0));
    assert_eq!(named(&bench, tenant(2), 10, "a", &[("base", 4), ("a", 2)]), Ok(()));
    assert_eq!(room_of(&bench, tenant(2), 10).bytes, 4 * MIB);
    assert_eq!(room_of(&bench, tenant(3), 10).bytes, 10 * MIB);
}

#[test]
fn what_no_run_uses_for_thirty_days_or_is_gone_counts_no_more() {
    let bench = bench();
    named(&bench, tenant(1), 10, "a", &[("a", 6)]).unwrap();
    bench.clock.advance(20 * 86_400);
    named(&bench, tenant(1), 10, "b", &[("b", 4)]).unwrap();
    bench.clock.advance(10 * 86_400 - 1);
    assert_eq!(room_of(&bench, tenant(1), 10).bytes, 0);
    bench.clock.advance(1);
    assert_eq!(room_of(&bench, tenant(1), 10).bytes, 6 * MIB);
    named(&bench, tenant(1), 10, "c", &[("c", 5)]).unwrap();
    assert_eq!(find(&bench.store.read(), tenant(1), "a").unwrap(), None, "its row is gone");
    let gone = bench.run(|tx, _| Ok(forget_absent(tx, tenant(1), &["c".to_owned()].into())?));
    assert_eq!((gone, room_of(&bench, tenant(1), 10).bytes), (Ok(true), 5 * MIB));
    let read = bench.store.read();
    assert_eq!((is_named(&read, "b").unwrap(), is_named(&read, "c").unwrap()), (false, true));
}
