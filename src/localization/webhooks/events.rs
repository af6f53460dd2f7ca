//! The catalogue of events: what a webhook can ask for, as a set of bits.

use quintet_platform::webhooks::DEGRADED;

/// Every event, in the manual's order; a bit each, which never changes: sets of them are stored.
const EVENTS: [&str; 4] = ["translation", "approval_request.settled", "release", "import"];
/// The bit of [`DEGRADED`], which only those are told of who asked for it by name.
pub(super) const DEGRADED_BIT: u32 = 1 << 31;

/// The bit of an event; 0 if there is none of this name.
pub(super) fn bit_of(event: &str) -> u32 {
    let place = EVENTS.iter().position(|known| *known == event).and_then(|place| u32::try_from(place).ok());
    place.map_or(0, |place| 1 << place)
}

/// What a pattern asks for: an event, all of them, or to be told of endpoints in a bad way. None if nobody emits such a
/// thing.
pub(super) fn asked_by(pattern: &str) -> Option<u32> {
    let asked = match pattern {
        "*" => EVENTS.iter().fold(0, |all, event| all | bit_of(event)),
        DEGRADED => DEGRADED_BIT,
        event => bit_of(event),
    };
    (asked != 0).then_some(asked)
}

#[cfg(test)]
mod tests {
    use quintet_platform::webhooks::TEST;

    use super::*;

    #[test]
    fn patterns_ask_for_what_the_manual_says() {
        for (pattern, expected) in [
            ("translation", Some(1)),
            ("approval_request.settled", Some(2)),
            ("release", Some(4)),
            ("import", Some(8)),
            ("*", Some(15)),
            (DEGRADED, Some(DEGRADED_BIT)),
            (TEST, None),
            ("release.withdrawn", None),
            ("approval_request.*", None),
            ("run.exited", None),
            ("Import", None),
            ("", None),
        ] {
            assert_eq!(asked_by(pattern), expected, "{pattern}");
        }
    }
}
