//! Transactions: post, hold, settle, read.

use quintet_platform::clock::parse_rfc3339;
use quintet_platform::ids::parse_uuid;
use quintet_platform::json::{Fields, Json};
use quintet_platform::service::{Content, Endpoint, Fault, KeyRule, Route, Segment, Shape, json as success};
use quintet_storage::{Abort, Failure, Timestamp, WriteTx};

use super::dialect::{Answered, Call, Ledger, of_verb};
use super::form::{Form, complete, instant_problem, limited, nothing};
use super::wire::{EntryRecord, Id, Instant, Metadata, Minor, Money, entry_record, json};
use crate::holds::{self, SettleHold, Settled};
use crate::model::{
    AccountId, DESCRIPTION_CHARS_MAX, ENTRIES_MAX, ENTRIES_MIN, NAME_CHARS_MAX, Side, TenantId, TransactionId,
};
use crate::money::Amount;
use crate::posting::{self, Available, NewEntry, PostTransaction, Posted, Transaction};
use crate::refusal::Refusal;
use crate::statement::entries_of;

/// A malformed transaction id names nothing.
const TRANSACTION: Segment = Segment::new("transaction_id", Shape::Uuid).written("id");

/// What posting a transaction can be refused with.
pub(super) const POSTING_CODES: &[&str] = &[
    "ENTRY_COUNT_OUT_OF_RANGE",
    "INVALID_EXPIRES_AT",
    "INVALID_EFFECTIVE_AT",
    "INVALID_ACCOUNT_ID",
    "REFERENCE_NOT_FOUND",
    "INVALID_AMOUNT",
    "INVALID_AMOUNT_SCALE",
    "INVALID_METADATA",
    "INVALID_DESCRIPTION",
    "INVALID_EXTERNAL_ID",
    "UNBALANCED_TRANSACTION",
    "DUPLICATE_TRANSACTION",
    "ACCOUNT_NOT_ACTIVE",
    "CONSTRAINT_VIOLATION",
    "INSUFFICIENT_AVAILABLE",
];

const POST: Route = Route::post("post_transaction", "/v1/transactions")
    .permission("ledger_poster")
    .summary("Post a transaction at once, or place a hold")
    .key(KeyRule::Required)
    .body(Content::Json("TransactionCreate"))
    .successes(&[success(201, "TransactionPosted")])
    .makes("transaction_id", "transaction_id")
    .codes(POSTING_CODES);
const GET: Route = Route::get("get_transaction", "/v1/transactions/{id}")
    .permission("ledger_reader")
    .summary("One transaction with its entries")
    .segments(&[TRANSACTION])
    .successes(&[success(200, "Transaction")])
    .codes(&["TRANSACTION_NOT_FOUND"]);
const COMMIT: Route = Route::post("commit_transaction", "/v1/transactions/{id}/commit")
    .permission("ledger_poster")
    .summary("Commit a hold")
    .segments(&[TRANSACTION])
    .key(KeyRule::Required)
    .body(Content::OptionalJson("Nothing"))
    .successes(&[success(200, "Settled")])
    .codes(&["TRANSACTION_NOT_FOUND", "INVALID_TRANSACTION_STATE", "HOLD_EXPIRED", "ACCOUNT_NOT_ACTIVE"]);
const VOID: Route = Route::post("void_transaction", "/v1/transactions/{id}/void")
    .permission("ledger_poster")
    .summary("Release a hold")
    .segments(&[TRANSACTION])
    .key(KeyRule::Required)
    .body(Content::OptionalJson("Nothing"))
    .successes(&[success(200, "Settled")])
    .codes(&["TRANSACTION_NOT_FOUND", "INVALID_TRANSACTION_STATE"]);

pub(super) const ENDPOINTS: &[Endpoint<Ledger>] = &[
    Endpoint::new(&POST, |call| Box::pin(post(call))),
    Endpoint::new(&GET, |call| Box::pin(get(call))),
    Endpoint::new(&COMMIT, |call| Box::pin(settle(call, holds::commit_hold))),
    Endpoint::new(&VOID, |call| Box::pin(settle(call, holds::void_hold))),
];

fn transaction_id(call: &Call) -> Result<TransactionId, Refusal> {
    call.segment(TRANSACTION.name).map(TransactionId).ok_or(Refusal::TransactionNotFound)
}

async fn post(call: Call) -> Answered {
    let mut change = call.change().await?;
    let tenant_id = change.call.caller.tenant_id;
    let command = change.json().and_then(|json| read_posting(tenant_id, json));
    change.write(|tx, now| of_verb(201, posting::post_transaction(tx, now, command?), write_posted)).await
}

async fn get(call: Call) -> Answered {
    let transaction_id = transaction_id(&call)?;
    call.answer(200, |read| {
        Ok(write_transaction(&posting::get_transaction(read, call.caller.tenant_id, transaction_id)?)?)
    })
}

