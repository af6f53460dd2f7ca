//! Speaking to the relay.

use std::fmt;
use std::time::Duration;

use mail_send::smtp::AssertReply as _;
use mail_send::{Credentials, Error, SmtpClient};
use quintet_platform::egress::{Egress, Trust};
use smtp_proto::EXT_START_TLS;
use tokio::io::{AsyncRead, AsyncWrite};

use super::written::Written;
use crate::context::{Relay, RelayEncryption};

/// How long connecting may take, and each thing that is said after that.
const CONNECT_TIME: Duration = Duration::from_secs(15);
const STEP_TIME: Duration = Duration::from_secs(120);
/// How long a mail's bytes and the answer behind them may take: who gives up sooner sends what was taken once more (RFC 5321,
/// 4.5.3.2.6). And besides, what its bytes take at this pace, in bytes a second.
const END_TIME: Duration = Duration::from_secs(600);
const PACE_BYTES: u64 = 64 << 10;
/// The port at which encryption begins with the connection (RFC 8314, 3.3).
const ENCRYPTED_PORT: u16 = 465;
/// What is kept of what the relay says, in characters.
const SAID_CHARS_MAX: usize = 300;

/// Whatever the relay is connected by.
trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Wire for S {}

type Client = SmtpClient<Box<dyn Wire>>;

/// What the relay said to one recipient, or to all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// It takes the mail.
    Taken,
    /// Not now, in these words.
    Later(String),
    /// No.
    No(String),
}

impl Said {
    /// The same without a relay's words, which may repeat what stands in the mail: code and enhanced status. What is no
    /// reply is said in words of our own, and stays.
    pub(super) fn without_words(self) -> Said {
        match self {
            Said::Taken => Said::Taken,
            Said::Later(words) => Said::Later(code_of(words)),
            Said::No(words) => Said::No(code_of(words)),
        }
    }
}

fn code_of(words: String) -> String {
    let is_number = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let numbers: Vec<&str> = words.split(' ').take_while(is_number).take(2).collect();
    if numbers.first().is_some_and(|code| code.len() == 3) { numbers.join(" ") } else { words }
}

/// A connection that can take a mail.
pub(super) struct Connection {
    client: Client,
    /// Mails that it took.
    pub(super) taken: u32,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("taken", &self.taken).finish_non_exhaustive()
    }
}

/// Connects to a relay, encrypted and signed in as is said of it.
///
/// # Errors
/// Why not, in words.
pub(super) async fn connect(egress: &Egress, relay: &Relay, own_name: &str) -> Result<Connection, String> {
    let stream = egress.dial(&relay.place, CONNECT_TIME).await.map_err(|error| format!("not reached: {error}"))?;
    let _ = stream.set_nodelay(true);
    let trust = match relay.encryption {
        RelayEncryption::Required => Trust::Proven,
        RelayEncryption::Opportunistic | RelayEncryption::Off => Trust::Anybody,
    };
    let is_encrypted_at_once = relay.place.port == ENCRYPTED_PORT && relay.encryption != RelayEncryption::Off;
    let mut client: Client = SmtpClient { stream: Box::new(stream), timeout: STEP_TIME };
    if is_encrypted_at_once {
        client = encrypted(egress, relay, client, trust).await?;
    }
    let greeting =
        tokio::time::timeout(STEP_TIME, client.read()).await.map_err(|_| "no greeting in time".to_owned())?;
    greeting.and_then(|reply| reply.assert_positive_completion()).map_err(|error| told(&error).1)?;
    let mut announced = client.ehlo(own_name).await.map_err(|error| told(&error).1)?;
    let mut is_encrypted = is_encrypted_at_once;
    if !is_encrypted && relay.encryption != RelayEncryption::Off {
        if announced.has_capability(EXT_START_TLS) {
            let reply = client.cmd(b"STARTTLS\r\n").await.map_err(|error| told(&error).1)?;
            reply.assert_code(220).map_err(|error| told(&error).1)?;
            client = encrypted(egress, relay, client, trust).await?;
            announced = client.ehlo(own_name).await.map_err(|error| told(&error).1)?;
            is_encrypted = true;
        } else if relay.encryption == RelayEncryption::Required {
            return Err("it offers no encryption, and messaging.smtp_relay_tls requires it".to_owned());
        }
    }
    if let Some((user, password)) = &relay.credentials {
        if !is_encrypted && relay.encryption == RelayEncryption::Opportunistic {
            return Err("it offers no encryption, and a password is not sent without".to_owned());
        }
        let credentials = Credentials::new(user.as_str(), password.expose().as_str());
        client
            .authenticate(&credentials, &announced)
            .await
            .map_err(|error| format!("signing in: {}", told(&error).1))?;
    }
    Ok(Connection { client, taken: 0 })
}

/// Whether a relay can be spoken to as mail is handed to it.
///
/// # Errors
/// Why not, in words.
pub(crate) async fn try_it(egress: &Egress, relay: &Relay, own_name: &str) -> Result<(), String> {
    connect(egress, relay, own_name).await?.leave().await;
    Ok(())
}

