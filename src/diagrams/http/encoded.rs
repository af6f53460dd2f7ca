//! Sources that stand in addresses: as base64, and compressed as well.

use data_encoding::{BASE64_NOPAD, BASE64URL_NOPAD};
use flate2::{Decompress, FlushDecompress, Status};

/// Undoes base64 or base64url, with padding or without.
pub(super) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let plain = text.trim_end_matches('=').as_bytes();
    let is_url = plain.contains(&b'-') || plain.contains(&b'_');
    if is_url { BASE64URL_NOPAD.decode(plain) } else { BASE64_NOPAD.decode(plain) }.ok()
}

/// What came of a compressed text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Inflated {
    /// All of it.
    Whole(Vec<u8>),
    /// It is larger than asked for; no more than that of it was ever made.
    Larger,
    /// It is none, or breaks off.
    Broken,
}

/// Undoes the compression of zlib, up to so many bytes.
pub(super) fn inflate(deflated: &[u8], bytes_max: usize) -> Inflated {
    // One byte more tells what is larger from what just fits.
    let mut whole = Vec::with_capacity(bytes_max.saturating_add(1));
    match Decompress::new(true).decompress_vec(deflated, &mut whole, FlushDecompress::Finish) {
        Ok(_) if whole.len() > bytes_max => Inflated::Larger,
        Ok(Status::StreamEnd) => Inflated::Whole(whole),
        Ok(Status::Ok | Status::BufError) | Err(_) => Inflated::Broken,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use data_encoding::{BASE64, BASE64URL};
    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::*;

    fn deflated(text: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn either_alphabet_is_read_with_padding_and_without() {
        let bytes = b"\xff\xfe\xfd>?".as_slice();
        for text in [BASE64.encode(bytes), BASE64_NOPAD.encode(bytes), BASE64URL.encode(bytes)] {
            assert_eq!(decode_base64(&text).as_deref(), Some(bytes), "{text}");
        }
        for text in ["!", "a", "-+aa", "a b", "aa=a", "\u{e9}"] {
            assert_eq!(decode_base64(text), None, "{text}");
        }
        assert_eq!(decode_base64(""), Some(Vec::new()));
    }

    #[test]
    fn what_fits_is_whole_and_no_byte_more() {
        for length in [0, 1, 1000, 70_000] {
            let text: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
            let small = deflated(&text);
            assert_eq!(inflate(&small, length), Inflated::Whole(text.clone()), "{length}");
            assert_eq!(inflate(&small, length + 1), Inflated::Whole(text), "{length}");
            if length > 0 {
                assert_eq!(inflate(&small, length - 1), Inflated::Larger, "{length}");
            }
        }
    }

    #[test]
    fn a_bomb_is_larger_and_takes_no_more_than_was_asked_for() {
        // A thousandth of what it holds, and in itself again.
        let bomb = deflated(&vec![0; 64 << 20]);
        assert!(bomb.len() < 100_000);
        assert_eq!(inflate(&bomb, 1 << 20), Inflated::Larger);
        assert_eq!(inflate(&deflated(&bomb), 1 << 10), Inflated::Larger);
    }

    #[test]
    fn what_is_damaged_is_broken_wherever_that_is() {
        let whole =
            deflated(&(0..2_000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()).collect::<Vec<_>>());
        for length in (0..whole.len()).step_by(97).chain([whole.len() - 1]) {
            assert_eq!(inflate(&whole[..length], 1 << 20), Inflated::Broken, "{length}");
        }
        let mut otherwise = whole.clone();
        *otherwise.last_mut().unwrap() ^= 1;
        assert_eq!(inflate(&otherwise, 1 << 20), Inflated::Broken, "its checksum is wrong");
        for text in
            [b"digraph { a }".as_slice(), b"\x78\x9c", b"\x78\xbb\x00\x00\x00\x00", b"\x1f\x8b\x08\x00", b"\xff"]
        {
            assert_eq!(inflate(text, 1 << 20), Inflated::Broken, "{text:?}");
        }
        // Damage anywhere is told from a panic.
        for at in 0..whole.len().min(400) {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x55;
            let _ = inflate(&damaged, 10_000);
        }
    }
}