/// One of the two verbs that end a hold.
type Settle = fn(&mut WriteTx<'_>, Timestamp, SettleHold) -> Result<Settled, Abort<Refusal>>;

async fn settle(call: Call, verb: Settle) -> Answered {
    let mut change = call.change().await?;
    let (tenant_id, transaction_id) = (change.call.caller.tenant_id, transaction_id(&change.call));
    let command = change.optional_json().and_then(|json| {
        let transaction_id = transaction_id?;
        nothing(json)?;
        Ok(SettleHold { tenant_id, transaction_id })
    });
    change.write(move |tx, now| of_verb(200, verb(tx, now, command?), write_settled)).await
}

/// POST /v1/transactions
pub(super) fn read_posting(tenant_id: TenantId, json: Json) -> Result<PostTransaction, Refusal> {
    let mut form = Form::of_body(json)?;
    let description = limited(&mut form, "description", 0, DESCRIPTION_CHARS_MAX, Refusal::InvalidDescription);
    let external_id = limited(&mut form, "external_id", 1, NAME_CHARS_MAX, Refusal::InvalidExternalId);
    let metadata = form.metadata();
    let pending = form.fields.optional::<bool>("pending");
    let pending = form.noted(pending).flatten().unwrap_or(false);
    let has_expiry = form.fields.take("expires_at");
    let hold_until = expiry(&mut form, pending, has_expiry);
    let effective_at = form.instant("effective_at", Refusal::InvalidEffectiveAt);
    let entries = entries(&mut form);
    form.finish()?;
    Ok(PostTransaction {
        tenant_id,
        description,
        external_id,
        metadata,
        effective_at,
        hold_until,
        entries: complete(entries)?,
    })
}

fn expiry(form: &mut Form, pending: bool, given: Option<Json>) -> Option<Timestamp> {
    let outcome = match (pending, given) {
        (false, None | Some(Json::Null)) => return None,
        (true, None | Some(Json::Null)) => Err(Refusal::InvalidExpiresAt("required when pending")),
        (false, Some(_)) => Err(Refusal::InvalidExpiresAt("only a pending transaction expires")),
        (true, Some(Json::String(text))) => {
            parse_rfc3339(&text).map_err(|error| Refusal::InvalidExpiresAt(instant_problem(error)))
        }
        (true, Some(_)) => Err(Refusal::InvalidExpiresAt("not a string")),
    };
    form.ruled(outcome)
}

fn entries(form: &mut Form) -> Option<Vec<NewEntry>> {
    let values: Vec<Json> = form.required("entries")?;
    if !(ENTRIES_MIN..=ENTRIES_MAX).contains(&values.len()) {
        return form.ruled(Err(Refusal::EntryCountOutOfRange(values.len())));
    }
    let mut entries = Vec::with_capacity(values.len());
    for (index, value) in values.into_iter().enumerate() {
        let fields = Fields::at(format!("entries[{index}]"), value);
        let Some(fields) = form.noted(fields) else { continue };
        let mut item = Form::new(fields);
        let entry = entry(&mut item);
        match item.finish() {
            Ok(()) => entries.extend(entry),
            Err(Refusal::Fault(Fault::Shape(problems))) => form.problems.extend(problems),
            Err(refusal) => {
                form.refusal.get_or_insert(refusal);
            }
        }
    }
    Some(entries)
}

fn entry(form: &mut Form) -> Option<NewEntry> {
    let account_id: Option<String> = form.required("account_id");
    let account_id = account_id.and_then(|text| {
        let field = form.fields.path_of("account_id");
        form.ruled(parse_uuid(&text).map(AccountId).ok_or(Refusal::InvalidAccountId(field)))
    });
    let direction = form.chosen("direction", "debit, credit", Side::parse);
    let field = form.fields.path_of("amount");
    let amount = match form.fields.take("amount") {
        None => {
            form.problem("amount", "is required");
            None
        }
        Some(Json::String(text)) => form.ruled(Amount::parse(&text).map_err(|_| Refusal::InvalidAmount(field))),
        Some(_) => form.ruled(Err(Refusal::InvalidAmount(field))),
    };
    Some(NewEntry { account_id: account_id?, direction: direction?, amount: amount? })
}

#[derive(serde::Serialize)]
struct PostedRecord {
    transaction_id: Id,
    state: &'static str,
    created_at: Instant,
    accounts: Vec<AvailableRecord>,
}

#[derive(serde::Serialize)]
struct AvailableRecord {
    account_id: Id,
    available_after_minor: Minor,
    available_after: Money,
}

/// The answer to a posting.
pub(super) fn write_posted(posted: &Posted) -> Result<Vec<u8>, Failure> {
    let record = |one: &Available| AvailableRecord {
        account_id: Id(one.account_id.0),
        available_after_minor: Minor(one.minor),
        available_after: Money(one.minor, one.scale),
    };
    json(&PostedRecord {
        transaction_id: Id(posted.transaction_id.0),
        state: posted.state.as_str(),
        created_at: Instant(posted.created_at),
        accounts: posted.available.iter().map(record).collect(),
    })
}

#[derive(serde::Serialize)]
struct SettledRecord {
    transaction_id: Id,
    state: &'static str,
    finalized_at: Instant,
}

/// The answer to a commit or a void.
fn write_settled(settled: &Settled) -> Result<Vec<u8>, Failure> {
    json(&SettledRecord {
        transaction_id: Id(settled.transaction_id.0),
        state: settled.state.as_str(),
        finalized_at: Instant(settled.finalized_at),
    })
}

#[derive(serde::Serialize)]
struct TransactionRecord<'a> {
    transaction_id: Id,
    state: &'static str,
    description: Option<&'a str>,
    external_id: Option<&'a str>,
    metadata: Metadata<'a>,
    created_at: Instant,
    effective_at: Instant,
    expires_at: Option<Instant>,
    finalized_at: Option<Instant>,
    entries: Vec<EntryRecord>,
}

/// One transaction with its entries.
fn write_transaction(one: &Transaction) -> Result<Vec<u8>, Failure> {
    let row = &one.row;
    json(&TransactionRecord {
        transaction_id: Id(one.transaction_id.0),
        state: row.state().as_str(),
        description: row.description.as_deref(),
        external_id: row.external_id.as_deref(),
        metadata: Metadata(row.metadata.as_deref()),
        created_at: Instant(row.created_at),
        effective_at: Instant(row.effective_at.unwrap_or(row.created_at)),
        expires_at: row.expires_at().map(Instant),
        finalized_at: row.finalized_at().map(Instant),
        entries: entries_of(one.transaction_id, row).map(|entry| entry_record(&entry)).collect(),
    })
}
