//! Addresses of mail: those of agents, and whether a text can be one at all (T1, M2, M4).
//!
//! An agent's is `agentbus+<workspace>.<agent>@<domain>`. A workspace's slug has no dot and an agent's name no plus, so
//! that an address can be read back in one way. What mail is sent from is the address with `+b.<message id>` behind the
//! agent, by which a report that comes back tells which message it is about.

use std::fmt::Display;

use super::agent_name::AgentName;
use super::workspace_slug::is_slug;

/// The most bytes of an address: what fits into a command of SMTP (RFC 5321, 4.5.3.1.3, less the brackets).
const ADDRESS_BYTES_MAX: usize = 254;

/// The most bytes of a part of a domain between dots (RFC 1035, 2.3.4).
const LABEL_BYTES_MAX: usize = 63;

const PREFIX: &str = "agentbus+";
const BOUNCE: &str = "+b.";

/// The address of an agent.
pub(crate) fn of_agent(workspace: &str, agent: impl Display, domain: &str) -> String {
    format!("{PREFIX}{workspace}.{agent}@{domain}")
}

/// Whom an address of one's own domain is written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mailbox {
    /// The slug of the workspace; there may be none with it.
    pub(crate) workspace: String,
    /// The agent's name; there may be none with it.
    pub(crate) agent: AgentName,
    /// The message that a report is about, in lower case, since mail servers may have changed it.
    pub(crate) bounce_of: Option<String>,
}

impl Mailbox {
    /// Reads an address of this domain back; letters count in any case. `None` if it is of another domain, or if nobody
    /// could have it.
    pub(crate) fn read(address: &str, domain: &str) -> Option<Mailbox> {
        let (local, of) = address.rsplit_once('@')?;
        if !of.eq_ignore_ascii_case(domain) {
            return None;
        }
        let local = local.to_ascii_lowercase();
        let (workspace, rest) = local.strip_prefix(PREFIX)?.split_once('.')?;
        let (agent, bounce_of) = match rest.split_once(BOUNCE) {
            Some((agent, id)) => (agent, Some(id)),
            None => (rest, None),
        };
        let is_id = |id: &str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_slug(workspace) || !bounce_of.is_none_or(is_id) {
            return None;
        }
        Some(Mailbox {
            workspace: workspace.to_owned(),
            agent: AgentName::parse(agent).ok()?,
            bounce_of: bounce_of.map(str::to_owned),
        })
    }
}

/// Whether mail can be sent to this: plain ASCII, without quotes, comments, routes and addresses of networks. Such are
/// right in the standard as well, and nobody's.
pub(crate) fn is_address(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    // RFC 5321 gives the local part 64 bytes; an agent's own can have more, and so can others'.
    let is_local = !local.is_empty()
        && local.split('.').all(|part| !part.is_empty())
        && local.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~.".contains(&byte));
    text.len() <= ADDRESS_BYTES_MAX && is_local && domain.split('.').all(is_domain_label)
}

fn is_domain_label(label: &str) -> bool {
    let plain = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    plain && !label.is_empty() && label.len() <= LABEL_BYTES_MAX && !label.starts_with('-') && !label.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::{AgentName, Mailbox, is_address, of_agent};

    const DOMAIN: &str = "mail.example";

    fn name(text: &str) -> AgentName {
        AgentName::parse(text).unwrap()
    }

    #[test]
    fn what_is_written_is_read_back() {
        for workspace in ["a", "acme-eu", "0-", &"w".repeat(40)] {
            for agent in ["a", "builder-c8239c", "a.b.c", "x_y", "b.1", &"a".repeat(64)] {
                let address = of_agent(workspace, name(agent), DOMAIN);
                assert!(is_address(&address), "{address}");
                let mailbox = Mailbox { workspace: workspace.to_owned(), agent: name(agent), bounce_of: None };
                assert_eq!(Mailbox::read(&address, DOMAIN), Some(mailbox.clone()), "{address}");
                let bounces = format!("agentbus+{workspace}.{agent}+b.01KAJ5V0T1ZXCVBNM23456789A@{DOMAIN}");
                assert!(is_address(&bounces), "{bounces}");
                let bounce_of = Some("01kaj5v0t1zxcvbnm23456789a".to_owned());
                assert_eq!(Mailbox::read(&bounces, DOMAIN), Some(Mailbox { bounce_of, ..mailbox }), "{bounces}");
            }
        }
    }

    #[test]
    fn letters_count_in_any_case() {
        let read = Mailbox::read("AgentBus+ACME.Builder-C8239C@Mail.EXAMPLE", DOMAIN).unwrap();
        assert_eq!((read.workspace.as_str(), read.agent.as_str()), ("acme", "builder-c8239c"));
    }

    #[test]
    fn what_is_nobody_s() {
        for text in [
            "",
            "agentbus+acme.builder",
            "agentbus+acme.builder@other.example",
            "agentbus+acme.builder@sub.mail.example",
            "agentbus+acme.builder@mail.example.",
            "agentbus+acme.builder@x@mail.example@y",
            "acme.builder@mail.example",
            "agentbus@mail.example",
            "agentbus+acme@mail.example",
            "agentbus+.builder@mail.example",
            "agentbus+acme.@mail.example",
            "agentbus+acme.system@mail.example",
            "agentbus+acme.postmaster@mail.example",
            "agentbus+a_b.builder@mail.example",
            "agentbus+acme.builder+x@mail.example",
            "agentbus+acme.builder+b.@mail.example",
            "agentbus+acme.builder+b.1+b.2@mail.example",
            "agentbus+acme.builder%evil.example@mail.example",
            "\"agentbus+acme.builder\"@mail.example",
            "@evil.example:agentbus+acme.builder@mail.example",
            " agentbus+acme.builder@mail.example",
            "agentbus+acme.builder\r\n@mail.example",
        ] {
            assert_eq!(Mailbox::read(text, DOMAIN), None, "{text:?}");
        }
    }

    #[test]
    fn what_mail_can_be_sent_to() {
        for good in ["a@b", "bob@example.com", "o'neil+x=y@a-b.example", "x@1.2.3.4", &format!("{}@b", "a".repeat(252))]
        {
            assert!(is_address(good), "{good}");
        }
        for bad in [
            "",
            "bob",
            "@example.com",
            "bob@",
            "bob@.com",
            "bob@example..com",
            "bob@example.com.",
            "bob@-a.com",
            "bob@a-.com",
            ".bob@a.com",
            "bob.@a.com",
            "b..b@a.com",
            "b b@a.com",
            "bob@a.com ",
            "<bob@a.com>",
            "\"b\"@a.com",
            "bob@[127.0.0.1]",
            "bob@a.com\r\nRCPT TO:<eve@b.com>",
            "bob,eve@a.com",
            "bob@a.com,eve@a.com",
            "böb@a.com",
            "bob@ä.com",
            "a@b@c",
            &format!("a@{}.com", "b".repeat(64)),
            &format!("{}@b", "a".repeat(253)),
        ] {
            assert!(!is_address(bad), "{bad:?}");
        }
    }
}
