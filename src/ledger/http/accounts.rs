//! Accounts: open, list, read, change; their balances and statements.

use std::time::Instant as Deadline;

use quintet_platform::clock::{TimeParseError, parse_rfc3339};
use quintet_platform::ids::parse_uuid;
use quintet_platform::json::Json;
use quintet_platform::service::{
    Content, Demands, Dialect as _, Endpoint, KeyRule, Parameter, Route, Shape, json as success, next_cursor,
    refusal_of,
};
use quintet_storage::{Abort, Failure, Snapshot, Timestamp};

use super::dialect::{ACCOUNT, Answered, CURSOR, Call, LIMIT, Ledger, answer_in_turn, of_verb};
use super::form::{Form, complete, instant_problem};
use super::wire::{EntryRecord, Id, Instant, Metadata, Minor, Money, SumsRecord, entry_record, json, sums_record};
use crate::accounts::{self, Account, CreateAccount, PatchAccount};
use crate::as_of::{self, BalanceAsOf};
use crate::balance;
use crate::model::{
    AccountId, AccountStatus, AssetTypeId, Basis, Side, TenantId, Tracking, TransactionId, TransactionState,
};
use crate::refusal::Refusal;
use crate::statement::{self, Entry, StatementQuery};
use crate::tables::BookRow;

const STATE: Parameter = Parameter::new(
    "state",
    Shape::Word(&["pending", "committed", "voided", "expired"], ""),
    "Only entries of transactions in this state.",
);
const AT: Parameter = Parameter::new(
    "at",
    Shape::Instant,
    "A past instant with an explicit UTC offset; write a plus sign as %2B, or use Z.",
)
.required();
const BASIS: Parameter = Parameter::new(
    "basis",
    Shape::Word(&["effective", "recorded"], "effective"),
    "effective: by when movements happened; recorded: by when the ledger learned of them.",
);

const CREATE: Route = Route::post("create_account", "/v1/accounts")
    .permission("ledger_admin")
    .summary("Open an account")
    .key(KeyRule::Required)
    .body(Content::Json("AccountCreate"))
    .successes(&[success(201, "AccountCreated")])
    .makes("account_id", "account_id")
    .codes(&["ASSET_TYPE_NOT_FOUND", "INVALID_ACCOUNT", "INVALID_FLOOR", "INVALID_METADATA"]);
const LIST: Route = Route::get("list_accounts", "/v1/accounts")
    .permission("ledger_reader")
    .summary("List accounts, newest first")
    .parameters(&[LIMIT, CURSOR])
    .successes(&[success(200, "AccountPage")]);
const GET: Route = Route::get("get_account", "/v1/accounts/{id}")
    .permission("ledger_reader")
    .summary("One account")
    .segments(&[ACCOUNT])
    .successes(&[success(200, "Account")])
    .codes(&["ACCOUNT_NOT_FOUND", "INVALID_ACCOUNT_ID"]);
const PATCH: Route = Route::patch("patch_account", "/v1/accounts/{id}")
    .permission("ledger_admin")
    .summary("Rename, freeze, close, move the floor")
    .segments(&[ACCOUNT])
    .key(KeyRule::Required)
    .body(Content::Json("AccountPatch"))
    .successes(&[success(200, "Account")])
    .codes(&[
        "ACCOUNT_NOT_FOUND",
        "INVALID_ACCOUNT_ID",
        "INVALID_ACCOUNT",
        "INVALID_FLOOR",
        "INVALID_METADATA",
        "CLOSE_REQUIRES_ZERO_BALANCE",
        "IMMUTABLE_VIOLATION",
    ]);
const BALANCE: Route = Route::get("get_balance", "/v1/accounts/{id}/balance")
    .permission("ledger_reader")
    .summary("What is posted, pending and available now")
    .segments(&[ACCOUNT])
    .successes(&[success(200, "Balance")])
    .codes(&["ACCOUNT_NOT_FOUND", "INVALID_ACCOUNT_ID"]);
const BALANCE_AS_OF: Route = Route::get("get_balance_as_of", "/v1/accounts/{id}/balance-as-of")
    .permission("ledger_reader")
    .summary("What was posted at a past instant")
    .segments(&[ACCOUNT])
    .parameters(&[AT, BASIS])
    .successes(&[success(200, "BalanceAsOf")])
    .codes(&["ACCOUNT_NOT_FOUND", "INVALID_ACCOUNT_ID", "INVALID_AS_OF"]);
