//! Tenants, keys and authentication on a real store.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use quintet_storage::{Abort, Store, Timestamp, WriteTx};
use uuid::Uuid;

use super::key_text::split;
use super::*;
use crate::jobs::{Job as _, Sweep};
use crate::testing::TestStore;

const START: Timestamp = Timestamp::from_micros(1_750_000_000_000_000);
const DAY_SECONDS: i64 = 86_400;

fn write<T: Send + 'static, R: Send + 'static>(
    store: &Store,
    verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<R>> + Send + 'static,
) -> Result<T, Abort<R>> {
    store.write_blocking(Instant::now() + Duration::from_secs(20), verb)
}

fn command(name: &str) -> CreateTenant {
    CreateTenant { id: None, name: name.to_owned(), services: Services::ALL, parent: None }
}

fn create(store: &Store, command: CreateTenant) -> Result<Tenant, AccessRefusal> {
    refusal(write(store, move |tx, now| create_tenant(tx, now, command)))
}

fn refusal<T, R>(outcome: Result<T, Abort<R>>) -> Result<T, R> {
    match outcome {
        Ok(value) => Ok(value),
        Err(Abort::Refused(refusal)) => Err(refusal),
        Err(Abort::Failed(failure)) => panic!("{failure}"),
    }
}

fn key_for(tenant_id: Uuid) -> IssueKey {
    IssueKey {
        tenant_id,
        principal_id: None,
        label: "test".to_owned(),
        permissions: vec!["ledger_reader".to_owned(), "ledger_poster".to_owned(), "ledger_reader".to_owned()],
        ttl_days: None,
        secret: PreparedSecret::draw(),
    }
}

fn issue(store: &Store, command: IssueKey) -> Result<IssuedKey, AccessRefusal> {
    refusal(write(store, move |tx, now| issue_key(tx, now, command)))
}

fn revoke(store: &Store, tenant_id: Option<Uuid>, key_id: &str) -> Result<KeyRecord, AccessRefusal> {
    let key_id = key_id.to_owned();
    refusal(write(store, move |tx, now| revoke_key(tx, now, tenant_id, &key_id)))
}

fn bearer(key: &IssuedKey) -> String {
    format!("Bearer {}", key.api_key.expose())
}

/// Authenticates for the ledger.
fn check(store: &Store, header: &str, now: Timestamp) -> Result<Caller, AuthRefusal> {
    refusal(authenticate(&store.read(), Service::Ledger, Some(header), None, now))
}

#[test]
fn tenants_come_into_being() {
    let test = TestStore::open(START);
    let store = &test.store;
    let first = create(store, command("First")).unwrap();
    assert_eq!(first.status, TenantStatus::Active);
    assert_eq!(first.created_at, START);
    assert_eq!(first.root_tenant_id(), first.tenant_id);
    assert_eq!(find_tenant(&store.read(), first.tenant_id), Ok(Some(first.clone())));
    assert_eq!(find_tenant(&store.read(), Uuid::nil()), Ok(None));
    let given = Uuid::from_u128(7);
    let second = create(store, CreateTenant { id: Some(given), ..command("Second") }).unwrap();
    assert_eq!(second.tenant_id, given);
    let again = create(store, CreateTenant { id: Some(given), ..command("Third") });
    assert_eq!(again, Err(AccessRefusal::TenantExists));
    assert_eq!(list_tenants(&store.read(), None, 10), Ok(vec![second.clone(), first.clone()]));
    assert_eq!(list_tenants(&store.read(), None, 1), Ok(vec![second]));
    assert_eq!(list_tenants(&store.read(), Some(given), 10), Ok(vec![first]));
}

