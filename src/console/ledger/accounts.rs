//! Accounts, the newest first.

use askama::Template;
use axum::extract::RawQuery;
use axum::response::Response;
use http::StatusCode;

use super::wire::{Account, Accounts, asset_types, kind_word, look, word};
use crate::console::address::{query, said, with_query};
use crate::console::notice::Notice;
use crate::console::pages::{Frame, answer};
use crate::console::rooms::Room;
use crate::console::visitor::Member;

/// An account of the list.
struct AccountLine {
    account: Account,
    code: String,
    kind: &'static str,
}

/// The list.
#[derive(Template)]
#[template(path = "ledger.html", config = "assets/console/askama.toml")]
struct AccountsPage {
    frame: Frame,
    lines: Vec<AccountLine>,
    next: Option<String>,
    is_first: bool,
}

/// The page.
pub async fn show(member: Member, RawQuery(raw): RawQuery) -> Result<Response, Notice> {
    let cursor = said(&mut query(raw.as_deref())?, "cursor");
    let from = cursor.as_deref().map(|cursor| ("cursor", cursor));
    let address = with_query("/v1/accounts", [("limit", "100")].into_iter().chain(from));
    let found: Accounts = member.asking.get(Room::Ledger, &address).await?;
    let assets = asset_types(&member.asking).await?;
    let line = |account: Account| {
        let asset = assets.get(&account.asset_type_id);
        AccountLine {
            code: asset.map(|asset| asset.code.clone()).unwrap_or_default(),
            kind: kind_word(asset.map(|asset| asset.kind.as_str()).unwrap_or_default()),
            account,
        }
    };
    let page = AccountsPage {
        frame: member.frame,
        lines: found.accounts.into_iter().map(line).collect(),
        next: found.next_cursor.map(|cursor| with_query("/ledger", [("cursor", cursor.as_str())])),
        is_first: cursor.is_none(),
    };
    Ok(answer(StatusCode::OK, &page))
}
