//! The ledger's rules as scripts: one line for each command and the answer it must give.
//!
//! A line is `command => answer`. Commands:
//!
//! ```text
//! asset CODE KIND SCALE
//! account NAME ASSET SIDE [floor=TEXT|none] [async]
//! patch NAME [name=TEXT] [status=STATUS] [floor=TEXT|none]
//! post [as=NAME] [external=ID] [effective=SECONDS_FROM_NOW] ENTRY...      ENTRY is account:D:amount or account:C:amount
//! hold SECONDS [as=NAME] [external=ID] ENTRY...
//! commit NAME · void NAME · advance SECONDS · sweep
//! balance NAME                answers posted debits/credits, pending debits/credits, available
//! entries NAME [STATE]        answers side, amount and state of each line, newest first
//! show NAME                   answers an account's status and floor
//! ```

use std::collections::BTreeMap;
use std::time::Instant;

use quintet_platform::service::ServiceRefusal as _;
use quintet_storage::{Abort, Read, Timestamp, Uuid, WriteTx};

use crate::accounts::{self, CreateAccount, FloorInput, PatchAccount};
use crate::asset_types::{self, CreateAssetType};
use crate::balance;
use crate::holds::{self, FIRST_EXPIRY, SettleHold, Swept};
use crate::model::{
    AccountId, AccountStatus, AssetTypeId, Kind, NAME_CHARS_MAX, Side, TenantId, Tracking, TransactionId,
    TransactionState,
};
use crate::money::{Amount, format_minor};
use crate::posting::{self, NewEntry, PostTransaction};
use crate::refusal::Refusal;
use crate::statement::{self, StatementQuery};
use crate::testing::{Bench, bench};

struct World {
    bench: Bench,
    tenant_id: TenantId,
    assets: BTreeMap<String, AssetTypeId>,
    accounts: BTreeMap<String, AccountId>,
    transactions: BTreeMap<String, TransactionId>,
}

fn check(script: &str) {
    let mut world = World::open();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (command, expected) = line.split_once("=>").unwrap_or((line, "ok"));
        let got = world.answer(command.trim());
        assert_eq!(got, expected.trim(), "{line}");
    }
}

fn option<'a>(words: &[&'a str], name: &str) -> Option<&'a str> {
    words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

fn floor(text: &str) -> FloorInput {
    match text {
        "none" => FloorInput::Unbounded,
        text => FloorInput::Decimal(Amount::parse_signed(text).unwrap()),
    }
}

impl World {
    fn open() -> World {
        World {
            bench: bench(),
            tenant_id: TenantId(Uuid::from_u128(1)),
            assets: BTreeMap::new(),
            accounts: BTreeMap::new(),
            transactions: BTreeMap::new(),
        }
    }

