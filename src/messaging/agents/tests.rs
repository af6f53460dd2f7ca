//! Registering, retiring and being found, over a store under a rehearsal clock.

use quintet_storage::Table;

use super::*;
use crate::identity::{Scope, Status, agents};
use crate::model::{AgentKey, AgentNo, FAMILY, Mark, WorkspaceNo};
use crate::rooms;
use crate::tagged::wearers;
use crate::testing::{Bench, nobody};
use crate::words::checkout::SessionKey;
use crate::words::tag::TagExpression;
use crate::workspaces::set_status;

/// A registration of a role in a checkout.
fn at(role: &str, path: &str) -> Registration {
    Registration {
        role: Some(role.to_owned()),
        session: SessionKey::of(Some("device"), None, Some(path)),
        device_hash: Some("hash".to_owned()),
        ..nobody()
    }
}

#[test]
fn a_session_in_a_role_is_one_agent() {
    let bench = Bench::new();
    let builder = bench.register(at("builder", "/a"));
    assert_eq!(bench.register(at("builder", "/a")), builder);
    assert_ne!(bench.register(at("tester", "/a")), builder);
    assert_ne!(bench.register(at("builder", "/b")), builder);
    assert!(!bench.key(Scope::Send, &["builder"]).is_empty());
}

#[test]
fn tags_mean_those_who_wear_them() {
    let bench = Bench::new();
    let one = bench.wearer("one", &["skill:playwright", "zone=eu"]);
    let other = bench.wearer("other", &["skill=playwright", "zone=us"]);
    let read = bench.context.store.read();
    let meant = |texts: &[&str]| -> Vec<_> {
        let all: Vec<_> = texts.iter().map(|text| TagExpression::parse(text).unwrap()).collect();
        let found = wearers(&read, bench.workspace.no, &all, Some(one.1), bench.now()).unwrap();
        found.into_iter().map(|(no, _)| no).collect()
    };
    assert_eq!(meant(&["skill:playwright"]), [one.1]);
    assert_eq!(meant(&["skill=playwright"]), [other.1]);
    assert_eq!(meant(&["zone"]), [one.1, other.1]);
    assert_eq!(meant(&["zone", "skill:playwright"]), [one.1]);
    assert!(meant(&["zone=asia"]).is_empty() && meant(&[]).is_empty());
}

/// Whom the label `skill` and the room `den` lead to.
fn found(bench: &Bench) -> (Vec<AgentNo>, Vec<AgentNo>) {
    let (read, no) = (bench.context.store.read(), bench.workspace.no);
    (agents::by_label(&read, no, "skill", None).unwrap(), rooms::find(&read, no, "den").unwrap().unwrap())
}

fn assert_sound(bench: &Bench) {
    assert_eq!(crate::verify(&bench.context.store.read()).unwrap(), Vec::<String>::new());
}

/// Each send walks what its tags and rooms find: however many agents were here, it is those that are here now.
#[tokio::test]
async fn what_sends_walk_has_no_retired_agents() {
    let bench = Bench::new();
    let worn = |is_ephemeral| Registration {
        labels: vec![("skill".to_owned(), "rust".to_owned())],
        is_ephemeral: Some(is_ephemeral),
        ..at(if is_ephemeral { "guest" } else { "host" }, "/a")
    };
    let (guest, host) = (bench.register(worn(true)), bench.register(worn(false)));
    for agent in [guest, host] {
        bench.run(move |tx, _| rooms::join(tx, agent, "den")).unwrap();
    }
    let both = vec![guest.1, host.1];
    assert_eq!(found(&bench), (both.clone(), both.clone()));
    bench.advance(7 * 3_600).await;
    assert_eq!(found(&bench), (vec![host.1], vec![host.1]), "one retires by itself");
    bench.run(move |tx, now| Ok(retire(tx, now, host)?)).unwrap();
    assert_eq!(found(&bench), (vec![], vec![]));
    let rooms_of = |agent: AgentKey| rooms::of_agent(&bench.context.store.read(), agent).unwrap();
    assert_eq!((rooms_of(guest), rooms_of(host)), (vec!["den".to_owned()], vec!["den".to_owned()]));
    assert_sound(&bench);
    bench.register(worn(true));
    bench.register(Registration { labels: Vec::new(), ..worn(false) });
    assert_eq!(found(&bench), (both.clone(), both));
    assert_sound(&bench);
}

