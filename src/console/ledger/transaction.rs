//! A transaction with its entries, and the accounts that they are on.

use std::collections::BTreeMap;

use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use http::StatusCode;
use quintet_platform::http::query::encode_segment;

use super::wire::{Account, Entry, Transaction, asset_types, is_empty, look, word};
use crate::console::notice::Notice;
use crate::console::pages::{Frame, answer};
use crate::console::rooms::Room;
use crate::console::visitor::Member;

/// An entry of the page.
struct Leg {
    entry: Entry,
    account: String,
    code: String,
}

/// The page.
#[derive(Template)]
#[template(path = "ledger-transaction.html", config = "assets/console/askama.toml")]
struct TransactionPage {
    frame: Frame,
    transaction: Transaction,
    metadata: String,
    legs: Vec<Leg>,
}

/// The page.
pub async fn show(member: Member, Path(id): Path<String>) -> Result<Response, Notice> {
    let asking = &member.asking;
    let mut found: Transaction = asking.get(Room::Ledger, &format!("/v1/transactions/{}", encode_segment(&id))).await?;
    let assets = asset_types(asking).await?;
    let mut accounts: BTreeMap<String, Account> = BTreeMap::new();
    let mut legs = Vec::new();
    // There are at most a hundred.
    for entry in std::mem::take(&mut found.entries) {
        let id = entry.account_id.clone();
        if !accounts.contains_key(&id) {
            let account = asking.get(Room::Ledger, &format!("/v1/accounts/{}", encode_segment(&id))).await?;
            accounts.insert(id.clone(), account);
        }
        let account = accounts.get(&id);
        let asset = account.and_then(|account| assets.get(&account.asset_type_id));
        legs.push(Leg {
            account: account.map(|account| account.name.clone()).unwrap_or_default(),
            code: asset.map(|asset| asset.code.clone()).unwrap_or_default(),
            entry,
        });
    }
    let metadata = if is_empty(&found.metadata) { String::new() } else { found.metadata.to_string() };
    Ok(answer(StatusCode::OK, &TransactionPage { frame: member.frame, transaction: found, metadata, legs }))
}
