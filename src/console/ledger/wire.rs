//! What the ledger's interface answers, as far as pages show it (contract 3, part A).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::console::notice::Notice;
use crate::console::rooms::{Asking, Room};

#[derive(Deserialize)]
pub struct Account {
    pub account_id: String,
    pub asset_type_id: String,
    pub name: String,
    pub normal_side: String,
    pub status: String,
    pub balance_tracking: String,
    pub balance_floor: Option<String>,
    pub scale: u8,
    pub created_at: String,
    pub metadata: Value,
}

#[derive(Deserialize)]
pub struct Accounts {
    pub accounts: Vec<Account>,
    pub next_cursor: Option<String>,
}

#[derive(Clone, Deserialize)]
pub struct AssetType {
    pub asset_type_id: String,
    pub code: String,
    pub kind: String,
}

#[derive(Deserialize)]
struct AssetTypes {
    asset_types: Vec<AssetType>,
}

#[derive(Deserialize)]
pub struct Sums {
    pub debits: String,
    pub credits: String,
}

#[derive(Deserialize)]
pub struct Balance {
    pub posted: Sums,
    pub pending: Sums,
    pub available: String,
    pub as_of: String,
}

#[derive(Deserialize)]
pub struct BalanceAsOf {
    pub as_of: String,
    pub posted: Sums,
    pub balance: String,
    pub balance_minor: String,
    pub entry_count: u64,
}

#[derive(Deserialize)]
pub struct Entry {
    pub id: String,
    pub transaction_id: String,
    pub account_id: String,
    pub direction: String,
    pub amount: String,
    pub amount_minor: String,
    pub line_no: u8,
    pub created_at: String,
    pub transaction_state: String,
    pub finalized_at: Option<String>,
}

#[derive(Deserialize)]
pub struct Entries {
    pub entries: Vec<Entry>,
    pub next_cursor: Option<String>,
}

#[derive(Deserialize)]
pub struct Transaction {
    pub transaction_id: String,
    pub state: String,
    pub description: Option<String>,
    pub external_id: Option<String>,
    pub metadata: Value,
    pub created_at: String,
    pub effective_at: String,
    pub expires_at: Option<String>,
    pub finalized_at: Option<String>,
    pub entries: Vec<Entry>,
}

/// The asset types of the tenant, by their ids.
pub async fn asset_types(asking: &Asking) -> Result<BTreeMap<String, AssetType>, Notice> {
    let found: AssetTypes = asking.get(Room::Ledger, "/v1/asset-types").await?;
    Ok(found.asset_types.into_iter().map(|one| (one.asset_type_id.clone(), one)).collect())
}

/// The key of the word for a state: of an account, of a transaction, of a side.
pub fn word(name: &str) -> &'static str {
    match name {
        "active" => "ledger.active",
        "frozen" => "ledger.frozen",
        "closed" => "ledger.closed",
        "pending" => "ledger.pending",
        "committed" => "ledger.committed",
        "voided" => "ledger.voided",
        "expired" => "ledger.expired",
        "debit" => "ledger.debit",
        "credit" => "ledger.credit",
        "fiat" => "ledger.fiat",
        "inventory" => "ledger.inventory",
        "sync" => "ledger.sync",
        "async" => "ledger.async",
        _ => "ledger.other",
    }
}

/// The key of the word for a kind of asset type: what is called credit elsewhere is a side.
pub fn kind_word(name: &str) -> &'static str {
    if name == "credit" { "ledger.credit_kind" } else { word(name) }
}

/// How a state looks.
pub fn look(name: &str) -> &'static str {
    match name {
        "active" | "committed" => "good",
        "frozen" | "pending" => "fair",
        _ => "bad",
    }
}

/// Whether metadata say nothing.
pub fn is_empty(metadata: &Value) -> bool {
    metadata.as_object().is_some_and(|members| members.is_empty())
}
