//! Many transactions in one call.
//!
//! All or none is one transaction. Each for itself is a row of slices, each a transaction of its own with a savepoint
//! for each item, short enough that others can go in between; the answer of each slice is remembered with it, so a
//! repeat goes on where the first call was cut off. An item with an Idempotency-Key of its own is done once, in
//! whichever call it comes.

use quintet_platform::access::Service;
use quintet_platform::idempotency::{RequestDigest, Scope};
use quintet_platform::json::{Json, to_canonical};
use quintet_platform::service::{
    Answer, Change, Content, Endpoint, Entered, KeyRule, Route, json as success, once, refused,
};
use quintet_storage::{Abort, Timestamp, Uuid, WriteTx};

use super::dialect::{Answered, Call, KEY_CHARS_MAX, Ledger, of_verb};
use super::form::{Form, complete};
use super::transactions::{POSTING_CODES, read_posting, write_posted};
use crate::model::TenantId;
use crate::posting::{self, PostTransaction};
use crate::refusal::Refusal;

/// The largest body of this route, in bytes: the contract's cap in the application.
const BODY_BYTES_MAX: usize = 1024 * 1024;
/// How many items and how many entries one transaction of a call that is not atomic has at most, a single item's
/// hundred entries apart.
const SLICE_ITEMS: usize = 250;
const SLICE_ENTRIES: usize = 600;
/// The most transactions of a call.
const ITEMS_MAX: usize = 1000;
/// What the items' Idempotency-Keys are unique within.
const ITEM: &str = "POST /v1/transactions/bulk, one item";

const BULK: Route = Route::post("post_transactions", "/v1/transactions/bulk")
    .permission("ledger_poster")
    .summary("Post up to 1000 transactions, all or none or each for itself")
    .key(KeyRule::Required)
    .body(Content::Json("BulkCreate"))
    .successes(&[success(200, "BulkPosted")])
    .codes(POSTING_CODES);

pub(super) const ENDPOINTS: &[Endpoint<Ledger>] = &[Endpoint::new(&BULK, |call| Box::pin(post(call)))];

async fn post(call: Call) -> Answered {
    let mut change = call.change_of(BODY_BYTES_MAX).await?;
    let tenant_id = change.call.caller.tenant_id;
    let input = change.json().and_then(|json| read_bulk(tenant_id, json));
    // A caller that leaves must not stop half of its call.
    let work = async move {
        let answer = match input {
            // Remembered like every refusal of what a request says.
            Err(refusal) => change.write(|_, _| Err(refusal.into())).await?,
            Ok(Bulk { is_atomic: true, items }) => {
                change.write(move |tx, now| Ok(results(post_all(tx, now, tenant_id.0, items)?))).await?
            }
            Ok(Bulk { is_atomic: false, items }) => post_slices(change, tenant_id.0, items).await?,
        };
        Ok(if answer.status() < 300 { wrapped(answer) } else { answer })
    };
    tokio::spawn(work).await.unwrap_or_else(|_| Err(Refusal::internal().into()))
}

/// Results as they are remembered: without what stands around all of them, so that those of slices join.
fn results(results: Vec<u8>) -> Answer {
    Answer::json(200, results)
}

fn wrapped(answer: Answer) -> Answer {
    let body = [b"{\"results\":[".as_slice(), answer.body(), b"]}"].concat();
    answer.with_body(body)
}

/// One transaction for each slice. The first has the key itself, so that another request under it is found out at once.
async fn post_slices(mut change: Change<Ledger>, tenant_id: Uuid, items: Vec<BulkItem>) -> Answered {
    let (mut whole, mut is_replay) = (Vec::new(), true);
    for (number, slice) in slices(items).into_iter().enumerate() {
        if number > 0 {
            change.go_on_with_part(number);
            whole.push(b',');
        }
        let written = change.try_write(move |tx, now| Ok(Some(results(post_each(tx, now, tenant_id, slice)?)))).await?;
        let answer = written.ok_or_else(Refusal::internal)?;
        if answer.status() >= 300 {
            return Ok(answer);
        }
        is_replay &= answer.is_replay();
        whole.extend_from_slice(answer.body());
    }
    Ok(if is_replay { results(whole).as_replay() } else { results(whole) })
}

/// Cuts the items into slices; where depends on the items alone.
fn slices(items: Vec<BulkItem>) -> Vec<Vec<BulkItem>> {
    let mut slices: Vec<Vec<BulkItem>> = Vec::new();
    let mut entries = 0;
    for item in items {
        let weight = item.command.as_ref().map_or(1, |command| command.entries.len());
        entries += weight;
        match slices.last_mut() {
            Some(slice) if slice.len() < SLICE_ITEMS && entries <= SLICE_ENTRIES => slice.push(item),
            _ => {
                entries = weight;
                slices.push(vec![item]);
            }
        }
    }
    slices
}

/// Every item for itself.
fn post_each(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: Uuid,
    items: Vec<BulkItem>,
) -> Result<Vec<u8>, Abort<Refusal>> {
    let mut results = Vec::with_capacity(items.len() * 400);
    for item in items {
        let answer = match post_item(tx, now, tenant_id, item)? {
            Outcome::Answered(answer) => answer,
            Outcome::Refused(refusal) => refused::<Ledger>(&refusal),
        };
        write_result(&answer, &mut results);
    }
    Ok(results)
}

