//! `verify` sees each thing that is made wrong.

use quintet_storage::{Abort, Failure, Timestamp, Uuid, WriteTx};

use crate::acks::{self, Owed};
use crate::due::{self, Due};
use crate::identity::{Mailbox, Standing, agents, mailboxes, workspaces};
use crate::mail::model::Role;
use crate::mail::{deliver, testing};
use crate::model::{AgentKey, AgentNo, MessageId, ThreadId};
use crate::rooms;
use crate::testing::Bench;

/// Three agents, mail between them, some of it read, some held; a room, a reminder.
async fn filled() -> Bench {
    let bench = Bench::new();
    for name in ["ann", "bob", "eve"] {
        bench.agent(name);
    }
    bench.post("ann", &["bob", "eve"], "one", |_| {});
    bench.post("bob", &["bob"], "two", |_| {});
    let three = bench.post("ann", &["bob"], "three", |_| {});
    let bob = bench.named("bob");
    bench.run(move |tx, now| Ok(deliver::read(tx, now, bob, 2)?)).unwrap();
    let (status, _) = bench
        .call_as("bob", "PUT", "/v1/agents/bob/availability", serde_json::json!({"state": "dnd", "seconds": 60}))
        .await;
    assert_eq!(status, 200);
    bench.post("ann", &["bob"], "four", |_| {});
    bench.run(move |tx, _| rooms::join(tx, bob, "ops")).unwrap();
    let reminder = serde_json::json!({"text": "x", "delay_seconds": 60});
    assert_eq!(bench.call_as("eve", "POST", "/v1/reminders", reminder).await.0, 201);
    let ann = bench.named("ann").1;
    bench.run(move |tx, now| Ok(acks::owe(tx, bob, three.message, Owed::new(ann, now, 600))?)).unwrap();
    bench
}

fn found(bench: &Bench) -> String {
    crate::verify(&bench.context.store.read()).unwrap().join("\n")
}

#[tokio::test]
async fn what_the_verbs_write_agrees_with_itself() {
    assert_eq!(found(&filled().await), "");
}

