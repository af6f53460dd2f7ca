//! Quotas as they are kept; and what tests of others need of rows that only this folder knows.

use quintet_storage::{Read, Scan, WriteTx};

use super::model::{Ceilings, Meter, QUOTA_KINDS, Quotas, SetQuotas};
use super::quotas;
use super::tables::{CHARGES, METERS, QUOTAS, QuotasRow};
use crate::testing::{bench, tenant};

const OFFICE: &str = "shift office \"Office\" { }";

/// Makes a meter say something else.
pub(crate) fn put_meter(tx: &mut WriteTx<'_>, key_id: &str, meter: Meter) {
    tx.put(&METERS, &key_id.to_owned(), &meter.into()).unwrap();
}

/// Loses a meter.
pub(crate) fn lose_meter(tx: &mut WriteTx<'_>, key_id: &str) {
    tx.delete(&METERS, &key_id.to_owned());
}

/// How many runs are charged.
pub(crate) fn charges(read: &impl Read) -> usize {
    read.scan(&CHARGES, Scan::all()).unwrap().len()
}

fn ceilings(limits: &[(&str, u64)]) -> Ceilings {
    Ceilings(limits.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect())
}

#[test]
fn quotas_that_are_set_hold_and_defaults_are_not_kept() {
    let bench = bench();
    let limits = ceilings(&[("max_concurrent_runs", 5)]);
    let set = |numbers: &[(&'static str, u64)]| {
        let asked = SetQuotas { numbers: numbers.to_vec(), working_hours_tjp: None };
        bench.run(move |tx, _| Ok(quotas::set(tx, tenant(1), asked)?)).unwrap();
    };
    set(&[("max_daily_runs", 1), ("max_concurrent_runs", 3), ("max_cpu", 1500)]);
    let asked = SetQuotas { working_hours_tjp: Some(Some(OFFICE.to_owned())), ..SetQuotas::default() };
    assert!(bench.run(move |tx, _| Ok(quotas::set(tx, tenant(1), asked)?)).unwrap(), "the hours are new");
    set(&[("max_daily_runs", 1000), ("max_concurrent_runs", 4)]);
    let kept = bench.store.read().get(&QUOTAS, &tenant(1)).unwrap().unwrap();
    let numbers = vec![("max_concurrent_runs".to_owned(), 4), ("max_cpu".to_owned(), 1500)];
    assert_eq!(kept, QuotasRow { numbers, working_hours_tjp: Some(OFFICE.to_owned()) });
    let in_force = |number| quotas::effective(&bench.store.read(), tenant(number), &limits).unwrap().quotas;
    assert_eq!((in_force(1).max_concurrent_runs, in_force(1).max_cpu_millicores), (4, 1500));
    assert_eq!((in_force(2).max_concurrent_runs, in_force(2).max_cpu_millicores), (5, 2000));
    // What was set stays within a ceiling that comes later.
    let lower = ceilings(&[("max_concurrent_runs", 2)]);
    assert_eq!(quotas::effective(&bench.store.read(), tenant(1), &lower).unwrap().quotas.max_concurrent_runs, 2);
    // Every quota has a run_key to be set and read.
    for kind in QUOTA_KINDS {
        assert!(Quotas::default().by_name(kind.name).is_some_and(|value| *value >= kind.least), "{kind:?}");
    }
}

#[test]
fn working_hours_that_cannot_be_read_are_found() {
    let bench = bench();
    let row = QuotasRow { numbers: Vec::new(), working_hours_tjp: Some("shift".into()) };
    bench.run(move |tx, _| Ok(tx.put(&QUOTAS, &tenant(1), &row)?)).unwrap();
    let findings = crate::verify(&bench.store.read()).unwrap().join("\n");
    assert!(findings.contains("not a calendar: line 1, column 6"), "{findings}");
    assert!(quotas::hours(&bench.store.read(), tenant(1)).is_err());
}