    /// Places so many holds from one account to another and voids them, in a few large transactions.
    fn hold_and_void(&self, from: &str, to: &str, holds: usize) {
        let (tenant_id, from, to) = (self.tenant_id, self.named(from), self.named(to));
        let hold_until = Some(self.bench.now().plus_seconds(600));
        let amount = Amount::parse("1.00").unwrap();
        let mut left = holds;
        while left > 0 {
            let count = left.min(500);
            left -= count;
            let place = move |tx: &mut WriteTx<'_>, now| {
                let place_one = |_| {
                    let entries = [(from, Side::Debit), (to, Side::Credit)]
                        .map(|(account_id, direction)| NewEntry { account_id, direction, amount })
                        .to_vec();
                    let command = PostTransaction {
                        tenant_id,
                        description: None,
                        external_id: None,
                        metadata: None,
                        effective_at: None,
                        hold_until,
                        entries,
                    };
                    Ok(posting::post_transaction(tx, now, command)?.transaction_id)
                };
                (0..count).map(place_one).collect::<Result<Vec<_>, Abort<Refusal>>>()
            };
            let placed = self.bench.run(place).unwrap();
            let settle = move |tx: &mut WriteTx<'_>, now| {
                for transaction_id in placed {
                    holds::void_hold(tx, now, SettleHold { tenant_id, transaction_id })?;
                }
                Ok(())
            };
            self.bench.run(settle).unwrap();
        }
    }

    fn answer(&mut self, command: &str) -> String {
        let words: Vec<&str> = command.split_whitespace().collect();
        let answer = match words[0] {
            "asset" => self.asset(&words),
            "account" => self.account(&words),
            "patch" => self.patch(&words),
            "post" => self.post(&words, None),
            "hold" => {
                let seconds = words[1].parse().unwrap();
                self.post(&words, Some(seconds))
            }
            "commit" | "void" => self.settle(&words),
            "advance" => {
                self.bench.clock.advance(words[1].parse().unwrap());
                Ok("ok".to_owned())
            }
            "sweep" => self
                .bench
                .run(|tx, now| holds::expire_holds(tx, now, FIRST_EXPIRY))
                .map(|swept| swept.holds.to_string()),
            "balance" => self.balance(&words),
            "entries" => self.entries(&words),
            "show" => self.show(&words),
            other => panic!("unknown command {other}"),
        };
        answer.unwrap_or_else(|refusal| refusal.verdict().code.to_owned())
    }

    fn named(&self, name: &str) -> AccountId {
        self.accounts.get(name).copied().unwrap_or(AccountId(Uuid::from_u128(404)))
    }

    fn asset(&mut self, words: &[&str]) -> Result<String, Refusal> {
        let command = CreateAssetType {
            tenant_id: self.tenant_id,
            code: words[1].to_owned(),
            kind: Kind::parse(words[2]).unwrap(),
            scale: words[3].parse().unwrap(),
        };
        let made = self.bench.run(|tx, now| asset_types::create_asset_type(tx, now, command))?;
        self.assets.insert(made.row.code, made.asset_type_id);
        Ok("ok".to_owned())
    }

    fn account(&mut self, words: &[&str]) -> Result<String, Refusal> {
        let command = CreateAccount {
            tenant_id: self.tenant_id,
            asset_type_id: self.assets.get(words[2]).copied().unwrap_or(AssetTypeId(Uuid::from_u128(404))),
            name: words[1].to_owned(),
            normal_side: Side::parse(words[3]).unwrap(),
            tracking: if words.contains(&"async") { Tracking::Async } else { Tracking::Sync },
            floor: option(words, "floor").map(floor),
            metadata: None,
        };
        let made = self.bench.run(|tx, now| accounts::create_account(tx, now, command))?;
        self.accounts.insert(words[1].to_owned(), made.account_id);
        Ok("ok".to_owned())
    }

    fn patch(&mut self, words: &[&str]) -> Result<String, Refusal> {
        let command = PatchAccount {
            tenant_id: self.tenant_id,
            account_id: self.named(words[1]),
            name: option(words, "name").map(str::to_owned),
            metadata: None,
            status: option(words, "status").map(|status| AccountStatus::parse(status).unwrap()),
            floor: option(words, "floor").map(floor),
        };
        self.bench.run(|tx, now| accounts::patch_account(tx, now, command)).map(|_| "ok".to_owned())
    }

    fn post(&mut self, words: &[&str], hold_seconds: Option<i64>) -> Result<String, Refusal> {
        let now = self.bench.now();
        let entries = words.iter().filter(|word| word.contains(':')).map(|word| {
            let parts: Vec<&str> = word.split(':').collect();
            let direction = if parts[1] == "D" { Side::Debit } else { Side::Credit };
            NewEntry { account_id: self.named(parts[0]), direction, amount: Amount::parse(parts[2]).unwrap() }
        });
        let command = PostTransaction {
            tenant_id: self.tenant_id,
            description: None,
            external_id: option(words, "external").map(str::to_owned),
            metadata: None,
            effective_at: option(words, "effective").map(|seconds| now.plus_seconds(seconds.parse().unwrap())),
            hold_until: hold_seconds.map(|seconds| now.plus_seconds(seconds)),
            entries: entries.collect(),
        };
        let posted = self.bench.run(|tx, now| posting::post_transaction(tx, now, command))?;
        if let Some(name) = option(words, "as") {
            self.transactions.insert(name.to_owned(), posted.transaction_id);
        }
        let mut answer = posted.state.as_str().to_owned();
        for available in posted.available {
            let name = self.accounts.iter().find(|(_, id)| **id == available.account_id).unwrap().0;
            answer += &format!(" {name}={}", format_minor(available.minor, available.scale));
        }
        Ok(answer)
    }

    fn settle(&self, words: &[&str]) -> Result<String, Refusal> {
        let transaction_id = self.transactions.get(words[1]).copied().unwrap_or(TransactionId(Uuid::from_u128(404)));
        let command = SettleHold { tenant_id: self.tenant_id, transaction_id };
        let verb = if words[0] == "commit" { holds::commit_hold } else { holds::void_hold };
        let settled = self.bench.run(move |tx, now| verb(tx, now, command))?;
        let read = posting::get_transaction(&self.bench.store.read(), self.tenant_id, transaction_id).unwrap();
        assert_eq!((read.row.state(), read.row.finalized_at()), (settled.state, Some(settled.finalized_at)));
        Ok(settled.state.as_str().to_owned())
    }

    fn balance(&self, words: &[&str]) -> Result<String, Refusal> {
        let book = refused(balance::get_balance(&self.bench.store.read(), self.tenant_id, self.named(words[1])))?;
        let money = |minor| format_minor(minor, book.scale);
        let (posted, pending) = (book.counters.posted, book.counters.pending);
        Ok(format!(
            "{}/{} {}/{} {}",
            money(posted.debits),
            money(posted.credits),
            money(pending.debits),
            money(pending.credits),
            money(book.available())
        ))
    }

    fn entries(&self, words: &[&str]) -> Result<String, Refusal> {
        let mut query = StatementQuery {
            tenant_id: self.tenant_id,
            account_id: self.named(words[1]),
            state: words.get(2).map(|state| TransactionState::parse(state).unwrap()),
            after: None,
            limit: 2,
        };
        let mut lines = Vec::new();
        loop {
            let (page, more) = refused(statement::list_entries(&self.bench.store.read(), query))?;
            lines.extend(page.iter().map(|entry| {
                let side = if entry.direction == Side::Debit { "D" } else { "C" };
                format!("{side}{} {}", format_minor(entry.minor, entry.scale), entry.state.as_str())
            }));
            query.after = page.last().map(|entry| (entry.transaction_id, entry.line_no));
            if !more {
                return Ok(lines.join(", "));
            }
        }
    }

    fn show(&self, words: &[&str]) -> Result<String, Refusal> {
        let account = refused(accounts::get_account(&self.bench.store.read(), self.tenant_id, self.named(words[1])))?;
        let floor = account.book.floor.map_or("none".to_owned(), |minor| format_minor(minor, account.book.scale));
        Ok(format!("{} {} {floor}", account.profile.name, account.book.status.as_str()))
    }
}