const ENTRIES: Route = Route::get("list_entries", "/v1/accounts/{id}/entries")
    .permission("ledger_reader")
    .summary("The statement, newest first")
    .segments(&[ACCOUNT])
    .parameters(&[LIMIT, CURSOR, STATE])
    .successes(&[success(200, "EntryPage")])
    .codes(&["ACCOUNT_NOT_FOUND", "INVALID_ACCOUNT_ID", "INVALID_STATE"]);

pub(super) const ENDPOINTS: &[Endpoint<Ledger>] = &[
    Endpoint::new(&CREATE, |call| Box::pin(create(call))),
    Endpoint::new(&LIST, |call| Box::pin(list(call))),
    Endpoint::new(&GET, |call| Box::pin(get(call))),
    Endpoint::new(&PATCH, |call| Box::pin(patch(call))),
    Endpoint::new(&BALANCE, |call| Box::pin(get_balance(call))),
    Endpoint::new(&BALANCE_AS_OF, |call| Box::pin(get_balance_as_of(call))),
    Endpoint::new(&ENTRIES, |call| Box::pin(list_entries(call))),
];

fn account_id(call: &Call) -> Result<AccountId, Refusal> {
    call.segment(ACCOUNT.name).map(AccountId).ok_or_else(|| Refusal::InvalidAccountId("account_id".to_owned()))
}

async fn create(call: Call) -> Answered {
    let mut change = call.change().await?;
    let tenant_id = change.call.caller.tenant_id;
    let command = change.json().and_then(|json| read_create(tenant_id, json));
    change.write(|tx, now| of_verb(201, accounts::create_account(tx, now, command?), write_created)).await
}

/// The accounts of the tenant, newest first. A page has at most `limit` accounts, and it ends early, with a
/// `next_cursor`, once its accounts take about 1 MiB: a caller who asks and never reads holds no more than that.
async fn list(mut call: Call) -> Answered {
    const KIND: &str = "accounts";
    let page = call.page::<AccountId>(KIND, &LIMIT)?;
    answer_in_turn(&call, move |read, tenant_id| {
        let (found, more) = accounts::list_accounts(read, tenant_id, page.after, page.limit)?;
        let last = found.last().filter(|_| more).map(|last| last.account_id);
        Ok(write_page(&found, next_cursor(KIND, last.as_ref())?)?)
    })
    .await
}

async fn get(call: Call) -> Answered {
    let account_id = account_id(&call)?;
    call.answer(200, |read| Ok(write_account(&accounts::get_account(read, call.caller.tenant_id, account_id)?)?))
}

async fn patch(call: Call) -> Answered {
    let mut change = call.change().await?;
    let (tenant_id, account_id) = (change.call.caller.tenant_id, account_id(&change.call));
    let command = change.json().and_then(|json| read_patch(tenant_id, account_id?, json));
    change.write(|tx, now| of_verb(200, accounts::patch_account(tx, now, command?), write_account)).await
}

async fn get_balance(call: Call) -> Answered {
    let account_id = account_id(&call)?;
    // Every posting up to `as_of` must be in the balance, those under way at this moment too.
    let (snapshot, as_of) = call.foundation().store.read_now(call.now());
    let book = balance::get_balance(&snapshot, call.caller.tenant_id, account_id).map_err(refusal_of)?;
    of_verb(200, Ok((account_id, book, as_of)), write_balance).map_err(|abort| refusal_of(abort).into())
}

async fn get_balance_as_of(mut call: Call) -> Answered {
    let at = read_as_of(call.take(&AT))?;
    let basis = call.word(&BASIS)?;
    let basis = Basis::ALL.into_iter().find(|known| Some(known.as_str()) == basis).unwrap_or(Basis::Effective);
    let account_id = account_id(&call)?;
    let now = call.now();
    if at > now {
        return Err(Refusal::InvalidAsOf("in the future").into());
    }
    let snapshot = complete_snapshot(&call, now, at).await;
    let balance = as_of::balance_as_of(&snapshot, call.caller.tenant_id, account_id, at, basis).map_err(refusal_of)?;
    of_verb(200, Ok((account_id, balance, at)), write_balance_as_of).map_err(|abort| refusal_of(abort).into())
}

