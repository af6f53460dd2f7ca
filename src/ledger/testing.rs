//! A real store under a clock that tests set, and a few books in it.

use quintet_storage::Uuid;

use crate::accounts::{self, CreateAccount, FloorInput};
use crate::asset_types::{self, CreateAssetType};
use crate::holds::{self, SettleHold};
use crate::model::{AccountId, Kind, Side, TenantId, Tracking, TransactionId};
use crate::money::Amount;
use crate::posting::{self, NewEntry, PostTransaction};
use crate::refusal::Refusal;

/// A store under a clock that tests set.
pub(crate) type Bench = quintet_support::Bench<Refusal>;

/// A new store.
pub(crate) fn bench() -> Bench {
    Bench::new(crate::TABLES, 1_700_000_000_000_000)
}

/// A tenant of the platform with this id, for what reads all tenants.
pub(crate) fn create_bare_tenant(bench: &Bench, tenant_id: TenantId) {
    use quintet_platform::access::{CreateTenant, Services, create_tenant};
    let command = CreateTenant { id: Some(tenant_id.0), name: "tenant".into(), services: Services::ALL, parent: None };
    let created = bench.run(move |tx, now| Ok(create_tenant(tx, now, command).is_ok()));
    assert_eq!(created, Ok(true));
}

/// Two accounts without floors, and postings of one unit between them, for tests of a single module.
pub(crate) struct Books {
    pub(crate) bench: Bench,
    pub(crate) tenant_id: TenantId,
    pub(crate) from: AccountId,
    pub(crate) to: AccountId,
    posted: std::cell::RefCell<Vec<TransactionId>>,
}

impl Books {
    pub(crate) fn open() -> Books {
        let bench = bench();
        let tenant_id = TenantId(Uuid::from_u128(9));
        create_bare_tenant(&bench, tenant_id);
        let asset = CreateAssetType { tenant_id, code: "EUR".into(), kind: Kind::Fiat, scale: 0 };
        let asset_type_id = bench.run(|tx, now| asset_types::create_asset_type(tx, now, asset)).unwrap().asset_type_id;
        let open = |normal_side| {
            let command = CreateAccount {
                tenant_id,
                asset_type_id,
                name: "account".into(),
                normal_side,
                tracking: Tracking::Sync,
                floor: Some(FloorInput::Unbounded),
                metadata: None,
            };
            bench.run(|tx, now| accounts::create_account(tx, now, command)).unwrap().account_id
        };
        let (from, to) = (open(Side::Debit), open(Side::Credit));
        Books { bench, tenant_id, from, to, posted: Default::default() }
    }

    fn put(&self, hold_seconds: Option<i64>, effective_seconds: Option<i64>) -> TransactionId {
        let now = self.bench.now();
        let amount = Amount::parse("1").unwrap();
        let command = PostTransaction {
            tenant_id: self.tenant_id,
            description: None,
            external_id: None,
            metadata: None,
            effective_at: effective_seconds.map(|seconds| now.plus_seconds(seconds)),
            hold_until: hold_seconds.map(|seconds| now.plus_seconds(seconds)),
            entries: vec![
                NewEntry { account_id: self.from, direction: Side::Debit, amount },
                NewEntry { account_id: self.to, direction: Side::Credit, amount },
            ],
        };
        let id = self.bench.run(|tx, now| posting::post_transaction(tx, now, command)).unwrap().transaction_id;
        self.posted.borrow_mut().push(id);
        id
    }

    pub(crate) fn post(&self, effective_seconds: Option<i64>) -> TransactionId {
        self.put(None, effective_seconds)
    }

    pub(crate) fn hold(&self, seconds: i64) -> TransactionId {
        self.put(Some(seconds), None)
    }

    pub(crate) fn commit(&self, transaction_id: TransactionId) {
        let command = SettleHold { tenant_id: self.tenant_id, transaction_id };
        self.bench.run(move |tx, now| holds::commit_hold(tx, now, command)).unwrap();
    }

    /// The second posting.
    pub(crate) fn second(&self) -> TransactionId {
        self.posted.borrow()[1]
    }

    pub(crate) fn first(&self) -> TransactionId {
        self.posted.borrow()[0]
    }
}