fn refused<T>(outcome: Result<T, Abort<Refusal>>) -> Result<T, Refusal> {
    match outcome {
        Ok(value) => Ok(value),
        Err(Abort::Refused(refusal)) => Err(refusal),
        Err(Abort::Failed(failure)) => panic!("the store failed: {failure}"),
    }
}

#[test]
fn asset_types() {
    check(
        "
        asset EUR fiat 2
        asset EUR fiat 2            => CONSTRAINT_VIOLATION
        asset eur credit 0
        asset BTC inventory 12
        asset XXX fiat 13           => INVALID_ASSET_TYPE
        ",
    );
    check(&format!("asset {} fiat 2 => ok", "ü".repeat(NAME_CHARS_MAX)));
    check(&format!("asset {} fiat 2 => INVALID_ASSET_TYPE", "x".repeat(NAME_CHARS_MAX + 1)));
}

#[test]
fn accounts_and_their_floors() {
    check(
        "
        asset EUR fiat 2
        account a EUR credit
        show a                                  => a active 0.00
        account b EUR debit floor=none
        show b                                  => b active none
        account c EUR credit floor=-100.00
        show c                                  => c active -100.00
        account d EUR credit floor=0.001        => INVALID_FLOOR
        account f EUR credit async
        show f                                  => f active none
        account g EUR credit async floor=0.00   => INVALID_FLOOR
        account h EUR credit async floor=none
        account i USD credit                    => ASSET_TYPE_NOT_FOUND
        show nobody                             => ACCOUNT_NOT_FOUND
        patch nobody name=x                     => ACCOUNT_NOT_FOUND

        post b:D:50.00 a:C:50.00                => committed b=50.00 a=50.00
        patch a floor=50.00
        patch a floor=50.01                     => INVALID_FLOOR
        show a                                  => a active 50.00
        post a:D:0.01 b:C:0.01                  => INSUFFICIENT_AVAILABLE
        patch a floor=-10.00
        post a:D:60.00 b:C:60.00                => committed a=-10.00 b=-10.00
        post a:D:0.01 b:C:0.01                  => INSUFFICIENT_AVAILABLE
        patch a floor=none
        post a:D:0.01 b:C:0.01                  => committed a=-10.01 b=-10.01
        patch a floor=-10.00                    => INVALID_FLOOR
        patch a floor=-10.01
        patch f floor=0.00                      => INVALID_FLOOR
        patch f floor=none
        # what is held counts as gone
        account j EUR credit
        post b:D:10.00 j:C:10.00                => committed b=-0.01 j=10.00
        hold 60 j:D:4.00 b:C:4.00               => pending j=6.00 b=-4.01
        patch j floor=6.01                      => INVALID_FLOOR
        patch j floor=6.00
        # a floor above zero from the start can fill up, and holds from there
        account k EUR credit floor=5.00
        post b:D:3.00 k:C:3.00                  => committed b=-1.01 k=3.00
        post k:D:0.01 b:C:0.01                  => INSUFFICIENT_AVAILABLE
        post b:D:3.00 k:C:3.00                  => committed b=1.99 k=6.00
        post k:D:1.00 b:C:1.00                  => committed k=5.00 b=0.99
        post k:D:0.01 b:C:0.01                  => INSUFFICIENT_AVAILABLE
        ",
    );
}

