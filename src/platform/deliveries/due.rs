//! When an attempt falls due, and in which lane.

use http::Uri;
use quintet_storage::{Failure, Timestamp, WriteTx};
use uuid::Uuid;

use super::model::{Delivery, Outbox, Target};
use super::tables::{DUE, DueRow, lane_of_authority};
use crate::egress::authority_of;

/// Has an attempt fall due.
pub(super) fn put_due(tx: &mut WriteTx<'_>, outbox: Outbox, delivery: &Delivery, at: Timestamp) -> Result<(), Failure> {
    let (tenant_id, service, id) = outbox.place(delivery.id);
    tx.falls_due(DUE.spec().tag, at);
    tx.put(
        &DUE,
        &(at, tenant_id, service, id),
        &DueRow { lane: lane_of(delivery).into_bytes(), is_retry: delivery.attempts > 0 },
    )
}

/// The lane of a delivery: its endpoint's, or its authority's.
pub(super) fn lane_of(delivery: &Delivery) -> Uuid {
    match delivery.target {
        Target::Endpoint(id) => id,
        Target::Inline => {
            let uri = delivery.url.as_deref().and_then(|url| url.parse::<Uri>().ok());
            let authority = uri.and_then(|uri| authority_of(&uri));
            lane_of_authority(&authority.unwrap_or_default())
        }
    }
}
