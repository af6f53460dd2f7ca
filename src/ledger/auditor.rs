//! An auditor that shares nothing with the engine but its commands: it keeps a plain list of transactions, adds
//! everything up from scratch each time, says what the engine must answer, and after every step compares the
//! store with its own books.
//!
//! A run is a function of its seed. `QUINTET_LEDGER_SEED=N` runs one seed again, `QUINTET_LEDGER_STEPS=N` sets its
//! length.

use std::collections::{BTreeMap, BTreeSet};

use quintet_platform::service::ServiceRefusal as _;
use quintet_storage::{Abort, Read, Scan, Timestamp, Uuid, WriteTx};

use crate::accounts::{self, CreateAccount, FloorInput, PatchAccount};
use crate::as_of;
use crate::asset_types::{self, CreateAssetType};
use crate::holds::{self, Expiry, FIRST_EXPIRY, SettleHold};
use crate::model::{AccountId, AccountStatus, Basis, Kind, Side, TenantId, Tracking, TransactionId, TransactionState};
use crate::money::{Amount, format_minor};
use crate::posting::{self, NewEntry, PostTransaction};
use crate::refusal::Refusal;
use crate::statement::{self, StatementQuery};
use crate::tables::{BOOKS, EXTERNAL_IDS, HOLDS, LINES, Shelf, TRANSACTIONS, unsigned};
use crate::testing::{Bench, bench, create_bare_tenant};
use crate::verify::verify;

const TENANT: TenantId = TenantId(Uuid::from_u128(7));
const ACCOUNTS: usize = 8;
/// The scales of the two assets; accounts alternate between them.
const SCALES: [u8; 2] = [2, 0];

/// SplitMix64: enough to choose commands, and the same on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let value = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (value ^ (value >> 31)) % sides
    }

    fn one_in(&mut self, sides: u64) -> bool {
        self.roll(sides) == 0
    }
}

struct AuditedAccount {
    id: AccountId,
    asset: usize,
    debit_normal: bool,
    status: AccountStatus,
    tracking: Tracking,
    floor: Option<i128>,
}

#[derive(Clone)]
struct AuditedTransaction {
    id: TransactionId,
    state: TransactionState,
    /// Account, amount; debits above zero.
    legs: Vec<(usize, i128)>,
    expires_at: Option<Timestamp>,
    effective_at: Timestamp,
    /// When it was committed.
    committed_at: Option<Timestamp>,
    external_id: Option<String>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Totals {
    posted_debits: i128,
    posted_credits: i128,
    pending_debits: i128,
    pending_credits: i128,
    entries: u64,
}

struct Auditor {
    bench: Bench,
    dice: Dice,
    accounts: Vec<AuditedAccount>,
    transactions: Vec<AuditedTransaction>,
    answers: BTreeMap<&'static str, u64>,
    swept_to: Expiry,
    /// What was answered about the past on the recorded clock: account, instant, sums and count. It never changes.
    told: Vec<(usize, Timestamp, (i128, i128, u64))>,
}

#[test]
fn the_books_agree_with_an_independent_auditor() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let steps = number("QUINTET_LEDGER_STEPS").unwrap_or(300);
    let seeds = match number("QUINTET_LEDGER_SEED") {
        Some(seed) => vec![seed],
        None => vec![1, 2, 3, u64::from(std::process::id())],
    };
    for seed in seeds {
        println!("QUINTET_LEDGER_SEED={seed} QUINTET_LEDGER_STEPS={steps}");
        let mut auditor = Auditor::open(seed);
        for _ in 0..steps {
            auditor.step();
            auditor.audit();
            auditor.audit_the_past();
        }
        auditor.audit_the_proof();
        println!("answers: {:?}", auditor.answers);
        assert!(auditor.answers.get("ok").copied().unwrap_or(0) > steps / 4, "the run hardly did anything");
    }
}

