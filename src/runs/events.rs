//! The catalogue of events: what a webhook can ask for, by name, alias or wildcard, as a set of bits.

use quintet_platform::webhooks::DEGRADED;

/// Every event of a life cycle, in the contract's order; a bit each.
const LIFE_CYCLE: [&str; 24] = [
    "run.scheduled",
    "run.queued",
    "run.pulling",
    "run.running",
    "run.paused",
    "run.resumed",
    "run.stopping",
    "run.exited",
    "run.failed",
    "run.timeout",
    "run.killed",
    "workflow.running",
    "workflow.paused",
    "workflow.resumed",
    "workflow.succeeded",
    "workflow.failed",
    "workflow.cancelled",
    "node.running",
    "node.retrying",
    "node.waiting_approval",
    "node.succeeded",
    "node.failed",
    "node.skipped",
    "node.cancelled",
];

/// The bit of [`DEGRADED`], which only those are told of who asked for it by name.
const DEGRADED_BIT: u32 = 24;

/// [`DEGRADED`].
pub(crate) const DEGRADED_EVENT: Events = Events(1 << DEGRADED_BIT);

/// A set of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Events(pub(crate) u32);

impl Events {
    /// The event of this name; nothing if there is none.
    pub(crate) fn of(event: &str) -> Events {
        let place = LIFE_CYCLE.iter().position(|known| *known == event).and_then(|place| u32::try_from(place).ok());
        let place = place.or((event == DEGRADED).then_some(DEGRADED_BIT));
        Events(place.map_or(0, |place| 1 << place))
    }

    /// What a pattern asks for: a concrete event, an alias, a wildcard. None if nobody emits such a thing.
    pub(crate) fn asked_by(pattern: &str) -> Option<Events> {
        let all_that = |is_asked: &dyn Fn(&str) -> bool| {
            LIFE_CYCLE.iter().filter(|event| is_asked(event)).fold(Events(0), |all, event| all.with(Events::of(event)))
        };
        let is_end = |event: &str, names: &[&str]| event.split_once('.').is_some_and(|(_, name)| names.contains(&name));
        let asked = match pattern {
            "*" => all_that(&|_| true),
            "run.*" | "workflow.*" | "node.*" => all_that(&|event| event.starts_with(pattern.trim_end_matches('*'))),
            "run.terminal" => all_that(&|event| {
                event.starts_with("run.") && is_end(event, &["exited", "failed", "timeout", "killed"])
            }),
            "workflow.terminal" => all_that(&|event| {
                event.starts_with("workflow.") && is_end(event, &["succeeded", "failed", "cancelled"])
            }),
            event => Events::of(event),
        };
        (asked != Events(0)).then_some(asked)
    }

    /// Both.
    pub(crate) const fn with(self, other: Events) -> Events {
        Events(self.0 | other.0)
    }

    /// Whether they have an event in common.
    pub(crate) const fn meets(self, other: Events) -> bool {
        self.0 & other.0 != 0
    }
}

/// Whether an inline webhook may ask for this.
#[must_use]
pub(crate) fn is_event_pattern(pattern: &str) -> bool {
    pattern != DEGRADED && Events::asked_by(pattern).is_some()
}

#[cfg(test)]
mod tests {
    use quintet_platform::webhooks::TEST;

    use super::*;

    #[test]
    fn patterns_ask_for_what_the_contract_says() {
        let count = |pattern: &str| Events::asked_by(pattern).map(|events| events.0.count_ones());
        for (pattern, expected) in [
            ("*", Some(24)),
            ("run.*", Some(11)),
            ("workflow.*", Some(6)),
            ("node.*", Some(7)),
            ("run.terminal", Some(4)),
            ("workflow.terminal", Some(3)),
            ("run.exited", Some(1)),
            (DEGRADED, Some(1)),
            ("node.terminal", None),
            (TEST, None),
            ("timer.fired", None),
            ("schedule.fired", None),
            ("webhook.*", None),
            ("run", None),
            ("RUN.EXITED", None),
            ("", None),
        ] {
            assert_eq!(count(pattern), expected, "{pattern}");
        }
        let terminal = Events::asked_by("run.terminal").unwrap();
        for event in LIFE_CYCLE {
            let is_end = matches!(event, "run.exited" | "run.failed" | "run.timeout" | "run.killed");
            assert_eq!(terminal.meets(Events::of(event)), is_end, "{event}");
        }
        assert!(!Events::asked_by("*").unwrap().meets(Events::of(DEGRADED)), "that is asked for by name");
        assert!(!is_event_pattern(DEGRADED) && is_event_pattern("*"));
    }
}
