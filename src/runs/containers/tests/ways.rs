//! No run takes a way that the table of states does not have, whoever wants it to.

use quintet_storage::{Abort, Failure};

use super::*;
use crate::containers::changes::change;
use crate::states::transition;

const ACTORS: [Actor; 5] = [Actor::Api, Actor::Dispatcher, Actor::Engine, Actor::Clock, Actor::Workflow];

/// What the tables hold of a run, as one text.
fn stored(bench: &Bench, run_key: RunKey) -> String {
    let read = bench.store.read();
    let events = read.scan(&EVENTS, Scan::prefix(&run_key)).unwrap();
    format!("{:?} {events:?} {:?} {:?}", find(&read, run_key).unwrap(), all_due(bench), loads::all(&read).unwrap())
}

/// Tries a way; what was refused is undone.
fn tried(bench: &Bench, by: Actor, run_key: RunKey, before: Option<Run>, after: Run) -> Result<Run, Failure> {
    let verb = move |tx: &mut WriteTx<'_>, now| {
        let outcome = tx.savepoint(|tx| change(tx, now, by, run_key, before.as_ref(), after));
        Ok::<_, Abort<Refusal>>(outcome)
    };
    bench.run(verb).unwrap()
}

#[test]
fn a_way_that_is_not_in_the_table_is_damage_and_nothing_is_written() {
    let bench = bench();
    let limits = ceilings(&[("max_concurrent_runs", 1000)]);
    let fresh = run_of(&bench, submitted(&bench, tenant(1), &limits, plain()).unwrap());
    let (mut taken, mut refused) = (0, 0);
    let froms: Vec<Option<RunState>> = [None].into_iter().chain(RunState::ALL.map(Some)).collect();
    for (number, from) in froms.into_iter().enumerate() {
        for to in RunState::ALL {
            for by in ACTORS {
                let run_key = (tenant(2), RunId(Uuid::from_u128(number as u128 + 1)));
                let before = from.map(|state| Run { state, ..fresh.clone() });
                if let Some(before) = before.clone() {
                    bench.run(move |tx, _| Ok(tx.put(&RUNS, &run_key, &RunRow::from(&before))?)).unwrap();
                }
                let as_it_was = stored(&bench, run_key);
                let way = transition(from, to).filter(|way| way.by.contains(&by));
                match (tried(&bench, by, run_key, before, Run { state: to, ..fresh.clone() }), way) {
                    (Ok(after), Some(way)) => {
                        assert_eq!((after.state, after.events), (to, fresh.events + 1));
                        let key = (run_key.0, run_key.1, fresh.events);
                        let event = bench.store.read().get(&EVENTS, &key).unwrap().unwrap();
                        assert_eq!((event.event.as_str(), event.state), (way.event, to));
                        taken += 1;
                    }
                    (Err(Failure::Damaged(why)), None) => {
                        assert!(why.contains(to.name()) && why.contains(by.name()), "{why}");
                        assert_eq!(stored(&bench, run_key), as_it_was, "{from:?} {to:?} {by:?}");
                        refused += 1;
                    }
                    (outcome, way) => panic!("{from:?} {to:?} {by:?}: {outcome:?} {way:?}"),
                }
            }
        }
    }
    let known: usize = crate::states::TRANSITIONS.iter().map(|way| way.by.len()).sum();
    assert_eq!((taken, refused), (known, 10 * 9 * ACTORS.len() - known));
}

/// An end that a paused run cannot come to has it go on first: the note of its resumption was lost.
#[test]
fn an_end_that_is_heard_of_before_the_resumption_has_both_events() {
    let bench = bench();
    for (reason, state, events) in [
        (EndReason::Exited, RunState::Exited, ["run.paused", "run.resumed", "run.exited"].as_slice()),
        (EndReason::TimedOut, RunState::Timeout, &["run.paused", "run.resumed", "run.timeout"]),
        (EndReason::Killed, RunState::Killed, &["run.paused", "run.killed"]),
        (EndReason::Lost, RunState::Failed, &["run.paused", "run.failed"]),
    ] {
        let run_key = submitted(&bench, tenant(1), &Ceilings::default(), plain()).unwrap();
        dispatched(&bench, 9, &Ceilings::default());
        bench.run(move |tx, now| Ok(life::pulling(tx, now, run_key)?)).unwrap();
        bench.run(move |tx, now| Ok(life::started(tx, now, run_key, 1, now, "d")?)).unwrap();
        bench.run(move |tx, now| life::paused(tx, now, Actor::Api, run_key, 1)).unwrap();
        let end = End::of(&outcome(reason, Some(0), None, false), false, LastWords::default());
        assert!(bench.run(move |tx, now| Ok(life::ended(tx, now, run_key, 1, &end)?)).unwrap());
        let ended = run_of(&bench, run_key);
        assert_eq!((ended.state, ended.paused_at), (state, None));
        let told = bench.store.read().scan(&EVENTS, Scan::prefix(&run_key)).unwrap();
        let told: Vec<&str> = told.iter().skip(4).map(|(_, event)| event.event.as_str()).collect();
        assert_eq!(told, events);
    }
    assert_eq!(crate::verify(&bench.store.read()).unwrap(), Vec::<String>::new());
}