/// A snapshot that holds everything the ledger learned at `at` or earlier, what is under way at this moment too: an
/// answer about the past must never change. At the present instant itself, others may follow.
async fn complete_snapshot(call: &Call, now: Timestamp, at: Timestamp) -> Snapshot {
    let store = &call.foundation().store;
    let (snapshot, complete_until) = store.read_now(now);
    if at <= complete_until {
        return snapshot;
    }
    // Whatever is under way is published before a transaction behind it is answered. A store that takes no more
    // transactions has none under way.
    let Demands { writer_time, .. } = Ledger::DEMANDS;
    let behind = store.write(Deadline::now() + writer_time, |_, _| Ok::<_, Abort<Refusal>>(()));
    let _ = behind.await;
    store.read()
}

async fn list_entries(mut call: Call) -> Answered {
    let limit = call.integer(&LIMIT)?.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(1);
    let account_id = account_id(&call)?;
    let state =
        call.take(&STATE).map(|text| TransactionState::parse(&text).ok_or(Refusal::InvalidState)).transpose()?;
    let kind = format!("entries {account_id} {}", state.map_or("all", TransactionState::as_str));
    let after: Option<(TransactionId, u8)> = call.cursor(&kind)?;
    answer_in_turn(&call, move |read, tenant_id| {
        let wanted = StatementQuery { tenant_id, account_id, state, after, limit };
        let (page, more) = statement::list_entries(read, wanted)?;
        let last = page.last().filter(|_| more).map(|last| (last.transaction_id, last.line_no));
        Ok(write_entries(&page, next_cursor(&kind, last.as_ref())?)?)
    })
    .await
}

/// The members of an account that a PATCH knows but never changes.
const ACCOUNT_IMMUTABLE: [&str; 7] =
    ["account_id", "asset_type_id", "normal_side", "balance_tracking", "balance_floor_minor", "scale", "created_at"];

/// POST /v1/accounts
fn read_create(tenant_id: TenantId, json: Json) -> Result<CreateAccount, Refusal> {
    let mut form = Form::of_body(json)?;
    let asset_type_id: Option<String> = form.required("asset_type_id");
    let asset_type_id = asset_type_id.and_then(|text| {
        let id = parse_uuid(&text).map(AssetTypeId);
        if id.is_none() {
            form.problem("asset_type_id", "must be a UUID");
        }
        id
    });
    let name: Option<String> = form.required("name");
    let normal_side = form.chosen("normal_side", "debit, credit", Side::parse);
    let tracking = match form.fields.take("balance_tracking") {
        None | Some(Json::Null) => Some(Tracking::Sync),
        Some(Json::String(text)) if Tracking::parse(&text).is_some() => Tracking::parse(&text),
        Some(_) => {
            form.problem("balance_tracking", "must be one of sync, async");
            None
        }
    };
    let floor = form.floor();
    let metadata = form.metadata();
    form.finish()?;
    Ok(CreateAccount {
        tenant_id,
        asset_type_id: complete(asset_type_id)?,
        name: complete(name)?,
        normal_side: complete(normal_side)?,
        tracking: complete(tracking)?,
        floor,
        metadata,
    })
}

/// PATCH /v1/accounts/{id}
fn read_patch(tenant_id: TenantId, account_id: AccountId, json: Json) -> Result<PatchAccount, Refusal> {
    let mut form = Form::of_body(json)?;
    for name in ACCOUNT_IMMUTABLE {
        if form.fields.take(name).is_some() {
            form.refusal.get_or_insert(Refusal::ImmutableViolation(name));
        }
    }
    let name = form.fields.optional("name");
    let name = form.noted(name).flatten();
    let status = form.fields.optional::<String>("status");
    let status = form.noted(status).flatten().and_then(|text| {
        let status = AccountStatus::parse(&text);
        if status.is_none() {
            form.problem("status", "must be one of active, frozen, closed");
        }
        status
    });
    let metadata = form.replaced_metadata();
    let floor = form.floor();
    form.finish()?;
    Ok(PatchAccount { tenant_id, account_id, name, metadata, status, floor })
}

/// The instant `at` of a balance as of.
fn read_as_of(at: Option<String>) -> Result<Timestamp, Refusal> {
    let at = at.ok_or(Refusal::InvalidAsOf("required"))?;
    parse_rfc3339(&at).map_err(|error| match error {
        // In a query a bare plus sign is a blank, so an offset loses its sign.
        TimeParseError::Malformed if at.contains(' ') => {
            Refusal::InvalidAsOf("not an RFC 3339 date and time; write a plus sign as %2B, or use Z")
        }
        error => Refusal::InvalidAsOf(instant_problem(error)),
    })
}

