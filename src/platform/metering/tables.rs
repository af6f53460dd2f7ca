//! The rows of quotas and usage.

use bincode::{Decode, Encode};
use quintet_storage::{Family, Row, Table};
use uuid::Uuid;

/// (tenant, service).
pub(crate) const QUOTAS: Table<(Uuid, u8), QuotaRow> = Table::new(0x0120, Family::APPLIANCE, "platform.quotas");

/// (tenant, service, month): calls.
pub(crate) const USAGE: Table<(Uuid, u8, u32), UsageRow> = Table::new(0x0121, Family::APPLIANCE, "platform.usage");

/// A tenant's quota of a service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(crate) struct QuotaRow {
    pub(super) monthly_calls: Option<u64>,
    pub(super) burst_per_second: Option<u32>,
}

impl Row for QuotaRow {}

/// A tenant's calls to a service in a month.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(crate) struct UsageRow {
    pub(super) calls: u64,
}

impl Row for UsageRow {}

/// Whose calls, to what, in which month (year times 100 and the month).
pub(super) type Account = (Uuid, u8, u32);
