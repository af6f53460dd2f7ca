//! What a certificate says of itself: for whom, from when, until when, and who signed it.
//!
//! The rustls crates judge certificates, but do not tell these. What is read here decides nothing about trust; it is
//! told to the operator. The encoding is DER (X.690), the fields are those of RFC 5280, section 4.1.

use std::net::IpAddr;

use quintet_platform::Timestamp;
use quintet_platform::clock::parse_rfc3339;

/// Names that are kept; more would not be read.
const NAMES_MAX: usize = 8;

/// Tags of the parts that are looked at.
mod tag {
    pub(super) const INTEGER: u8 = 0x02;
    pub(super) const OCTET_STRING: u8 = 0x04;
    pub(super) const OBJECT_IDENTIFIER: u8 = 0x06;
    pub(super) const UTC_TIME: u8 = 0x17;
    pub(super) const GENERALIZED_TIME: u8 = 0x18;
    pub(super) const SEQUENCE: u8 = 0x30;
    pub(super) const VERSION: u8 = 0xA0;
    pub(super) const EXTENSIONS: u8 = 0xA3;
    pub(super) const DNS_NAME: u8 = 0x82;
    pub(super) const IP_ADDRESS: u8 = 0x87;
}

/// The extension that lists names (2.5.29.17).
const SUBJECT_ALT_NAME: [u8; 3] = [0x55, 0x1D, 0x11];

/// What a certificate says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The first names it is for: of hosts, or addresses.
    pub names: Vec<String>,
    /// From when it is valid.
    pub not_before: Timestamp,
    /// Until when it is valid.
    pub not_after: Timestamp,
    /// Who signed it, encoded.
    pub issuer: Vec<u8>,
    /// Whose it is, encoded.
    pub subject: Vec<u8>,
}

impl Certificate {
    /// Reads one from its encoding; none if that is not a certificate's.
    #[must_use]
    pub fn read(der: &[u8]) -> Option<Certificate> {
        let mut certificate = Der(Der(der).expect(tag::SEQUENCE)?);
        let mut signed = Der(certificate.expect(tag::SEQUENCE)?);
        if signed.next_tag() == Some(tag::VERSION) {
            signed.next()?;
        }
        signed.expect(tag::INTEGER)?;
        signed.expect(tag::SEQUENCE)?;
        let issuer = signed.expect(tag::SEQUENCE)?.to_vec();
        let mut validity = Der(signed.expect(tag::SEQUENCE)?);
        let (not_before, not_after) = (time(validity.next()?)?, time(validity.next()?)?);
        let subject = signed.expect(tag::SEQUENCE)?.to_vec();
        let mut names = Vec::new();
        while let Some((tag, content)) = signed.next() {
            if tag == tag::EXTENSIONS {
                names = alternative_names(content).unwrap_or_default();
            }
        }
        Some(Certificate { names, not_before, not_after, issuer, subject })
    }
}

/// What is left of an encoding.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    fn next_tag(&self) -> Option<u8> {
        self.0.first().copied()
    }

    /// The next value: its tag and its content.
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            0..=0x7F => (usize::from(first), rest),
            // One to four bytes of length are more than a certificate needs.
            0x81..=0x84 => {
                let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7F))?;
                (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, content))
    }

    /// The content of the next value, if it has this tag.
    fn expect(&mut self, wanted: u8) -> Option<&'a [u8]> {
        self.next().filter(|(tag, _)| *tag == wanted).map(|(_, content)| content)
    }
}

