//! What is stored of webhooks. Nobody but the platform's `webhooks` knows the shape of a row.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0414 | endpoints | tenant, endpoint | who is to be told; the secret sealed |
//! | 0x0415 | subscriptions (hot) | tenant | what its active endpoints ask for: most changes of state end here |

use quintet_platform::webhooks::{EndpointId, EndpointRow, SubscriptionsRow, TenantId};
use quintet_storage::{Table, TableSpec};

use crate::model::FAMILY;

/// Endpoints.
pub(super) const ENDPOINTS: Table<(TenantId, EndpointId), EndpointRow> = Table::new(0x0414, FAMILY, "runs_endpoints");
/// What active endpoints ask for.
pub(super) const SUBSCRIPTIONS: Table<TenantId, SubscriptionsRow> =
    Table::new(0x0415, FAMILY, "runs_subscriptions").hot();

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[ENDPOINTS.spec(), SUBSCRIPTIONS.spec()];
