//! A real store under a clock that tests set, and a few books in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use quintet_storage::{Abort, Store, StoreOptions, TimeSource, Timestamp, Uuid, WriteTx};

use crate::accounts::{self, CreateAccount, FloorInput};
use crate::asset_types::{self, CreateAssetType};
use crate::holds::{self, SettleHold};
use crate::model::{AccountId, Kind, Side, TenantId, Tracking, TransactionId};
use crate::money::Decimal;
use crate::posting::{self, NewEntry, PostTransaction};
use crate::refusal::Refusal;
use crate::tables;

/// A clock that tests set.
pub(crate) struct HandClock(AtomicI64);

impl HandClock {
    pub(crate) fn advance(&self, seconds: i64) {
        self.advance_micros(seconds * 1_000_000);
    }

    pub(crate) fn advance_micros(&self, micros: i64) {
        self.0.fetch_add(micros, Ordering::SeqCst);
    }
}

impl TimeSource for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// A store in a directory of its own, under a clock that tests set.
pub(crate) struct Bench {
    pub(crate) store: OpenStore,
    pub(crate) clock: Arc<HandClock>,
    directory: tempfile::TempDir,
}

impl Bench {
    pub(crate) fn new() -> Bench {
        Bench::open(tempfile::tempdir().unwrap(), Arc::new(HandClock(AtomicI64::new(1_700_000_000_000_000))))
    }

    fn open(directory: tempfile::TempDir, clock: Arc<HandClock>) -> Bench {
        let mut options = StoreOptions::new(directory.path(), Arc::clone(&clock) as Arc<dyn TimeSource>);
        options.segment_bytes = 1 << 20;
        let store = Store::open(options, &[quintet_platform::TABLES, tables::TABLES]).unwrap();
        Bench { store: OpenStore(store), clock, directory }
    }

    /// Closed and opened again, at the same instant.
    pub(crate) fn restarted(self) -> Bench {
        let Bench { store, clock, directory } = self;
        drop(store);
        Bench::open(directory, clock)
    }

    pub(crate) fn run<T: Send + 'static>(
        &self,
        verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<Refusal>> + Send + 'static,
    ) -> Result<T, Refusal> {
        match self.store.write_blocking(Instant::now() + Duration::from_secs(30), verb) {
            Ok(value) => Ok(value),
            Err(Abort::Refused(refusal)) => Err(refusal),
            Err(Abort::Failed(failure)) => panic!("the store failed: {failure}"),
        }
    }
}

/// A tenant of the platform with this id, for what reads all tenants.
pub(crate) fn create_bare_tenant(bench: &Bench, tenant_id: TenantId) {
    use quintet_platform::access::{CreateTenant, Services, create_tenant};
    let command = CreateTenant { id: Some(tenant_id.0), name: "tenant".into(), services: Services::ALL, parent: None };
    let created = bench.run(move |tx, now| Ok(create_tenant(tx, now, command).is_ok()));
    assert_eq!(created, Ok(true));
}

/// Shut down when it is dropped.
pub(crate) struct OpenStore(Store);

impl std::ops::Deref for OpenStore {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.0
    }
}

impl Drop for OpenStore {
    fn drop(&mut self) {
        self.0.shutdown();
    }
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
        let bench = Bench::new();
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
        let now = self.bench.clock.now();
        let amount = Decimal::parse_amount("1").unwrap();
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