/// `YYMMDDHHMMSSZ` (of the years 1950 to 2049) or `YYYYMMDDHHMMSSZ`, as RFC 5280 has them.
fn time((tag, content): (u8, &[u8])) -> Option<Timestamp> {
    let digits = std::str::from_utf8(content).ok()?.strip_suffix('Z')?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (year, rest) = match tag {
        tag::UTC_TIME => {
            let (year, rest) = digits.split_at_checked(2)?;
            let century = if year < "50" { "20" } else { "19" };
            (format!("{century}{year}"), rest)
        }
        tag::GENERALIZED_TIME => digits.split_at_checked(4).map(|(year, rest)| (year.to_owned(), rest))?,
        _ => return None,
    };
    let two = |at: usize| rest.get(at..at + 2);
    let text = format!("{year}-{}-{}T{}:{}:{}Z", two(0)?, two(2)?, two(4)?, two(6)?, two(8)?);
    if rest.len() == 10 { parse_rfc3339(&text).ok() } else { None }
}

fn alternative_names(extensions: &[u8]) -> Option<Vec<String>> {
    let mut list = Der(Der(extensions).expect(tag::SEQUENCE)?);
    while let Some((_, content)) = list.next() {
        let mut extension = Der(content);
        if extension.expect(tag::OBJECT_IDENTIFIER)? != SUBJECT_ALT_NAME {
            continue;
        }
        // Whether it is critical may be said before the value.
        let mut value = extension.next()?;
        if value.0 != tag::OCTET_STRING {
            value = extension.next()?;
        }
        let mut names = Der(Der(value.1).expect(tag::SEQUENCE)?);
        return Some(std::iter::from_fn(|| names.next()).filter_map(name).take(NAMES_MAX).collect());
    }
    None
}

fn name((tag, content): (u8, &[u8])) -> Option<String> {
    match tag {
        tag::DNS_NAME => Some(String::from_utf8_lossy(content).into_owned()),
        tag::IP_ADDRESS => {
            let four = <[u8; 4]>::try_from(content).map(IpAddr::from);
            let address = four.or_else(|_| <[u8; 16]>::try_from(content).map(IpAddr::from)).ok()?;
            Some(address.to_string())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::pair::instant;

    use super::*;

    fn made(names: &[&str], from: i32, until: i32) -> Vec<u8> {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut parameters = rcgen::CertificateParams::new(names).unwrap();
        parameters.not_before = rcgen::date_time_ymd(from, 2, 3);
        parameters.not_after = rcgen::date_time_ymd(until, 12, 31);
        let key = rcgen::KeyPair::generate().unwrap();
        parameters.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn names_and_times_are_read() {
        let read = Certificate::read(&made(&["a.example", "*.b.example", "192.0.2.1", "2001:db8::1"], 2001, 2026));
        let read = read.unwrap();
        assert_eq!(read.names, ["a.example", "*.b.example", "192.0.2.1", "2001:db8::1"]);
        assert_eq!(instant(read.not_before), "2001-02-03T00:00:00Z");
        assert_eq!(instant(read.not_after), "2026-12-31T00:00:00Z");
        assert_eq!(read.issuer, read.subject);
        // Before 1950 and from 2050 on, times are written with four digits of the year.
        assert_eq!(instant(Certificate::read(&made(&["a"], 1999, 2075)).unwrap().not_after), "2075-12-31T00:00:00Z");
    }

    #[test]
    fn what_is_no_certificate_is_none() {
        let sound = made(&["a.example"], 2001, 2026);
        for length in 0..sound.len() - 1 {
            assert!(Certificate::read(&sound[..length]).is_none(), "cut at {length}");
        }
        assert_eq!(Certificate::read(b"\x30\x84\xFF\xFF\xFF\xFF"), None);
        assert_eq!(Certificate::read(b"\x30\x80\x00\x00"), None);
        assert_eq!(Certificate::read(b"-----BEGIN CERTIFICATE-----"), None);
        // Whatever is in it, reading ends well.
        for at in 0..sound.len() {
            let mut bent = sound.clone();
            bent[at] ^= 0xFF;
            let _ = Certificate::read(&bent);
        }
        for wrong in ["990101000000", "99010100000Z", "9901010000000Z", "991301000000Z", "99010100000\u{e9}Z", "Z"] {
            assert_eq!(time((tag::UTC_TIME, wrong.as_bytes())), None, "{wrong}");
        }
    }
}
