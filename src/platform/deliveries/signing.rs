//! Signing what is sent.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// HMAC-SHA256 (RFC 2104) over some bytes, one part after another. A key may have any length.
#[must_use]
pub fn hmac_sha256(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    // A key of any length will do, says RFC 2104, and so does the type: the error has no case.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return [0; 32] };
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use data_encoding::HEXLOWER;

    use super::*;

    /// RFC 4231, 4.2, 4.3 and 4.7.
    #[test]
    fn as_the_standard_has_it() {
        let hex = |key: &[u8], parts: &[&[u8]]| HEXLOWER.encode(&hmac_sha256(key, parts));
        let first = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7";
        assert_eq!(hex(&[0x0b; 20], &[b"Hi ", b"There"]), first);
        let second = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(hex(b"Jefe", &[b"what do ya want for nothing?"]), second);
        let long = "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54";
        assert_eq!(hex(&[0xaa; 131], &[b"Test Using Larger Than Block-Size Key - Hash Key First"]), long);
    }
}