/// Nobody can be heard of while his workspace, or its tenant, is suspended: that is not his being idle, and takes nothing from
/// him.
#[tokio::test]
async fn time_in_which_nobody_is_served_is_nobodys_idleness() {
    const DAY: u64 = 86_400;
    let mut bench = Bench::new();
    let host = bench.register(at("host", "/a"));
    let guest = bench.register(Registration { is_ephemeral: Some(true), ..at("guest", "/a") });
    bench.run(move |tx, now| Ok(retire(tx, now, guest)?)).unwrap();
    let is_retired = |bench: &Bench, agent| {
        let found = agents::find(&bench.context.store.read(), agent).unwrap();
        found.unwrap().retired_at.is_some()
    };
    bench.advance(13 * DAY).await;
    // It ends before the agent is looked at, whom nobody could have heard of in the last hours.
    bench.suspend_tenant();
    bench.advance(DAY - 60).await;
    bench.activate_tenant();
    bench.advance(2 * DAY).await;
    assert!(!is_retired(&bench, host));
    for _ in 0..2 {
        bench.suspend_tenant();
        bench.advance(15 * DAY).await;
        bench.activate_tenant();
        bench.advance(DAY).await;
        assert!(!is_retired(&bench, host));
    }
    bench.set(|workspace| workspace.status = Status::Suspended);
    bench.advance(30 * DAY).await;
    bench.run(|tx, now| set_status(tx, now, "acme", Status::Active)).unwrap();
    bench.register(Registration { is_ephemeral: Some(true), ..at("guest", "/a") });
    bench.advance(14 * DAY - 1).await;
    assert_eq!((is_retired(&bench, host), is_retired(&bench, guest)), (false, true));
    bench.advance(1).await;
    assert!(is_retired(&bench, host), "from then on it could have been heard of");
    assert_sound(&bench);
}

/// Stores of earlier versions have rows of agents that were retired.
#[test]
fn what_earlier_versions_left_is_sound_and_goes() {
    let bench = Bench::new();
    let host = bench.wearer("host", &["skill=rust", "zone"]);
    let as_before = move |tx: &mut quintet_storage::WriteTx<'_>, now| {
        rooms::join(tx, host, "den")?;
        retire(tx, now, host)?;
        rooms::revive(tx, now, host)?;
        agents::mark(tx, host, "zone", "")?;
        Ok(agents::mark(tx, host, "skill", "rust")?)
    };
    bench.run(as_before).unwrap();
    assert_eq!(found(&bench), (vec![host.1], vec![host.1]));
    assert_sound(&bench);
    let none = wearers(
        &bench.context.store.read(),
        bench.workspace.no,
        &[TagExpression::parse("skill").unwrap()],
        None,
        bench.now(),
    );
    assert!(none.unwrap().is_empty());
    bench.wearer("host", &["skill=go"]);
    assert_eq!(found(&bench), (vec![host.1], vec![host.1]), "and not by what it wore then");
    assert_sound(&bench);
}

/// An agent of `bench` in so many rooms, of which the last one by name is `z`.
fn in_rooms(bench: &Bench, name: &str, count: usize) -> AgentKey {
    let agent = bench.agent(name);
    bench
        .run(move |tx, _| {
            (1..count).try_for_each(|number| rooms::join(tx, agent, &format!("r{number:03}")))?;
            rooms::join(tx, agent, "z")
        })
        .unwrap();
    agent
}

/// Who is in the last of the rooms, retired or not.
fn in_z(bench: &Bench) -> Vec<AgentNo> {
    rooms::find(&bench.context.store.read(), bench.workspace.no, "z").unwrap().unwrap_or_default()
}

