//! The contract's tables, row by row.

use super::super::rules::{Outcome, Standing, outcome, standing, variable};
use super::*;
use crate::containers::model::Reason;

#[test]
fn edges_are_satisfied_as_the_contract_says() {
    use Condition::{Always, OnFailure, OnSuccess};
    use NodeState::{Cancelled, Failed, Pending, Retrying, Running, Skipped, Succeeded, WaitingApproval};
    use Standing::{Impossible, Open, Satisfied};
    for (upstream, expected) in [
        (Succeeded, [Satisfied, Impossible, Satisfied]),
        (Failed, [Impossible, Satisfied, Satisfied]),
        (Skipped, [Impossible; 3]),
        (Cancelled, [Impossible; 3]),
        (Pending, [Open; 3]),
        (Running, [Open; 3]),
        (Retrying, [Open; 3]),
        (WaitingApproval, [Open; 3]),
    ] {
        assert_eq!(
            [OnSuccess, OnFailure, Always].map(|condition| standing(condition, upstream)),
            expected,
            "{upstream:?}"
        );
    }
}

#[test]
fn an_end_of_a_run_is_retried_or_not_as_the_design_says() {
    let bench = bench();
    let key = made(&bench, new(vec![container("a", 0)], Vec::new()));
    let run = run(&bench, run_of(&bench, key, "a"));
    let of = |state, reason, is_stopping| outcome(&Run { state, reason, is_stopping, ..run.clone() });
    use RunState::{Exited, Failed, Killed, Timeout};
    assert_eq!(of(Exited, None, false), Outcome::Succeeded);
    for (state, reason) in [
        (Failed, Reason::NonzeroExit),
        (Failed, Reason::OomKilled),
        (Timeout, Reason::Timeout),
        (Failed, Reason::StartFailed),
        (Failed, Reason::ImagePullFailed),
        (Failed, Reason::ImageNotFound),
        (Failed, Reason::QueueTimeout),
        (Failed, Reason::WorkerLost),
    ] {
        let expected = super::super::model::NodeReason::Run(reason);
        assert_eq!(of(state, Some(reason), false), Outcome::Failed(expected));
        let stopped = super::super::model::NodeReason::Stopped;
        assert_eq!(of(state, Some(reason), true), Outcome::Ended(stopped), "somebody stopped it");
    }
    for reason in [Reason::Killed, Reason::StopGraceExpired, Reason::WorkflowCancelled] {
        let expected = super::super::model::NodeReason::Run(reason);
        assert_eq!(of(Killed, Some(reason), false), Outcome::Ended(expected));
    }
    assert!(matches!(of(Exited, None, true), Outcome::Ended(_)), "whatever it returned");
}

#[test]
fn a_ref_becomes_the_name_of_a_variable() {
    for (reference, expected) in [
        ("build", "SVC_INPUT_BUILD"),
        ("build-2.x y", "SVC_INPUT_BUILD_2_X_Y"),
        ("größe", "SVC_INPUT_GR__E"),
        ("Ａ１", "SVC_INPUT___"),
    ] {
        assert_eq!(variable(reference), expected);
    }
}
