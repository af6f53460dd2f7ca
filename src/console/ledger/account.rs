//! An account: its balances now and at an instant, a plot, and its statement a page at a time.

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use http::{Method, StatusCode};
use quintet_platform::clock::rfc3339;
use quintet_platform::http::query::encode_segment;
use quintet_storage::Timestamp;

use super::money::decimal;
use super::walk::{Line, Walk, instant};
use super::wire::{
    Account, AssetType, Balance, BalanceAsOf, Entries, Entry, asset_types, is_empty, kind_word, look, word,
};
use crate::console::address::{query, said, with_query};
use crate::console::door::Console;
use crate::console::notice::Notice;
use crate::console::pages::{Frame, answer};
use crate::console::plot::{Between, Curve, curve};
use crate::console::rooms::{Asking, Refused, Room, With};
use crate::console::visitor::Member;

/// Entries of a page.
const PAGE_ROWS: usize = 100;
/// How often a page goes on to further entries to find where it begins.
const STEPS_MAX: usize = 200;

/// An entry of the page.
struct Row {
    entry: Entry,
    change: String,
    balance: String,
}

/// A statement's page.
struct Statement {
    opening: String,
    closing: String,
    /// The newest first.
    rows: Vec<Row>,
    curve: Curve,
    least: String,
    most: String,
    next: Option<String>,
    is_too_far: bool,
}

/// Entries of transactions in another state: no balance goes with them.
struct Others {
    state: &'static str,
    entries: Vec<Entry>,
    next: Option<String>,
}