#[test]
fn what_no_tenant_can_be() {
    let test = TestStore::open(START);
    let store = &test.store;
    let root = create(store, CreateTenant { services: Service::Ledger.into(), ..command("Root") }).unwrap();
    let ledger = Services::from(Service::Ledger);
    let client = CreateTenant { services: ledger, parent: Some(root.tenant_id), ..command("Client") };
    let sub = create(store, client.clone()).unwrap();
    assert_eq!(sub.root_tenant_id(), root.tenant_id);
    for (command, expected) in [
        (command(""), AccessRefusal::InvalidName),
        (command("  "), AccessRefusal::InvalidName),
        (command("a\nb"), AccessRefusal::InvalidName),
        (command(&"é".repeat(256)), AccessRefusal::InvalidName),
        (CreateTenant { services: Services::default(), ..command("x") }, AccessRefusal::NoServices),
        (CreateTenant { parent: Some(Uuid::nil()), ..command("x") }, AccessRefusal::ParentNotFound),
        (CreateTenant { parent: Some(sub.tenant_id), ..client.clone() }, AccessRefusal::ParentIsSubTenant),
        (CreateTenant { services: Services::ALL, ..client.clone() }, AccessRefusal::ServicesNotOfParent),
    ] {
        assert_eq!(create(store, command.clone()), Err(expected), "{command:?}");
    }
    assert!(create(store, command(&"é".repeat(255))).is_ok());
    let second = create(store, client).unwrap();
    let read = store.read();
    assert_eq!(list_sub_tenants(&read, root.tenant_id, None, 10), Ok(vec![sub.clone(), second.clone()]));
    assert_eq!(list_sub_tenants(&read, root.tenant_id, None, 1), Ok(vec![sub.clone()]));
    assert_eq!(list_sub_tenants(&read, root.tenant_id, Some(sub.tenant_id), 10), Ok(vec![second]));
    assert_eq!(list_sub_tenants(&read, sub.tenant_id, None, 10), Ok(vec![]));
}

#[test]
fn tenants_change() {
    let test = TestStore::open(START);
    let store = &test.store;
    let id = create(store, command("Name")).unwrap().tenant_id;
    for _ in 0..2 {
        let suspended = refusal(write(store, move |tx, now| suspend_tenant(tx, now, id))).unwrap();
        assert_eq!(suspended.status, TenantStatus::Suspended);
    }
    let active = refusal(write(store, move |tx, now| activate_tenant(tx, now, id))).unwrap();
    assert_eq!(active.status, TenantStatus::Active);
    let renamed = refusal(write(store, move |tx, now| rename_tenant(tx, now, id, "Other".to_owned()))).unwrap();
    assert_eq!(find_tenant(&store.read(), id), Ok(Some(renamed.clone())));
    assert_eq!(renamed.name, "Other");
    let bad = refusal(write(store, move |tx, now| rename_tenant(tx, now, id, String::new())));
    assert_eq!(bad, Err(AccessRefusal::InvalidName));
    let absent = refusal(write(store, |tx, now| suspend_tenant(tx, now, Uuid::nil())));
    assert_eq!(absent, Err(AccessRefusal::TenantNotFound));
}

#[test]
fn keys_are_issued_and_listed() {
    let test = TestStore::open(START);
    let store = &test.store;
    let tenant_id = create(store, command("T")).unwrap().tenant_id;
    let issued = issue(store, IssueKey { ttl_days: Some(30), ..key_for(tenant_id) }).unwrap();
    assert_eq!(issued.permissions, ["ledger_poster", "ledger_reader"]);
    assert_eq!(issued.expires_at, Some(START.plus_seconds(30 * DAY_SECONDS)));
    assert_eq!(issued.key_id.len(), 26);
    assert!(issued.api_key.expose().starts_with(&format!("rak_{}", issued.key_id)));
    let shown = format!("{issued:?}");
    assert!(shown.contains("[redacted]") && !shown.contains(&issued.api_key.expose()[30..]), "{shown}");
    let second = issue(store, IssueKey { principal_id: Some(issued.principal_id), ..key_for(tenant_id) }).unwrap();
    assert_eq!(second.principal_id, issued.principal_id);
    let read = store.read();
    let ids = |after: Option<&str>, limit| -> Vec<String> {
        list_keys(&read, tenant_id, after, limit).unwrap().into_iter().map(|key| key.key_id).collect()
    };
    assert_eq!(ids(None, 10), [issued.key_id.clone(), second.key_id.clone()]);
    assert_eq!(ids(None, 1), std::slice::from_ref(&issued.key_id));
    assert_eq!(ids(Some(&issued.key_id), 10), [second.key_id]);
    assert_eq!(list_keys(&read, Uuid::nil(), None, 10), Ok(vec![]));
    assert_eq!(find_key(&read, &issued.key_id).unwrap().unwrap().label, "test");
    assert_eq!(find_key(&read, "nonsense"), Ok(None));
}