#[test]
fn balanced_postings() {
    check(
        "
        asset EUR fiat 2
        asset PTS credit 0
        account cash EUR debit floor=none
        account alice EUR credit
        account bob EUR credit
        account bank PTS debit floor=none
        account points PTS credit

        post cash:D:100.00 alice:C:100.00           => committed cash=100.00 alice=100.00
        balance alice                               => 0.00/100.00 0.00/0.00 100.00
        balance cash                                => 100.00/0.00 0.00/0.00 100.00
        post cash:D:1.00                            => ENTRY_COUNT_OUT_OF_RANGE
        post cash:D:1.00 alice:D:1.00               => UNBALANCED_TRANSACTION
        post cash:D:1.00 alice:C:0.99               => UNBALANCED_TRANSACTION
        post cash:D:1.00 points:C:1                 => UNBALANCED_TRANSACTION
        post cash:D:1.00 alice:C:1.00 bank:D:5 points:C:5 => committed cash=101.00 alice=101.00 bank=5 points=5
        post cash:D:1.00 alice:C:1.00 bank:D:5 points:C:6 => UNBALANCED_TRANSACTION
        post cash:D:1.000 alice:C:1.000             => INVALID_AMOUNT_SCALE
        post bank:D:1.0 points:C:1                  => INVALID_AMOUNT_SCALE
        post cash:D:1 alice:C:1.0                   => committed cash=102.00 alice=102.00
        post cash:D:1.00 ghost:C:1.00               => REFERENCE_NOT_FOUND
        post alice:D:102.01 bob:C:102.01            => INSUFFICIENT_AVAILABLE
        post alice:D:102.00 bob:C:102.00            => committed alice=0.00 bob=102.00
        balance alice                               => 102.00/102.00 0.00/0.00 0.00

        # entries are summed per account and the floor is tested on the net alone
        post alice:D:5.00 bob:C:5.00 bob:D:5.00 alice:C:5.00 => committed alice=0.00 bob=102.00
        post alice:D:7.00 cash:C:7.00 bob:D:7.00 alice:C:7.00 => committed alice=0.00 cash=95.00 bob=95.00
        post alice:D:7.01 cash:C:7.00 bob:D:6.99 alice:C:7.00 => INSUFFICIENT_AVAILABLE

        balance points                              => 0/5 0/0 5
        entries points                              => C5 committed
        entries alice => C7.00 committed, D7.00 committed, C5.00 committed, D5.00 committed, D102.00 committed, \
                         C1.00 committed, C1.00 committed, C100.00 committed
        "
        .replace("\\\n", " ")
        .as_str(),
    );
}

#[test]
fn external_ids_are_unique() {
    check(
        "
        asset EUR fiat 2
        account cash EUR debit floor=none
        account alice EUR credit
        post external=o-1 cash:D:1.00 alice:C:2.00  => UNBALANCED_TRANSACTION
        post external=o-1 cash:D:1.00 alice:C:1.00  => committed cash=1.00 alice=1.00
        post external=o-1 cash:D:1.00 alice:C:1.00  => DUPLICATE_TRANSACTION
        hold 60 external=o-1 cash:D:1.00 alice:C:1.00 => DUPLICATE_TRANSACTION
        hold 60 as=h external=o-2 cash:D:1.00 alice:C:1.00 => pending cash=1.00 alice=1.00
        void h                                      => voided
        post external=o-2 cash:D:1.00 alice:C:1.00  => DUPLICATE_TRANSACTION
        post external=O-2 cash:D:1.00 alice:C:1.00  => committed cash=2.00 alice=2.00
        ",
    );
}

#[test]
fn instants() {
    check(
        "
        asset EUR fiat 2
        account cash EUR debit floor=none
        account alice EUR credit
        post effective=1 cash:D:1.00 alice:C:1.00   => INVALID_EFFECTIVE_AT
        post effective=0 cash:D:1.00 alice:C:1.00   => committed cash=1.00 alice=1.00
        post effective=-86400 cash:D:1.00 alice:C:1.00 => committed cash=2.00 alice=2.00
        hold 0 cash:D:1.00 alice:C:1.00             => INVALID_EXPIRES_AT
        hold -5 cash:D:1.00 alice:C:1.00            => INVALID_EXPIRES_AT
        hold 1 effective=1 cash:D:1.00 alice:C:1.00 => INVALID_EFFECTIVE_AT
        ",
    );
}

