//! What the signature of a message is worth: judged whenever it is shown, so that a revoked key shows at once
//! (6-messaging.md, Q1).

use data_encoding::HEXLOWER;
use ed25519_dalek::{Signature, VerifyingKey};
use quintet_storage::{Failure, Read};
use sha2::{Digest as _, Sha256};

use crate::mail::model::{Contents, Message, Sender};
use crate::model::WorkspaceNo;
use crate::pubkeys::{self, Algorithm};
use crate::words::bech32;

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

/// What a signature's text begins with.
const SIGNATURE_PREFIX: &str = "absigv";

/// What the signature of a message is worth, as its sender's keys stand.
pub(crate) fn state(
    read: &impl Read,
    workspace: WorkspaceNo,
    message: &Message,
    contents: &Contents,
) -> Result<State, Failure> {
    let Some((signature, fingerprint)) = &contents.signature else { return Ok(State::Unsigned) };
    let Some(signature) = bech32::decode(SIGNATURE_PREFIX, signature) else { return Ok(State::Invalid) };
    let Ok(signature) = Signature::from_slice(&signature) else { return Ok(State::Invalid) };
    let (Sender::Agent(sender), Some(fingerprint)) = (&message.sender, fingerprint) else {
        return Ok(State::Unverifiable);
    };
    let key = pubkeys::bytes(read, (workspace, *sender), Algorithm::Ed25519, fingerprint)?;
    let Some(key) = key else { return Ok(State::Unverifiable) };
    let Ok(key) = VerifyingKey::from_bytes(&key) else { return Ok(State::Invalid) };
    let is_good = key.verify_strict(canonical(message, &contents.text).as_bytes(), &signature).is_ok();
    Ok(if is_good { State::Valid } else { State::Invalid })
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
