//! What is known of who wrote a message, in words that clients can branch on and sentences that people can read
//! (6-messaging.md, Q3).

use quintet_platform::json::Json;

use crate::identity::Attestation;

/// What a level says, and what it does not say.
const fn sentences(level: Attestation) -> (&'static str, &'static str) {
    match level {
        Attestation::Platform => (
            "The message was sent with a key that is bound to this one agent.",
            "Who or what held that key, and that the message is true.",
        ),
        Attestation::Workspace => (
            "The message was sent with a key of this workspace that may act as this agent.",
            "That this agent sent it itself: others with such a key could have.",
        ),
        Attestation::External => (
            "The message came from outside the workspace.",
            "Who sent it: the address that it names is what its sender says.",
        ),
        Attestation::System => {
            ("The platform itself wrote the message.", "That what others are quoted with in it is true.")
        }
    }
}

/// What is known, with the signature's part.
pub(crate) fn provenance(level: Attestation, signature: Json) -> Json {
    let (attests_to, does_not_attest_to) = sentences(level);
    Json::object([
        ("level", Json::from(level.name())),
        ("attests_to", attests_to.into()),
        ("does_not_attest_to", does_not_attest_to.into()),
        ("signature", signature),
    ])
}