#[test]
fn holds_take_the_contra_side_without_netting() {
    check(
        "
        asset EUR fiat 2
        account cash EUR debit floor=none
        account alice EUR credit
        account bob EUR credit
        post cash:D:100.00 alice:C:100.00           => committed cash=100.00 alice=100.00
        hold 60 as=h alice:D:30.00 bob:C:30.00      => pending alice=70.00 bob=0.00
        balance alice                               => 0.00/100.00 30.00/0.00 70.00
        balance bob                                 => 0.00/0.00 0.00/30.00 0.00
        post bob:D:1.00 cash:C:1.00                 => INSUFFICIENT_AVAILABLE
        hold 60 alice:D:70.01 bob:C:70.01           => INSUFFICIENT_AVAILABLE
        # both legs on one account: what goes out is held in full, what comes in does not help
        hold 60 as=n alice:D:70.00 alice:C:70.00    => pending alice=0.00
        post alice:D:0.01 bob:C:0.01                => INSUFFICIENT_AVAILABLE
        void n                                      => voided
        hold 60 alice:D:71.00 alice:C:71.00         => INSUFFICIENT_AVAILABLE
        commit h                                    => committed
        balance alice                               => 30.00/100.00 0.00/0.00 70.00
        balance bob                                 => 0.00/30.00 0.00/0.00 30.00
        commit h                                    => INVALID_TRANSACTION_STATE
        void h                                      => INVALID_TRANSACTION_STATE
        commit n                                    => INVALID_TRANSACTION_STATE
        void n                                      => INVALID_TRANSACTION_STATE
        commit ghost                                => TRANSACTION_NOT_FOUND
        void ghost                                  => TRANSACTION_NOT_FOUND
        post as=p cash:D:1.00 alice:C:1.00          => committed cash=101.00 alice=71.00
        commit p                                    => INVALID_TRANSACTION_STATE
        void p                                      => INVALID_TRANSACTION_STATE
        entries alice                               => C1.00 committed, C70.00 voided, D70.00 voided, D30.00 committed, C100.00 committed
        entries alice voided                        => C70.00 voided, D70.00 voided
        entries alice pending                       =>
        entries alice committed                     => C1.00 committed, D30.00 committed, C100.00 committed
        ",
    );
}

#[test]
fn holds_expire() {
    check(
        "
        asset EUR fiat 2
        account cash EUR debit floor=none
        account alice EUR credit
        post cash:D:100.00 alice:C:100.00           => committed cash=100.00 alice=100.00
        hold 60 as=h alice:D:30.00 cash:C:30.00     => pending alice=70.00 cash=70.00
        hold 61 as=i alice:D:20.00 cash:C:20.00     => pending alice=50.00 cash=50.00
        sweep                                       => 0
        advance 59
        sweep                                       => 0
        advance 1
        # due but not swept: the hold is gone for callers already
        commit h                                    => HOLD_EXPIRED
        void h                                      => INVALID_TRANSACTION_STATE
        balance alice                               => 0.00/100.00 50.00/0.00 50.00
        sweep                                       => 1
        balance alice                               => 0.00/100.00 20.00/0.00 80.00
        commit h                                    => HOLD_EXPIRED
        void h                                      => INVALID_TRANSACTION_STATE
        entries alice expired                       => D30.00 expired
        commit i                                    => committed
        advance 60
        sweep                                       => 0
        balance alice                               => 20.00/100.00 0.00/0.00 80.00
        ",
    );
}

#[test]
fn frozen_and_closed_accounts() {
    check(
        "
        asset EUR fiat 2
        account cash EUR debit floor=none
        account alice EUR credit
        account bob EUR credit
        post cash:D:100.00 alice:C:100.00           => committed cash=100.00 alice=100.00
        hold 60 as=h alice:D:30.00 cash:C:30.00     => pending alice=70.00 cash=70.00
        hold 60 as=i alice:D:10.00 cash:C:10.00     => pending alice=60.00 cash=60.00
        hold 60 as=j alice:D:5.00 cash:C:5.00       => pending alice=55.00 cash=55.00
        patch alice status=frozen
        post cash:D:1.00 alice:C:1.00               => ACCOUNT_NOT_ACTIVE
        hold 60 cash:D:1.00 alice:C:1.00            => ACCOUNT_NOT_ACTIVE
        commit h                                    => ACCOUNT_NOT_ACTIVE
        void i                                      => voided
        balance alice                               => 0.00/100.00 35.00/0.00 65.00
        patch alice status=active
        commit h                                    => committed
        patch alice status=frozen
        patch alice status=frozen
        advance 60
        commit j                                    => HOLD_EXPIRED
        sweep                                       => 1
        balance alice                               => 30.00/100.00 0.00/0.00 70.00
        patch alice status=closed                   => CLOSE_REQUIRES_ZERO_BALANCE
        patch alice status=active
        post alice:D:70.00 bob:C:70.00              => committed alice=0.00 bob=70.00
        hold 60 as=k bob:D:1.00 alice:C:1.00        => pending bob=69.00 alice=0.00
        # pending amounts stand in the way of closing, incoming ones too
        patch alice status=closed                   => CLOSE_REQUIRES_ZERO_BALANCE
        void k                                      => voided
        patch alice status=frozen
        patch alice status=closed
        show alice                                  => alice closed 0.00
        patch alice status=closed
        patch alice status=active                   => IMMUTABLE_VIOLATION
        patch alice status=frozen                   => IMMUTABLE_VIOLATION
        post cash:D:1.00 alice:C:1.00               => ACCOUNT_NOT_ACTIVE
        patch alice name=former
        show alice                                  => former closed 0.00
        # all of a change or nothing
        patch bob name=robert status=closed         => CLOSE_REQUIRES_ZERO_BALANCE
        show bob                                    => bob active 0.00
        ",
    );
}

