//! Workspaces over a real store.

use quintet_storage::Uuid;

use super::{NewWorkspace, SetLimit, create, set_ingress, set_limits, set_status};
use crate::identity::{Status, Workspace};
use crate::limits::{ACTIVE_AGENTS, MESSAGES_PER_DAY, WEBHOOKS};
use crate::refusal::Refusal;
use quintet_support::Bench;

fn bench() -> Bench<Refusal> {
    Bench::new(crate::TABLES, 1_764_000_000_000_000)
}

fn made(bench: &Bench<Refusal>, slug: &str, is_encrypted: bool) -> Result<Workspace, Refusal> {
    let new = NewWorkspace { slug: slug.to_owned(), name: None, tenant_id: Uuid::from_u128(7), is_encrypted };
    bench.run(move |tx, now| create(tx, now, new))
}

#[test]
fn a_slug_is_given_once() {
    let bench = bench();
    let first = made(&bench, "acme", false).unwrap();
    assert_eq!((first.no.0, first.name.as_str(), first.is_ingress_open), (1, "acme", false));
    assert_eq!(made(&bench, "acme", true).unwrap_err(), Refusal::NameTaken("acme".to_owned()));
    assert!(matches!(made(&bench, "-acme", true).unwrap_err(), Refusal::Invalid(_)));
    bench.run(|tx, now| set_status(tx, now, "acme", Status::Deleted)).unwrap();
    assert_eq!(made(&bench, "acme", false).unwrap_err(), Refusal::NameTaken("acme".to_owned()), "for good");
    assert_eq!(made(&bench, "acme-2", true).unwrap().no.0, 2);
}

#[test]
fn what_is_deleted_stays_so() {
    let bench = bench();
    made(&bench, "acme", false).unwrap();
    for status in [Status::Suspended, Status::Active, Status::Suspended, Status::Deleted] {
        assert_eq!(bench.run(move |tx, now| set_status(tx, now, "acme", status)).unwrap().status, status);
    }
    let activated = bench.run(|tx, now| set_status(tx, now, "acme", Status::Active));
    assert_eq!(activated.unwrap_err(), Refusal::WorkspaceDeleted);
    let absent = bench.run(|tx, now| set_status(tx, now, "nobody", Status::Active));
    assert_eq!(absent.unwrap_err(), Refusal::NotFound("workspace nobody".to_owned()));
}

#[test]
fn limits_are_set_lifted_and_taken_back() {
    let bench = bench();
    made(&bench, "acme", false).unwrap();
    let set = |limits: Vec<_>| bench.run(move |tx, _| set_limits(tx, "acme", &limits)).unwrap();
    let workspace = set(vec![(WEBHOOKS, SetLimit::To(3)), (MESSAGES_PER_DAY, SetLimit::Unlimited)]);
    assert_eq!((workspace.limit(WEBHOOKS), workspace.limit(MESSAGES_PER_DAY)), (3, u64::MAX));
    let workspace = set(vec![(MESSAGES_PER_DAY, SetLimit::To(5)), (WEBHOOKS, SetLimit::Usual)]);
    let now = (workspace.limit(WEBHOOKS), workspace.limit(MESSAGES_PER_DAY), workspace.limit(ACTIVE_AGENTS));
    assert_eq!((now, workspace.limits.len()), ((10, 5, 100), 1));
}

#[test]
fn an_encrypted_workspace_takes_no_mail_from_outside() {
    let bench = bench();
    made(&bench, "open", false).unwrap();
    made(&bench, "sealed", true).unwrap();
    assert!(bench.run(|tx, _| set_ingress(tx, "open", true)).unwrap().is_ingress_open);
    assert!(!bench.run(|tx, _| set_ingress(tx, "open", false)).unwrap().is_ingress_open);
    let refused = bench.run(|tx, _| set_ingress(tx, "sealed", true)).unwrap_err();
    assert!(matches!(refused, Refusal::ExternalMailRefused(_)));
    bench.run(|tx, _| set_ingress(tx, "sealed", false)).unwrap();
}
