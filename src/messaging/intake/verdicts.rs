//! Whether mail comes from where it says: SPF, DKIM, DMARC. What is found out is told with the mail and decides nothing:
//! a name server that does not answer is a word more, and no mail less.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use mail_auth::common::resolver::ToFqdn as _;
use mail_auth::common::to_a_label;
use mail_auth::dmarc::verify::DmarcParameters;
use mail_auth::spf::verify::SpfParameters;
use mail_auth::{
    AuthenticatedMessage, DkimOutput, DkimResult, DmarcResult, MessageAuthenticator, Parameters, SpfOutput, SpfResult,
};
use quintet_platform::egress::{NameServers, texts};
use tokio::time::timeout;

use super::model::Arrived;
use crate::mail::model::Verdicts;
use crate::unanswered::Unanswered;

/// How long all of it may take, and how long each name that is known from the start is waited for.
const TIME: Duration = Duration::from_secs(10);
const NAME_TIME: Duration = Duration::from_secs(5);
/// Signatures that are looked at: each is a question to somebody's name server, and some are a digest of the whole mail.
const SIGNATURES_MAX: usize = 5;
/// Bytes of a header that is looked at: what its reader makes of addresses is many times as large.
const HEADER_BYTES_MAX: usize = 256 << 10;
/// Names that the policy of a sender is looked for under (RFC 9989, 4.10).
const POLICY_NAMES_MAX: usize = 8;
/// What is said where it could not be found out.
const UNKNOWN: &str = "temperror";

/// A mail of more bytes is looked at off the threads that serve everybody: each signature may be over all of it.
const HERE_BYTES_MAX: usize = 64 << 10;

/// Finds out what can be within its time; nothing, where nobody is to be asked.
pub(super) async fn found(
    name_servers: Option<&NameServers>,
    unanswered: &Arc<Unanswered>,
    domain: &str,
    arrived: &Arc<Arrived>,
) -> Verdicts {
    let source = arrived.source.to_string();
    let Some(name_servers) = name_servers else {
        let none = || "none".to_owned();
        return Verdicts { spf: none(), dkim: none(), dmarc: none(), source };
    };
    let asked = Asked {
        authenticator: MessageAuthenticator(name_servers.clone()),
        unanswered: Arc::clone(unanswered),
        domain: domain.to_owned(),
        arrived: Arc::clone(arrived),
    };
    let asking = async move { tokio::time::timeout(TIME, asked.words()).await.ok() };
    // Apart from the connection, which must not end with whatever its reader cannot bear.
    let found = match arrived.bytes.len() {
        0..=HERE_BYTES_MAX => tokio::spawn(asking).await,
        _ => {
            let runtime = tokio::runtime::Handle::current();
            tokio::task::spawn_blocking(move || runtime.block_on(asking)).await
        }
    };
    let (spf, dkim, dmarc) = found.ok().flatten().unwrap_or((UNKNOWN, UNKNOWN, UNKNOWN));
    Verdicts { spf: spf.to_owned(), dkim: dkim.to_owned(), dmarc: dmarc.to_owned(), source }
}

/// What is asked about a mail, and of whom.
struct Asked {
    authenticator: MessageAuthenticator,
    unanswered: Arc<Unanswered>,
    /// The name that we go by.
    domain: String,
    arrived: Arc<Arrived>,
}