#[test]
fn async_accounts_have_no_floor_and_no_balance_in_the_answer() {
    check(
        "
        asset EUR fiat 2
        account pool EUR credit async
        account alice EUR credit
        post pool:D:5.00 alice:C:5.00               => committed alice=5.00
        balance pool                                => 5.00/0.00 0.00/0.00 -5.00
        hold 60 as=h pool:D:5.00 alice:C:5.00       => pending alice=5.00
        balance pool                                => 5.00/0.00 5.00/0.00 -10.00
        commit h                                    => committed
        entries pool                                => D5.00 committed, D5.00 committed
        patch pool status=closed                    => CLOSE_REQUIRES_ZERO_BALANCE
        ",
    );
}

#[test]
fn counters_stop_at_their_range() {
    // A quarter of 2^127 is about 4.25e37 minor units; at scale 10 an amount can reach 1e38.
    let most = "9999999999999999999999999999";
    check(&format!(
        "
        asset BIG inventory 9
        account a BIG debit floor=none
        account b BIG credit floor=none
        post a:D:{most} b:C:{most}                  => committed a={most}.000000000 b={most}.000000000
        post a:D:{most} b:C:{most}                  => committed a=19999999999999999999999999998.000000000 b=19999999999999999999999999998.000000000
        post a:D:{most} b:C:{most}                  => committed a=29999999999999999999999999997.000000000 b=29999999999999999999999999997.000000000
        post a:D:{most} b:C:{most}                  => committed a=39999999999999999999999999996.000000000 b=39999999999999999999999999996.000000000
        post a:D:{most} b:C:{most}                  => CONSTRAINT_VIOLATION
        hold 60 a:D:{most} b:C:{most}               => CONSTRAINT_VIOLATION
        hold 60 a:C:{most} b:D:{most}               => pending a=29999999999999999999999999997.000000000 b=29999999999999999999999999997.000000000
        asset HUGE inventory 10
        account c HUGE debit floor=none
        account d HUGE credit floor=none
        post c:D:{most} d:C:{most}                  => CONSTRAINT_VIOLATION
        "
    ));
}

#[test]
fn balanced_is_balanced_however_large() {
    // 4.2e37 minor units each: a fifth of them passes 2^127, and no counter holds two.
    let debits: String = (1..=5).map(|n| format!(" d{n}:D:4200000000000000000000000000")).collect();
    let credits: String = (1..=5).map(|n| format!(" c{n}:C:4200000000000000000000000000")).collect();
    let less = credits.replace("c5:C:4200000000000000000000000000", "c5:C:4199999999999999999999999999");
    let open: String =
        (1..=5).map(|n| format!("account d{n} HUGE debit floor=none\naccount c{n} HUGE credit\n")).collect();
    let moved: String = ["d", "c"]
        .iter()
        .flat_map(|side| {
            (1..=5).map(move |n| format!(" {side}{n}={}.{}", "42".to_owned() + &"0".repeat(26), "0".repeat(10)))
        })
        .collect();
    check(&format!(
        "
        asset HUGE inventory 10
        {open}
        post{debits}{less}                          => UNBALANCED_TRANSACTION
        post{credits}{}                             => UNBALANCED_TRANSACTION
        post{debits}{credits}                       => committed{moved}
        post{debits}{credits}                       => CONSTRAINT_VIOLATION
        post d1:C:1 c1:D:1                          => committed d1=4199999999999999999999999999.0000000000 c1=4199999999999999999999999999.0000000000
        ",
        debits.replace("d5:D:4200000000000000000000000000", "d5:D:4199999999999999999999999999"),
    ));
}

