//! Each kind of disagreement is brought about, and must be found.

use quintet_storage::WriteTx;

use super::*;
use crate::late::{LateEntries, put_late};
use crate::operator;
use crate::tables::{LATE_TOTALS, LateTotalsRow, Settlement};
use crate::testing::Books;

/// Breaks something behind the ledger's back and gives back what the proof then says.
fn findings(books: &Books, harm: impl FnOnce(&mut WriteTx<'_>) -> Result<(), Failure> + Send + 'static) -> String {
    books.bench.run(move |tx, _| Ok(harm(tx)?)).unwrap();
    let proof = verify(&books.bench.store.read()).unwrap();
    assert_eq!(proof.findings_total, proof.findings.len() as u64);
    proof.findings.iter().map(|finding| format!("{}: {}\n", finding.place, finding.problem)).collect()
}

fn some_books() -> Books {
    let books = Books::open();
    books.post(None);
    books.post(Some(-100));
    books.commit(books.hold(60));
    books.hold(60);
    let proof = verify(&books.bench.store.read()).unwrap();
    assert_eq!(proof.findings, []);
    assert_eq!((proof.tenants, proof.accounts, proof.transactions, proof.lines), (1, 2, 4, 12));
    books
}

#[track_caller]
fn finds(expected: &str, harm: impl FnOnce(&Books) -> Harm) {
    let books = some_books();
    let harm = harm(&books);
    let told = findings(&books, harm);
    assert!(told.contains(expected), "expected {expected:?} in\n{told}");
}

type Harm = Box<dyn FnOnce(&mut WriteTx<'_>) -> Result<(), Failure> + Send>;

#[test]
fn what_does_not_fit_is_found() {
    finds("posted counters are", |books| {
        let key = (books.tenant_id, books.to);
        Box::new(move |tx| {
            let mut book = tx.get(&BOOKS, &key)?.unwrap();
            book.counters.posted.credits += 1;
            tx.put(&BOOKS, &key, &book)
        })
    });
    finds("posted debits and credits differ by 1 minor units", |books| {
        let key = (books.tenant_id, books.from);
        Box::new(move |tx| {
            let mut book = tx.get(&BOOKS, &key)?.unwrap();
            book.counters.posted.debits += 1;
            tx.put(&BOOKS, &key, &book)
        })
    });
    finds("pending counters are", |books| {
        let key = (books.tenant_id, books.to);
        Box::new(move |tx| {
            let mut book = tx.get(&BOOKS, &key)?.unwrap();
            book.counters.pending_entries = 0;
            tx.put(&BOOKS, &key, &book)
        })
    });
    finds("below the floor of 0", |books| {
        let key = (books.tenant_id, books.from);
        Box::new(move |tx| {
            let mut book = tx.get(&BOOKS, &key)?.unwrap();
            book.floor = Some(0);
            book.normal_side = crate::model::Side::Credit;
            tx.put(&BOOKS, &key, &book)
        })
    });
    finds("balance as of now (effective)", |books| {
        let account_id = books.to;
        Box::new(move |tx| {
            let now = Timestamp::from_micros(1_600_000_000_000_000);
            let order = Uuid::nil();
            let sums = Sums { debits: 0, credits: 1 };
            let posted_after = PostedAfter::default();
            let late =
                LateEntries { account_id, order, effective_at: now, finalized_at: now, sums, entries: 1, posted_after };
            tx.put(&LATE_TOTALS, &account_id, &LateTotalsRow::default())?;
            put_late(tx, &late)
        })
    });
}

#[test]
fn the_journal_and_the_statements_are_held_against_each_other() {
    finds("line 1 has no statement line", |books| {
        let key = (books.to, Shelf::AtOnce.tag(), books.second(), 1);
        let other = (books.from, Shelf::AtOnce.tag(), books.second(), 1);
        Box::new(move |tx| {
            tx.delete(&LINES, &key);
            tx.delete(&LINES, &other);
            Ok(())
        })
    });
    finds("the statements have 13", |books| {
        let key = (books.to, Shelf::Voided.tag(), TransactionId(Uuid::nil()), 1);
        Box::new(move |tx| {
            let line = LineRow { signed_minor: 1, created_at: Timestamp::EPOCH, ended: None, posted_after: None };
            tx.put(&LINES, &key, &line)
        })
    });
    finds("differs from its statement line", |books| {
        let key = (books.tenant_id, books.second());
        Box::new(move |tx| {
            let mut row = tx.get(&TRANSACTIONS, &key)?.unwrap();
            row.legs[0].signed_minor += 1;
            tx.put(&TRANSACTIONS, &key, &row)
        })
    });
    finds("nothing waits to release it", |books| {
        Box::new({
            let tenant_id = books.tenant_id;
            move |tx| {
                for (key, _) in tx.scan(&HOLDS, Scan::all())? {
                    assert_eq!(key.1, tenant_id);
                    tx.delete(&HOLDS, &key);
                }
                Ok(())
            }
        })
    });
    finds("its external id leads elsewhere", |books| {
        let key = (books.tenant_id, books.second());
        Box::new(move |tx| {
            let mut row = tx.get(&TRANSACTIONS, &key)?.unwrap();
            row.external_id = Some("x".into());
            tx.put(&TRANSACTIONS, &key, &row)
        })
    });
    finds("names account 00000000", |books| {
        let key = (books.tenant_id, books.second());
        Box::new(move |tx| {
            let mut row = tx.get(&TRANSACTIONS, &key)?.unwrap();
            row.legs[0].account_id = AccountId(Uuid::nil());
            tx.put(&TRANSACTIONS, &key, &row)
        })
    });
}

#[test]
fn damaged_rows_are_named_and_passed_over() {
    let books = some_books();
    let (tenant_id, id) = (books.tenant_id, books.second());
    // A row of another type under the key of a transaction does not read as one.
    const OTHER: quintet_storage::Table<(TenantId, TransactionId), LateTotalsRow> =
        quintet_storage::Table::new(0x0204, crate::FAMILY, "ledger_transactions");
    let told = findings(&books, move |tx| tx.put(&OTHER, &(tenant_id, id), &LateTotalsRow::default()));
    assert!(told.contains(&format!("transaction {id}: the transaction is damaged")), "{told}");
    let read = books.bench.store.read();
    let page = operator::export(&read, tenant_id.0, None).unwrap();
    assert_eq!((page.items.len(), page.damaged.len(), page.next), (3, 1, None));
    assert_eq!(page.damaged[0].0, id.0);
    let page = operator::search(&read, tenant_id.0, &operator::Search::default(), None).unwrap();
    assert_eq!((page.items.len(), page.damaged.len()), (3, 1));
    assert!(matches!(read.get(&TRANSACTIONS, &(tenant_id, id)), Err(Failure::Damaged(_))));
    let row = read.get(&TRANSACTIONS, &(tenant_id, books.first())).unwrap().unwrap();
    assert_eq!(row.settlement, Settlement::AtOnce);
}