impl Asked {
    /// The verdicts of SPF, DKIM and DMARC.
    async fn words(&self) -> (&'static str, &'static str, &'static str) {
        let header = header_of(&self.arrived.bytes);
        let is_too_much = header.len() > HEADER_BYTES_MAX || count_signatures(header) > SIGNATURES_MAX;
        let parsing = || AuthenticatedMessage::parse_with_opts(&self.arrived.bytes, None, true);
        let Some(message) = (if is_too_much { None } else { parsing() }) else {
            let dkim = if is_too_much { "permerror" } else { "none" };
            self.look_up(vec![self.sender_domain().to_owned()]).await;
            return (spf_word(self.spf().await.result()), dkim, dkim);
        };
        self.look_up(names_of(self.sender_domain(), &message)).await;
        let spf = self.spf().await;
        let asked = Parameters::new(&message).with_txt_cache(&*self.unanswered);
        let dkim = self.authenticator.verify_dkim(asked).await;
        let asked = DmarcParameters {
            message: &message,
            dkim_output: &dkim,
            dkim2_output: None,
            rfc5321_mail_from_domain: self.sender_domain(),
            spf_output: &spf,
        };
        let asked = Parameters::new(asked).with_txt_cache(&*self.unanswered);
        let dmarc = self.authenticator.verify_dmarc(asked).await;
        (spf_word(spf.result()), dkim_word(&dkim), dmarc_word(&dmarc.result()))
    }

    fn sender_domain(&self) -> &str {
        let sender = self.arrived.envelope.sender.rsplit_once('@');
        sender.map_or(self.arrived.helo.as_str(), |(_, domain)| domain)
    }

    /// Asks for all of them at once. The answers are remembered by who asks, and here who has none.
    async fn look_up(&self, names: Vec<String>) {
        let wanted = names.into_iter().map(|name| name.to_fqdn().into_owned());
        let wanted: BTreeSet<String> = wanted.filter(|name| !self.unanswered.has(name.as_str())).collect();
        let asking = wanted.iter().map(|name| async move {
            let domain = name.trim_end_matches('.');
            if !matches!(timeout(NAME_TIME, texts(&self.authenticator.0, domain)).await, Ok(Ok(_))) {
                self.unanswered.note(name);
            }
        });
        join_all(asking).await;
    }

    /// Of mail that reports are not wanted of, the name that whoever handed it in goes by is looked at (RFC 7208, 2.4).
    async fn spf(&self) -> SpfOutput {
        let Arrived { source, helo, envelope, .. } = &*self.arrived;
        let asked = match envelope.sender.as_str() {
            "" => SpfParameters::verify_ehlo(*source, helo, &self.domain),
            sender => SpfParameters::verify_mail_from(*source, helo, &self.domain, sender),
        };
        let asked = Parameters::new(asked).with_txt_cache(&*self.unanswered);
        let asking = timeout(NAME_TIME, self.authenticator.verify_spf(asked));
        // That is not remembered: what it waited for may lie with whoever sends, and the domain is somebody else's.
        let nothing = |_| SpfOutput::new(self.sender_domain().to_owned()).with_result(SpfResult::TempError);
        asking.await.unwrap_or_else(nothing)
    }
}

/// The names whose records are asked for in any case: of the sender, of each signature's key, and of the author's policy.
fn names_of(sender_domain: &str, message: &AuthenticatedMessage<'_>) -> Vec<String> {
    let keys = message.dkim_headers.iter().map(|header| format!("{}._domainkey.{}", header.header.s, header.header.d));
    let author = message.from.first().and_then(|from| from.rsplit_once('@')).map_or("", |(_, domain)| domain);
    let author = to_a_label(author);
    let begins = std::iter::once(0).chain(author.match_indices('.').map(|(dot, _)| dot + 1));
    let mut policies: Vec<&str> = begins.filter_map(|begin| author.get(begin..)).collect();
    // A longer name is asked for itself, then from its seventh label on.
    if policies.len() > POLICY_NAMES_MAX {
        policies.drain(1..policies.len() + 1 - POLICY_NAMES_MAX);
    }
    let policies = policies.into_iter().filter(|name| !name.is_empty()).map(|name| format!("_dmarc.{name}"));
    std::iter::once(sender_domain.to_owned()).chain(keys).chain(policies).collect()
}

/// All before the text of a mail.
fn header_of(mail: &[u8]) -> &[u8] {
    let end = memchr::memmem::find(mail, b"\r\n\r\n").unwrap_or(mail.len());
    mail.get(..end).unwrap_or(mail)
}

