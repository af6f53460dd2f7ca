//! The sweep and rows that are damaged.

use super::*;
use crate::tables::EXTERNAL_IDS;
use crate::testing::Books;

#[test]
fn a_damaged_hold_does_not_keep_others_from_their_release() {
    let books = Books::open();
    let holds: Vec<TransactionId> = (1..=3).map(|seconds| books.hold(seconds)).collect();
    // The first is gone from the journal, of the second an account is.
    let tenant_id = books.tenant_id;
    let gone = holds[0];
    books
        .bench
        .run(move |tx, _| {
            tx.delete(&TRANSACTIONS, &(tenant_id, gone));
            Ok(())
        })
        .unwrap();
    let damaged = holds[1];
    let mut row = get_transaction(&books.bench.store.read(), tenant_id, damaged).map_err(|_| ()).unwrap().row;
    row.legs[0].account_id = crate::model::AccountId(Uuid::nil());
    books.bench.run(move |tx, _| Ok(tx.put(&TRANSACTIONS, &(tenant_id, damaged), &row)?)).unwrap();
    books.bench.clock.advance(10);
    let swept = books.bench.run(|tx, now| expire_holds(tx, now, FIRST_EXPIRY)).unwrap();
    assert_eq!(swept.holds, 3);
    let state = |id| get_transaction(&books.bench.store.read(), tenant_id, id).map(|found| found.row.state());
    assert_eq!(state(holds[2]).ok(), Some(TransactionState::Expired));
    assert_eq!(state(holds[1]).ok(), Some(TransactionState::Pending), "left as it is");
    // It is looked at once, not again and again.
    let from = swept.swept_to;
    let swept = books.bench.run(move |tx, now| expire_holds(tx, now, from)).unwrap();
    assert_eq!(swept.holds, 0);
    assert_eq!(next_hold_expiry(&books.bench.store.read(), swept.swept_to).unwrap(), None);
    assert!(books.bench.store.read().scan(&EXTERNAL_IDS, Scan::all()).unwrap().is_empty());
}