impl Auditor {
    fn open(seed: u64) -> Auditor {
        let bench = bench();
        let mut dice = Dice(seed);
        create_bare_tenant(&bench, TENANT);
        let assets = SCALES.map(|scale| {
            let command = CreateAssetType { tenant_id: TENANT, code: format!("A{scale}"), kind: Kind::Credit, scale };
            bench.run(|tx, now| asset_types::create_asset_type(tx, now, command)).unwrap().asset_type_id
        });
        let mut accounts = Vec::new();
        for index in 0..ACCOUNTS {
            let asset = index % 2;
            let tracking = if index >= 6 { Tracking::Async } else { Tracking::Sync };
            let floor = match (tracking, index / 2) {
                (Tracking::Async, _) | (_, 0) => None,
                (_, 1) => Some(0),
                _ => Some(-i128::from(dice.roll(200))),
            };
            let debit_normal = dice.one_in(2);
            let command = CreateAccount {
                tenant_id: TENANT,
                asset_type_id: assets[asset],
                name: format!("account {index}"),
                normal_side: if debit_normal { Side::Debit } else { Side::Credit },
                tracking,
                floor: Some(floor.map_or(FloorInput::Unbounded, FloorInput::Minor)),
                metadata: None,
            };
            let id = bench.run(|tx, now| accounts::create_account(tx, now, command)).unwrap().account_id;
            accounts.push(AuditedAccount { id, asset, debit_normal, status: AccountStatus::Active, tracking, floor });
        }
        Auditor {
            bench,
            dice,
            accounts,
            transactions: Vec::new(),
            answers: BTreeMap::new(),
            swept_to: FIRST_EXPIRY,
            told: Vec::new(),
        }
    }

    fn now(&self) -> Timestamp {
        self.bench.now()
    }

    fn step(&mut self) {
        match self.dice.roll(20) {
            0..=7 => self.post(false),
            8..=11 => self.post(true),
            12..=14 => self.settle(),
            15 => self.patch_status(),
            16 => self.patch_floor(),
            17 => self.sweep(),
            _ if self.dice.one_in(3) => {
                let micros = self.dice.roll(3);
                self.bench.clock.advance_micros(i64::try_from(micros).unwrap());
            }
            _ => {
                let seconds = self.dice.roll(20);
                self.bench.clock.advance(i64::try_from(seconds).unwrap());
            }
        }
    }

    /// An instant up to now: a few microseconds, some seconds or years back.
    fn past_instant(&mut self) -> Timestamp {
        let reach = [4, 50_000_000, 100_000_000_000_000][usize::try_from(self.dice.roll(3)).unwrap()];
        let back = self.dice.roll(reach);
        self.now().plus_micros(-i64::try_from(back).unwrap())
    }

    fn note(&mut self, got: Option<&'static str>, expected: Option<&'static str>, what: &str) {
        assert_eq!(got, expected, "{what}");
        *self.answers.entry(got.unwrap_or("ok")).or_default() += 1;
    }

    // Everything an account's legs add up to, from scratch.
    fn totals(&self, account: usize) -> Totals {
        let mut totals = Totals::default();
        for transaction in &self.transactions {
            for (_, amount) in transaction.legs.iter().filter(|(at, _)| *at == account) {
                let (debit, credit) = ((*amount).max(0), (-*amount).max(0));
                match transaction.state {
                    TransactionState::Committed => {
                        totals.posted_debits += debit;
                        totals.posted_credits += credit;
                        totals.entries += 1;
                    }
                    TransactionState::Pending => {
                        totals.pending_debits += debit;
                        totals.pending_credits += credit;
                    }
                    TransactionState::Voided | TransactionState::Expired => {}
                }
            }
        }
        totals
    }

    fn available(&self, account: usize) -> i128 {
        let totals = self.totals(account);
        if self.accounts[account].debit_normal {
            totals.posted_debits - totals.posted_credits - totals.pending_credits
        } else {
            totals.posted_credits - totals.posted_debits - totals.pending_debits
        }
    }

    fn lowers(&self, account: usize, amount: i128) -> bool {
        (amount < 0) == self.accounts[account].debit_normal
    }

