//! What is of localization alone in its webhooks: events, tables, terms.

use quintet_platform::access::Service;
use quintet_platform::ids::parse_uuid;
use quintet_platform::webhooks::{Terms, Webhooks};

use super::chain;
use super::events::{DEGRADED_BIT, asked_by};
use super::tables::{ENDPOINTS, SUBSCRIPTIONS};

/// How many endpoints a tenant may have.
pub(super) const ENDPOINTS_MAX: u64 = 20;
/// The most that is sent of one event, in bytes. One transaction changes 200 translations at most, which take less.
const BODY_BYTES_MAX: u64 = 32 << 10;
/// For how many days a delivery is kept once it has ended.
const KEPT_DAYS: u64 = 30;

/// The webhooks of localization.
pub const WEBHOOKS: Webhooks = Webhooks {
    service: Service::Localization,
    endpoints: &ENDPOINTS,
    subscriptions: &SUBSCRIPTIONS,
    asked_by,
    degraded: DEGRADED_BIT,
    terms: |_, _| Ok(Terms { body_bytes_max: BODY_BYTES_MAX, kept_days: KEPT_DAYS }),
    shorten: |_, _| false,
    record: chain::record,
    write_id: |id| id.to_string(),
    read_id: parse_uuid,
};
