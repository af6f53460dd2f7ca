//! Many transactions in one call.
//!
//! All or none is one transaction. Each for itself is a row of slices, each a transaction of its own with a savepoint
//! for each item, short enough that others can go in between; the answer of each slice is remembered with it, so a
//! repeat goes on where the first call was cut off. An item with an Idempotency-Key of its own is done once, in
//! whichever call it comes.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::response::Response;
use quintet_platform::access::Service;
use quintet_platform::idempotency::{RequestDigest, Scope};
use quintet_storage::{Abort, Timestamp, Uuid, WriteTx};

use super::answer::Answer;
use super::input::{BULK_ITEM, BulkItem, bulk};
use super::request::{Entered, WRITER_TIME, answered, conclude, execute, receive};
use super::routes::TRANSACTION_BULK;
use super::{Context, output, required};
use crate::posting::{self, PostTransaction};
use crate::refusal::Refusal;

/// The largest body of this route, in bytes: the contract's cap in the application.
const BODY_BYTES_MAX: usize = 1024 * 1024;
/// How many items and how many entries one transaction of a call that is not atomic has at most, a single item's
/// hundred entries apart.
const SLICE_ITEMS: usize = 250;
const SLICE_ENTRIES: usize = 600;

pub(super) async fn post_bulk(State(context): State<Context>, request: Request) -> Response {
    answered(try_post_bulk(context, request).await)
}

async fn try_post_bulk(context: Context, request: Request) -> Result<Answer, Refusal> {
    let received = receive(&context, request, &TRANSACTION_BULK, BODY_BYTES_MAX).await?;
    let tenant_id = received.target.tenant_id;
    let entered = received.entered;
    let input = received.json.and_then(|json| bulk(tenant_id, required(json)?));
    // A caller that leaves must not stop half of its call.
    let work = async move {
        let (is_atomic, items) = match input {
            Ok(input) => (input.is_atomic, input.items),
            // Remembered like every refusal of what a request says.
            Err(refusal) => return post_slice(&context, entered, Err(refusal), None).await,
        };
        let first_due = items.iter().filter_map(|item| item.command.as_ref().ok()?.hold_until).min();
        let answer = if is_atomic {
            let work: Work = Box::new(move |tx, now| post_all(tx, now, tenant_id.0, items));
            post_slice(&context, entered, Ok(work), first_due).await?
        } else {
            post_slices(&context, &entered, tenant_id.0, items, first_due).await?
        };
        Ok(answer.wrapped(b"{\"results\":[", b"]}"))
    };
    tokio::spawn(work).await.unwrap_or(Err(Refusal::StatementTimeout))
}

/// What one transaction of the call does: the results of its items, joined by commas.
type Work = Box<dyn FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<Vec<u8>, Abort<Refusal>> + Send>;

async fn post_slices(
    context: &Context,
    entered: &Arc<Entered>,
    tenant_id: Uuid,
    items: Vec<BulkItem>,
    first_due: Option<Timestamp>,
) -> Result<Answer, Refusal> {
    let mut whole: Option<Answer> = None;
    for (number, slice) in slices(items).into_iter().enumerate() {
        // The first slice has the key itself, so that another request under it is found out at once.
        let entered = if number == 0 { Arc::clone(entered) } else { Arc::new(slice_of(entered, number)) };
        let work: Work = Box::new(move |tx, now| post_each(tx, now, tenant_id, slice));
        let answer = post_slice(context, entered, Ok(work), first_due).await?;
        whole = Some(match whole {
            None => answer,
            Some(before) => before.joined(answer),
        });
    }
    whole.ok_or(Refusal::InternalError)
}

/// What a later slice is remembered under: a key that no caller can send, for it has a control character.
fn slice_of(entered: &Entered, number: usize) -> Entered {
    let scope = Scope { key: format!("{}\n{number}", entered.scope.key), ..entered.scope.clone() };
    Entered { scope, digest: entered.digest }
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

async fn post_slice(
    context: &Context,
    entered: Arc<Entered>,
    work: Result<Work, Refusal>,
    first_due: Option<Timestamp>,
) -> Result<Answer, Refusal> {
    let in_writer = Arc::clone(&entered);
    let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| {
        execute(tx, now, &in_writer, work, |tx, now, work| work(tx, now), TRANSACTION_BULK.status)
    };
    let outcome = context.store.write(Instant::now() + WRITER_TIME, verb).await;
    if first_due.is_some_and(|due| outcome.is_ok() && context.sweep.is_news(due)) {
        context.clock.wake();
    }
    conclude(context, &entered, outcome)
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
        let answer = match post_item(tx, now, tenant_id, item) {
            Ok(answer) => answer,
            Err(Abort::Refused(refusal)) => Answer::refused(&refusal),
            Err(failed @ Abort::Failed(_)) => return Err(failed),
        };
        answer.write_result(&mut results);
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
        let refused = |refusal| Refusal::InBulk { index, refusal: Box::new(refusal) };
        let answer = match post_item(tx, now, tenant_id, item) {
            Ok(answer) => answer,
            Err(Abort::Refused(refusal)) => return Err(refused(refusal).into()),
            Err(failed @ Abort::Failed(_)) => return Err(failed),
        };
        if let Some(refusal) = answer.refusal() {
            return Err(refused(refusal.clone()).into());
        }
        if !answer.is_success() {
            let before = Refusal::ConstraintViolation("the item's idempotency_key was answered with a refusal before");
            return Err(refused(before).into());
        }
        answer.write_result(&mut results);
    }
    Ok(results)
}

fn post_item(tx: &mut WriteTx<'_>, now: Timestamp, tenant_id: Uuid, item: BulkItem) -> Result<Answer, Abort<Refusal>> {
    let verb = |tx: &mut WriteTx<'_>, now, command: PostTransaction| {
        Ok(output::posted(&posting::post_transaction(tx, now, command)?)?)
    };
    match item.key {
        Some((key, digest)) => execute(tx, now, &item_entered(tenant_id, key, digest), item.command, verb, 201),
        None => {
            let command = item.command?;
            Ok(Answer::of(201, tx.savepoint(|tx| verb(tx, now, command))?))
        }
    }
}

fn item_entered(tenant_id: Uuid, key: String, digest: RequestDigest) -> Entered {
    Entered { scope: Scope { service: Service::Ledger, tenant_id, route: BULK_ITEM, key }, digest }
}