    fn random_legs(&mut self) -> Vec<(usize, i128)> {
        let mut legs = Vec::new();
        let pairs = if self.dice.one_in(8) { 3 } else { 1 };
        for _ in 0..pairs {
            let amount = i128::from(self.dice.roll(60) + 1);
            let from = usize::try_from(self.dice.roll(ACCOUNTS as u64)).unwrap();
            let to = usize::try_from(self.dice.roll(ACCOUNTS as u64 / 2)).unwrap() * 2 + from % 2;
            legs.push((from, amount));
            legs.push((to, -amount));
        }
        if self.dice.one_in(15) {
            legs[0].1 += 1;
        }
        if self.dice.one_in(25) {
            legs.truncate(1);
        }
        legs
    }

    fn post(&mut self, hold: bool) {
        let legs = self.random_legs();
        let now = self.now();
        let hold_until = hold.then(|| now.plus_seconds(i64::try_from(self.dice.roll(40)).unwrap()));
        let effective_at = self.dice.one_in(3).then(|| self.past_instant());
        let external_id = self.dice.one_in(6).then(|| format!("x{}", self.dice.roll(8)));
        let entries = legs.iter().map(|(account, amount)| NewEntry {
            account_id: self.accounts[*account].id,
            direction: if *amount > 0 { Side::Debit } else { Side::Credit },
            amount: Amount::parse(&format_minor(amount.abs(), SCALES[self.accounts[*account].asset])).unwrap(),
        });
        let command = PostTransaction {
            tenant_id: TENANT,
            description: None,
            external_id: external_id.clone(),
            metadata: None,
            effective_at,
            hold_until,
            entries: entries.collect(),
        };
        let what = format!("{legs:?} hold {hold}");
        let expected = self.expected_of_post(&legs, hold_until, external_id.as_deref());
        match self.bench.run(|tx, now| posting::post_transaction(tx, now, command)) {
            Ok(posted) => {
                self.note(None, expected, &what);
                let state = if hold { TransactionState::Pending } else { TransactionState::Committed };
                assert_eq!(posted.state, state);
                self.transactions.push(AuditedTransaction {
                    id: posted.transaction_id,
                    state,
                    legs,
                    expires_at: hold_until,
                    effective_at: effective_at.unwrap_or(now),
                    committed_at: (!hold).then_some(now),
                    external_id,
                });
                for told in posted.available {
                    let account = self.accounts.iter().position(|account| account.id == told.account_id).unwrap();
                    assert_eq!(self.accounts[account].tracking, Tracking::Sync);
                    assert_eq!(told.minor, self.available(account), "told available after {what}");
                }
                self.check_running_sums(self.transactions.len() - 1);
            }
            Err(refusal) => self.note(Some(refusal.verdict().code), expected, &what),
        }
    }