/// How many fields of a header say to be signatures.
fn count_signatures(header: &[u8]) -> usize {
    let is_one = |line: &&[u8]| {
        let name: Vec<u8> = line.iter().take(40).filter(|byte| !byte.is_ascii_whitespace()).copied().collect();
        let is_named = |known: &[u8]| name.get(..known.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(known));
        is_named(b"dkim") || is_named(b"message-instance")
    };
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
    use std::net::IpAddr;

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
        let mail = arrived(b"From: a@b.example\r\n\r\n".to_vec());
        let Verdicts { spf, dkim, dmarc, source } = found(None, &Arc::default(), "mail.example", &mail).await;
        assert_eq!([spf, dkim, dmarc, source], ["none", "none", "none", "192.0.2.1"]);
    }

    /// A mail waits for a silent name server no longer than its time, and the next one of that sender not at all.
    #[tokio::test(start_paused = true)]
    async fn a_name_server_that_is_silent_is_an_error_for_now() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        let servers = quintet_platform::egress::resolver(Some(socket.local_addr().unwrap())).unwrap();
        let unanswered = Arc::default();
        let mail = arrived(b"From: c@d.example\r\n\r\n".to_vec());
        let questions = || std::iter::from_fn(|| socket.recv(&mut [0; 512]).ok()).count();
        for (waits_seconds, is_asked) in [(NAME_TIME.as_secs(), true), (0, false), (NAME_TIME.as_secs(), true)] {
            let begun = tokio::time::Instant::now();
            let verdicts = found(Some(&servers), &unanswered, "mail.example", &mail).await;
            assert_eq!((verdicts.spf.as_str(), verdicts.dmarc.as_str()), ("temperror", "temperror"));
            assert_eq!((begun.elapsed().as_secs(), questions() > 0), (waits_seconds, is_asked));
            if !is_asked {
                tokio::time::advance(Duration::from_secs(60)).await;
            }
        }
    }

    #[test]
    fn names_are_those_that_are_asked_for() {
        let names = |from: &str| {
            let mail = format!("From: {from}\r\n\r\n");
            names_of("b.example", &AuthenticatedMessage::parse(mail.as_bytes()).unwrap())
        };
        assert_eq!(
            names("x@mail.d.example"),
            ["b.example", "_dmarc.mail.d.example", "_dmarc.d.example", "_dmarc.example"]
        );
        assert_eq!(names("nobody"), ["b.example"]);
        let long = names("x@a.b.c.d.e.f.g.h.i.example");
        assert_eq!(
            (long.len(), long[1].as_str(), long[2].as_str()),
            (9, "_dmarc.a.b.c.d.e.f.g.h.i.example", "_dmarc.d.e.f.g.h.i.example")
        );
    }

    /// The name server is silent, so what is said of a mail without being asked about is another word.
    #[tokio::test(start_paused = true)]
    async fn a_header_that_is_too_long_is_not_taken_apart() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let servers = quintet_platform::egress::resolver(Some(socket.local_addr().unwrap())).unwrap();
        let long = format!("From: {}\r\n\r\n", "a@b,".repeat(HEADER_BYTES_MAX / 4));
        let asked = Asked {
            authenticator: MessageAuthenticator(servers),
            unanswered: Arc::default(),
            domain: "mail.example".to_owned(),
            arrived: arrived(long.into_bytes()),
        };
        assert_eq!(asked.words().await, ("temperror", "permerror", "permerror"));
    }

    #[test]
    fn signatures_are_counted_however_they_are_written() {
        let count = |text: &str| count_signatures(header_of(text.as_bytes()));
        assert_eq!(count("DKIM-Signature: a\r\ndkim-signature : b\r\n D: c\r\n\r\nDKIM-Signature: d\r\n"), 2);
        assert_eq!(count("From: a\r\n\r\n"), 0);
    }
}