#[test]
fn the_sweep_looks_on_where_it_ended() {
    let mut world = World::open();
    for line in ["asset EUR fiat 2", "account a EUR debit floor=none", "account b EUR credit floor=none"] {
        assert_eq!(world.answer(line), "ok");
    }
    // More lapse at one instant than one transaction releases.
    for _ in 0..250 {
        world.answer("hold 60 a:D:1.00 b:C:1.00");
    }
    world.answer("hold 61 a:D:1.00 b:C:1.00");
    world.bench.clock.advance(60);
    let sweep = |from| world.bench.run(move |tx, now| holds::expire_holds(tx, now, from)).unwrap();
    let now = world.bench.now();
    let (mut from, mut released) = (FIRST_EXPIRY, Vec::new());
    loop {
        let Swept { holds, swept_to } = sweep(from);
        assert!(swept_to > from);
        from = swept_to;
        released.push(holds);
        if holds == 0 {
            break;
        }
    }
    assert_eq!(released, [100, 100, 50, 0]);
    assert!(from.0 > now && from.0 < now.plus_seconds(1), "everything that lapses up to now is released");
    let due = holds::next_hold_expiry(&world.bench.store.read(), from).unwrap();
    assert_eq!(due, Some(now.plus_seconds(1)));
    // What lies before is not looked at again.
    world.bench.clock.advance(1);
    let behind = (now.plus_seconds(2), from.1, from.2);
    assert_eq!(sweep(behind).holds, 0);
    assert_eq!(sweep(from).holds, 1);
}