    fn expected_of_post(
        &self,
        legs: &[(usize, i128)],
        hold_until: Option<Timestamp>,
        external_id: Option<&str>,
    ) -> Option<&'static str> {
        if legs.len() < 2 {
            return Some("ENTRY_COUNT_OUT_OF_RANGE");
        }
        if hold_until.is_some_and(|until| until <= self.now()) {
            return Some("INVALID_EXPIRES_AT");
        }
        for asset in 0..SCALES.len() {
            let sum: i128 = legs.iter().filter(|(at, _)| self.accounts[*at].asset == asset).map(|leg| leg.1).sum();
            if sum != 0 {
                return Some("UNBALANCED_TRANSACTION");
            }
        }
        if external_id.is_some() && self.transactions.iter().any(|known| known.external_id.as_deref() == external_id) {
            return Some("DUPLICATE_TRANSACTION");
        }
        if legs.iter().any(|(at, _)| self.accounts[*at].status != AccountStatus::Active) {
            return Some("ACCOUNT_NOT_ACTIVE");
        }
        let touched: BTreeSet<usize> = legs.iter().map(|(at, _)| *at).collect();
        let below = touched.into_iter().any(|account| {
            let amounts = legs.iter().filter(|(at, _)| *at == account).map(|leg| leg.1);
            let change: i128 = if hold_until.is_some() {
                amounts.filter(|amount| self.lowers(account, *amount)).map(|amount| -amount.abs()).sum()
            } else {
                let net: i128 = amounts.sum();
                if self.accounts[account].debit_normal { net } else { -net }
            };
            self.accounts[account].floor.is_some_and(|floor| change < 0 && self.available(account) + change < floor)
        });
        below.then_some("INSUFFICIENT_AVAILABLE")
    }

    fn settle(&mut self) {
        if self.transactions.is_empty() {
            return;
        }
        // Mostly recent ones, which are more often pending.
        let reach = self.transactions.len().min(12) as u64;
        let index = self.transactions.len() - 1 - usize::try_from(self.dice.roll(reach)).unwrap();
        let commit = self.dice.one_in(2);
        let target = self.transactions[index].clone();
        let lapsed = target.expires_at.is_some_and(|until| until <= self.now());
        let frozen = target.legs.iter().any(|(at, _)| self.accounts[*at].status != AccountStatus::Active);
        let expected = match (target.state, commit) {
            (TransactionState::Expired, true) => Some("HOLD_EXPIRED"),
            (TransactionState::Pending, true) if lapsed => Some("HOLD_EXPIRED"),
            (TransactionState::Pending, true) if frozen => Some("ACCOUNT_NOT_ACTIVE"),
            (TransactionState::Pending, false) if lapsed => Some("INVALID_TRANSACTION_STATE"),
            (TransactionState::Pending, _) => None,
            _ => Some("INVALID_TRANSACTION_STATE"),
        };
        let command = SettleHold { tenant_id: TENANT, transaction_id: target.id };
        let outcome = self.bench.run(move |tx: &mut WriteTx<'_>, now| {
            if commit { holds::commit_hold(tx, now, command) } else { holds::void_hold(tx, now, command) }
        });
        let what = format!("settle {:?} commit {commit}", target.id);
        self.note(outcome.as_ref().err().map(|refusal| refusal.verdict().code), expected, &what);
        if outcome.is_ok() {
            let end = if commit { TransactionState::Committed } else { TransactionState::Voided };
            self.transactions[index].state = end;
            self.transactions[index].committed_at = commit.then(|| self.now());
            self.check_running_sums(index);
        }
    }

    fn sweep(&mut self) {
        let mut swept = 0;
        loop {
            let from = self.swept_to;
            let slice = self.bench.run(move |tx, now| holds::expire_holds(tx, now, from)).unwrap();
            self.swept_to = slice.swept_to;
            if slice.holds == 0 {
                break;
            }
            swept += slice.holds;
        }
        let now = self.now();
        let mut due = 0;
        for transaction in &mut self.transactions {
            let lapsed = transaction.expires_at.is_some_and(|until| until <= now);
            if lapsed && transaction.state == TransactionState::Pending {
                transaction.state = TransactionState::Expired;
                due += 1;
            }
        }
        assert_eq!(swept, due, "holds swept");
    }

    fn patch(
        &mut self,
        account: usize,
        status: Option<AccountStatus>,
        floor: Option<FloorInput>,
    ) -> Result<(), Refusal> {
        let account_id = self.accounts[account].id;
        let command = PatchAccount { tenant_id: TENANT, account_id, name: None, metadata: None, status, floor };
        self.bench.run(|tx, now| accounts::patch_account(tx, now, command)).map(|_| ())
    }

    fn patch_status(&mut self) {
        let account = usize::try_from(self.dice.roll(ACCOUNTS as u64)).unwrap();
        let current = self.accounts[account].status;
        let status = match self.dice.roll(7) {
            0 => AccountStatus::Frozen,
            1 => AccountStatus::Closed,
            _ => AccountStatus::Active,
        };
        let totals = self.totals(account);
        let empty =
            totals.posted_debits == totals.posted_credits && (totals.pending_debits, totals.pending_credits) == (0, 0);
        let expected = match (current, status) {
            (AccountStatus::Closed, AccountStatus::Closed) => None,
            (AccountStatus::Closed, _) => Some("IMMUTABLE_VIOLATION"),
            (_, AccountStatus::Closed) if !empty => Some("CLOSE_REQUIRES_ZERO_BALANCE"),
            _ => None,
        };
        let outcome = self.patch(account, Some(status), None);
        self.note(outcome.as_ref().err().map(|refusal| refusal.verdict().code), expected, "status");
        if outcome.is_ok() {
            self.accounts[account].status = status;
        }
    }

    fn patch_floor(&mut self) {
        let account = usize::try_from(self.dice.roll(ACCOUNTS as u64)).unwrap();
        let floor = match self.dice.roll(4) {
            0 => None,
            _ => Some(i128::from(self.dice.roll(300)) - 250),
        };
        let known = &self.accounts[account];
        let raised = match (known.floor, floor) {
            (Some(old), Some(new)) => new > old,
            (None, Some(_)) => true,
            (_, None) => false,
        };
        let expected = if known.tracking == Tracking::Async && floor.is_some()
            || raised && floor.is_some_and(|floor| floor > self.available(account))
        {
            Some("INVALID_FLOOR")
        } else {
            None
        };
        let outcome = self.patch(account, None, Some(floor.map_or(FloorInput::Unbounded, FloorInput::Minor)));
        self.note(outcome.as_ref().err().map(|refusal| refusal.verdict().code), expected, "floor");
        if outcome.is_ok() {
            self.accounts[account].floor = floor;
        }
    }

    /// What the lines of a transaction that was committed just now say about the sums after it.
    fn check_running_sums(&self, index: usize) {
        let transaction = &self.transactions[index];
        if transaction.state != TransactionState::Committed {
            return;
        }
        let read = self.bench.store.read();
        let touched: BTreeSet<usize> = transaction.legs.iter().map(|(at, _)| *at).collect();
        for account in touched {
            let shelf = if transaction.expires_at.is_some() { Shelf::Committed } else { Shelf::AtOnce };
            let prefix = (self.accounts[account].id, shelf.tag(), transaction.id);
            let lines = read.scan(&LINES, Scan::prefix(&prefix).newest_first().limit(1)).unwrap();
            let after = lines[0].1.posted_after.unwrap();
            let totals = self.totals(account);
            assert_eq!(
                (after.sums.debits, after.sums.credits, after.entries),
                (totals.posted_debits, totals.posted_credits, totals.entries)
            );
        }
    }

    /// What an account's legs added up to at an instant, from scratch.
    fn totals_as_of(&self, account: usize, at: Timestamp, basis: Basis) -> (i128, i128, u64) {
        let mut totals = (0, 0, 0);
        for transaction in &self.transactions {
            let Some(committed_at) = transaction.committed_at else { continue };
            let counted_from = if basis == Basis::Effective { transaction.effective_at } else { committed_at };
            if counted_from > at {
                continue;
            }
            for (_, amount) in transaction.legs.iter().filter(|(known, _)| *known == account) {
                totals.0 += (*amount).max(0);
                totals.1 += (-*amount).max(0);
                totals.2 += 1;
            }
        }
        totals
    }

    fn ask_as_of(&self, account: usize, at: Timestamp, basis: Basis) -> (i128, i128, u64) {
        let read = self.bench.store.read();
        match as_of::balance_as_of(&read, TENANT, self.accounts[account].id, at, basis) {
            Ok(balance) => (balance.posted.sums.debits, balance.posted.sums.credits, balance.posted.entries),
            Err(Abort::Refused(refusal)) => panic!("{refusal:?}"),
            Err(Abort::Failed(failure)) => panic!("{failure}"),
        }
    }

    /// Balances as of instants, on both clocks; and what was told about the past stays true.
    fn audit_the_past(&mut self) {
        for _ in 0..4 {
            let at = self.past_instant();
            let account = usize::try_from(self.dice.roll(ACCOUNTS as u64)).unwrap();
            for basis in Basis::ALL {
                let got = self.ask_as_of(account, at, basis);
                assert_eq!(got, self.totals_as_of(account, at, basis), "account {account} {basis:?} {at:?}");
                if basis == Basis::Recorded && at < self.now() {
                    self.told.push((account, at, got));
                }
            }
            let place = usize::try_from(self.dice.roll(self.told.len().max(1) as u64)).unwrap();
            if let Some((account, at, told)) = self.told.get(place).copied() {
                assert_eq!(self.ask_as_of(account, at, Basis::Recorded), told, "the past has changed");
            }
        }
        for account in 0..ACCOUNTS {
            let totals = self.totals(account);
            let expected = (totals.posted_debits, totals.posted_credits, totals.entries);
            for basis in Basis::ALL {
                assert_eq!(self.ask_as_of(account, self.now(), basis), expected, "account {account} {basis:?} now");
            }
        }
    }

    /// The ledger's proof of itself has no findings, and has looked at everything.
    fn audit_the_proof(&self) {
        let proof = verify(&self.bench.store.read()).unwrap();
        assert_eq!(proof.findings, []);
        let counted = (proof.tenants, proof.accounts, proof.transactions);
        assert_eq!(counted, (1, ACCOUNTS as u64, self.transactions.len() as u64));
    }

    /// The whole store against the auditor's own books.
    fn audit(&self) {
        let read = self.bench.store.read();
        let mut sides = [(0_i128, 0_i128); SCALES.len()];
        for (index, account) in self.accounts.iter().enumerate() {
            let expected = self.totals(index);
            let book = read.get(&BOOKS, &(TENANT, account.id)).unwrap().unwrap();
            let counters = book.counters;
            let got = Totals {
                posted_debits: counters.posted.debits,
                posted_credits: counters.posted.credits,
                pending_debits: counters.pending.debits,
                pending_credits: counters.pending.credits,
                entries: counters.posted_entries,
            };
            assert_eq!(got, expected, "counters of account {index}");
            assert_eq!(book.available(), self.available(index), "available on account {index}");
            assert_eq!((book.status, book.floor), (account.status, account.floor));
            if let Some(floor) = account.floor {
                assert!(book.available() >= floor, "floor of account {index}");
            }
            assert_eq!(self.statement_totals(&read, account.id), expected, "statement of account {index}");
            self.audit_shelves(&read, index, counters.pending_entries);
            sides[account.asset].0 += expected.posted_debits;
            sides[account.asset].1 += expected.posted_credits;
        }
        assert!(sides.iter().all(|(debits, credits)| debits == credits), "debits = credits per asset");
        self.audit_journal(&read);
    }

    /// The lines of an account lie where they should, and the book's count of pending ones is theirs.
    fn audit_shelves(&self, read: &impl Read, account: usize, pending_entries: u64) {
        let on = |shelf: Shelf| read.scan(&LINES, Scan::prefix(&(self.accounts[account].id, shelf.tag()))).unwrap();
        let of = |wanted: &dyn Fn(&AuditedTransaction) -> bool| -> usize {
            let legs = self.transactions.iter().filter(|one| wanted(one)).flat_map(|one| &one.legs);
            legs.filter(|(at, _)| *at == account).count()
        };
        let is_hold = |one: &AuditedTransaction| one.expires_at.is_some();
        let held = |state: TransactionState| of(&|one| is_hold(one) && one.state == state);
        assert_eq!(on(Shelf::AtOnce).len(), of(&|one| !is_hold(one)), "lines committed at once on account {account}");
        assert_eq!(on(Shelf::Held).len(), of(&is_hold), "lines ever held on account {account}");
        for shelf in [Shelf::Committed, Shelf::Pending, Shelf::Voided, Shelf::Expired] {
            let lines = on(shelf);
            let state = TransactionState::ALL.into_iter().find(|state| Shelf::showing(Some(*state)).contains(&shelf));
            assert_eq!(lines.len(), held(state.unwrap()), "{shelf:?} lines of account {account}");
            if shelf == Shelf::Pending {
                assert_eq!(u64::try_from(lines.len()).unwrap(), pending_entries, "pending lines of account {account}");
            }
        }
    }

    fn audit_journal(&self, read: &impl Read) {
        let journal = read.scan(&TRANSACTIONS, Scan::all()).unwrap();
        assert_eq!(journal.len(), self.transactions.len(), "transactions in the journal");
        for (((tenant_id, id), row), expected) in journal.iter().zip(&self.transactions) {
            assert_eq!((*tenant_id, *id, row.state()), (TENANT, expected.id, expected.state));
            let legs: Vec<(AccountId, i128)> = row.legs.iter().map(|leg| (leg.account_id, leg.signed_minor)).collect();
            let wanted: Vec<(AccountId, i128)> =
                expected.legs.iter().map(|(at, amount)| (self.accounts[*at].id, *amount)).collect();
            assert_eq!(legs, wanted);
            assert_eq!(row.finalized_at().is_none(), expected.state == TransactionState::Pending);
        }
        let pending = |transaction: &&AuditedTransaction| transaction.state == TransactionState::Pending;
        let due: BTreeSet<TransactionId> = self.transactions.iter().filter(pending).map(|held| held.id).collect();
        let holds = read.scan(&HOLDS, Scan::all()).unwrap();
        assert_eq!(holds.iter().map(|((_, _, id), _)| *id).collect::<BTreeSet<_>>(), due, "holds waiting to lapse");
        let named = self.transactions.iter().filter(|transaction| transaction.external_id.is_some()).count();
        assert_eq!(read.scan(&EXTERNAL_IDS, Scan::all()).unwrap().len(), named);
    }

    /// The statement read through its pages, each state alone and all together.
    fn statement_totals(&self, read: &impl Read, account_id: AccountId) -> Totals {
        let mut totals = Totals::default();
        let mut by_state = 0;
        for state in TransactionState::ALL.map(Some) {
            for entry in pages(read, account_id, state) {
                assert_eq!(Some(entry.state), state);
                by_state += 1;
                let (side, minor) = (entry.direction, entry.minor);
                match (entry.state, side) {
                    (TransactionState::Committed, Side::Debit) => totals.posted_debits += minor,
                    (TransactionState::Committed, Side::Credit) => totals.posted_credits += minor,
                    (TransactionState::Pending, Side::Debit) => totals.pending_debits += minor,
                    (TransactionState::Pending, Side::Credit) => totals.pending_credits += minor,
                    (TransactionState::Voided | TransactionState::Expired, _) => {}
                }
                totals.entries += u64::from(entry.state == TransactionState::Committed);
            }
        }
        let all = pages(read, account_id, None);
        assert_eq!(all.len(), by_state, "the unfiltered statement has every entry once");
        let order: Vec<_> = all.iter().map(|entry| (entry.transaction_id, entry.line_no)).collect();
        assert!(order.is_sorted_by(|left, right| left > right), "newest first");
        for entry in &all {
            let transaction = self.transactions.iter().find(|known| known.id == entry.transaction_id).unwrap();
            let leg = transaction.legs[usize::from(entry.line_no) - 1];
            assert_eq!((entry.direction, entry.minor), unsigned(leg.1));
        }
        totals
    }
}

fn pages(read: &impl Read, account_id: AccountId, state: Option<TransactionState>) -> Vec<statement::Entry> {
    let mut query = StatementQuery { tenant_id: TENANT, account_id, state, after: None, limit: 7 };
    let mut entries = Vec::new();
    loop {
        let (page, more) = match statement::list_entries(read, query) {
            Ok(page) => page,
            Err(Abort::Refused(refusal)) => panic!("{refusal:?}"),
            Err(Abort::Failed(failure)) => panic!("{failure}"),
        };
        query.after = page.last().map(|entry| (entry.transaction_id, entry.line_no));
        entries.extend(page);
        if !more {
            return entries;
        }
    }
}
