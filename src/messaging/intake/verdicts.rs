//! Whether mail comes from where it says: SPF, DKIM, DMARC. What is found out is told with the mail and decides nothing:
//! a name server that does not answer is a word more, and no mail less.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use mail_auth::dmarc::verify::DmarcParameters;
use mail_auth::spf::verify::SpfParameters;
use mail_auth::{
    AuthenticatedMessage, DkimOutput, DkimResult, DmarcResult, MessageAuthenticator, SpfOutput, SpfResult,
};
use quintet_platform::egress::NameServers;

use super::model::Arrived;
use crate::mail::model::Verdicts;

/// How long all of it may take.
const TIME: Duration = Duration::from_secs(15);
/// Signatures that are looked at: each is a question to somebody's name server, and some are a digest of the whole mail.
const SIGNATURES_MAX: usize = 5;
/// What is said where it could not be found out.
const UNKNOWN: &str = "temperror";

/// A mail of more bytes is looked at off the threads that serve everybody: each signature may be over all of it.
const HERE_BYTES_MAX: usize = 64 << 10;

/// Finds out what can be within its time; nothing, where nobody is to be asked.
pub(super) async fn found(name_servers: Option<&NameServers>, domain: &str, arrived: &Arc<Arrived>) -> Verdicts {
    let source = arrived.source.to_string();
    let all = |word: &str| Verdicts {
        spf: word.to_owned(),
        dkim: word.to_owned(),
        dmarc: word.to_owned(),
        source: source.clone(),
    };
    let Some(name_servers) = name_servers else { return all("none") };
    let (name_servers, domain, mail) = (name_servers.clone(), domain.to_owned(), Arc::clone(arrived));
    let asking = async move { tokio::time::timeout(TIME, asked(name_servers, &domain, &mail)).await.ok() };
    // Apart from the connection, which must not end with whatever its reader cannot bear.
    let found = match arrived.bytes.len() {
        0..=HERE_BYTES_MAX => tokio::spawn(asking).await,
        _ => {
            let runtime = tokio::runtime::Handle::current();
            tokio::task::spawn_blocking(move || runtime.block_on(asking)).await
        }
    };
    match found {
        Ok(Some((spf, dkim, dmarc))) => Verdicts { spf, dkim, dmarc, source },
        Ok(None) | Err(_) => all(UNKNOWN),
    }
}

async fn asked(name_servers: NameServers, domain: &str, arrived: &Arrived) -> (String, String, String) {
    let authenticator = MessageAuthenticator(name_servers);
    let spf = spf(&authenticator, domain, arrived).await;
    let sender_domain = arrived.envelope.sender.rsplit_once('@').map_or(arrived.helo.as_str(), |(_, domain)| domain);
    let signatures = count_signatures(&arrived.bytes);
    let Some(message) =
        AuthenticatedMessage::parse_with_opts(&arrived.bytes, None, true).filter(|_| signatures <= SIGNATURES_MAX)
    else {
        let dkim = if signatures > SIGNATURES_MAX { "permerror" } else { "none" };
        return (spf_word(spf.result()).to_owned(), dkim.to_owned(), dkim.to_owned());
    };
    let dkim = authenticator.verify_dkim(&message).await;
    let asked = DmarcParameters {
        message: &message,
        dkim_output: &dkim,
        dkim2_output: None,
        rfc5321_mail_from_domain: sender_domain,
        spf_output: &spf,
    };
    let dmarc = authenticator.verify_dmarc(asked).await;
    let words = (spf_word(spf.result()), dkim_word(&dkim), dmarc_word(&dmarc.result()));
    (words.0.to_owned(), words.1.to_owned(), words.2.to_owned())
}

/// Of mail that reports are not wanted of, the name that whoever handed it in goes by is looked at (RFC 7208, 2.4).
async fn spf(authenticator: &MessageAuthenticator, domain: &str, arrived: &Arrived) -> SpfOutput {
    let (source, helo, sender): (IpAddr, &str, &str) = (arrived.source, &arrived.helo, &arrived.envelope.sender);
    let asked = match sender {
        "" => SpfParameters::verify_ehlo(source, helo, domain),
        sender => SpfParameters::verify_mail_from(source, helo, domain, sender),
    };
    authenticator.verify_spf(asked).await
}