#[derive(serde::Serialize)]
struct CreatedAccount<'a> {
    account_id: Id,
    name: &'a str,
    normal_side: &'static str,
}

/// The answer to an opening.
fn write_created(made: &Account) -> Result<Vec<u8>, Failure> {
    json(&CreatedAccount {
        account_id: Id(made.account_id.0),
        name: &made.profile.name,
        normal_side: made.book.normal_side.as_str(),
    })
}

#[derive(serde::Serialize)]
struct AccountRecord<'a> {
    account_id: Id,
    asset_type_id: Id,
    name: &'a str,
    normal_side: &'static str,
    status: &'static str,
    balance_tracking: &'static str,
    balance_floor: Option<Money>,
    balance_floor_minor: Option<Minor>,
    scale: u8,
    created_at: Instant,
    metadata: Metadata<'a>,
}

fn account_record(account: &Account) -> AccountRecord<'_> {
    let book = &account.book;
    AccountRecord {
        account_id: Id(account.account_id.0),
        asset_type_id: Id(book.asset_type_id.0),
        name: &account.profile.name,
        normal_side: book.normal_side.as_str(),
        status: book.status.as_str(),
        balance_tracking: book.tracking.as_str(),
        balance_floor: book.floor.map(|minor| Money(minor, book.scale)),
        balance_floor_minor: book.floor.map(Minor),
        scale: book.scale,
        created_at: Instant(account.profile.created_at),
        metadata: Metadata(account.profile.metadata.as_deref()),
    }
}

/// One account.
fn write_account(one: &Account) -> Result<Vec<u8>, Failure> {
    json(&account_record(one))
}

#[derive(serde::Serialize)]
struct AccountPage<'a> {
    accounts: Vec<AccountRecord<'a>>,
    next_cursor: Option<String>,
}

/// A page of accounts.
fn write_page(page: &[Account], next_cursor: Option<String>) -> Result<Vec<u8>, Failure> {
    json(&AccountPage { accounts: page.iter().map(account_record).collect(), next_cursor })
}

#[derive(serde::Serialize)]
struct BalanceRecord {
    account_id: Id,
    posted: SumsRecord,
    pending: SumsRecord,
    available: Money,
    available_minor: Minor,
    scale: u8,
    version: u64,
    as_of: Instant,
}

/// The present balance of an account.
fn write_balance((account_id, book, as_of): &(AccountId, BookRow, Timestamp)) -> Result<Vec<u8>, Failure> {
    json(&BalanceRecord {
        account_id: Id(account_id.0),
        posted: sums_record(book.counters.posted, book.scale),
        pending: sums_record(book.counters.pending, book.scale),
        available: Money(book.available(), book.scale),
        available_minor: Minor(book.available()),
        scale: book.scale,
        version: book.counters.version,
        as_of: Instant(*as_of),
    })
}

#[derive(serde::Serialize)]
struct BalanceAsOfRecord {
    account_id: Id,
    as_of: Instant,
    posted: SumsRecord,
    balance: Money,
    balance_minor: Minor,
    scale: u8,
    entry_count: u64,
    balance_tracking: &'static str,
    derived_from: &'static str,
}

/// The balance of an account as it was.
fn write_balance_as_of((account_id, as_of, at): &(AccountId, BalanceAsOf, Timestamp)) -> Result<Vec<u8>, Failure> {
    let book = &as_of.book;
    json(&BalanceAsOfRecord {
        account_id: Id(account_id.0),
        as_of: Instant(*at),
        posted: sums_record(as_of.posted.sums, book.scale),
        balance: Money(as_of.balance(), book.scale),
        balance_minor: Minor(as_of.balance()),
        scale: book.scale,
        entry_count: as_of.posted.entries,
        balance_tracking: book.tracking.as_str(),
        derived_from: "journal",
    })
}

#[derive(serde::Serialize)]
struct EntryPage {
    entries: Vec<EntryRecord>,
    next_cursor: Option<String>,
}

/// A page of a statement.
fn write_entries(page: &[Entry], next_cursor: Option<String>) -> Result<Vec<u8>, Failure> {
    json(&EntryPage { entries: page.iter().map(entry_record).collect(), next_cursor })
}
