//! The ledger, for members who read it: accounts, balances on both clocks, statements that add up. Nothing is written here.
//!
//! Nouns: a *statement* is of committed entries, newest first, as the ledger knew them at an instant; *walking* goes along
//! them from the newest on, and knows at each what the balance was behind it.
//!
//! Invariants: no sum of money is ever a floating-point number; all pages of one statement are as of one instant, so that
//! what comes later changes none of them; a file that is saved holds no text that a spreadsheet would take for a formula.
//!
//! Reading order: `wire` (what the room answers), `money` · `walk` · `accounts`, `account`, `statement` (the file),
//! `transaction`.

mod account;
mod accounts;
mod money;
mod statement;
mod transaction;
mod walk;
mod wire;

use axum::Router;
use axum::routing::get;

use super::door::Console;

/// The pages.
pub fn routes() -> Router<Console> {
    Router::new()
        .route("/ledger", get(accounts::show))
        .route("/ledger/accounts/{account}", get(account::show))
        .route("/ledger/accounts/{account}/statement.csv", get(statement::download))
        .route("/ledger/transactions/{transaction}", get(transaction::show))
}
