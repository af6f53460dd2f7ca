//! The text of an API key: `rak_`, the key's id (26 characters, a ULID in lower case), its secret (43 characters
//! of base64url). All parts have fixed lengths, so nothing in the secret can be taken for a separator.

use data_encoding::BASE64URL_NOPAD;
use uuid::Uuid;
use zeroize::Zeroizing;

use crate::ids;
use crate::secrets::{Digest, Secret, digest, random_bytes};

const PREFIX: &str = "rak_";

/// Characters of 32 bytes in base64url without padding.
const SECRET_LEN: usize = 43;

/// The id of a key as callers see it.
pub(crate) fn key_id_text(id: Uuid) -> String {
    ids::ulid(id).to_ascii_lowercase()
}

/// Reads a key's id. One spelling only: lower case.
pub(crate) fn parse_key_id(text: &str) -> Option<Uuid> {
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) { None } else { ids::parse_ulid(text) }
}

/// A secret's text from the random source.
pub(crate) fn draw_secret() -> Secret {
    let bytes = Zeroizing::new(random_bytes::<32>());
    Secret::new(BASE64URL_NOPAD.encode(bytes.as_slice()))
}

/// What is stored of a secret: the digest of its text.
pub(crate) fn secret_digest(secret: &str) -> Digest {
    digest(secret.as_bytes())
}

/// The whole key.
pub(crate) fn join(id: Uuid, secret: &Secret) -> Secret {
    Secret::new(format!("{PREFIX}{}{}", key_id_text(id), secret.expose()))
}

/// Takes a key apart into its id and its secret. `None` if it has not the form of one.
pub(crate) fn split(key: &str) -> Option<(Uuid, &str)> {
    let rest = key.strip_prefix(PREFIX)?;
    let (id, secret) = rest.split_at_checked(ids::ULID_LEN)?;
    let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if secret.len() != SECRET_LEN || !secret.bytes().all(known) {
        return None;
    }
    Some((parse_key_id(id)?, secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taking_apart_what_was_joined() {
        let id = Uuid::from_u128(0x0190_a1b2_c3d4_7e5f_8a9b_0c1d_2e3f_4a5b);
        let secret = draw_secret();
        let key = join(id, &secret);
        assert_eq!(key.expose().len(), 4 + 26 + 43);
        assert_eq!(split(key.expose()), Some((id, secret.expose().as_str())));
        assert_eq!(parse_key_id(&key_id_text(id)), Some(id));
        assert_eq!(parse_key_id(&key_id_text(id).to_uppercase()), None);
    }

    #[test]
    fn other_texts_are_no_keys() {
        let key = join(Uuid::nil(), &draw_secret());
        let key = key.expose();
        for bad in [
            String::new(),
            "rak_".to_owned(),
            key[..key.len() - 1].to_owned(),
            format!("{key}x"),
            format!("{key} "),
            format!(" {key}"),
            key.replace("rak_", "RAK_"),
            key.replace("rak_0", "rak_8"),
            key.replace("rak_0", "rak_u"),
            format!("{}\u{e9}", &key[..key.len() - 2]),
            format!("{}!", &key[..key.len() - 1]),
            format!("rak_{}", "\u{1F600}".repeat(20)),
            "rak_\u{e9}".repeat(12),
        ] {
            assert_eq!(split(&bad), None, "{bad}");
        }
    }
}
