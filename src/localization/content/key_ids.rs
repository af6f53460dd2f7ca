//! Ids of keys: the prefix of the file (64 bits, of which 4 are a UUID's version) and the key's number in it (62 bits), so
//! that ids are in the order of files and numbers, and say in which page of its catalogue a key lies.

use quintet_platform::secrets::digest_parts;
use quintet_storage::Uuid;

use super::model::{FileId, KeyId};

/// The greatest number of a key.
const NUMBER_MAX: u64 = (1 << 62) - 1;

/// What a file's key ids begin with: out of its id, as random as can be, with a UUID's version 8 in its place.
#[must_use]
pub fn key_prefix(file_id: FileId) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = digest_parts(&[b"quintet key prefix", file_id.0.as_bytes()]);
    (u64::from_be_bytes([a, b, c, d, e, f, g, h]) & !0xF000) | 0x8000
}

/// The id of a key.
#[must_use]
pub fn key_id(prefix: u64, number: u64) -> KeyId {
    KeyId(Uuid::from_u64_pair(prefix, (number & NUMBER_MAX) | (0b10 << 62)))
}

/// Prefix and number of an id, if it can be a key's.
#[must_use]
pub fn split_key_id(key_id: KeyId) -> Option<(u64, u64)> {
    let (prefix, rest) = key_id.0.as_u64_pair();
    if prefix & 0xF000 == 0x8000 && rest >> 62 == 0b10 { Some((prefix, rest & NUMBER_MAX)) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_uuids_in_the_order_of_prefix_and_number() {
        let prefix = key_prefix(FileId(Uuid::from_u128(7)));
        let (one, two) = (key_id(prefix, 1), key_id(prefix, 2));
        assert!(one < two);
        assert_eq!(one.0.get_version_num(), 8);
        assert_eq!(one.0.as_bytes()[8] >> 6, 0b10);
        assert_eq!(split_key_id(two), Some((prefix, 2)));
        assert_eq!(split_key_id(KeyId(Uuid::nil())), None);
        assert_ne!(prefix, key_prefix(FileId(Uuid::from_u128(8))));
    }
}
