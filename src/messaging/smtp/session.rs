//! What a client may say when, and what it is answered: the state of a session, without a connection (6-messaging.md, M2).

use super::path::{is_indirect, is_sender, path};
use super::reply::Reply;
use crate::intake::{Envelope, Found, Recipient, SIZE_MAX};
use crate::model::WorkspaceNo;

/// Recipients of one mail.
const RECIPIENTS_MAX: usize = 100;
/// Workspaces of one mail: each keeps it for itself.
const WORKSPACES_MAX: usize = 4;
/// After so many errors nobody listens any more.
const ERRORS_MAX: u32 = 10;
/// Longer than any name of a client, in bytes.
const NAME_BYTES_MAX: usize = 255;

/// Who knows what addresses stand for.
pub(super) trait Directory {
    /// What an address of this domain stands for.
    fn find(&self, address: &str) -> Found;
}

/// What is to be done for a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Answer.
    Say(Reply),
    /// Answer, and begin to encrypt.
    Encrypt(Reply),
    /// Answer, and read a mail.
    Read(Reply),
    /// Answer, and go.
    Leave(Reply),
}

/// A session.
#[derive(Debug)]
pub(super) struct Session {
    domain: String,
    /// Whether it can be encrypted.
    offers_tls: bool,
    is_encrypted: bool,
    /// What the client calls itself, and whether it greeted with EHLO.
    greeted: Option<(String, bool)>,
    envelope: Option<Envelope>,
    /// Whether a recipient was named, found or not.
    has_named: bool,
    errors: u32,
}

impl Session {
    /// One of a server with this name.
    pub(super) fn new(domain: &str, offers_tls: bool) -> Session {
        Session {
            domain: domain.to_owned(),
            offers_tls,
            is_encrypted: false,
            greeted: None,
            envelope: None,
            has_named: false,
            errors: 0,
        }
    }

    /// What a client is told first.
    pub(super) fn banner(&self) -> Reply {
        Reply::new(220, "", format!("{} ESMTP quintet", self.domain))
    }

    /// What the client calls itself, and whether it speaks ESMTP.
    pub(super) fn greeted(&self) -> Option<(&str, bool)> {
        self.greeted.as_ref().map(|(name, is_extended)| (name.as_str(), *is_extended))
    }

    /// Whether the connection is encrypted.
    pub(super) fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    /// The connection is encrypted from now on, and nothing that was said before counts (RFC 3207, 4.2).
    pub(super) fn encrypted(&mut self) {
        self.is_encrypted = true;
        self.greeted = None;
        self.reset();
    }

    /// The envelope of a mail that is about to be read.
    pub(super) fn take_envelope(&mut self) -> Option<Envelope> {
        self.has_named = false;
        self.envelope.take()
    }

    fn reset(&mut self) {
        self.envelope = None;
        self.has_named = false;
    }

    /// What is answered to something other than a command: to a broken line, or to a mail.
    pub(super) fn answered(&mut self, reply: Reply) -> Step {
        self.told(Step::Say(reply))
    }

