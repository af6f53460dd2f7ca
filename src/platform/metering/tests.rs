//! Quotas are exact, months are calendar months, and counts survive a restart.

use super::*;
use crate::access::{CreateTenant, Services, create_tenant};
use crate::clock::parse_rfc3339;
use crate::testing::TestStore;

fn at(text: &str) -> Timestamp {
    parse_rfc3339(text).unwrap()
}

fn write<T: Send + 'static, R: Send + std::fmt::Debug + 'static>(
    store: &Store,
    verb: impl FnOnce(&mut quintet_storage::WriteTx<'_>, Timestamp) -> Result<T, Abort<R>> + Send + 'static,
) -> Result<T, R> {
    match store.write_blocking(Instant::now() + WRITER_TIME, verb) {
        Ok(value) => Ok(value),
        Err(Abort::Refused(refusal)) => Err(refusal),
        Err(Abort::Failed(failure)) => panic!("{failure}"),
    }
}

fn tenant(store: &Store, parent: Option<Uuid>) -> Uuid {
    let command = CreateTenant { id: None, name: "t".into(), services: Services::ALL, parent };
    write(store, move |tx, now| create_tenant(tx, now, command)).unwrap().tenant_id
}

fn limit(store: &Store, tenant_id: Uuid, quota: Quota) -> Result<Quota, MeteringRefusal> {
    write(store, move |tx, now| set_quota(tx, now, tenant_id, Service::Ledger, quota))
}

#[tokio::test]
async fn the_monthly_allowance_is_exact_and_opens_with_the_month() {
    let test = TestStore::open(at("2026-01-31T23:59:50Z"));
    let root = tenant(&test.store, None);
    limit(&test.store, root, Quota { monthly_calls: Some(3), burst_per_second: None }).unwrap();
    let meter = Meter::new(test.store.clone());
    let count = |meter: &Meter, service, now: &str| {
        meter.count(&test.store.read(), service, root, at(now), at(now)).map_err(|over| over.0.0)
    };
    let now = "2026-01-31T23:59:50Z";
    assert_eq!(count(&meter, Service::Ledger, now), Ok(true), "the first that is not stored");
    assert_eq!(count(&meter, Service::Ledger, now), Ok(false));
    meter.slice().await.unwrap();
    assert_eq!(meter.next_due(), Ok(None));
    assert_eq!(count(&meter, Service::Ledger, now), Ok(true));
    assert_eq!(count(&meter, Service::Ledger, now), Err(11), "until the month is over");
    assert_eq!(count(&meter, Service::Runs, now), Ok(false), "another service has its own");
    let used = meter.usage(&test.store.read(), Service::Ledger, root, at(now));
    assert_eq!(used, Usage { year: 2026, month: 1, calls: 3, ends_at: at("2026-02-01T00:00:00Z") });
    assert_eq!(count(&meter, Service::Ledger, "2026-02-01T00:00:00Z"), Ok(false));
    meter.slice().await.unwrap();

    // Another run of the appliance goes on with what was stored.
    let meter = Meter::new(test.store.clone());
    assert_eq!(count(&meter, Service::Ledger, now), Err(11));
    assert_eq!(count(&meter, Service::Ledger, "2026-02-01T00:00:00Z"), Ok(true));
    let used = meter.usage(&test.store.read(), Service::Ledger, root, at("2026-02-01T00:00:00Z"));
    assert_eq!(used.calls, 2);
    limit(&test.store, root, Quota::default()).unwrap();
    assert_eq!(count(&meter, Service::Ledger, now), Ok(false), "a quota that is lifted");
}

#[tokio::test]
async fn bursts_are_limited_and_do_not_count() {
    let test = TestStore::open(at("2026-05-05T00:00:00Z"));
    let root = tenant(&test.store, None);
    limit(&test.store, root, Quota { monthly_calls: None, burst_per_second: Some(2) }).unwrap();
    let meter = Meter::new(test.store.clone());
    let now = at("2026-05-05T00:00:00Z");
    let count = |now| meter.count(&test.store.read(), Service::Ledger, root, now, now).is_ok();
    assert_eq!([count(now), count(now), count(now), count(now)], [true, true, false, false]);
    assert!(count(now.plus_micros(500_000)));
    assert_eq!(meter.usage(&test.store.read(), Service::Ledger, root, now).calls, 3);
}

#[tokio::test]
async fn a_store_that_has_stopped_keeps_nobody_out() {
    let test = TestStore::open(at("2026-05-05T00:00:00Z"));
    let root = tenant(&test.store, None);
    let meter = Meter::new(test.store.clone());
    let now = at("2026-05-05T00:00:00Z");
    test.store.shutdown();
    for _ in 0..3 {
        assert!(meter.count(&test.store.read(), Service::Ledger, root, now, now).is_ok());
    }
    assert!(meter.slice().await.is_err());
    assert!(meter.next_due().is_ok_and(|due| due.is_some()), "it is tried again");
    assert_eq!(meter.usage(&test.store.read(), Service::Ledger, root, now).calls, 3);
}

#[test]
fn only_root_tenants_have_quotas() {
    let test = TestStore::open(at("2026-05-05T00:00:00Z"));
    let root = tenant(&test.store, None);
    let client = tenant(&test.store, Some(root));
    let some = Quota { monthly_calls: Some(0), burst_per_second: Some(1) };
    assert_eq!(limit(&test.store, root, some), Ok(some));
    assert_eq!(find_quota(&test.store.read(), root, Service::Ledger).unwrap(), some);
    assert_eq!(find_quota(&test.store.read(), root, Service::Runs).unwrap(), Quota::default());
    assert_eq!(limit(&test.store, client, some), Err(MeteringRefusal::NotARootTenant));
    assert_eq!(limit(&test.store, Uuid::nil(), some), Err(MeteringRefusal::TenantNotFound));
    let none = Quota { monthly_calls: None, burst_per_second: Some(0) };
    assert_eq!(limit(&test.store, root, none), Err(MeteringRefusal::NoBurst));
}
