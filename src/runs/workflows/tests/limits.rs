//! What a workflow may cost: places, days, runs that nobody takes from it, the terms of its key.

use super::*;
use crate::allowances::days;

fn may(bench: &Bench, numbers: Vec<(&'static str, u64)>) {
    let asked = SetQuotas { numbers, working_hours_tjp: None };
    bench.run(move |tx, _| Ok(quotas::set(tx, tenant(1), asked)?)).unwrap();
}

fn deleted(bench: &Bench, run_key: RunKey) -> Result<(), Refusal> {
    bench.run(move |tx, now| removal::delete(tx, now, run_key))
}

#[test]
fn a_revived_workflow_needs_a_place_among_the_active_ones() {
    let bench = bench();
    may(&bench, vec![("max_concurrent_workflows", 1), ("max_daily_runs", 3)]);
    let two = || vec![container("a", 0), gate("g")];
    let ended = made(&bench, new(two(), Vec::new()));
    returns(&bench, ended, "a", 1);
    decided(&bench, ended, "g", Verdict::Approved).unwrap();
    assert_eq!(state(&bench, ended), WorkflowState::Failed);
    let other = made(&bench, new(vec![gate("g")], Vec::new()));
    let before = (words(&bench, ended), nodes(&bench, ended));
    assert_eq!(retried(&bench, ended, "a"), Err(Refusal::WorkflowQuota(1)));
    assert_eq!((words(&bench, ended), nodes(&bench, ended)), before, "a refusal changes nothing");
    assert_eq!(state(&bench, ended), WorkflowState::Failed);
    // The node is asked for first: nobody learns of places by what is not there.
    assert!(matches!(retried(&bench, ended, "nobody"), Err(Refusal::NoSuch(_))));
    // Whoever has a place needs no other.
    assert!(matches!(retried(&bench, other, "g"), Err(Refusal::NodeNotTerminal(_))));
    decided(&bench, other, "g", Verdict::Approved).unwrap();
    // All runs of the day are used up, and a retry costs none.
    assert!(matches!(tried(&bench, tenant(1), new(vec![gate("g")], Vec::new())), Err(Refusal::DailyQuota(_))));
    assert_eq!(retried(&bench, ended, "a").unwrap(), ["a"]);
    assert_eq!(days::submitted(&bench.store.read(), bench.now(), tenant(1)).unwrap(), 3);
    // It takes a place as one that was submitted, and another node of it is retried without one more.
    assert_eq!(retried(&bench, other, "g"), Err(Refusal::WorkflowQuota(1)));
    assert!(matches!(tried(&bench, tenant(1), new(vec![gate("g")], Vec::new())), Err(Refusal::WorkflowQuota(1))));
    assert_eq!(retried(&bench, ended, "g").unwrap(), ["g"]);
    assert_eq!(
        (nodes(&bench, ended).as_str(), state(&bench, ended)),
        ("running waiting_approval", WorkflowState::Running)
    );
    sound(&bench);
    returns(&bench, ended, "a", 0);
    decided(&bench, ended, "g", Verdict::Approved).unwrap();
    assert_eq!(state(&bench, ended), WorkflowState::Succeeded);
    assert_eq!(retried(&bench, other, "g").unwrap(), ["g"], "its place is free again");
    sound(&bench);
}

#[test]
fn a_run_that_a_node_waits_for_is_not_deleted_in_any_state() {
    let bench = bench();
    let key = made(&bench, new(vec![container("a", 1), container("b", 0)], Vec::new()));
    let first = run_of(&bench, key, "a");
    assert_eq!(deleted(&bench, first), Err(Refusal::RunActive), "scheduled");
    pulling(&bench, first, run_ended);
    assert_eq!(deleted(&bench, first), Err(Refusal::RunActive), "pulling");
    requeue_of(&bench, first);
    assert_eq!(deleted(&bench, first), Err(Refusal::RunActive), "scheduled again, after a restart");
    start(&bench, first, run_ended);
    assert_eq!(deleted(&bench, first), Err(Refusal::RunActive), "running");
    assert_eq!(nodes(&bench, key), "running running");
    end(&bench, first, &Fate::Returned(1, None), run_ended);
    // Nobody waits for an attempt that has ended, and its id stays.
    assert_eq!(nodes(&bench, key), "retrying running");
    deleted(&bench, first).unwrap();
    sound(&bench);
    pass(&bench, 10);
    let second = run_of(&bench, key, "a");
    assert_eq!(deleted(&bench, second), Err(Refusal::RunActive), "the next attempt");
    let node_key = live(&bench, key).node_key(0);
    assert_eq!(attempts(&bench.store.read(), node_key).unwrap(), [first.1.0, second.1.0]);
    start(&bench, second, run_ended);
    bench.run(move |tx, now| cancel(tx, now, key)).unwrap();
    assert_eq!(deleted(&bench, second), Err(Refusal::RunActive), "it is still to be killed");
    heed_wish(&bench, second, run_ended);
    deleted(&bench, second).unwrap();
    deleted(&bench, run_of(&bench, key, "b")).unwrap();
    assert_eq!(nodes(&bench, key), "cancelled cancelled");
    sound(&bench);
    // A plain run that waits is nobody's.
    let plain = bench.run(|tx, now| {
        let submitted = crate::containers::submission::submit(
            tx,
            now,
            tenant(1),
            &crate::allowances::Ceilings::default(),
            crate::testing::plain(),
        )?;
        Ok((tenant(1), submitted.0))
    });
    deleted(&bench, plain.unwrap()).unwrap();
}