/// The page.
#[derive(Template)]
#[template(path = "ledger-account.html", config = "assets/console/askama.toml")]
struct AccountPage {
    frame: Frame,
    account: Account,
    asset: Option<AssetType>,
    balance: Balance,
    effective: BalanceAsOf,
    recorded: BalanceAsOf,
    /// The instant in the form's field.
    typed: String,
    is_past: bool,
    is_first: bool,
    states: [&'static str; 3],
    statement: Option<Statement>,
    others: Option<Others>,
    file: String,
    refused: Option<Refused>,
}

/// What the address says.
#[derive(Default)]
struct Asked {
    at: Option<String>,
    after: Option<String>,
    state: Option<&'static str>,
    cursor: Option<String>,
}

/// States that a statement has no balance for.
const STATES: [&str; 3] = ["pending", "voided", "expired"];

/// The page.
pub async fn show(
    State(console): State<Console>,
    member: Member,
    Path(account): Path<String>,
    RawQuery(raw): RawQuery,
) -> Result<Response, Notice> {
    let mut asked = query(raw.as_deref())?;
    let at = said(&mut asked, "at").map(|text| in_utc(&text));
    let state = said(&mut asked, "state");
    let state = state.and_then(|name| STATES.into_iter().find(|known| *known == name));
    let asked = Asked { at, after: said(&mut asked, "after"), state, cursor: said(&mut asked, "cursor") };
    let now = rfc3339(console.app.clock.now());
    let known = match &asked.at {
        Some(at) => as_of(&member.asking, &account, at, "recorded").await?,
        None => as_of(&member.asking, &account, &now, "recorded").await?,
    };
    match known {
        Ok(recorded) => page(member, &account, asked, recorded, None).await,
        Err(refused) if refused.status == 422 => {
            let recorded = as_of(&member.asking, &account, &now, "recorded").await??;
            page(member, &account, Asked::default(), recorded, Some(refused)).await
        }
        Err(refused) => Err(refused.into()),
    }
}

/// An instant as browsers' fields have it is one of UTC.
fn in_utc(text: &str) -> String {
    match text.len() {
        10 => format!("{text}T00:00:00Z"),
        16 => format!("{text}:00Z"),
        19 => format!("{text}Z"),
        _ => text.to_owned(),
    }
}

/// What was posted at an instant, by one of the clocks; or why it is not told.
pub async fn as_of(
    asking: &Asking,
    account: &str,
    at: &str,
    basis: &str,
) -> Result<Result<BalanceAsOf, Refused>, Notice> {
    let path = format!("/v1/accounts/{}/balance-as-of", encode_segment(account));
    let address = with_query(&path, [("at", at), ("basis", basis)]);
    asking.ask(Room::Ledger, Method::GET, &address, With::default()).await
}

async fn page(
    member: Member,
    id: &str,
    asked: Asked,
    recorded: BalanceAsOf,
    refused: Option<Refused>,
) -> Result<Response, Notice> {
    let asking = &member.asking;
    let base = format!("/v1/accounts/{}", encode_segment(id));
    let account: Account = asking.get(Room::Ledger, &base).await?;
    let balance: Balance = asking.get(Room::Ledger, &format!("{base}/balance")).await?;
    let effective = as_of(asking, id, &recorded.as_of, "effective").await??;
    let asset = asset_types(asking).await?.remove(&account.asset_type_id);
    let (mut statement, mut others) = (None, None);
    match asked.state {
        None => statement = Some(read(asking, &account, &recorded, asked.after.as_deref()).await?),
        Some(state) => others = Some(in_state(asking, &account, state, asked.cursor.as_deref()).await?),
    }
    let status = if refused.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let path = format!("/ledger/accounts/{}", encode_segment(&account.account_id));
    let page = AccountPage {
        frame: member.frame,
        asset,
        balance,
        effective,
        typed: recorded.as_of.get(..19).unwrap_or_default().to_owned(),
        is_past: asked.at.is_some(),
        is_first: asked.after.is_none() && asked.cursor.is_none(),
        states: STATES,
        statement,
        others,
        file: with_query(&format!("{path}/statement.csv"), [("at", recorded.as_of.as_str())]),
        recorded,
        account,
        refused,
    };
    Ok(answer(status, &page))
}

/// Walks to behind an entry, and makes a page of what follows.
async fn read(
    asking: &Asking,
    account: &Account,
    known: &BalanceAsOf,
    after: Option<&str>,
) -> Result<Statement, Notice> {
    let mut walk = Walk::begin(asking, &account.account_id, &account.normal_side, known)?;
    let mut lines: Vec<Line> = Vec::new();
    let (mut is_there, mut steps) = (after.is_none(), 0_usize);
    while lines.len() <= PAGE_ROWS && steps < STEPS_MAX {
        let Some(chunk) = walk.next().await? else { break };
        for line in chunk {
            if is_there {
                lines.push(line);
            } else {
                is_there = after == Some(line.entry.id.as_str());
            }
        }
        steps += 1;
    }
    let is_too_far = !is_there && steps == STEPS_MAX;
    if !is_there && !is_too_far {
        return Err(Notice::NotFound);
    }
    let rest = walk.balance();
    Ok(statement(account, known, lines, rest, is_too_far))
}

/// A page of lines, of which there may be more than it shows; `rest` is the balance before all of them.
fn statement(account: &Account, known: &BalanceAsOf, mut lines: Vec<Line>, rest: i128, is_too_far: bool) -> Statement {
    let has_more = lines.len() > PAGE_ROWS;
    lines.truncate(PAGE_ROWS);
    let told = |minor: i128| decimal(minor, account.scale);
    let next = lines.last().filter(|_| has_more).map(|line| {
        let path = format!("/ledger/accounts/{}", encode_segment(&account.account_id));
        with_query(&path, [("at", known.as_of.as_str()), ("after", line.entry.id.as_str())])
    });
    let balances = || lines.iter().flat_map(|line| [line.balance, line.before()]);
    Statement {
        opening: told(lines.last().map_or(rest, Line::before)),
        closing: told(lines.first().map_or(rest, |line| line.balance)),
        curve: drawn(&lines),
        least: told(balances().min().unwrap_or(rest)),
        most: told(balances().max().unwrap_or(rest)),
        rows: lines.into_iter().map(|line| row(line, account.scale)).collect(),
        next,
        is_too_far,
    }
}

fn row(line: Line, scale: u8) -> Row {
    let change = decimal(line.change, scale);
    let change = if line.change > 0 { format!("+{change}") } else { change };
    Row { change, balance: decimal(line.balance, scale), entry: line.entry }
}

/// The balance over the time of the entries: where on the picture it is, nothing more.
fn drawn(lines: &[Line]) -> Curve {
    let point = |line: &Line| (instant(&line.entry.created_at).ok(), line.balance);
    let known = lines.iter().rev().map(point).filter_map(|(at, balance)| Some((at?, balance as f64)));
    let points: Vec<(Timestamp, f64)> = known.collect();
    let before = lines.last().zip(points.first()).map(|(line, (at, _))| (*at, line.before() as f64));
    let all: Vec<_> = before.into_iter().chain(points).collect();
    curve(&all, Between::Step, None)
}

/// Entries of transactions in a state.
async fn in_state(
    asking: &Asking,
    account: &Account,
    state: &'static str,
    cursor: Option<&str>,
) -> Result<Others, Notice> {
    let id = encode_segment(&account.account_id);
    let from = cursor.map(|cursor| ("cursor", cursor));
    let said = [("state", state), ("limit", "100")].into_iter().chain(from);
    let found: Entries = asking.get(Room::Ledger, &with_query(&format!("/v1/accounts/{id}/entries"), said)).await?;
    let path = format!("/ledger/accounts/{id}");
    let next = found.next_cursor.map(|cursor| with_query(&path, [("state", state), ("cursor", cursor.as_str())]));
    Ok(Others { state, entries: found.entries, next })
}

/// Where the statement begins.
fn newest(account: &str, as_of: &str) -> String {
    with_query(&format!("/ledger/accounts/{}", encode_segment(account)), [("at", as_of)])
}

/// Whether these entries are those in a state.
fn is_shown(others: &Option<Others>, state: &str) -> bool {
    others.as_ref().is_some_and(|others| others.state == state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_browsers_are_instants_of_utc() {
        for (typed, expected) in [
            ("2026-01-31T10:05", "2026-01-31T10:05:00Z"),
            ("2026-01-31T10:05:06", "2026-01-31T10:05:06Z"),
            ("2026-01-31", "2026-01-31T00:00:00Z"),
            ("2026-01-31T10:05:06+01:00", "2026-01-31T10:05:06+01:00"),
            ("soon", "soon"),
        ] {
            assert_eq!(in_utc(typed), expected);
        }
    }
}
