//! Bech32 (BIP 173), as keys and signatures of clients are written: 32 characters that carry five bits each, behind a name of
//! what it is and a `1`, with six of checksum. What is read here may be longer than the 90 characters of the standard, as
//! that of age is: a signature has 116.

/// The characters, in the order of their values.
const ALPHABET: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
/// The checksum's generator.
const GENERATOR: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
/// Characters of the checksum.
const CHECKSUM_CHARS: usize = 6;
/// Longer than anything that clients write.
const CHARS_MAX: usize = 200;

/// The bytes of a text with this name, which is in lower case; `None`: it is none. Letters are all small or all capital.
pub(crate) fn decode(name: &str, text: &str) -> Option<Vec<u8>> {
    let is_mixed =
        text.bytes().any(|byte| byte.is_ascii_lowercase()) && text.bytes().any(|byte| byte.is_ascii_uppercase());
    if is_mixed || text.len() > CHARS_MAX {
        return None;
    }
    let text = text.to_ascii_lowercase();
    let data = text.strip_prefix(name)?.strip_prefix('1')?;
    let value = |byte: u8| ALPHABET.iter().position(|known| *known == byte).and_then(|value| u8::try_from(value).ok());
    let values: Vec<u8> = data.bytes().map(value).collect::<Option<_>>()?;
    let (payload, _) = values.split_at_checked(values.len().checked_sub(CHECKSUM_CHARS)?)?;
    if checksum(name, &values) != 1 {
        return None;
    }
    bytes_of(payload)
}

/// What the standard calls polymod, over the name and the values.
fn checksum(name: &str, values: &[u8]) -> u32 {
    let high = name.bytes().map(|byte| byte >> 5);
    let low = name.bytes().map(|byte| byte & 31);
    high.chain([0]).chain(low).chain(values.iter().copied()).fold(1, |sum: u32, value| {
        let top = sum >> 25;
        let shifted = (sum & 0x01ff_ffff) << 5 ^ u32::from(value);
        let taps = GENERATOR.iter().enumerate().filter(|(bit, _)| top >> bit & 1 == 1);
        taps.fold(shifted, |sum, (_, tap)| sum ^ tap)
    })
}

/// Groups of five bits as bytes; what is left over is fewer than five bits, all of them zero.
fn bytes_of(values: &[u8]) -> Option<Vec<u8>> {
    let (mut held, mut bits, mut bytes) = (0_u32, 0_u32, Vec::with_capacity(values.len()));
    for value in values {
        held = (held << 5 | u32::from(*value)) & 0xfff;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits & 0xff).ok()?);
        }
    }
    let is_padding = bits < 5 && held & ((1 << bits) - 1) == 0;
    if is_padding { Some(bytes) } else { None }
}

/// The text of bytes under a name.
#[cfg(test)]
pub(crate) fn encode(name: &str, bytes: &[u8]) -> String {
    let (mut held, mut bits, mut values) = (0_u32, 0_u32, Vec::new());
    for byte in bytes {
        held = (held << 8 | u32::from(*byte)) & 0xfff;
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            values.push((held >> bits & 31) as u8);
        }
    }
    if bits > 0 {
        values.push((held << (5 - bits) & 31) as u8);
    }
    let open: Vec<u8> = values.iter().copied().chain([0; CHECKSUM_CHARS]).collect();
    let sum = checksum(name, &open) ^ 1;
    values.extend((0..CHECKSUM_CHARS).rev().map(|place| (sum >> (5 * place) & 31) as u8));
    let data: String = values.iter().map(|value| char::from(ALPHABET[usize::from(*value)])).collect();
    format!("{name}1{data}")
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    /// BIP 173, the test vectors that are no addresses, and a recipient of the specification of age.
    #[test]
    fn what_others_write() {
        assert_eq!(decode("a", "A12UEL5L"), Some(vec![]));
        assert_eq!(decode("a", "a12uel5l"), Some(vec![]));
        let long = "an83characterlonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio";
        assert_eq!(decode(long, &format!("{long}1tt5tgs")), Some(vec![]));
        let age = decode("age", "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj");
        assert_eq!(age.map(|key| key.len()), Some(32));
    }

    /// Worked out by the public client (`bech32_encode` of rodmena-agentbus 0.9.105).
    #[test]
    fn what_clients_write() {
        for (name, bytes, text) in [
            ("age", vec![1; 32], "age1qyqszqgpqyqszqgpqyqszqgpqyqszqgpqyqszqgpqyqszqgpqyqs3290gq"),
            ("absig", vec![2; 32], "absig1qgpqyqszqgpqyqszqgpqyqszqgpqyqszqgpqyqszqgpqyqszqgpq2r70dz"),
            (
                "absigv",
                vec![7; 64],
                "absigv1qurswpc8qurswpc8qurswpc8qurswpc8qurswpc8qurswpc8qurswpc8qurswpc8qurswpc8qurswpc8qurswpc8qurswpc8\
                 qurswpc3fxxrf",
            ),
        ] {
            assert_eq!(decode(name, text), Some(bytes.clone()), "{text}");
            assert_eq!(encode(name, &bytes), text);
        }
    }

    #[test]
    fn what_is_written_is_read_and_nothing_near_it() {
        for length in [0, 1, 31, 32, 33, 64] {
            let bytes: Vec<u8> = (0..length).map(|n: u8| n.wrapping_mul(151) ^ 0xa5).collect();
            let text = encode("absigv", &bytes);
            assert_eq!(decode("absigv", &text), Some(bytes.clone()), "{text}");
            assert_eq!(decode("absigv", &text.to_uppercase()), Some(bytes), "{text}");
            assert_eq!(decode("absig", &text), None);
            for place in 0..text.len() {
                let mut near = text.clone().into_bytes();
                near[place] = if near[place] == b'q' { b'p' } else { b'q' };
                let near = String::from_utf8(near).unwrap();
                assert_eq!(decode("absigv", &near), None, "{near}");
            }
        }
    }

    #[test]
    fn what_is_none() {
        let good = encode("age", &[9; 32]);
        for bad in
            ["", "age", "age1", "1", "age1qqqq", &good[..good.len() - 1], &format!("{good}q"), &format!(" {good}")]
        {
            assert_eq!(decode("age", bad), None, "{bad}");
        }
        let mixed = good.replacen("age1", "AGE1", 1);
        assert_eq!(decode("age", &mixed), None);
        assert_eq!(decode("age", &format!("age1{}", "q".repeat(300))), None);
        assert_eq!(decode("age", "age1\u{e9}qqqqqqq"), None);
    }
}