/// All items, or none because of the first that is refused.
fn post_all(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: Uuid,
    items: Vec<BulkItem>,
) -> Result<Vec<u8>, Abort<Refusal>> {
    let mut results = Vec::with_capacity(items.len() * 400);
    for (index, item) in items.into_iter().enumerate() {
        let refused = |refusal| Abort::Refused(Refusal::InBulk { index, refusal: Box::new(refusal) });
        let answer = match post_item(tx, now, tenant_id, item)? {
            Outcome::Answered(answer) => answer,
            Outcome::Refused(refusal) => return Err(refused(refusal)),
        };
        if answer.status() >= 300 {
            let before = Refusal::ConstraintViolation("the item's idempotency_key was answered with a refusal before");
            return Err(refused(before));
        }
        write_result(&answer, &mut results);
    }
    Ok(results)
}

/// What became of an item.
enum Outcome {
    /// It was answered, now or before.
    Answered(Answer),
    /// It is refused now.
    Refused(Refusal),
}

fn post_item(tx: &mut WriteTx<'_>, now: Timestamp, tenant_id: Uuid, item: BulkItem) -> Result<Outcome, Abort<Refusal>> {
    let BulkItem { command, key } = item;
    let mut refusal = None;
    let verb = |tx: &mut WriteTx<'_>, now| {
        let posted = command.map_err(Abort::Refused).and_then(|command| posting::post_transaction(tx, now, command));
        if let Err(Abort::Refused(why)) = &posted {
            refusal = Some(why.clone());
        }
        of_verb(201, posted, write_posted)
    };
    let answered = match key {
        Some((key, digest)) => {
            let scope = Scope { service: Service::Ledger, tenant_id, within: ITEM.to_owned(), key };
            once::<Ledger>(tx, now, &Entered { scope, digest }, &BULK, |tx, now| verb(tx, now).map(Some))
        }
        None => tx.savepoint(|tx| verb(tx, now)).map(Some),
    };
    match (refusal, answered) {
        (_, Err(Abort::Failed(failure))) => Err(failure.into()),
        (_, Err(Abort::Refused(refusal))) | (Some(refusal), Ok(_)) => Ok(Outcome::Refused(refusal)),
        (None, Ok(Some(answer))) => Ok(Outcome::Answered(answer)),
        (None, Ok(None)) => Err(Refusal::internal().into()),
    }
}

/// Adds an answer as one result to those before it.
fn write_result(answer: &Answer, results: &mut Vec<u8>) {
    if !results.is_empty() {
        results.push(b',');
    }
    results.extend_from_slice(b"{\"status\":");
    results.extend_from_slice(answer.status().to_string().as_bytes());
    results.extend_from_slice(b",\"body\":");
    results.extend_from_slice(answer.body());
    results.push(b'}');
}

/// A bulk call: whether all or none, and its items.
struct Bulk {
    is_atomic: bool,
    items: Vec<BulkItem>,
}

/// One transaction of a bulk call.
struct BulkItem {
    /// What is to be posted, or why not.
    command: Result<PostTransaction, Refusal>,
    /// Its own Idempotency-Key, if it has one, and what the item was besides.
    key: Option<(String, RequestDigest)>,
}

/// POST /v1/transactions/bulk
fn read_bulk(tenant_id: TenantId, json: Json) -> Result<Bulk, Refusal> {
    let mut form = Form::of_body(json)?;
    let is_atomic = form.fields.optional::<bool>("atomic");
    let is_atomic = form.noted(is_atomic).flatten().unwrap_or(false);
    let items: Option<Vec<Json>> = form.required("transactions");
    if items.as_ref().is_some_and(|items| !(1..=ITEMS_MAX).contains(&items.len())) {
        form.problem("transactions", format!("must have 1 to {ITEMS_MAX} items"));
    }
    form.finish()?;
    let items = complete(items)?.into_iter().map(|item| read_item(tenant_id, item)).collect();
    Ok(Bulk { is_atomic, items })
}

fn read_item(tenant_id: TenantId, mut item: Json) -> BulkItem {
    let key = match &mut item {
        Json::Object(members) => {
            let place = members.iter().position(|(name, _)| name == "idempotency_key");
            place.map(|place| members.remove(place).1)
        }
        _ => None,
    };
    let key = match key {
        None => Ok(None),
        Some(Json::String(text)) if is_item_key(&text) => {
            let digest = RequestDigest::of("POST", ITEM, "", to_canonical(&item).as_bytes());
            Ok(Some((text, digest)))
        }
        Some(_) => Err(Refusal::InvalidKey("idempotency_key is a text of 1 to 255 characters")),
    };
    match key {
        Ok(key) => BulkItem { command: read_posting(tenant_id, item), key },
        Err(refusal) => BulkItem { command: Err(refusal), key: None },
    }
}

fn is_item_key(text: &str) -> bool {
    (1..=KEY_CHARS_MAX).contains(&text.chars().count()) && !text.chars().any(char::is_control)
}
