//! Whoever waits is told, whoever changed what they wait for: nobody need remember to say so.

use std::time::{Duration, Instant};

use quintet_platform::Foundation;
use quintet_platform::access::Authority;
use quintet_platform::egress::Egress;
use quintet_storage::{Abort, Store};
use tokio::time::timeout;

use super::*;
use crate::containers::changes::change;
use crate::containers::wait;
use crate::context::{Context, Settings};
use crate::workflows::run_ended;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

fn context() -> (Context, tempfile::TempDir) {
    let (directory, store, clock) = quintet_support::store_of_a_room(crate::TABLES);
    let settings = Settings {
        workers: 1,
        scratch_mb: 1,
        disk_reserve_bytes: 0,
        runner_socket: None,
        ceilings: Ceilings::default(),
        egress: Egress::new(|_| false),
        painter: crate::testing::no_painter(),
        pump: crate::testing::pump(&store, &clock),
        registries: Vec::new(),
    };
    let foundation = Foundation::new(store, clock, Authority::Embedded);
    (Context::new(foundation, settings, run_ended).unwrap(), directory)
}

/// A transaction that tells nobody of itself.
fn write<T: Send + 'static>(
    store: &Store,
    verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<Refusal>> + Send + 'static,
) -> T {
    store.write_blocking(Instant::now() + PATIENCE, verb).unwrap()
}

fn a_run(store: &Store) -> RunKey {
    let run_id = write(store, |tx, now| submit(tx, now, tenant(1), &Ceilings::default(), plain())).0;
    (tenant(1), run_id)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_for_an_end_is_told_of_it_by_the_store() {
    let (context, _directory) = context();
    let run_key = a_run(&context.store);
    let waiting = {
        let context = context.clone();
        tokio::spawn(async move { wait(&context, run_key, PATIENCE * 60).await })
    };
    // Some other run first: that is not what is waited for.
    let store = context.store.clone();
    tokio::task::spawn_blocking(move || {
        a_run(&store);
        write(&store, move |tx, now| {
            let run = find(tx, run_key)?.unwrap();
            let ended = Run { state: RunState::Failed, finished_at: Some(now), ..run.clone() };
            change(tx, now, Actor::Clock, run_key, Some(&run), ended)?;
            Ok(())
        });
    })
    .await
    .unwrap();
    let told = timeout(PATIENCE, waiting).await.expect("nobody told").unwrap().unwrap();
    assert_eq!(told.state, RunState::Failed);
    context.store.shutdown();
}

#[tokio::test]
async fn the_stop_of_the_appliance_ends_all_waits() {
    let (context, _directory) = context();
    let run_key = a_run(&context.store);
    let waiting = {
        let context = context.clone();
        tokio::spawn(async move { wait(&context, run_key, PATIENCE * 60).await })
    };
    tokio::task::yield_now().await;
    context.stopping.stop();
    let told = timeout(PATIENCE, waiting).await.expect("it waits on").unwrap().unwrap();
    assert_eq!(told.state, RunState::Scheduled);
    context.store.shutdown();
}

#[tokio::test]
async fn what_falls_due_is_done_even_if_it_was_due_long_before() {
    let (context, _directory) = context();
    let [sweep, _] = &crate::due_work(&context)[..] else { panic!("runs have two agendas") };
    assert_eq!((sweep.agenda(), sweep.next_due()), (Some(due::AGENDA), None));
    // Twice: what the sweep has seen to must not hide what falls due before it.
    for days in [1, 2] {
        let over_at = context.clock.now().plus_seconds(-days * 86_400);
        let asked = Submit { expires_at: Some(over_at), ..plain() };
        let run_id = write(&context.store, |tx, now| submit(tx, now, tenant(1), &Ceilings::default(), asked)).0;
        assert!(sweep.next_due().is_some_and(|due| due <= over_at), "at once");
        sweep.run_due().await;
        assert_eq!(find(&context.store.read(), (tenant(1), run_id)).unwrap().unwrap().reason, Some(Reason::Expired));
        assert!(sweep.next_due().unwrap() > context.clock.now(), "its retention is left");
    }
    context.store.shutdown();
}

#[test]
fn what_falls_due_is_noted_by_whoever_has_it_fall_due() {
    let bench = bench();
    let (sender, told) = std::sync::mpsc::channel();
    bench.store.on_due(Box::new(move |agenda, at| {
        let _ = sender.send((agenda, at));
    }));
    let expires_at = bench.now().plus_seconds(7);
    submitted(&bench, tenant(1), &Ceilings::default(), Submit { expires_at: Some(expires_at), ..plain() }).unwrap();
    assert_eq!(told.recv_timeout(PATIENCE), Ok((due::AGENDA, expires_at)));
    let asked = SetQuotas { working_hours_tjp: Some(Some("shift s \"S\" { }".to_owned())), ..SetQuotas::default() };
    bench.run(move |tx, now| Ok(set_quotas(tx, now, tenant(1), asked)?)).unwrap();
    assert_eq!(told.recv_timeout(PATIENCE), Ok((due::AGENDA, bench.now())));
}
