//! Registering, retiring and being found, over a store under a rehearsal clock.

use super::*;
use crate::identity::{Scope, Status, agents};
use crate::model::{AgentKey, AgentNo};
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
        rooms::revive(tx, host)?;
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