#[test]
fn keys_that_are_not_issued() {
    let test = TestStore::open(START);
    let store = &test.store;
    let tenant_id = create(store, command("T")).unwrap().tenant_id;
    let permissions = |text: &str| vec![text.to_owned()];
    for (command, expected) in [
        (IssueKey { label: "a\tb".to_owned(), ..key_for(tenant_id) }, AccessRefusal::InvalidLabel),
        (IssueKey { label: "x".repeat(256), ..key_for(tenant_id) }, AccessRefusal::InvalidLabel),
        (IssueKey { permissions: permissions(""), ..key_for(tenant_id) }, AccessRefusal::InvalidPermission),
        (IssueKey { permissions: permissions("a b"), ..key_for(tenant_id) }, AccessRefusal::InvalidPermission),
        (
            IssueKey { permissions: permissions(&"p".repeat(256)), ..key_for(tenant_id) },
            AccessRefusal::InvalidPermission,
        ),
        (
            IssueKey { permissions: (0..1001).map(|n| n.to_string()).collect(), ..key_for(tenant_id) },
            AccessRefusal::InvalidPermission,
        ),
        (IssueKey { ttl_days: Some(0), ..key_for(tenant_id) }, AccessRefusal::InvalidTtl),
        (IssueKey { ttl_days: Some(3651), ..key_for(tenant_id) }, AccessRefusal::InvalidTtl),
        (key_for(Uuid::nil()), AccessRefusal::TenantNotFound),
    ] {
        assert_eq!(issue(store, command).map(|key| key.key_id), Err(expected));
    }
}

#[test]
fn callers_are_known_by_their_keys() {
    let test = TestStore::open(START);
    let store = &test.store;
    let tenant_id = create(store, command("T")).unwrap().tenant_id;
    let key = issue(store, key_for(tenant_id)).unwrap();
    let caller = check(store, &bearer(&key), START).unwrap();
    assert_eq!((caller.tenant_id, caller.root_tenant_id), (tenant_id, tenant_id));
    assert_eq!((&caller.key_id, caller.principal_id), (&key.key_id, key.principal_id));
    assert_eq!(caller.require("ledger_poster"), Ok(()));
    assert_eq!(caller.require("ledger_reader"), Ok(()));
    assert_eq!(caller.require("ledger_admin"), Err(AuthRefusal::Forbidden));
    assert_eq!(caller.require("ledger"), Err(AuthRefusal::Forbidden));
    assert!(check(store, &bearer(&key).replace("Bearer ", "bEARER  "), START).is_ok());
}

