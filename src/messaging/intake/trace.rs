//! What is put before a mail that is taken in: who reports go to, and how it came (RFC 5321, 4.4).

use quintet_storage::Timestamp;

use super::model::Arrived;

/// The header that says so.
pub(super) fn headers(arrived: &Arrived, domain: &str, id: &str, now: Timestamp) -> Vec<u8> {
    let Arrived { envelope, source, helo, protocol, .. } = arrived;
    let at = jiff::Timestamp::from_microsecond(now.as_micros()).unwrap_or_default();
    let at = at.strftime("%a, %d %b %Y %H:%M:%S +0000");
    let literal = match source {
        std::net::IpAddr::V4(address) => format!("[{address}]"),
        std::net::IpAddr::V6(address) => format!("[IPv6:{address}]"),
    };
    // A name is visible ASCII without blanks, and so is an address: neither ends a line.
    format!(
        "Return-Path: <{}>\r\nReceived: from {helo} ({literal})\r\n\tby {domain} with {protocol} id {id};\r\n\t{at}\r\n",
        envelope.sender
    )
    .into_bytes()
}
