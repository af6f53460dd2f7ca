//! Lives of workflows: each test tells one.

use super::*;

#[test]
fn a_chain_goes_on_by_the_ends_of_its_runs() {
    let bench = bench();
    let nodes_of = vec![container("a", 0), NewNode { inputs_from: vec!["a".into()], ..container("b", 0) }];
    let key = made(&bench, new(nodes_of, path(&[("a", "b")])));
    assert_eq!((state(&bench, key), nodes(&bench, key).as_str()), (WorkflowState::Running, "running pending"));
    let first = run(&bench, run_of(&bench, key, "a"));
    assert_eq!((first.state, first.workflow_id, first.attempt), (RunState::Scheduled, Some(key.1.0), 1));
    assert_eq!((first.name.as_deref(), first.tags.as_slice()), (Some("a"), ["nightly".to_owned()].as_slice()));
    sound(&bench);
    comes_to(&bench, key, "a", &Fate::Returned(0, Some("{\"n\":1.50}".into())));
    assert_eq!(nodes(&bench, key), "succeeded running");
    assert_eq!(env_of(&bench, run_of(&bench, key, "b")), [("SVC_INPUT_A".to_owned(), "{\"n\":1.50}".to_owned())]);
    // The run goes, its output stays.
    let gone = run_of(&bench, key, "a");
    bench.run(move |tx, now| removal::delete(tx, now, gone)).unwrap();
    let waited = run_of(&bench, key, "b");
    assert_eq!(bench.run(move |tx, now| removal::delete(tx, now, waited)), Err(Refusal::RunActive));
    returns(&bench, key, "b", 0);
    assert_eq!(state(&bench, key), WorkflowState::Succeeded);
    let node_key = live(&bench, key).node_key(0);
    assert_eq!(output(&bench.store.read(), node_key).unwrap().as_deref(), Some("{\"n\":1.50}"));
    assert_eq!(attempts(&bench.store.read(), node_key).unwrap(), [gone.1.0]);
    assert_eq!(words(&bench, key), "pending running a:running a:succeeded b:running b:succeeded succeeded");
    let told = to_compact(&happened(&bench, key)[3].2);
    assert_eq!(told, r#"{"attempt":1,"exit_code":0,"has_output":true}"#);
    sound(&bench);
}

#[test]
fn a_failed_attempt_is_followed_by_another_after_the_backoff() {
    let bench = bench();
    let key = made(&bench, new(vec![container("a", 2), container("b", 0)], path(&[("a", "b")])));
    returns(&bench, key, "a", 3);
    assert_eq!(nodes(&bench, key), "retrying pending");
    sound(&bench);
    pass(&bench, 9);
    assert_eq!(nodes(&bench, key), "retrying pending");
    pass(&bench, 1);
    assert_eq!(nodes(&bench, key), "running pending");
    assert_eq!((live(&bench, key).nodes[0].attempt, live(&bench, key).nodes[0].exit_code), (2, None));
    comes_to(&bench, key, "a", &Fate::Lost);
    pass(&bench, 10);
    comes_to(&bench, key, "a", &Fate::Returned(9, Some("[1]".into())));
    assert_eq!((state(&bench, key), nodes(&bench, key).as_str()), (WorkflowState::Failed, "failed skipped"));
    let node_key = live(&bench, key).node_key(0);
    assert_eq!(attempts(&bench.store.read(), node_key).unwrap().len(), 3);
    assert_eq!(output(&bench.store.read(), node_key).unwrap().as_deref(), Some("[1]"), "failed nodes have outputs too");
    let told: Vec<String> = happened(&bench, key).iter().map(|(_, _, detail)| to_compact(detail)).collect();
    assert!(
        told.contains(
            &r#"{"attempt":3,"exit_code":9,"reason":"nonzero_exit","message":"the command returned 9"}"#.to_owned()
        ),
        "{told:?}"
    );
    assert!(told.contains(&r#"{"reason":"upstream","from_ref":"a"}"#.to_owned()), "{told:?}");
    sound(&bench);
}

#[test]
fn how_long_attempts_ran_is_summed_up() {
    let bench = bench();
    let key = made(&bench, new(vec![container("a", 1)], Vec::new()));
    // Transactions at one instant are a microsecond apart.
    let ran = || (super::super::loads::of_all(&bench.store.read()).unwrap().0.node_micros + 500_000) / 1_000_000;
    for (seconds, code, expected) in [(7, 1, 7), (4, 0, 11)] {
        let run_key = run_of(&bench, key, "a");
        bench.clock.advance(20);
        start(&bench, run_key, run_ended);
        bench.clock.advance(seconds);
        end(&bench, run_key, &Fate::Returned(code, None), run_ended);
        assert_eq!(ran(), expected, "what it waited does not count");
        pass(&bench, 10);
    }
    assert_eq!(state(&bench, key), WorkflowState::Succeeded);
    sound(&bench);
}

#[test]
fn what_somebody_ended_is_not_tried_again() {
    for fate in [Fate::Killed, Fate::Stopped(0), Fate::Stopped(7)] {
        let bench = bench();
        let key = made(&bench, new(vec![container("a", 5)], Vec::new()));
        comes_to(&bench, key, "a", &fate);
        assert_eq!((state(&bench, key), nodes(&bench, key).as_str()), (WorkflowState::Failed, "failed"), "{fate:?}");
    }
    for fate in [Fate::TimedOut, Fate::OutOfMemory, Fate::NotStarted, Fate::Lost, Fate::Returned(1, None)] {
        let bench = bench();
        let key = made(&bench, new(vec![container("a", 5)], Vec::new()));
        comes_to(&bench, key, "a", &fate);
        assert_eq!(nodes(&bench, key), "retrying", "{fate:?}");
    }
}

#[test]
fn a_run_that_waits_too_long_takes_its_node_with_it() {
    let bench = bench();
    let key = made(&bench, new(vec![container("a", 0), container("b", 0)], vec![edge("a", "b", Condition::OnFailure)]));
    pass(&bench, 3_600);
    assert_eq!(nodes(&bench, key), "failed running", "the clock ended it, and the workflow goes on by that");
    sound(&bench);
}

#[test]
fn fail_fast_leaves_failure_paths_alone_and_continue_all_branches() {
    for (policy, expected) in [
        (FailurePolicy::FailFast, "failed running skipped running skipped"),
        (FailurePolicy::Continue, "failed running pending running skipped"),
    ] {
        let bench = bench();
        // c waits for b, which still runs; d lies on a failure path; e can never start.
        let all = ["a", "b", "c", "d", "e"].map(|name| container(name, 0)).to_vec();
        let mut edges = path(&[("b", "c"), ("a", "e")]);
        edges.push(edge("a", "d", Condition::Always));
        let key = made(&bench, NewWorkflow { policy, ..new(all, edges) });
        returns(&bench, key, "a", 1);
        assert_eq!(nodes(&bench, key), expected);
        returns(&bench, key, "b", 0);
        if policy == FailurePolicy::Continue {
            returns(&bench, key, "c", 0);
        }
        assert_eq!(state(&bench, key), WorkflowState::Running);
        returns(&bench, key, "d", 0);
        assert_eq!(state(&bench, key), WorkflowState::Failed, "either way");
        sound(&bench);
    }
}

#[test]
fn gates_are_decided_once() {
    let bench = bench();
    let all = vec![gate("ok"), container("go", 0), container("sorry", 0)];
    let edges = vec![edge("ok", "go", Condition::OnSuccess), edge("ok", "sorry", Condition::OnFailure)];
    let key = made(&bench, new(all.clone(), edges.clone()));
    assert_eq!(decided(&bench, key, "go", Verdict::Approved), Err(Refusal::NotAnApproval), "before its state");
    assert_eq!(decided(&bench, key, "ok", Verdict::Approved), Ok(NodeState::Succeeded));
    assert!(matches!(decided(&bench, key, "ok", Verdict::Rejected), Err(Refusal::NotNow(_))));
    assert_eq!(nodes(&bench, key), "succeeded running skipped");
    let told = to_compact(&happened(&bench, key)[3].2);
    assert_eq!(told, r#"{"attempt":1,"decision":"approved","comment":"fine"}"#);
    let other = made(&bench, new(all, edges));
    assert_eq!(decided(&bench, other, "ok", Verdict::Rejected), Ok(NodeState::Failed));
    assert_eq!(nodes(&bench, other), "failed skipped running");
    returns(&bench, other, "sorry", 0);
    assert_eq!(state(&bench, other), WorkflowState::Failed, "a rejected gate is a failed node");
    assert!(matches!(decided(&bench, other, "nobody", Verdict::Approved), Err(Refusal::NoSuch(_))));
    let elsewhere = (tenant(2), key.1);
    assert!(matches!(decided(&bench, elsewhere, "ok", Verdict::Approved), Err(Refusal::NoSuch(_))));
    sound(&bench);
}

#[test]
fn the_clock_decides_a_gate_that_nobody_does() {
    for (verdict, expected) in
        [(Verdict::Approved, WorkflowState::Succeeded), (Verdict::Rejected, WorkflowState::Failed)]
    {
        let bench = bench();
        let kind = NodeKind::Gate { expiry: Some(Expiry { after_seconds: 60, verdict }) };
        let key = made(&bench, new(vec![NewNode { kind, ..gate("ok") }], Vec::new()));
        sound(&bench);
        pass(&bench, 59);
        assert_eq!(nodes(&bench, key), "waiting_approval");
        pass(&bench, 1);
        assert_eq!(state(&bench, key), expected);
        assert_eq!(live(&bench, key).nodes[0].decision.as_ref().unwrap().decided_by, "expiry");
        sound(&bench);
    }
}

#[test]
fn a_pause_launches_nothing_and_loses_nothing() {
    let bench = bench();
    let all = vec![container("a", 1), gate("g"), container("b", 0), container("c", 0)];
    let key = made(&bench, new(all, path(&[("a", "b"), ("g", "c")])));
    assert!(matches!(bench.run(move |tx, now| resume(tx, now, key)), Err(Refusal::NotNow(_))));
    returns(&bench, key, "a", 1);
    bench.run(move |tx, now| pause(tx, now, key)).unwrap();
    assert!(matches!(bench.run(move |tx, now| pause(tx, now, key)), Err(Refusal::NotNow(_))));
    decided(&bench, key, "g", Verdict::Approved).unwrap();
    pass(&bench, 100);
    assert_eq!(
        nodes(&bench, key),
        "retrying succeeded pending pending",
        "the backoff is over, and nothing is launched"
    );
    sound(&bench);
    bench.run(move |tx, now| resume(tx, now, key)).unwrap();
    assert_eq!(nodes(&bench, key), "running succeeded pending running");
    returns(&bench, key, "c", 0);
    returns(&bench, key, "a", 0);
    bench.run(move |tx, now| pause(tx, now, key)).unwrap();
    returns(&bench, key, "b", 0);
    assert_eq!(state(&bench, key), WorkflowState::Paused, "all has ended, and it waits to go on");
    sound(&bench);
    bench.run(move |tx, now| resume(tx, now, key)).unwrap();
    assert_eq!(state(&bench, key), WorkflowState::Succeeded);
    let told = words(&bench, key);
    assert!(told.ends_with("paused b:succeeded running succeeded"), "{told}");
}

#[test]
fn cancelled_things_die_and_stay_cancelled() {
    let bench = bench();
    let all = vec![container("runs", 3), container("waits", 0), container("later", 0), gate("g"), container("done", 0)];
    let key = made(&bench, new(all, path(&[("runs", "later")])));
    returns(&bench, key, "done", 0);
    let (running, waiting) = (run_of(&bench, key, "runs"), run_of(&bench, key, "waits"));
    start(&bench, running, run_ended);
    bench.run(move |tx, now| cancel(tx, now, key)).unwrap();
    assert_eq!(nodes(&bench, key), "cancelled cancelled cancelled cancelled succeeded");
    assert_eq!(state(&bench, key), WorkflowState::Cancelled);
    let ended = run(&bench, waiting);
    assert_eq!((ended.state, ended.reason.map(|reason| reason.name())), (RunState::Killed, Some("workflow_cancelled")));
    assert_eq!(wishes::wished(&bench.store.read(), 9).unwrap(), [running], "it is durable, whatever is restarted");
    sound(&bench);
    heed_wish(&bench, running, run_ended);
    assert_eq!(run(&bench, running).state, RunState::Killed);
    assert_eq!(wishes::wished(&bench.store.read(), 9).unwrap(), []);
    assert_eq!(nodes(&bench, key), "cancelled cancelled cancelled cancelled succeeded", "its end no longer matters");
    assert!(matches!(bench.run(move |tx, now| cancel(tx, now, key)), Err(Refusal::NotNow(_))));
    // After a retry of what was cancelled there is no failed node.
    for name in ["waits", "g", "runs"] {
        retried(&bench, key, name).unwrap();
    }
    assert_eq!(nodes(&bench, key), "running running pending waiting_approval succeeded");
    decided(&bench, key, "g", Verdict::Approved).unwrap();
    for name in ["waits", "runs", "later"] {
        returns(&bench, key, name, 0);
    }
    assert_eq!(state(&bench, key), WorkflowState::Succeeded);
    sound(&bench);
}

#[test]
fn a_run_that_is_wished_to_end_does_not_start_anew() {
    let bench = bench();
    let key = made(&bench, new(vec![container("a", 0), container("b", 0)], Vec::new()));
    let (lost, runs) = (run_of(&bench, key, "a"), run_of(&bench, key, "b"));
    pulling(&bench, lost, run_ended);
    start(&bench, runs, run_ended);
    bench.run(move |tx, now| cancel(tx, now, key)).unwrap();
    // After a restart it waits in its queue again: it has no container.
    requeue_of(&bench, lost);
    assert_eq!(run(&bench, lost).state, RunState::Scheduled);
    heed_wish(&bench, lost, run_ended);
    let ended = run(&bench, lost);
    assert_eq!((ended.state, ended.reason.map(|reason| reason.name())), (RunState::Killed, Some("workflow_cancelled")));
    assert_eq!(wishes::wished(&bench.store.read(), 9).unwrap(), [runs], "the other one is wished to end until it does");
    sound(&bench);
}

#[test]
fn a_wish_is_heeded_even_where_the_container_was_never_made() {
    let bench = bench();
    let key = made(&bench, new(vec![container("a", 0)], Vec::new()));
    let run_key = run_of(&bench, key, "a");
    start(&bench, run_key, run_ended);
    bench.run(move |tx, now| cancel(tx, now, key)).unwrap();
    // The runner lost it: it would wait again.
    end(&bench, run_key, &Fate::Lost, run_ended);
    assert_eq!(wishes::wished(&bench.store.read(), 9).unwrap(), [], "it has ended");
    assert_eq!(state(&bench, key), WorkflowState::Cancelled);
    sound(&bench);
}

#[test]
fn a_retry_resets_the_closure_and_nothing_else() {
    let bench = bench();
    let all = ["a", "b", "c", "d"].map(|name| container(name, 0)).to_vec();
    let key = made(&bench, new(all, path(&[("a", "b"), ("b", "c")])));
    returns(&bench, key, "d", 0);
    comes_to(&bench, key, "a", &Fate::Returned(0, Some("1".into())));
    assert_eq!(retried(&bench, key, "a"), Err(Refusal::NodeNotTerminal("b".into())));
    returns(&bench, key, "b", 1);
    assert_eq!(
        (state(&bench, key), nodes(&bench, key).as_str()),
        (WorkflowState::Failed, "succeeded failed skipped succeeded")
    );
    bench.clock.advance(5);
    assert_eq!(retried(&bench, key, "b").unwrap(), ["b", "c"]);
    assert_eq!(
        (state(&bench, key), nodes(&bench, key).as_str()),
        (WorkflowState::Running, "succeeded running pending succeeded")
    );
    assert_eq!((live(&bench, key).nodes[1].attempt, live(&bench, key).workflow.finished_at), (2, None));
    returns(&bench, key, "b", 0);
    returns(&bench, key, "c", 0);
    assert_eq!(state(&bench, key), WorkflowState::Succeeded);
    // A node whose edge is impossible is skipped again, and the workflow has ended at once.
    let skipped = made(&bench, new(vec![container("x", 0), container("y", 0)], path(&[("x", "y")])));
    returns(&bench, skipped, "x", 1);
    assert_eq!(retried(&bench, skipped, "y").unwrap(), ["y"]);
    assert_eq!((state(&bench, skipped), nodes(&bench, skipped).as_str()), (WorkflowState::Failed, "failed skipped"));
    assert!(words(&bench, skipped).ends_with("failed running y:pending y:skipped failed"));
    sound(&bench);
}

#[test]
fn one_of_two_failed_nodes_can_be_retried_under_fail_fast() {
    let bench = bench();
    let key = made(&bench, new(vec![container("a", 0), container("b", 0)], Vec::new()));
    returns(&bench, key, "a", 1);
    returns(&bench, key, "b", 1);
    retried(&bench, key, "a").unwrap();
    assert_eq!(nodes(&bench, key), "running failed");
    returns(&bench, key, "a", 0);
    assert_eq!(state(&bench, key), WorkflowState::Failed, "the other one still has");
    sound(&bench);
}

#[test]
fn a_deferred_workflow_starts_by_the_clock() {
    let bench = bench();
    let later = Some(bench.now().plus_seconds(60));
    let key = made(&bench, NewWorkflow { scheduled_start: later, ..new(vec![container("a", 0)], Vec::new()) });
    assert_eq!((state(&bench, key), words(&bench, key).as_str()), (WorkflowState::Pending, "pending"));
    assert!(matches!(bench.run(move |tx, now| pause(tx, now, key)), Err(Refusal::NotNow(_))));
    sound(&bench);
    pass(&bench, 59);
    assert_eq!(state(&bench, key), WorkflowState::Pending);
    pass(&bench, 1);
    assert_eq!((state(&bench, key), nodes(&bench, key).as_str()), (WorkflowState::Running, "running"));
    let cancelled = made(
        &bench,
        NewWorkflow { scheduled_start: Some(bench.now().plus_seconds(60)), ..new(vec![gate("a")], Vec::new()) },
    );
    bench.run(move |tx, now| cancel(tx, now, cancelled)).unwrap();
    sound(&bench);
    pass(&bench, 60);
    assert_eq!(words(&bench, cancelled), "pending a:cancelled cancelled");
}

#[test]
fn what_cannot_be_paid_for_fails_without_a_run() {
    let bench = bench();
    let terms = KeyTerms { tier: Some("free".into()), metered_seconds: Some(100), ..KeyTerms::default() };
    bench.run(move |tx, _| Ok(terms::give(tx, "poor", &terms)?)).unwrap();
    let all = || vec![container("a", 3), container("b", 3), container("c", 3)];
    let poor = |policy| NewWorkflow { key_id: "poor".into(), policy, ..new(all(), Vec::new()) };
    // Each would be charged 60 seconds.
    let key = made(&bench, poor(FailurePolicy::FailFast));
    assert_eq!(nodes(&bench, key), "running failed skipped");
    assert_eq!(live(&bench, key).nodes[1].reason.unwrap().name(), "metered_quota_exceeded");
    let other = made(&bench, poor(FailurePolicy::Continue));
    assert_eq!((state(&bench, other), nodes(&bench, other).as_str()), (WorkflowState::Failed, "failed failed failed"));
    assert_eq!(live(&bench, other).workflow.started_at, None, "nothing of it was ever launched");
    sound(&bench);
}

#[test]
fn whoever_asked_is_told_in_the_same_transaction() {
    let bench = bench();
    let webhook = Webhook { url: "https://example.com/".into(), events: vec!["*".into()], has_secret: true };
    let webhook = Some((webhook, Some("sesame".into())));
    let key = made(&bench, NewWorkflow { webhook, ..new(vec![container("a", 0), gate("g")], path(&[("a", "g")])) });
    comes_to(&bench, key, "a", &Fate::Returned(0, Some("\"x\"".into())));
    decided(&bench, key, "g", Verdict::Approved).unwrap();
    let all = Deliveries { endpoint_id: None, resource: None, state: None, since: 0, before: None, limit: 100 };
    let told = deliveries(&bench.store.read(), outbox(tenant(1)), all, |_| DeliveryState::Pending).unwrap().items;
    let told: Vec<String> = told.into_iter().map(|delivery| delivery.event).collect();
    let expected = [
        "workflow.running",
        "node.running",
        "node.succeeded",
        "node.waiting_approval",
        "node.succeeded",
        "workflow.succeeded",
    ];
    assert_eq!(told, expected, "and nothing of its runs");
    assert!(to_compact(&view::status(&live(&bench, key))).contains("\"failed_nodes\":[]"));
    sound(&bench);
}

#[test]
fn an_old_workflow_goes_with_everything() {
    let bench = bench();
    let key = made(&bench, new((0..50).map(|number| container(&format!("n{number}"), 0)).collect(), Vec::new()));
    for round in 0..4 {
        for number in 0..50 {
            let name = format!("n{number}");
            comes_to(&bench, key, &name, &Fate::Returned(0, Some("1".into())));
            if round < 3 {
                retried(&bench, key, &name).unwrap();
            }
        }
    }
    assert_eq!(state(&bench, key), WorkflowState::Succeeded);
    let run_key = run_of(&bench, key, "n7");
    pass(&bench, 30 * DAY - 1);
    assert!(load(&bench.store.read(), key).unwrap().is_some());
    assert!(find_run(&bench.store.read(), run_key).unwrap().is_some());
    pass(&bench, 1);
    assert!(load(&bench.store.read(), key).unwrap().is_none());
    assert_eq!(page(&bench.store.read(), key, 0, 1_000, &[]).unwrap(), []);
    let node_key = (key.0, key.1, 7);
    assert_eq!(attempts(&bench.store.read(), node_key).unwrap(), Vec::<Uuid>::new());
    assert_eq!(output(&bench.store.read(), node_key).unwrap(), None);
    assert_eq!(find_run(&bench.store.read(), run_key).unwrap(), None);
    sound(&bench);
    let none = bench.run(move |tx, now| pause(tx, now, (tenant(2), WorkflowId(key.1.0))));
    assert!(matches!(none, Err(Refusal::NoSuch(_))));
}
