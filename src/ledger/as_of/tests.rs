//! Balances as of an instant against sums from scratch, over histories that are hard on the index.

use quintet_storage::Uuid;

use super::*;
use crate::accounts::{CreateAccount, FloorInput, create_account};
use crate::asset_types::{CreateAssetType, create_asset_type};
use crate::late::late_until;
use crate::model::{Kind, Side, Tracking};
use crate::money::Amount;
use crate::posting::{NewEntry, PostTransaction, post_transaction};
use crate::testing::{Bench, bench};

const TENANT: TenantId = TenantId(Uuid::from_u128(5));

struct Pair {
    bench: Bench,
    from: AccountId,
    to: AccountId,
}

impl Pair {
    fn open() -> Pair {
        let bench = bench();
        let (from, to) = bench
            .run(|tx, now| {
                let asset = CreateAssetType { tenant_id: TENANT, code: "EUR".into(), kind: Kind::Fiat, scale: 0 };
                let asset_type_id = create_asset_type(tx, now, asset)?.asset_type_id;
                let mut open = || {
                    let command = CreateAccount {
                        tenant_id: TENANT,
                        asset_type_id,
                        name: "account".into(),
                        normal_side: Side::Debit,
                        tracking: Tracking::Sync,
                        floor: Some(FloorInput::Unbounded),
                        metadata: None,
                    };
                    Ok::<_, Abort<Refusal>>(create_account(tx, now, command)?.account_id)
                };
                Ok((open()?, open()?))
            })
            .unwrap();
        Pair { bench, from, to }
    }

    fn now(&self) -> Timestamp {
        self.bench.now()
    }

    /// One posting of one unit for each of these effective times, in one transaction.
    fn post(&self, effective: Vec<Option<Timestamp>>) {
        let (from, to) = (self.from, self.to);
        let post_all = move |tx: &mut quintet_storage::WriteTx<'_>, now| {
            for effective_at in &effective {
                let amount = Amount::parse("1").unwrap();
                let command = PostTransaction {
                    tenant_id: TENANT,
                    description: None,
                    external_id: None,
                    metadata: None,
                    effective_at: *effective_at,
                    hold_until: None,
                    entries: vec![
                        NewEntry { account_id: to, direction: Side::Debit, amount },
                        NewEntry { account_id: from, direction: Side::Credit, amount },
                    ],
                };
                post_transaction(tx, now, command)?;
            }
            Ok(())
        };
        self.bench.run(post_all).unwrap();
    }

    fn entries(&self, at: Timestamp, basis: Basis) -> u64 {
        let read = self.bench.store.read();
        let Ok(balance) = balance_as_of(&read, TENANT, self.to, at, basis) else { panic!("not answered") };
        assert_eq!(balance.balance(), i128::from(balance.posted.entries), "each entry is one unit");
        let Ok(other) = balance_as_of(&read, TENANT, self.from, at, basis) else { panic!("not answered") };
        assert_eq!(other.balance(), -balance.balance(), "debits equal credits at any instant");
        balance.posted.entries
    }
}

/// SplitMix64.
fn mixed(value: u64) -> u64 {
    let value = value.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    value ^ (value >> 27)
}

#[test]
fn backdated_entries_however_they_lie() {
    const DAY: u64 = 86_400_000_000;
    const POSTINGS: u64 = 2_000;
    // How far back the effective times reach, in microseconds: one instant, a fraction of a second, a day, the
    // time since the year 1000.
    for reach in [1, 300, 200_000, DAY, DAY * 365 * 1000] {
        let pair = Pair::open();
        let now = pair.now();
        let back = |n: u64| i64::try_from(mixed(n + reach) % reach + 1).unwrap();
        let mut instants: Vec<Timestamp> = (0..POSTINGS).map(|n| now.plus_micros(-back(n))).collect();
        for slice in instants.chunks(200) {
            pair.post(slice.iter().copied().map(Some).collect());
        }
        instants.sort_unstable();
        let probes = (0..60).map(|n| now.plus_micros(1 - back(POSTINGS + n)));
        let edges = [now, now.plus_micros(-1), now.plus_micros(-i64::try_from(reach).unwrap() - 1)];
        for at in probes.chain(edges).chain(instants.iter().step_by(199).copied()) {
            let expected = instants.partition_point(|instant| *instant <= at) as u64;
            assert_eq!(pair.entries(at, Basis::Effective), expected, "reach {reach}, at {at:?}");
        }
        assert_eq!(pair.entries(now.plus_micros(-1), Basis::Recorded), 0);
        assert_eq!(pair.entries(now, Basis::Recorded), POSTINGS);
    }
}

#[test]
fn late_and_prompt_entries_add_up() {
    let pair = Pair::open();
    let start = pair.now();
    pair.post(vec![None]);
    pair.bench.clock.advance(10);
    pair.post(vec![None, Some(start.plus_seconds(-5)), Some(pair.now())]);
    pair.bench.clock.advance(10);
    pair.post(vec![Some(start.plus_seconds(5)), None]);
    let at = |seconds| {
        let at = start.plus_seconds(seconds);
        (pair.entries(at, Basis::Effective), pair.entries(at, Basis::Recorded))
    };
    assert_eq!(at(-6), (0, 0));
    assert_eq!(at(-5), (1, 0));
    assert_eq!(at(0), (2, 1));
    assert_eq!(at(5), (3, 1));
    assert_eq!(at(10), (5, 4));
    assert_eq!(at(19), (5, 4));
    assert_eq!(at(20), (6, 6));
}

#[test]
fn ids_that_run_ahead_of_a_standing_clock() {
    let mut pair = Pair::open();
    let mut expected = Vec::new();
    // At each restart identifiers go on above all earlier ones, while the time stands.
    for round in 0..12 {
        pair.post(vec![None; 3]);
        pair.post(vec![Some(pair.now().plus_seconds(-1))]);
        expected.push((pair.now(), 4 * (round + 1)));
        if round % 4 == 3 {
            pair.bench.clock.advance_micros(1);
        }
        pair.bench = pair.bench.restarted();
    }
    for (at, _) in &expected {
        let recorded = expected.iter().filter(|(known, _)| known <= at).map(|(_, entries)| *entries).max().unwrap();
        assert_eq!(pair.entries(*at, Basis::Recorded), recorded, "{at:?}");
        let late = 12;
        assert_eq!(pair.entries(*at, Basis::Effective), recorded / 4 * 3 + late, "{at:?}");
    }
    let before = expected[0].0.plus_micros(-1);
    assert_eq!((pair.entries(before, Basis::Recorded), pair.entries(before, Basis::Effective)), (0, 12));
}

#[test]
fn nobodys_account_has_no_past() {
    let pair = Pair::open();
    let read = pair.bench.store.read();
    for (tenant_id, account_id) in [(TenantId(Uuid::nil()), pair.to), (TENANT, AccountId(Uuid::nil()))] {
        let got = balance_as_of(&read, tenant_id, account_id, pair.now(), Basis::Effective);
        assert!(matches!(got, Err(Abort::Refused(Refusal::AccountNotFound))));
    }
    assert_eq!(late_until(&read, pair.to, pair.now()).unwrap(), PostedAfter::default());
    assert_eq!(pair.entries(pair.now(), Basis::Effective), 0);
}
