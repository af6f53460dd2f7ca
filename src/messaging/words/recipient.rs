//! What a message can be addressed to (T1).

use super::address::is_address;
use super::room_name::is_room_name;
use super::tag::{TagExpression, TagFault};

/// The most bytes of a recipient as typed: more than any good one has.
const RECIPIENT_BYTES_MAX: usize = 1600;

/// One entry of `to` or `cc`, by its form alone: whether there is such a room or agent is not known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recipient<'a> {
    /// `room:NAME`
    Room(&'a str),
    /// `tag:EXPRESSION`
    Tag(TagExpression<'a>),
    /// An address of mail, one's own domain's as well.
    Address(&'a str),
    /// Anything else is read as an agent's name, an expression without its `tag:` too. Most of it can be nobody's; who
    /// looks it up says so, as of any other name that nobody has.
    Agent(&'a str),
}

/// A text that no recipient is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RecipientFault {
    /// Nothing, or blanks.
    #[error("is empty")]
    Empty,
    /// Longer than anything that can be meant.
    #[error("is longer than any recipient, which have 1600 bytes at most")]
    TooLong,
    /// It has a line break or another character that nobody sees.
    #[error("has a control character")]
    ControlCharacter,
    /// Behind `room:` stands no name of a room.
    #[error(
        "is no room: behind \"room:\" stand 1 to 80 of a-z, 0-9, \".\", \"_\", \":\", \"-\", a letter or digit first"
    )]
    Room,
    /// Behind `tag:` stands no expression.
    #[error("is no tag: {0}")]
    Tag(TagFault),
    /// It has an `@`, and mail cannot be sent to it.
    #[error("is no address that mail can be sent to: write it as name@example.com, alone")]
    Address,
}

impl<'a> Recipient<'a> {
    /// Reads a recipient.
    ///
    /// # Errors
    /// No recipient is written so.
    pub(crate) fn parse(text: &'a str) -> Result<Recipient<'a>, RecipientFault> {
        if text.trim().is_empty() {
            return Err(RecipientFault::Empty);
        }
        if text.len() > RECIPIENT_BYTES_MAX {
            return Err(RecipientFault::TooLong);
        }
        if text.chars().any(char::is_control) {
            return Err(RecipientFault::ControlCharacter);
        }
        if let Some(room) = text.strip_prefix("room:") {
            return if is_room_name(room) { Ok(Recipient::Room(room)) } else { Err(RecipientFault::Room) };
        }
        if let Some(expression) = text.strip_prefix("tag:") {
            return TagExpression::parse(expression).map(Recipient::Tag).map_err(RecipientFault::Tag);
        }
        if text.contains('@') {
            return if is_address(text) { Ok(Recipient::Address(text)) } else { Err(RecipientFault::Address) };
        }
        Ok(Recipient::Agent(text))
    }
}

#[cfg(test)]
mod tests {
    use super::{Recipient, RecipientFault, TagExpression, TagFault};

    #[test]
    fn the_four_forms() {
        let tag = |key, value| Recipient::Tag(TagExpression { key, value });
        let cases = [
            ("builder-c8239c", Recipient::Agent("builder-c8239c")),
            ("room:repo:f60ecdb16e5e", Recipient::Room("repo:f60ecdb16e5e")),
            ("room:room:a", Recipient::Room("room:a")),
            ("tag:skill:playwright", tag("skill:playwright", None)),
            ("tag:skill=playwright", tag("skill", Some("playwright"))),
            ("tag:owner=bob@example.com", tag("owner", Some("bob@example.com"))),
            ("tag:room:a", tag("room:a", None)),
            ("bob@example.com", Recipient::Address("bob@example.com")),
            ("agentbus+acme.builder@mail.example", Recipient::Address("agentbus+acme.builder@mail.example")),
            // Without its prefix an expression is a name, which nobody has.
            ("skill:playwright", Recipient::Agent("skill:playwright")),
            ("skill=playwright", Recipient::Agent("skill=playwright")),
            ("Builder", Recipient::Agent("Builder")),
            ("Room:a", Recipient::Agent("Room:a")),
            (" builder", Recipient::Agent(" builder")),
            ("系統", Recipient::Agent("系統")),
        ];
        for (text, expected) in cases {
            assert_eq!(Recipient::parse(text), Ok(expected), "{text:?}");
        }
    }

    #[test]
    fn what_is_none() {
        let long = "x".repeat(1601);
        let cases = [
            ("", RecipientFault::Empty),
            ("  ", RecipientFault::Empty),
            (&long, RecipientFault::TooLong),
            ("builder\n", RecipientFault::ControlCharacter),
            ("bob@example.com\r\nBcc: eve@example.com", RecipientFault::ControlCharacter),
            ("room:", RecipientFault::Room),
            ("room:A", RecipientFault::Room),
            ("room:a b", RecipientFault::Room),
            ("tag:", RecipientFault::Tag(TagFault::NoKey)),
            ("tag:=x", RecipientFault::Tag(TagFault::NoKey)),
            ("@", RecipientFault::Address),
            ("bob@", RecipientFault::Address),
            ("Bob <bob@example.com>", RecipientFault::Address),
            ("bob@example.com, eve@example.com", RecipientFault::Address),
        ];
        for (text, fault) in cases {
            assert_eq!(Recipient::parse(text), Err(fault), "{text:?}");
        }
    }
}