async fn encrypted(egress: &Egress, relay: &Relay, client: Client, trust: Trust) -> Result<Client, String> {
    // What came behind the reply that encryption begins is thrown away with the client's buffer.
    let encrypting = egress.encrypt(client.stream, &relay.place, trust);
    let stream = tokio::time::timeout(STEP_TIME, encrypting).await.map_err(|_| "no encryption in time".to_owned())?;
    let stream = stream.map_err(|error| format!("encrypting: {error}"))?;
    Ok(SmtpClient { stream: Box::new(stream), timeout: STEP_TIME })
}

impl Connection {
    /// Hands a mail over: what was said to each recipient, in their order, and whether the connection can take another one.
    pub(super) async fn hand(&mut self, mail: &Written) -> (Vec<Said>, bool) {
        let mut said = Vec::with_capacity(mail.recipients.len());
        match self.try_hand(mail, &mut said).await {
            Ok(()) => {
                self.taken += 1;
                (said, true)
            }
            Err((all, is_good)) => {
                // Whom it had taken before it failed as a whole it has not taken.
                let refused = |one: Option<Said>| match one {
                    Some(no @ (Said::No(_) | Said::Later(_))) => no,
                    _ => all.clone(),
                };
                let mut earlier = said.into_iter();
                (mail.recipients.iter().map(|_| refused(earlier.next())).collect(), is_good)
            }
        }
    }

    async fn try_hand(&mut self, mail: &Written, said: &mut Vec<Said>) -> Result<(), (Said, bool)> {
        self.ask(format!("MAIL FROM:<{}>\r\n", mail.sender)).await?;
        let mut is_any_taken = false;
        for recipient in &mail.recipients {
            let one = match self.client.cmd(format!("RCPT TO:<{recipient}>\r\n")).await {
                Ok(reply) if reply.is_positive_completion() => Said::Taken,
                Ok(reply) => judged(&Error::UnexpectedReply(reply)).0,
                Err(error) => return Err(judged(&error)),
            };
            is_any_taken |= one == Said::Taken;
            said.push(one);
        }
        if !is_any_taken {
            let is_good = self.client.rset().await.is_ok();
            return Err((Said::Later("nobody was taken".to_owned()), is_good));
        }
        // The client ends the last line itself.
        let bytes = mail.bytes.strip_suffix(b"\r\n").unwrap_or(&mail.bytes);
        self.client.timeout = END_TIME + Duration::from_secs(bytes.len() as u64 / PACE_BYTES);
        let reply = self.client.data(bytes).await;
        self.client.timeout = STEP_TIME;
        self.begun_anew(reply).await
    }

    async fn ask(&mut self, command: String) -> Result<(), (Said, bool)> {
        let reply = self.client.cmd(command).await.and_then(|reply| reply.assert_positive_completion());
        self.begun_anew(reply).await
    }

    /// After a refusal the relay forgets the mail, or the next one would come to be within it.
    async fn begun_anew(&mut self, reply: Result<(), Error>) -> Result<(), (Said, bool)> {
        let Err(error) = reply else { return Ok(()) };
        let (said, is_good) = judged(&error);
        let is_good = is_good && self.client.rset().await.is_ok();
        Err((said, is_good))
    }

    /// Whether it is good still: the relay may have gone since the last mail.
    pub(super) async fn is_good(&mut self) -> bool {
        self.client.noop().await.is_ok()
    }

    /// Says goodbye.
    pub(super) async fn leave(self) {
        let _ = tokio::time::timeout(Duration::from_secs(5), self.client.quit()).await;
    }
}

/// What an error means for a mail, and whether the connection is good all the same.
fn judged(error: &Error) -> (Said, bool) {
    let (code, words) = told(error);
    match code {
        // What is out of its order says nothing of the mail.
        Some(421 | 503) | None => (Said::Later(words), false),
        Some(500..) => (Said::No(words), true),
        Some(_) => (Said::Later(words), true),
    }
}

/// The code of an answer, if there was one, and what is to be told of it: never what was sent.
fn told(error: &Error) -> (Option<u16>, String) {
    match error {
        Error::UnexpectedReply(reply) | Error::AuthenticationFailed(reply) => {
            let esc = reply.esc;
            let status = if esc == [0; 3] { String::new() } else { format!(" {}.{}.{}", esc[0], esc[1], esc[2]) };
            let words: String = reply.message.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
            let words: String = words.chars().take(SAID_CHARS_MAX).collect();
            (Some(reply.code), format!("{}{status} {words}", reply.code).trim_end().to_owned())
        }
        Error::Timeout => (None, "no answer in time".to_owned()),
        Error::UnparseableReply => (None, "the connection broke, or what came was no reply".to_owned()),
        Error::Io(error) => (None, format!("the connection broke: {}", error.kind())),
        Error::UnsupportedAuthMechanism => {
            (None, "it takes none of the ways to sign in that are known here".to_owned())
        }
        _ => (None, "it could not be spoken to".to_owned()),
    }
}
