//! A report of what became of mail, as mail servers write it for programs (RFC 3464).

use mail_parser::{Message, MimeHeaders as _};

use super::model::Report;

/// The most bytes of a report that are looked at, and the most recipients that are named.
const REPORT_BYTES_MAX: usize = 64 << 10;
const FAILED_MAX: usize = 20;
/// The most characters of a line about one.
const LINE_CHARS_MAX: usize = 300;

/// The report in a mail, if there is one.
pub(super) fn report_of(mail: &[u8], message: &Message<'_>) -> Option<Report> {
    let part = message.parts.iter().find(|part| {
        let said = part.content_type();
        said.is_some_and(|said| {
            said.ctype() == "message" && said.subtype().is_some_and(|kind| kind.ends_with("delivery-status"))
        })
    })?;
    let place = |offset: u32| usize::try_from(offset).unwrap_or(usize::MAX);
    let (from, to) = (place(part.raw_body_offset()), place(part.raw_end_offset()));
    let body = mail.get(from..to.min(from.saturating_add(REPORT_BYTES_MAX)))?;
    Some(read(&String::from_utf8_lossy(body)))
}

/// Reads it: the fields of all mail together, then of each recipient, with an empty line before each.
fn read(text: &str) -> Report {
    let text = text.replace("\r\n", "\n");
    let mut report = Report::default();
    let mut has_action = false;
    for recipient in text.split("\n\n") {
        let Some(action) = field(recipient, "action") else { continue };
        has_action = true;
        if !action.eq_ignore_ascii_case("failed") {
            continue;
        }
        report.is_failure = true;
        let words = ["final-recipient", "status", "diagnostic-code"].map(|name| field(recipient, name));
        let words: Vec<&str> = words.into_iter().flatten().map(bare).filter(|word| !word.is_empty()).collect();
        if report.failed.len() < FAILED_MAX && !words.is_empty() {
            let line = words.join(" ");
            report.failed.push(line.chars().filter(|char| !char.is_control()).take(LINE_CHARS_MAX).collect());
        }
    }
    // One that says of nobody what became of him is taken as what such mail mostly is.
    report.is_failure |= !has_action;
    report
}

/// What stands in a field of a recipient.
fn field<'t>(lines: &'t str, name: &str) -> Option<&'t str> {
    lines.lines().find_map(|line| {
        let (field, value) = line.split_once(':')?;
        field.trim().eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// A value without the word before it that says what kind of value it is: `rfc822;ben@example.com`.
fn bare(value: &str) -> &str {
    value.split_once(';').map_or(value, |(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_became_of_mail() {
        let all = "Reporting-MTA: dns; relay.example\r\n\r\nFinal-Recipient: rfc822; a@b.example\r\nAction: failed\r\n\
                   Status: 5.1.1\r\nDiagnostic-Code: smtp; 550 5.1.1 no such user\r\n\r\n\
                   Final-Recipient: rfc822;c@b.example\r\nAction: delayed\r\nStatus: 4.4.1\r\n";
        let found = read(all);
        assert_eq!(
            (found.is_failure, found.failed),
            (true, vec!["a@b.example 5.1.1 550 5.1.1 no such user".to_owned()])
        );
        for (text, is_failure) in [
            ("Reporting-MTA: dns; x\n\nFinal-Recipient: rfc822; a@b\nACTION:  Failed\n", true),
            ("Reporting-MTA: dns; x\n\nFinal-Recipient: rfc822; a@b\nAction: delayed\n", false),
            ("Action: relayed\n\nAction: delivered\n\nAction: expanded", false),
            ("Reporting-MTA: dns; x\n", true),
            ("", true),
        ] {
            assert_eq!(read(text).is_failure, is_failure, "{text}");
        }
        let many = "Action: failed\nFinal-Recipient: rfc822; a@b\n\n".repeat(1_000);
        assert_eq!(read(&many).failed.len(), FAILED_MAX);
    }
}
