//! What the signature of a message is worth: judged whenever it is shown, so that a revoked key shows at once
//! (6-messaging.md, Q1).

use data_encoding::HEXLOWER;
use quintet_storage::Failure;
use sha2::{Digest as _, Sha256};

use crate::mail::model::{Contents, Message};

/// What a signature is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It is of a key that the sender has published and not revoked, and fits the message.
    Valid,
    /// It does not fit the message, or is none at all.
    Invalid,
    /// The key that it names is none that the sender has published, or it is revoked.
    Unverifiable,
    /// There is none.
    Unsigned,
}

impl State {
    /// As answers write it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            State::Valid => "valid",
            State::Invalid => "invalid",
            State::Unverifiable => "unverifiable",
            State::Unsigned => "unsigned",
        }
    }
}

/// The public key of 32 bytes that a sender has published under a fingerprint and not revoked, if there is one.
pub(crate) trait Keys {
    /// Finds it.
    fn find(&self, message: &Message, fingerprint: &str) -> Result<Option<[u8; 32]>, Failure>;
}

/// What the signature of a message is worth, as the sender's keys stand.
pub(crate) fn state(keys: &impl Keys, message: &Message, contents: &Contents) -> Result<State, Failure> {
    let Some((_signature, fingerprint)) = &contents.signature else { return Ok(State::Unsigned) };
    let key = match fingerprint {
        Some(fingerprint) => keys.find(message, fingerprint)?,
        None => None,
    };
    Ok(match key {
        None => State::Unverifiable,
        Some(_) => State::Invalid,
    })
}

/// SHA-256 of a text's bytes, in hexadecimal (6-messaging.md, Q2).
pub(crate) fn sha256_of(text: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(text.as_bytes()))
}

/// What is signed: the lines that clients sign, each with its end.
pub(crate) fn canonical(message: &Message, text: &str) -> String {
    let sorted = |names: &[String]| {
        let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
        names.sort_unstable();
        names.join(",")
    };
    format!(
        "agentbus-sig-v1\nfrom: {}\nto: {}\ncc: {}\nsubject: {}\npriority: {}\nbody-sha256: {}\n",
        message.sender_name,
        sorted(&message.to),
        sorted(&message.cc),
        message.subject,
        message.priority.name(),
        sha256_of(text),
    )
}

/// Nobody has published anything.
pub(crate) struct NoKeys;

impl Keys for NoKeys {
    fn find(&self, _: &Message, _: &str) -> Result<Option<[u8; 32]>, Failure> {
        Ok(None)
    }
}
