//! What a tenant does with its endpoints and its deliveries, as its listener refuses it.

use quintet_platform::webhooks::{Endpoint, NewEndpoint, NotDone};
use quintet_storage::{Abort, Timestamp, Uuid, WriteTx};

use super::room::WEBHOOKS;
use crate::allowances::{Ceilings, quotas};
use crate::model::TenantId;
use crate::refusal::Refusal;

/// What there is none of.
pub(super) const NO_ENDPOINT: Refusal = Refusal::NoSuch("no such webhook endpoint in this tenant");
pub(super) const NO_DELIVERY: Refusal = Refusal::NoSuch("no such delivery in this tenant");

/// Why something was not done, as an answer.
pub(super) fn refusal(not_done: NotDone) -> Refusal {
    match not_done {
        NotDone::NoEndpoint => NO_ENDPOINT,
        NotDone::NoDelivery => NO_DELIVERY,
        NotDone::Inactive => Refusal::NotNow("the endpoint is inactive; enable it with PATCH {\"active\": true}"),
        NotDone::NotEnded => Refusal::NotNow("the delivery has not ended"),
        NotDone::Full(most) => Refusal::LimitReached("max_webhook_endpoints", most),
        NotDone::Crowded(most) => Refusal::LimitReached("the most deliveries that may wait beside a new one", most),
        NotDone::Of(_, what) => refusal(*what),
    }
}

/// See [`refusal`].
pub(super) fn refused(abort: Abort<NotDone>) -> Abort<Refusal> {
    match abort {
        Abort::Failed(failure) => Abort::Failed(failure),
        Abort::Refused(not_done) => Abort::Refused(refusal(not_done)),
    }
}

/// Makes an endpoint.
pub(crate) fn create(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: TenantId,
    ceilings: &Ceilings,
    new: NewEndpoint,
) -> Result<(Uuid, Endpoint), Abort<Refusal>> {
    let most = quotas::numbers(tx, tenant_id, ceilings)?.max_webhook_endpoints;
    WEBHOOKS.create(tx, now, tenant_id.0, most, new).map_err(refused)
}
