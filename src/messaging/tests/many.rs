//! More than one transaction releases: in order, each once, and what comes meanwhile behind it.

use crate::identity::{Availability, Priority, Standing, mailboxes};
use crate::mail::deliver::{after, declare};
use crate::mail::messages;
use crate::mail::resume::{Resumer, resume};
use crate::mail::testing::{held_by, held_for};
use crate::model::AgentKey;
use crate::testing::Bench;

/// More than are released in one transaction.
const MANY: usize = 2_300;

fn numbers(bench: &Bench, agent: AgentKey) -> Vec<usize> {
    let read = bench.context.store.read();
    let inbox = after(&read, agent, 0, usize::MAX).unwrap();
    let subject = |message| messages::get(&read, (agent.0, message)).unwrap().subject;
    let number = |subject: String| subject.strip_prefix("About ")?.parse().ok();
    inbox.into_iter().filter_map(|(_, delivery)| number(subject(delivery.message))).collect()
}

fn assert_sound(bench: &Bench) {
    assert_eq!(crate::verify(&bench.context.store.read()).unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn what_is_too_much_for_one_transaction_goes_on_in_order() {
    let bench = Bench::new();
    let (ann, _) = (bench.agent("ann"), bench.agent("bob"));
    let dnd = |bench: &Bench| Standing {
        availability: Availability::Offline,
        until: Some(bench.now().plus_seconds(60)),
        reason: None,
        hold_below: Priority::Urgent,
    };
    let standing = dnd(&bench);
    bench.run(move |tx, now| Ok(declare(tx, now, ann, standing)?)).unwrap();
    for number in 0..MANY {
        bench.post("bob", &["ann"], &number.to_string(), |_| {});
    }
    let released = bench.run(move |tx, now| Ok(declare(tx, now, ann, Standing::ONLINE)?)).unwrap();
    assert_eq!(released, 2_000);
    assert_sound(&bench);
    // Urgent or not, what comes now waits behind what is released.
    let posted = bench.post("bob", &["ann"], &MANY.to_string(), |letter| letter.priority = Priority::Urgent);
    assert_eq!(posted.held.len(), 1);
    bench.advance(1).await;
    assert_eq!(numbers(&bench, ann), (0..=MANY).collect::<Vec<_>>());
    assert_eq!(mailboxes::get(&bench.context.store.read(), ann).unwrap().held_count, 0);
    assert_sound(&bench);
}

#[tokio::test]
async fn a_thread_that_held_many_goes_on_in_order() {
    let bench = Bench::new();
    let (ann, _) = (bench.agent("ann"), bench.agent("bob"));
    let first = bench.post("bob", &["ann"], "0", |_| {});
    let thread = (bench.workspace.no, first.thread);
    for number in 1..1_300 {
        bench.post("bob", &["ann"], &number.to_string(), |letter| letter.thread = Some(thread.1));
    }
    assert_eq!(held_by(&bench.context.store.read(), thread).unwrap().len(), 1_300 - 60);
    let has = bench.run(move |tx, now| Ok(resume(tx, now, thread, Resumer::Participant)?)).unwrap();
    assert!(has && !held_by(&bench.context.store.read(), thread).unwrap().is_empty());
    assert_sound(&bench);
    let posted = bench.post("bob", &["ann"], "1300", |letter| letter.thread = Some(thread.1));
    assert_eq!((posted.pause, posted.held.len()), (None, 1), "it waits behind what is delivered");
    bench.advance(1).await;
    assert_eq!(numbers(&bench, ann), (0..=1_300).collect::<Vec<_>>());
    assert!(held_for(&bench.context.store.read(), ann).unwrap().is_empty());
    assert_sound(&bench);
}
