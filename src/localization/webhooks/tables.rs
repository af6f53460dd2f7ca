//! What is stored of webhooks. Nobody but the platform's `webhooks` knows the shape of a row.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0388 | endpoints | tenant, endpoint | who is to be told; the secret sealed |
//! | 0x0389 | subscriptions (hot) | tenant | what its active endpoints ask for: most of what happens ends here |

use quintet_platform::webhooks::{EndpointId, EndpointRow, SubscriptionsRow, TenantId};
use quintet_storage::{Table, TableSpec};

use crate::model::FAMILY;

/// Endpoints.
pub(super) const ENDPOINTS: Table<(TenantId, EndpointId), EndpointRow> =
    Table::new(0x0388, FAMILY, "localization_endpoints");
/// What active endpoints ask for.
pub(super) const SUBSCRIPTIONS: Table<TenantId, SubscriptionsRow> =
    Table::new(0x0389, FAMILY, "localization_subscriptions").hot();

/// The tables of this folder.
pub const TABLES: &[TableSpec] = &[ENDPOINTS.spec(), SUBSCRIPTIONS.spec()];
