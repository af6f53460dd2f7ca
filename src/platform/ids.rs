//! Texts of identifiers: UUIDs, the same as ULIDs, and identifiers of requests.
//!
//! Identifiers of anything that is stored are minted in the transaction ([`WriteTx::new_id`]); a ULID here is only
//! another spelling of such a UUID version 7: both start with 48 bits of milliseconds, so their order is the same.
//!
//! [`WriteTx::new_id`]: quintet_storage::WriteTx::new_id

use uuid::Uuid;

use crate::secrets::random_bytes;

/// Crockford's alphabet: no I, L, O, U.
const CROCKFORD: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Characters of a ULID: 26 of five bits hold 128, with two bits to spare in the first.
pub const ULID_LEN: usize = 26;

/// The ULID text of an identifier: 26 characters of Crockford's base 32, upper case.
#[must_use]
pub fn ulid(id: Uuid) -> String {
    let mut left = id.as_u128();
    let mut text = [b'0'; ULID_LEN];
    for character in text.iter_mut().rev() {
        let digit = usize::try_from(left & 31).unwrap_or(0);
        *character = CROCKFORD.get(digit).copied().unwrap_or(b'0');
        left >>= 5;
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// Reads a ULID. Upper or lower case; no other spelling (Crockford's look-alikes are refused, so that one
/// identifier has one text in each case).
#[must_use]
pub fn parse_ulid(text: &str) -> Option<Uuid> {
    if text.len() != ULID_LEN {
        return None;
    }
    let mut value: u128 = 0;
    for (place, byte) in text.bytes().enumerate() {
        let upper = byte.to_ascii_uppercase();
        let digit = CROCKFORD.iter().position(|&known| known == upper)? as u128;
        if place == 0 && digit > 7 {
            return None;
        }
        value = (value << 5) | digit;
    }
    Some(Uuid::from_u128(value))
}

/// Reads a UUID in its hyphenated form of 36 characters, either case. Braces, `urn:uuid:` and the form without
/// hyphens are refused.
#[must_use]
pub fn parse_uuid(text: &str) -> Option<Uuid> {
    if text.len() == 36 { Uuid::try_parse(text).ok() } else { None }
}

/// An identifier for one request: 26 characters of random base 32. It is never a key of anything stored.
#[must_use]
pub fn request_id() -> String {
    ulid(Uuid::from_bytes(random_bytes()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_ulids() {
        assert_eq!(ulid(Uuid::nil()), "00000000000000000000000000");
        assert_eq!(ulid(Uuid::max()), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
        assert_eq!(ulid(Uuid::from_u128(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef)), "014D2PF2DBSQQG28T5CY4TQKFF");
        assert_eq!(parse_ulid("7zzzzzzzzzzzzzzzzzzzzzzzzz"), Some(Uuid::max()));
    }

    #[test]
    fn malformed_ulids() {
        for text in [
            "",
            "0",
            "8ZZZZZZZZZZZZZZZZZZZZZZZZZ",
            "0000000000000000000000000U",
            "0000000000000000000000000I",
            "0000000000000000000000000L",
            "0000000000000000000000000O",
            "000000000000000000000000 0",
            "0000000000000000000000000",
            "000000000000000000000000000",
            "0000000000000000000000000\u{e9}",
            "000000000000000000000000\u{e9}",
        ] {
            assert_eq!(parse_ulid(text), None, "{text}");
        }
    }

    #[test]
    fn uuids_have_one_form() {
        let id = Uuid::from_u128(0x0190_a1b2_c3d4_7e5f_8a9b_0c1d_2e3f_4a5b);
        assert_eq!(parse_uuid("0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"), Some(id));
        assert_eq!(parse_uuid("0190A1B2-C3D4-7E5F-8A9B-0C1D2E3F4A5B"), Some(id));
        for text in [
            "",
            "0190a1b2c3d47e5f8a9b0c1d2e3f4a5b",
            "{0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b}",
            "urn:uuid:0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b",
            "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5",
            "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5g",
            "0190a1b2-c3d47-e5f-8a9b-0c1d2e3f4a5b",
            " 190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b",
        ] {
            assert_eq!(parse_uuid(text), None, "{text}");
        }
    }

    #[test]
    fn request_ids_are_ulids_and_differ() {
        let (one, two) = (request_id(), request_id());
        assert_ne!(one, two);
        assert!(parse_ulid(&one.replacen(|_: char| true, "0", 1)).is_some(), "{one}");
    }

    proptest! {
        #[test]
        fn ulids_round_trip_and_keep_order(left: u128, right: u128) {
            let (a, b) = (Uuid::from_u128(left), Uuid::from_u128(right));
            prop_assert_eq!(parse_ulid(&ulid(a)), Some(a));
            prop_assert_eq!(parse_ulid(&ulid(a).to_lowercase()), Some(a));
            prop_assert_eq!(ulid(a).cmp(&ulid(b)), a.cmp(&b));
        }

        #[test]
        fn any_text_is_safe(text in ".*") {
            if let Some(id) = parse_ulid(&text) {
                prop_assert_eq!(ulid(id), text.to_ascii_uppercase());
            }
            if let Some(id) = parse_uuid(&text) {
                prop_assert_eq!(id.to_string(), text.to_ascii_lowercase());
            }
        }

        #[test]
        fn uuids_round_trip(value: u128) {
            let id = Uuid::from_u128(value);
            prop_assert_eq!(parse_uuid(&id.to_string()), Some(id));
        }
    }
}