    /// A command.
    pub(super) fn command(&mut self, line: &[u8], directory: &impl Directory) -> Step {
        let step = match std::str::from_utf8(line) {
            Ok(text) if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) => self.understood(text, directory),
            _ => say(500, "5.5.2", "commands are of visible ASCII"),
        };
        self.told(step)
    }

    /// Counts errors: a client that makes so many is not after mail.
    fn told(&mut self, step: Step) -> Step {
        let Step::Say(reply) = &step else { return step };
        if reply.is_error() {
            self.errors += 1;
        }
        if self.errors < ERRORS_MAX {
            return step;
        }
        Step::Leave(Reply::new(421, "4.7.0", format!("{} too many errors", self.domain)))
    }

    fn understood(&mut self, text: &str, directory: &impl Directory) -> Step {
        let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
        let verb = verb.to_ascii_uppercase();
        let bare = |step: Step| if rest.trim().is_empty() { step } else { no_arguments() };
        match verb.as_str() {
            "EHLO" | "HELO" => self.greet(rest, verb == "EHLO"),
            "MAIL" => self.mail(rest),
            "RCPT" => self.recipient(rest, directory),
            "DATA" if rest.trim().is_empty() => self.data(),
            "DATA" => no_arguments(),
            "STARTTLS" if rest.trim().is_empty() => self.start_tls(),
            "STARTTLS" => no_arguments(),
            "RSET" if rest.trim().is_empty() => {
                self.reset();
                say(250, "2.0.0", "forgotten")
            }
            "NOOP" => say(250, "2.0.0", "nothing was done"),
            "QUIT" => bare(Step::Leave(Reply::new(221, "2.0.0", format!("{} goodbye", self.domain)))),
            "VRFY" => say(252, "2.5.0", "nobody is told who is here; send, and it is tried"),
            "HELP" => say(214, "2.0.0", "see RFC 5321; mail is taken for agents of this appliance alone"),
            "RSET" => no_arguments(),
            "EXPN" | "AUTH" | "BDAT" | "TURN" | "ETRN" => say(502, "5.5.1", "that is not done here"),
            _ => say(500, "5.5.1", "no such command"),
        }
    }

    fn greet(&mut self, name: &str, is_extended: bool) -> Step {
        let name = name.trim();
        let is_good = !name.is_empty() && name.len() <= NAME_BYTES_MAX && !name.contains(' ');
        if !is_good {
            return say(501, "5.5.4", "say who you are: EHLO and a domain");
        }
        self.reset();
        self.greeted = Some((name.to_owned(), is_extended));
        if !is_extended {
            return say(250, "", self.domain.clone());
        }
        let mut lines = vec![self.domain.clone(), format!("SIZE {SIZE_MAX}")];
        lines.extend(["8BITMIME", "PIPELINING", "ENHANCEDSTATUSCODES"].map(str::to_owned));
        if self.offers_tls && !self.is_encrypted {
            lines.push("STARTTLS".to_owned());
        }
        Step::Say(Reply { code: 250, status: "", lines })
    }

    fn mail(&mut self, rest: &str) -> Step {
        if self.greeted.is_none() {
            return say(503, "5.5.1", "greet first: EHLO");
        }
        if self.envelope.is_some() {
            return say(503, "5.5.1", "a mail is under way already");
        }
        let Some(path) = behind(rest, "FROM:").and_then(path) else {
            return say(501, "5.5.4", "write MAIL FROM:<address>");
        };
        if !is_sender(path.address) {
            return say(553, "5.1.7", "that is no address that mail can be sent from");
        }
        for parameter in &path.parameters {
            if let Some(refused) = parameter_refused(parameter) {
                return refused;
            }
        }
        self.envelope = Some(Envelope { sender: path.address.to_owned(), recipients: Vec::new() });
        say(250, "2.1.0", "go on")
    }

    fn recipient(&mut self, rest: &str, directory: &impl Directory) -> Step {
        let Some(envelope) = &mut self.envelope else {
            return say(503, "5.5.1", "say first who sends: MAIL FROM:<address>");
        };
        let Some(path) = behind(rest, "TO:").and_then(path) else {
            return say(501, "5.5.4", "write RCPT TO:<address>");
        };
        if !path.parameters.is_empty() {
            return say(555, "5.5.4", "recipients have no parameters here");
        }
        self.has_named = true;
        if is_indirect(path.address) {
            return say(550, "5.1.3", "write the address itself: no routes, no percent signs, no quotes");
        }
        if envelope.recipients.len() >= RECIPIENTS_MAX {
            return say(452, "4.5.3", "too many recipients; send to the others afterwards");
        }
        match directory.find(path.address) {
            Found::Here(recipient) => {
                let place = |one: &Recipient| (one.workspace, one.agent, one.bounce_of);
                if envelope.recipients.iter().any(|known| place(known) == place(&recipient)) {
                    return say(250, "2.1.5", "known already");
                }
                let mut workspaces: Vec<WorkspaceNo> =
                    envelope.recipients.iter().map(|known| known.workspace).collect();
                workspaces.push(recipient.workspace);
                workspaces.sort_unstable();
                workspaces.dedup();
                if workspaces.len() > WORKSPACES_MAX {
                    return say(452, "4.5.3", "recipients of too many workspaces; send to the others afterwards");
                }
                envelope.recipients.push(recipient);
                say(250, "2.1.5", "go on")
            }
            Found::Nobody => say(550, "5.1.1", "nobody here has this address"),
            Found::Closed => say(550, "5.7.1", "mail from outside is not taken there"),
            Found::DayIsFull => say(452, "4.2.2", "no more mail is taken there today"),
            Found::Unknown => say(451, "4.3.0", "that cannot be found out now"),
        }
    }

    fn data(&mut self) -> Step {
        let Some(envelope) = &self.envelope else {
            return say(503, "5.5.1", "say first who sends: MAIL FROM:<address>");
        };
        match (envelope.recipients.is_empty(), self.has_named) {
            (false, _) => Step::Read(Reply::new(354, "", "go on; end with CR LF . CR LF")),
            (true, true) => say(554, "5.5.1", "none of the recipients is known"),
            (true, false) => say(503, "5.5.1", "say first to whom: RCPT TO:<address>"),
        }
    }

    fn start_tls(&mut self) -> Step {
        if self.is_encrypted {
            return say(503, "5.5.1", "it is encrypted already");
        }
        if !self.offers_tls {
            return say(502, "5.5.1", "that is not done here");
        }
        Step::Encrypt(Reply::new(220, "2.0.0", "go on"))
    }
}

fn say(code: u16, status: &'static str, text: impl Into<String>) -> Step {
    Step::Say(Reply::new(code, status, text))
}

fn no_arguments() -> Step {
    say(501, "5.5.4", "nothing stands behind that command")
}

/// What stands behind a keyword, in letters of any case.
fn behind<'a>(rest: &'a str, keyword: &str) -> Option<&'a str> {
    let begin = rest.get(..keyword.len())?;
    if begin.eq_ignore_ascii_case(keyword) { rest.get(keyword.len()..) } else { None }
}

/// What is wrong with a parameter of MAIL.
fn parameter_refused(parameter: &str) -> Option<Step> {
    let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
    match name.to_ascii_uppercase().as_str() {
        "SIZE" => match value.parse::<u64>() {
            Ok(size) if size <= SIZE_MAX as u64 => None,
            Ok(_) => Some(say(552, "5.3.4", format!("the mail is too large: {SIZE_MAX} bytes are taken"))),
            Err(_) => Some(say(501, "5.5.4", "SIZE is a number of bytes")),
        },
        "BODY" if value.eq_ignore_ascii_case("7BIT") || value.eq_ignore_ascii_case("8BITMIME") => None,
        "BODY" => Some(say(501, "5.5.4", "BODY is 7BIT or 8BITMIME")),
        _ => Some(say(555, "5.5.4", "that parameter is not known here")),
    }
}