#[test]
fn what_is_no_credential() {
    let test = TestStore::open(START);
    let store = &test.store;
    let tenant_id = create(store, command("T")).unwrap().tenant_id;
    let (key, other) = (issue(store, key_for(tenant_id)).unwrap(), issue(store, key_for(tenant_id)).unwrap());
    let good = key.api_key.expose().clone();
    let (_, secret) = split(other.api_key.expose()).unwrap();
    let mut flipped = good.clone().into_bytes();
    *flipped.last_mut().unwrap() = if good.ends_with('A') { b'B' } else { b'A' };
    for header in [
        String::new(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        good.clone(),
        format!("Basic {good}"),
        format!("Bearer\t{good}"),
        format!("Bearer {good} "),
        format!("Bearer {good},Bearer {good}"),
        format!("Bearer {}", good.to_uppercase()),
        format!("Bearer {}", &good[..good.len() - 1]),
        // A known key with another key's secret, one character off, and an unknown key with a good secret.
        format!("Bearer rak_{}{secret}", key.key_id),
        format!("Bearer {}", String::from_utf8(flipped).unwrap()),
        format!("Bearer rak_{}{secret}", "0".repeat(26)),
        format!("Bearer rak_{}{}", key.key_id, "A".repeat(43)),
        format!("Bearer rak_{}{}", key.key_id.to_uppercase(), &good[30..]),
    ] {
        assert_eq!(check(store, &header, START), Err(AuthRefusal::Unauthenticated), "{header}");
    }
    let none = refusal(authenticate(&store.read(), Service::Ledger, None, None, START));
    assert_eq!(none, Err(AuthRefusal::Unauthenticated));
}

#[test]
fn checks_come_in_the_documented_order() {
    let test = TestStore::open(START);
    let store = &test.store;
    let id = create(store, CreateTenant { services: Service::Runs.into(), ..command("T") }).unwrap().tenant_id;
    let key = issue(store, IssueKey { ttl_days: Some(1), ..key_for(id) }).unwrap();
    let late = START.plus_seconds(DAY_SECONDS);
    let wrong = format!("Bearer rak_{}{}", key.key_id, "A".repeat(43));
    assert_eq!(refusal(write(store, move |tx, now| suspend_tenant(tx, now, id))).unwrap().name, "T");
    let runs = |header: &str, now| refusal(authenticate(&store.read(), Service::Runs, Some(header), None, now));
    assert_eq!(check(store, &wrong, late), Err(AuthRefusal::Unauthenticated));
    assert_eq!(check(store, &bearer(&key), late), Err(AuthRefusal::CredentialExpired));
    assert_eq!(check(store, &bearer(&key), late.plus_micros(-1)), Err(AuthRefusal::TenantNotProvisioned));
    assert_eq!(runs(&bearer(&key), START), Err(AuthRefusal::TenantSuspended));
    assert_eq!(refusal(write(store, move |tx, now| activate_tenant(tx, now, id))).unwrap().name, "T");
    assert_eq!(runs(&bearer(&key), START).map(|caller| caller.tenant_id), Ok(id));
    // A revoked key is unknown, expired or not.
    assert!(revoke(store, None, &key.key_id).is_ok());
    assert_eq!(runs(&bearer(&key), START), Err(AuthRefusal::Unauthenticated));
    assert_eq!(runs(&bearer(&key), late), Err(AuthRefusal::Unauthenticated));
}

#[test]
fn a_suspended_parent_blocks_its_clients() {
    let test = TestStore::open(START);
    let store = &test.store;
    let root = create(store, command("Root")).unwrap().tenant_id;
    let client = create(store, CreateTenant { parent: Some(root), ..command("Client") }).unwrap().tenant_id;
    let key = issue(store, key_for(client)).unwrap();
    assert_eq!(check(store, &bearer(&key), START).map(|caller| caller.root_tenant_id), Ok(root));
    assert!(refusal(write(store, move |tx, now| suspend_tenant(tx, now, root))).is_ok());
    assert_eq!(check(store, &bearer(&key), START), Err(AuthRefusal::TenantSuspended));
    assert_eq!(activated_at(&store.read(), client).unwrap(), None);
    assert!(refusal(write(store, move |tx, now| activate_tenant(tx, now, root))).is_ok());
    assert!(check(store, &bearer(&key), START).is_ok());
    assert_eq!(activated_at(&store.read(), client).unwrap(), Some(START), "it came back with its parent");
}

#[test]
fn revoking_holds_at_once_and_again() {
    let test = TestStore::open(START);
    let store = &test.store;
    let (mine, other) = (create(store, command("A")).unwrap(), create(store, command("B")).unwrap());
    let key = issue(store, key_for(mine.tenant_id)).unwrap();
    assert_eq!(revoke(store, Some(other.tenant_id), &key.key_id), Err(AccessRefusal::KeyNotFound));
    assert_eq!(revoke(store, None, "absent"), Err(AccessRefusal::KeyNotFound));
    assert_eq!(revoke(store, None, &"0".repeat(26)), Err(AccessRefusal::KeyNotFound));
    assert!(check(store, &bearer(&key), START).is_ok());
    let first = revoke(store, Some(mine.tenant_id), &key.key_id).unwrap();
    assert_eq!(first.revoked_at, Some(START));
    assert_eq!(check(store, &bearer(&key), START), Err(AuthRefusal::Unauthenticated));
    assert_eq!(revoke(store, None, &key.key_id), Ok(first));
}

#[test]
fn header_lines() {
    let mut headers = HeaderMap::new();
    assert_eq!(authorization(&headers), None);
    headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer x"));
    assert_eq!(authorization(&headers), Some("Bearer x"));
    headers.append(AUTHORIZATION, HeaderValue::from_static("Bearer x"));
    assert_eq!(authorization(&headers), None, "two lines are ambiguous");
    headers.insert(AUTHORIZATION, HeaderValue::from_bytes(b"Bearer \xff").unwrap());
    assert_eq!(authorization(&headers), None);
}

#[test]
fn services_are_a_set() {
    let two: Services = [Service::Ledger, Service::Runs, Service::Ledger].into_iter().collect();
    assert_eq!(two.iter().collect::<Vec<_>>(), [Service::Runs, Service::Ledger]);
    assert!(Services::ALL.contains_all(two) && !two.contains_all(Services::ALL));
    assert!(two.contains(Service::Ledger) && !two.contains(Service::Diagrams));
    assert_eq!(Services::ALL.iter().count(), 5);
    for service in Service::ALL {
        assert_eq!(service.name().parse(), Ok(service));
        assert_eq!(Services::from_bits(Services::from(service).bits()), service.into());
    }
    assert!("Ledger".parse::<Service>().is_err());
    assert_eq!(Services::from_bits(0xFF), Services::ALL);
}

#[tokio::test]
async fn uses_are_noted_then_stored() {
    let test = TestStore::open(START);
    let store = test.store.clone();
    let tenant_id = create(&store, command("T")).unwrap().tenant_id;
    let key = issue(&store, key_for(tenant_id)).unwrap();
    let caller = check(&store, &bearer(&key), START).unwrap();
    let uses = Arc::new(KeyUses::new(store.clone()));
    test.clock.register(Arc::new(Sweep(uses.clone())));
    assert!(uses.note(&caller, START), "the first note wakes");
    assert!(!uses.note(&caller, START.plus_seconds(1)));
    assert_eq!(uses.next_due(), Ok(Some(START.plus_seconds(60))));
    let last_used = || list_keys(&store.read(), tenant_id, None, 10).unwrap()[0].last_used_at;
    assert_eq!(last_used(), None);
    let mut records = list_keys(&store.read(), tenant_id, None, 10).unwrap();
    uses.fill_in(&mut records);
    assert_eq!(records[0].last_used_at, Some(START.plus_seconds(1)));
    test.clock.advance(120).await.unwrap();
    assert_eq!(last_used(), Some(START.plus_seconds(1)));
    assert_eq!(uses.next_due(), Ok(None));
    // An older note does not take the time back.
    assert!(uses.note(&caller, START));
    test.clock.advance(120).await.unwrap();
    assert_eq!(last_used(), Some(START.plus_seconds(1)));
}

#[test]
fn checking_is_quick() {
    let test = TestStore::open(START);
    let store = &test.store;
    let root = create(store, command("Root")).unwrap().tenant_id;
    let client = create(store, CreateTenant { parent: Some(root), ..command("Client") }).unwrap().tenant_id;
    let header = bearer(&issue(store, key_for(client)).unwrap());
    let rounds = 2_000;
    let begun = Instant::now();
    for _ in 0..rounds {
        assert!(check(store, &header, START).is_ok());
    }
    let each = begun.elapsed() / rounds;
    // A handful of microseconds when optimized; the bound only catches a wrong order of magnitude.
    assert!(each < Duration::from_millis(1), "{each:?}");
}