/// How many headers there are that say to be signatures.
fn count_signatures(mail: &[u8]) -> usize {
    let end = memchr::memmem::find(mail, b"\r\n\r\n").unwrap_or(mail.len());
    let is_one = |line: &&[u8]| {
        let name: Vec<u8> = line.iter().take(40).filter(|byte| !byte.is_ascii_whitespace()).copied().collect();
        let is_named = |known: &[u8]| name.get(..known.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(known));
        is_named(b"dkim") || is_named(b"message-instance")
    };
    let header = mail.get(..end).unwrap_or(mail);
    header.split(|byte| *byte == b'\n').filter(is_one).count()
}

fn spf_word(result: SpfResult) -> &'static str {
    match result {
        SpfResult::Pass => "pass",
        SpfResult::Fail => "fail",
        SpfResult::SoftFail => "softfail",
        SpfResult::Neutral => "neutral",
        SpfResult::TempError => "temperror",
        SpfResult::PermError => "permerror",
        SpfResult::None => "none",
    }
}

/// The best of several signatures counts: a list adds its own, and breaks its author's.
fn dkim_word(all: &[DkimOutput<'_>]) -> &'static str {
    let word = |result: &DkimResult| match result {
        DkimResult::Pass => (0, "pass"),
        DkimResult::TempError(_) => (1, "temperror"),
        DkimResult::Fail(_) => (2, "fail"),
        DkimResult::PermError(_) => (3, "permerror"),
        DkimResult::Neutral(_) => (4, "neutral"),
        DkimResult::None => (5, "none"),
    };
    all.iter().map(|output| word(output.result())).min().map_or("none", |(_, word)| word)
}

fn dmarc_word(result: &DmarcResult) -> &'static str {
    match result {
        DmarcResult::Pass => "pass",
        DmarcResult::Fail(_) => "fail",
        DmarcResult::TempError(_) => "temperror",
        DmarcResult::PermError(_) => "permerror",
        DmarcResult::None => "none",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intake::model::Envelope;

    fn arrived(bytes: Vec<u8>) -> Arc<Arrived> {
        Arc::new(Arrived {
            envelope: Envelope { sender: "a@b.example".to_owned(), recipients: Vec::new() },
            source: IpAddr::from([192, 0, 2, 1]),
            helo: "client.example".to_owned(),
            protocol: "ESMTP",
            bytes,
        })
    }

    #[tokio::test]
    async fn where_nobody_is_asked_nothing_is_known() {
        let verdicts = found(None, "mail.example", &arrived(b"From: a@b.example\r\n\r\n".to_vec())).await;
        let Verdicts { spf, dkim, dmarc, source } = verdicts;
        assert_eq!([spf, dkim, dmarc, source], ["none", "none", "none", "192.0.2.1"]);
    }

    /// Nobody answers at that port: the mail waits no longer than its time.
    #[tokio::test]
    async fn a_name_server_that_is_not_there_is_an_error_for_now() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let servers = quintet_platform::egress::resolver(Some(socket.local_addr().unwrap())).unwrap();
        drop(socket);
        let verdicts = found(Some(&servers), "mail.example", &arrived(b"From: a@b.example\r\n\r\n".to_vec())).await;
        assert_eq!((verdicts.spf.as_str(), verdicts.dmarc.as_str()), ("temperror", "temperror"));
    }

    #[test]
    fn signatures_are_counted_however_they_are_written() {
        let count = |text: &str| count_signatures(text.as_bytes());
        assert_eq!(count("DKIM-Signature: a\r\ndkim-signature : b\r\n D: c\r\n\r\nDKIM-Signature: d\r\n"), 2);
        assert_eq!(count("From: a\r\n\r\n"), 0);
    }
}
