//! Registering, retiring and being found, over a store under a rehearsal clock.

use super::*;
use crate::identity::Scope;
use crate::tagged::wearers;
use crate::testing::{Bench, nobody};
use crate::words::checkout::SessionKey;
use crate::words::tag::TagExpression;

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
