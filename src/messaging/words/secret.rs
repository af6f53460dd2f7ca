//! Secrets that sign, as text: `whsec_` and base64 of their bytes, as Standard Webhooks write them.

use data_encoding::BASE64;
use quintet_platform::secrets::Secret;

/// Bytes of a new one.
pub(crate) const SECRET_BYTES: usize = 32;
const PREFIX: &str = "whsec_";
/// How many bytes one of somebody else's has.
const BYTES: std::ops::RangeInclusive<usize> = 16..=64;

/// The text of a secret.
pub(crate) fn text(bytes: &[u8]) -> Secret<String> {
    Secret::new(format!("{PREFIX}{}", BASE64.encode(bytes)))
}

/// The bytes of a secret's text, if it is one.
pub(crate) fn parse(text: &str) -> Option<Secret<Vec<u8>>> {
    let bytes = BASE64.decode(text.strip_prefix(PREFIX)?.as_bytes()).ok()?;
    BYTES.contains(&bytes.len()).then(|| Secret::new(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_as_it_is_written() {
        let bytes = [7; SECRET_BYTES];
        assert_eq!(parse(text(&bytes).expose()).unwrap().expose(), &bytes.to_vec());
        for wrong in ["", "whsec_", "whsec_AAAA", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "whsec_?"] {
            assert!(parse(wrong).is_none(), "{wrong}");
        }
        assert!(parse(text(&[0; 65]).expose()).is_none());
    }
}
