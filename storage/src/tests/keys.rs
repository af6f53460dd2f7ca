//! Keys: bytes sort as values do, and come back as they went in.

use uuid::Uuid;

use crate::tables::keys::{Key, KeyPrefix, Reverse, after_prefix};
use crate::time::Timestamp;

fn bytes<K: Key>(key: &K) -> Vec<u8> {
    let mut out = Vec::new();
    key.encode(&mut out);
    out
}

fn check<K: Key + Ord + Clone + std::fmt::Debug>(mut draw: impl FnMut(&mut fastrand::Rng) -> K) {
    let mut random = fastrand::Rng::with_seed(11);
    for _ in 0..3_000 {
        let (a, b) = (draw(&mut random), draw(&mut random));
        let (a_bytes, b_bytes) = (bytes(&a), bytes(&b));
        assert_eq!(a.cmp(&b), a_bytes.cmp(&b_bytes), "{a:?} and {b:?}");
        let mut rest = a_bytes.as_slice();
        assert_eq!(K::decode(&mut rest).unwrap(), a);
        assert!(rest.is_empty());
        assert!(a == b || !a_bytes.starts_with(&b_bytes), "{b:?} is a prefix of {a:?}");
        // Cut anywhere, it is no key.
        if !a_bytes.is_empty() {
            let cut = random.usize(..a_bytes.len());
            assert!(K::decode(&mut &a_bytes[..cut]).is_err(), "{a:?} cut at {cut}");
        }
    }
}

fn text(random: &mut fastrand::Rng) -> String {
    const PARTS: [char; 6] = ['\0', '\u{1}', 'a', 'b', 'ÿ', '😀'];
    (0..random.usize(..5)).map(|_| PARTS[random.usize(..PARTS.len())]).collect()
}

#[test]
fn the_order_of_bytes_is_the_order_of_values() {
    check(|random| random.u8(..));
    check(|random| random.u64(..) >> random.u32(..64));
    check(|random| random.u128(..));
    check(|random| random.i64(..) >> random.u32(..64));
    check(|random| random.bool());
    check(text);
    check(|random| text(random).into_bytes());
    check(|random| Timestamp::from_micros(random.i64(..)));
    check(|random| Uuid::from_u128(random.u128(..)));
    check(|random| (text(random), random.u8(..3), text(random)));
    check(|random| (random.u8(..2), text(random), random.i64(-3..3), random.bool()));
}

#[test]
fn reversed_parts_sort_backwards() {
    let mut random = fastrand::Rng::with_seed(5);
    for _ in 0..1_000 {
        let (a, b) = (random.u64(..9), random.u64(..9));
        let (a_bytes, b_bytes) = (bytes(&(Reverse(a), 1_u8)), bytes(&(Reverse(b), 1_u8)));
        assert_eq!(b.cmp(&a), a_bytes.cmp(&b_bytes));
        assert_eq!(<(Reverse<u64>, u8)>::decode(&mut a_bytes.as_slice()).unwrap(), (Reverse(a), 1));
    }
}

#[test]
fn a_prefix_covers_exactly_its_keys() {
    let mut random = fastrand::Rng::with_seed(6);
    for _ in 0..2_000 {
        let key = (random.u8(253..), text(&mut random), random.u8(..));
        let prefix = (random.u8(253..), text(&mut random));
        let mut lower = Vec::new();
        KeyPrefix::<(u8, String, u8)>::encode_prefix(&prefix, &mut lower);
        let inside = bytes(&key) >= lower && after_prefix(&lower).is_none_or(|upper| bytes(&key) < upper);
        assert_eq!(inside, (key.0, &key.1) == (prefix.0, &prefix.1), "{key:?} under {prefix:?}");
    }
}

#[test]
fn nothing_is_above_the_highest_prefix() {
    assert_eq!(after_prefix(&[0xFF, 0xFF]), None);
    assert_eq!(after_prefix(&[1, 0xFF]), Some(vec![2]));
    assert_eq!(after_prefix(&[]), None);
}