/// An account's list ends early where its records grow large, and no account is lost.
#[test]
fn a_page_of_large_accounts_ends_early() {
    let mut world = World::open();
    world.answer("asset EUR fiat 2");
    let (tenant_id, asset_type_id) = (world.tenant_id, world.assets["EUR"]);
    let open = move |tx: &mut WriteTx<'_>, now| {
        let open_one = |_| {
            let command = CreateAccount {
                tenant_id,
                asset_type_id,
                name: "large".into(),
                normal_side: Side::Debit,
                tracking: Tracking::Sync,
                floor: None,
                metadata: Some(format!(r#"{{"k":"{}"}}"#, "x".repeat(16_000))),
            };
            Ok(accounts::create_account(tx, now, command)?.account_id)
        };
        (0..30).map(open_one).collect::<Result<Vec<_>, Abort<Refusal>>>()
    };
    let mut opened: Vec<AccountId> = (0..5).flat_map(|_| world.bench.run(open).unwrap()).collect();
    opened.reverse();
    for small in 0..5 {
        world.answer(&format!("account small{small} EUR debit"));
        opened.insert(0, world.named(&format!("small{small}")));
    }
    let read = world.bench.store.read();
    let (mut listed, mut pages, mut after) = (Vec::new(), Vec::new(), None);
    loop {
        let (page, more) = refused(accounts::list_accounts(&read, tenant_id, after, 1000)).unwrap();
        pages.push(page.len());
        listed.extend(page.iter().map(|account| account.account_id));
        after = listed.last().copied();
        if !more {
            break;
        }
    }
    assert_eq!(listed, opened);
    assert_eq!(pages, [69, 64, 22], "one mebibyte is 64 large accounts, whatever fits before");
    // Where records are small, the limit alone counts, across the slices in which they are read.
    for limit in [1, 63, 64, 65, 154, 155, 156] {
        let (page, more) = refused(accounts::list_accounts(&read, tenant_id, None, limit)).unwrap();
        assert_eq!((page.len(), more), (limit.min(69), true), "limit {limit}");
    }
}

#[test]
fn a_hundred_entries_and_no_more() {
    let entries =
        |count: usize| (0..count).map(|n| if n % 2 == 0 { " a:D:1.00" } else { " b:C:1.00" }).collect::<String>();
    check(&format!(
        "
        asset EUR fiat 2
        account a EUR debit floor=none
        account b EUR credit
        post {}                                     => committed a=50.00 b=50.00
        hold 60 as=h {}                             => pending a=50.00 b=50.00
        post {}                                     => ENTRY_COUNT_OUT_OF_RANGE
        commit h                                    => committed
        balance b                                   => 0.00/100.00 0.00/0.00 100.00
        ",
        entries(100),
        entries(100),
        entries(102),
    ));
}

#[test]
fn another_tenants_records_are_absent() {
    let bench = bench();
    let (ours, theirs) = (TenantId(Uuid::from_u128(1)), TenantId(Uuid::from_u128(2)));
    let asset = bench
        .run(move |tx, now| {
            let command = CreateAssetType { tenant_id: ours, code: "EUR".into(), kind: Kind::Fiat, scale: 2 };
            asset_types::create_asset_type(tx, now, command)
        })
        .unwrap();
    let account = move |tenant_id| CreateAccount {
        tenant_id,
        asset_type_id: asset.asset_type_id,
        name: "a".into(),
        normal_side: Side::Debit,
        tracking: Tracking::Sync,
        floor: Some(FloorInput::Unbounded),
        metadata: None,
    };
    let refused_account = bench.run(move |tx, now| accounts::create_account(tx, now, account(theirs)));
    assert_eq!(refused_account, Err(Refusal::AssetTypeNotFound));
    let a = bench.run(move |tx, now| accounts::create_account(tx, now, account(ours))).unwrap().account_id;
    let b = bench.run(move |tx, now| accounts::create_account(tx, now, account(ours))).unwrap().account_id;
    let post = move |tenant_id| PostTransaction {
        tenant_id,
        description: None,
        external_id: None,
        metadata: None,
        effective_at: None,
        hold_until: None,
        entries: [(a, Side::Debit), (b, Side::Credit)]
            .map(|(account_id, direction)| NewEntry { account_id, direction, amount: Amount::parse("1").unwrap() })
            .to_vec(),
    };
    let refused_post = bench.run(move |tx, now| posting::post_transaction(tx, now, post(theirs)));
    assert!(matches!(refused_post, Err(Refusal::ReferenceNotFound { .. })));
    let posted = bench.run(move |tx, now| posting::post_transaction(tx, now, post(ours))).unwrap();
    let read = bench.store.read();
    assert!(posting::get_transaction(&read, ours, posted.transaction_id).is_ok());
    let absent = Err(Abort::Refused(Refusal::TransactionNotFound));
    assert_eq!(posting::get_transaction(&read, theirs, posted.transaction_id), absent);
    assert!(balance::get_balance(&read, theirs, a).is_err());
    let query = StatementQuery { tenant_id: theirs, account_id: a, state: None, after: None, limit: 10 };
    assert_eq!(statement::list_entries(&read, query), Err(Abort::Refused(Refusal::AccountNotFound)));
    assert_eq!(asset_types::list_asset_types(&read, theirs), Ok(Vec::new()));
    assert_eq!(accounts::list_accounts(&read, theirs, None, 10), Ok((Vec::new(), false)));
}

#[test]
fn entry_ids_are_distinct_and_time_ordered_uuids() {
    let entry = |transaction: u128, line_no| statement::Entry {
        transaction_id: TransactionId(Uuid::from_u128(transaction)),
        line_no,
        account_id: AccountId(Uuid::nil()),
        direction: Side::Debit,
        minor: 1,
        scale: 0,
        created_at: Timestamp::EPOCH,
        state: TransactionState::Committed,
        finalized_at: None,
    };
    let base = 0x0190_0000_0000_7123_8000_0000_0000_0000_u128;
    let mut seen = std::collections::BTreeSet::new();
    for step in 0..1000 {
        for line_no in 1..=100 {
            let id = entry(base + step, line_no).id();
            assert_eq!((id.get_version_num(), id.as_u128() >> 62), (7, base >> 62));
            assert!(seen.insert(id), "{id} twice");
        }
    }
}

/// How long reading one page takes, in microseconds: the median of many.
fn page_micros(read: &impl Read, query: StatementQuery) -> u128 {
    let mut times: Vec<u128> = (0..31)
        .map(|_| {
            let begun = Instant::now();
            refused(statement::list_entries(read, query)).unwrap();
            begun.elapsed().as_micros()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

/// A page of a statement costs the same whatever was held and settled before, even if the oldest hold is still
/// pending. `QUINTET_LEDGER_HOLDS=N` sets how many were settled.
#[test]
fn a_page_costs_the_same_after_many_settled_holds() {
    let holds = std::env::var("QUINTET_LEDGER_HOLDS").map_or(20_000, |text| text.parse().unwrap());
    for is_one_pending in [false, true] {
        let mut world = World::open();
        for line in [
            "asset EUR fiat 2",
            "account quiet EUR debit floor=none",
            "account busy EUR credit floor=none",
            "account other EUR credit floor=none",
        ] {
            assert_eq!(world.answer(line), "ok");
        }
        if is_one_pending {
            world.answer("hold 600 quiet:D:1.00 other:C:1.00");
            world.answer("hold 600 busy:D:1.00 other:C:1.00");
        }
        world.hold_and_void("busy", "other", holds);
        for _ in 0..120 {
            world.answer("post quiet:D:1.00 busy:C:1.00");
        }
        let read = world.bench.store.read();
        let page = |name, state| StatementQuery {
            tenant_id: world.tenant_id,
            account_id: world.named(name),
            state,
            after: None,
            limit: 50,
        };
        for state in [None, Some(TransactionState::Pending), Some(TransactionState::Committed)] {
            let (quiet, busy) = (page_micros(&read, page("quiet", state)), page_micros(&read, page("busy", state)));
            println!("{holds} settled, one pending: {is_one_pending}, {state:?}: {quiet} and {busy} microseconds");
            // Where a hold outlives the many, looking for it among the pending ones alone still crosses their
            // remains, until storage has compacted them.
            if !is_one_pending || state != Some(TransactionState::Pending) {
                assert!(busy < 4 * quiet.max(250), "{state:?}: {busy} microseconds, on a quiet account {quiet}");
            }
        }
    }
}
