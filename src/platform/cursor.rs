//! Page cursors: opaque to callers, refused unless we made them.
//!
//! A cursor is base64url (no padding) of a version byte, the payload, and eight bytes of a digest over version,
//! kind and payload. The digest is a checksum, not a seal: it turns garbage, cut texts and cursors of another list
//! into one clean refusal, but it hides and proves nothing. So a payload carries a position and nothing that
//! grants access, and the reader of a page checks the tenant as if the position had been typed in.

use data_encoding::BASE64URL_NOPAD;

use crate::secrets::{constant_time_eq, digest_parts};

const VERSION: u8 = 1;
const TAG_LEN: usize = 8;

/// The longest cursor text that is looked at, in characters.
pub const MAX_LEN: usize = 2048;

/// The text is no cursor of this kind of list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the cursor is not one of this list")]
pub struct CursorError;

/// Writes a cursor.
///
/// `kind` names the list and whatever filters a page must not be continued under other ones, for example
/// `accounts` or `entries state=pending`. `position` is at most about 1500 bytes, or [`decode`] will refuse it.
#[must_use]
pub fn encode(kind: &str, position: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(1 + position.len() + TAG_LEN);
    bytes.push(VERSION);
    bytes.extend_from_slice(position);
    bytes.extend_from_slice(&tag(kind, position));
    BASE64URL_NOPAD.encode(&bytes)
}

/// Reads the position back out of a cursor of the same kind.
///
/// # Errors
/// [`CursorError`] for every text that [`encode`] did not write for this `kind`.
pub fn decode(kind: &str, text: &str) -> Result<Vec<u8>, CursorError> {
    if text.len() > MAX_LEN {
        return Err(CursorError);
    }
    let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).map_err(|_| CursorError)?;
    let (&version, rest) = bytes.split_first().ok_or(CursorError)?;
    let position_len = rest.len().checked_sub(TAG_LEN).ok_or(CursorError)?;
    let (position, found) = rest.split_at(position_len);
    if version != VERSION || !constant_time_eq(found, &tag(kind, position)) {
        return Err(CursorError);
    }
    Ok(position.to_vec())
}

fn tag(kind: &str, position: &[u8]) -> [u8; TAG_LEN] {
    let digest = digest_parts(&[b"quintet cursor", &[VERSION], kind.as_bytes(), position]);
    let mut tag = [0; TAG_LEN];
    for (to, from) in tag.iter_mut().zip(digest) {
        *to = from;
    }
    tag
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn refuses_what_it_did_not_write() {
        for text in ["", "A", "AQ", "!!!!", "AQAAAAAAAAAA", "eyJpZCI6MX0", &"A".repeat(MAX_LEN + 1), "\u{1F600}"] {
            assert_eq!(decode("accounts", text), Err(CursorError), "{text}");
        }
        let good = encode("accounts", b"position");
        assert_eq!(decode("entries", &good), Err(CursorError));
        assert_eq!(decode("accounts", &format!("{good}=")), Err(CursorError));
        assert_eq!(decode("accounts", &format!("{good} ")), Err(CursorError));
    }

    #[test]
    fn the_form_is_stable() {
        // Clients keep cursors over a restart and an update: this text must decode for ever.
        assert_eq!(encode("accounts", b"\x01\x02\x03"), "AQECA9NbuDarE0dx");
    }

    proptest! {
        #[test]
        fn round_trip(kind in ".{0,40}", position in proptest::collection::vec(any::<u8>(), 0..300)) {
            prop_assert_eq!(decode(&kind, &encode(&kind, &position)), Ok(position));
        }

        #[test]
        fn one_changed_character_is_refused(
            position in proptest::collection::vec(any::<u8>(), 0..60),
            place: proptest::sample::Index,
            with in "[A-Za-z0-9_-]",
        ) {
            let good = encode("k", &position);
            let mut bad: Vec<char> = good.chars().collect();
            let at = place.index(bad.len());
            bad[at] = with.chars().next().unwrap();
            let bad: String = bad.into_iter().collect();
            if bad != good {
                prop_assert_eq!(decode("k", &bad), Err(CursorError));
            }
        }

        #[test]
        fn any_text_is_safe(kind in ".{0,10}", text in ".*") {
            prop_assert_eq!(decode(&kind, &text), Err(CursorError));
        }
    }
}