/// What is in the way of everybody is short: of a thousand rooms some are done at once, and the others later, of which
/// nobody notices anything.
#[tokio::test]
async fn who_retires_or_comes_back_is_in_his_rooms_or_not_at_once() {
    let bench = Bench::new();
    let (ann, ben) = (in_rooms(&bench, "ann", 220), bench.agent("ben"));
    let to_z = async || {
        let body = serde_json::json!({"to": ["room:z"], "text": "x"});
        let (status, sent) = bench.call_as("ben", "POST", "/v1/messages", body).await;
        assert_eq!(status, 202, "{sent}");
        sent["delivery_count"].as_u64().unwrap()
    };
    let members = async || {
        let (_, answer) = bench.call_as("ben", "GET", "/v1/rooms", serde_json::Value::Null).await;
        let all = answer["rooms"].as_array().unwrap().iter();
        all.map(|room| room["members"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!((to_z().await, in_z(&bench)), (1, vec![ann.1]));
    bench.run(move |tx, now| Ok(retire(tx, now, ann)?)).unwrap();
    assert_eq!((to_z().await, members().await), (0, vec![0; 220]), "before the lists know");
    assert_sound(&bench);
    // Back again before all was done, and the other way round.
    assert_eq!(bench.agent("ann"), ann);
    assert_eq!((to_z().await, members().await), (1, vec![1; 220]));
    bench.run(move |tx, now| Ok(retire(tx, now, ann)?)).unwrap();
    assert_sound(&bench);
    bench.advance(1).await;
    assert_eq!((to_z().await, in_z(&bench)), (0, vec![]), "sends walk nobody who is retired");
    assert_sound(&bench);
    assert_eq!(bench.agent("ann"), ann);
    assert_eq!((to_z().await, members().await), (1, vec![1; 220]));
    // Who leaves a room that he is not in the list of yet is not put there.
    assert_eq!(bench.call_as("ann", "POST", "/v1/rooms/z/leave", serde_json::Value::Null).await.0, 200);
    assert_eq!(bench.call_as("ann", "POST", "/v1/rooms/a/join", serde_json::Value::Null).await.0, 200);
    assert_eq!(to_z().await, 0);
    bench.advance(1).await;
    assert_eq!((to_z().await, in_z(&bench)), (0, vec![]));
    bench.run(move |tx, _| rooms::join(tx, ben, "z")).unwrap();
    assert_sound(&bench);
}

/// A room that went while who knows it was retired is there as soon as that one is back, before there is a row of it again.
#[tokio::test]
async fn a_room_that_went_meanwhile_is_there_at_once() {
    let bench = Bench::new();
    let (ann, ben) = (in_rooms(&bench, "ann", 220), bench.agent("ben"));
    bench.run(move |tx, now| Ok(retire(tx, now, ann)?)).unwrap();
    bench.advance(1).await;
    for verb in ["join", "leave"] {
        let (status, _) = bench.call_as("ben", "POST", &format!("/v1/rooms/z/{verb}"), serde_json::Value::Null).await;
        assert_eq!(status, 200);
    }
    assert!(rooms::find(&bench.context.store.read(), ben.0, "z").unwrap().is_none(), "it has gone");
    assert_eq!(bench.agent("ann"), ann);
    assert_sound(&bench);
    let body = serde_json::json!({"to": ["room:z"], "text": "x"});
    let (status, sent) = bench.call_as("ben", "POST", "/v1/messages", body).await;
    assert_eq!((status, &sent["delivery_count"]), (202, &serde_json::json!(1)), "{sent}");
    bench.advance(1).await;
    assert_eq!(in_z(&bench), [ann.1]);
    assert_sound(&bench);
}

/// No more than the first rooms are looked at by whoever retires: one that cannot be read is not in his way.
#[tokio::test]
async fn who_retires_need_not_wait_for_all_of_his_rooms() {
    const BROKEN: Table<(WorkspaceNo, String), Mark> = Table::new(0x0530, FAMILY, "messaging_rooms");
    let bench = Bench::new();
    let ann = in_rooms(&bench, "ann", 60);
    bench.run(move |tx, _| Ok(tx.put(&BROKEN, &(ann.0, "z".to_owned()), &Mark)?)).unwrap();
    for path in ["/v1/agents/ann/retire", "/v1/agents/register"] {
        assert_eq!(bench.call_as("ann", "POST", path, serde_json::Value::Null).await.0, 200, "{path}");
    }
}
