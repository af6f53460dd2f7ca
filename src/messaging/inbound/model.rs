//! The words of inbound endpoints.

use bincode::{Decode, Encode};
use quintet_platform::secrets::Secret;
use quintet_storage::{Timestamp, key_newtype};

key_newtype!(
    /// An endpoint; its address ends with its ULID.
    pub(crate) EndpointId(Uuid)
);

impl EndpointId {
    /// As one number.
    pub(crate) fn number(self) -> u128 {
        self.0.as_u128()
    }
}

/// What messages say of where they come from, if nobody says otherwise (6-messaging.md, H1).
pub(super) const LABEL: &str = "inbound";
/// The longest such word, in characters.
pub(super) const LABEL_CHARS_MAX: usize = 32;

/// An endpoint, but for its secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// Its id.
    pub(crate) id: EndpointId,
    /// What its messages say of where they come from, behind `hook:`.
    pub(crate) label: String,
    /// How often its secret was another.
    pub(crate) generation: u32,
    /// Until when the secret before is good as well.
    pub(crate) previous_until: Option<Timestamp>,
    /// When it was made.
    pub(crate) created_at: Timestamp,
}

impl Endpoint {
    /// What its messages say of where they come from.
    pub(super) fn source(&self) -> String {
        format!("hook:{}", self.label)
    }

    /// Whether the secret of a generation is good.
    pub(super) fn is_good(&self, generation: u32, now: Timestamp) -> bool {
        generation == self.generation
            || generation.checked_add(1) == Some(self.generation)
                && self.previous_until.is_some_and(|until| now < until)
    }
}

/// The bytes that sign: what is given out, and what was before.
#[derive(Clone)]
pub(super) struct Secrets {
    pub(super) current: Secret<Vec<u8>>,
    pub(super) previous: Option<Secret<Vec<u8>>>,
}

/// What has come of an endpoint's calls (6-messaging.md, H).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Counts {
    /// Those that became messages.
    pub(crate) accepted: u64,
    /// Those that nothing proved.
    pub(crate) rejected_signature: u64,
    /// Those that had been there.
    pub(crate) rejected_replay: u64,
    /// Those that were too old, or of a time to come.
    pub(crate) rejected_stale: u64,
    /// When one last became a message.
    pub(crate) last_accepted_at: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use quintet_storage::Uuid;

    use super::*;

    #[test]
    fn a_secret_is_good_until_its_grace_is_over() {
        let at = Timestamp::from_micros;
        let mut endpoint = Endpoint {
            id: EndpointId(Uuid::nil()),
            label: LABEL.to_owned(),
            generation: 3,
            previous_until: Some(at(10)),
            created_at: at(0),
        };
        let good = |endpoint: &Endpoint, now| [1, 2, 3, 4].map(|generation| endpoint.is_good(generation, at(now)));
        assert_eq!(good(&endpoint, 9), [false, true, true, false]);
        assert_eq!(good(&endpoint, 10), [false, false, true, false]);
        endpoint.previous_until = None;
        assert_eq!(good(&endpoint, 0), [false, false, true, false]);
    }
}