type Harm = Box<dyn FnOnce(&mut WriteTx<'_>, AgentKey) -> Result<(), Failure> + Send>;

fn harms() -> Vec<(&'static str, Harm)> {
    let mailbox = |change: fn(&mut Mailbox)| -> Harm {
        Box::new(move |tx, bob| {
            let mut mailbox = mailboxes::get(tx, bob)?;
            change(&mut mailbox);
            mailboxes::put(tx, bob, &mailbox)
        })
    };
    vec![
        ("says", mailbox(|mailbox| mailbox.last_seq += 1)),
        ("says", mailbox(|mailbox| mailbox.unread_count += 1)),
        ("other places", mailbox(|mailbox| mailbox.unread_from += 1)),
        ("says", mailbox(|mailbox| mailbox.held_count = 0)),
        ("has not counted", mailbox(|mailbox| mailbox.last_held = 0)),
        ("says", mailbox(|mailbox| mailbox.last_sent = 7)),
        ("is another in its mailbox", mailbox(|mailbox| mailbox.is_retired = true)),
        ("is another in its mailbox", mailbox(|mailbox| mailbox.name.push('x'))),
        ("nothing ends what", mailbox(|mailbox| mailbox.standing.until = None)),
        (
            "nobody looks whether",
            Box::new(|tx, bob| {
                due::park(tx, Timestamp::EPOCH, bob.0, (Timestamp::EPOCH, Due::Remind((bob.0, bob.1, 9))))?;
                due::clear(tx, Timestamp::EPOCH.plus_seconds(60), Due::Parked(bob.0));
                Ok(())
            }),
        ),
        (
            "falls due",
            Box::new(|tx, bob| {
                let at = mailboxes::get(tx, bob)?.standing.until.unwrap_or(Timestamp::EPOCH);
                due::put(tx, at.plus_seconds(1), Due::Idle(bob))
            }),
        ),
        (
            "which is not in it",
            Box::new(|tx, bob| {
                let first = deliver::find(tx, bob, 1)?.map(|delivery| delivery.message);
                let third = deliver::find(tx, bob, 3)?.map(|delivery| delivery.message);
                let (Some(first), Some(third)) = (first, third) else { return Ok(()) };
                testing::mark_in_thread(tx, (bob.0, ThreadId(first.0)), third)
            }),
        ),
        (
            "is expected in",
            Box::new(|tx, bob| {
                let first = deliver::find(tx, bob, 1)?.map(|delivery| ThreadId(delivery.message.0));
                first.map_or(Ok(()), |thread| testing::expect(tx, (bob.0, thread), AgentNo(bob.1.0 + 1)))
            }),
        ),
        (
            "lies with",
            Box::new(|tx, bob| {
                let Some(mut delivery) = deliver::find(tx, bob, 3)? else { return Ok(()) };
                delivery.role = Role::Cc;
                deliver::put(tx, bob, 3, delivery)
            }),
        ),
        (
            "that is not there",
            Box::new(|tx, bob| {
                let Some(mut delivery) = deliver::find(tx, bob, 3)? else { return Ok(()) };
                delivery.message = MessageId(Uuid::from_u128(9));
                deliver::put(tx, bob, 3, delivery)
            }),
        ),
        (
            "unread",
            Box::new(|tx, bob| {
                let Some(mut delivery) = deliver::find(tx, bob, 1)? else { return Ok(()) };
                delivery.read_at = Some(Timestamp::EPOCH);
                deliver::put(tx, bob, 1, delivery)
            }),
        ),
        (
            "is not found by its message",
            Box::new(|tx, bob| {
                let Some(mut delivery) = deliver::find(tx, bob, 3)? else { return Ok(()) };
                delivery.arrived_at = delivery.arrived_at.plus_seconds(1);
                deliver::put(tx, bob, 3, delivery)
            }),
        ),
        (
            "came before",
            Box::new(|tx, bob| {
                let Some(mut delivery) = deliver::find(tx, bob, 3)? else { return Ok(()) };
                delivery.arrived_at = delivery.arrived_at.plus_seconds(-1);
                deliver::put(tx, bob, 3, delivery)
            }),
        ),
        (
            "is not found by its label",
            Box::new(|tx, bob| {
                let Some(mut delivery) = deliver::find(tx, bob, 3)? else { return Ok(()) };
                delivery.labels.push("later".to_owned());
                deliver::put(tx, bob, 3, delivery)
            }),
        ),
        (
            "counts",
            Box::new(|tx, bob| {
                let mut counts = workspaces::counts(tx, bob.0)?;
                counts.active_agents += 1;
                workspaces::put_counts(tx, bob.0, counts)
            }),
        ),
        (
            "Nag",
            Box::new(|tx, bob| {
                let owed = acks::of_debtor(tx, bob, None, 1)?;
                owed.iter().for_each(|(message, owed)| acks::forget(tx, bob, *message, owed));
                Ok(())
            }),
        ),
        (
            "is not looked at when it says",
            Box::new(|tx, bob| {
                let owed = acks::of_debtor(tx, bob, None, 1)?;
                owed.iter().for_each(|(message, owed)| {
                    due::clear(tx, owed.looked_at, Due::Nag((bob.0, bob.1, *message)));
                });
                Ok(())
            }),
        ),
        (
            "in the room",
            Box::new(|tx, bob| match rooms::join(tx, (bob.0, AgentNo(99)), "ops") {
                Err(Abort::Failed(failure)) => Err(failure),
                _ => Ok(()),
            }),
        ),
        (
            "is another in its mailbox",
            Box::new(|tx, bob| {
                let Some(mut agent) = agents::find(tx, bob)? else { return Ok(()) };
                agent.is_unlisted = true;
                agents::put(tx, bob, &agent)
            }),
        ),
    ]
}

#[tokio::test]
async fn every_contradiction_is_found() {
    for (number, (expected, harm)) in harms().into_iter().enumerate() {
        let bench = filled().await;
        let bob = bench.named("bob");
        bench.run(move |tx, _| Ok(harm(tx, bob)?)).unwrap();
        let found = found(&bench);
        assert!(found.contains(expected), "harm {number}: expected {expected:?}, found {found:?}");
    }
}

/// One damaged row keeps nobody else from his turn, and is tried again.
#[tokio::test]
async fn what_is_damaged_stops_nobody() {
    let bench = filled().await;
    let bob = bench.named("bob");
    let ghost = (bob.0, AgentNo(77));
    // An agent without a mailbox, which is looked at before everything else.
    bench
        .run(move |tx, now| {
            let mut agent = agents::find(tx, bob)?.unwrap();
            agent.name = "ghost".to_owned();
            agents::put(tx, ghost, &agent)?;
            Ok(due::put(tx, now.plus_seconds(1), Due::Idle(ghost))?)
        })
        .unwrap();
    let begun = bench.now();
    let mailbox = |bench: &Bench| mailboxes::get(&bench.context.store.read(), bob).unwrap();
    assert_eq!(mailbox(&bench).held_count, 1);
    bench.advance(61).await;
    assert_eq!((mailbox(&bench).held_count, mailbox(&bench).standing), (0, Standing::ONLINE), "released at its time");
    let again = begun.plus_seconds(1 + 3_600);
    assert!(due::is_put(&bench.context.store.read(), again, Due::Idle(ghost)).unwrap());
}
