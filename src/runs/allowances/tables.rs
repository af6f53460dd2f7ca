//! What is stored of allowances.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x040C | days | tenant, UTC day | how many runs were submitted |
//! | 0x040D | quotas | tenant | what an operator or tenant has set |
//! | 0x040E | key terms | key | what a key allows besides its permissions |
//! | 0x040F | meters | key | seconds that runs of a metered key were charged and have used |
//! | 0x0410 | charges | tenant, run | what a run that has not ended was charged |
//! | 0x041D | ceilings (hot) | none | the operator's ceilings since the last start |

use bincode::{Decode, Encode};
use quintet_storage::{Row, Table, TableSpec};

use super::model::{KeyTerms, Meter};
use crate::model::{FAMILY, RunKey, TenantId};

/// Submissions of a day.
pub(super) const DAYS: Table<(TenantId, i64), DayRow> = Table::new(0x040C, FAMILY, "runs_days");
/// Quotas that were set.
pub(super) const QUOTAS: Table<TenantId, QuotasRow> = Table::new(0x040D, FAMILY, "runs_quotas").hot();
/// What keys allow besides their permissions, by the id that callers see.
pub(super) const KEY_TERMS: Table<String, KeyTermsRow> = Table::new(0x040E, FAMILY, "runs_key_terms").hot();
/// What metered keys have used, by the same id.
pub(super) const METERS: Table<String, MeterRow> = Table::new(0x040F, FAMILY, "runs_meters");
/// Charges of runs that have not ended.
pub(super) const CHARGES: Table<RunKey, ChargeRow> = Table::new(0x0410, FAMILY, "runs_charges");

/// The ceilings of the configuration, for verbs that nobody hands them to: whatever happens can be told.
pub(super) const CEILINGS: Table<(), CeilingsRow> = Table::new(0x041D, FAMILY, "runs_ceilings").hot();

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] =
    &[DAYS.spec(), QUOTAS.spec(), KEY_TERMS.spec(), METERS.spec(), CHARGES.spec(), CEILINGS.spec()];

/// See [`Ceilings`](super::model::Ceilings).
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(super) struct CeilingsRow(pub(super) Vec<(String, u64)>);
impl Row for CeilingsRow {}

/// A day of a tenant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(super) struct DayRow {
    /// Runs submitted.
    pub(super) submitted: u64,
}
impl Row for DayRow {}

/// Quotas that differ from the defaults, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(super) struct QuotasRow {
    /// Numbers, by name.
    pub(super) numbers: Vec<(String, u64)>,
    /// The working hours, as a TaskJuggler shift.
    pub(super) working_hours_tjp: Option<String>,
}
impl Row for QuotasRow {}

/// See [`KeyTerms`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(super) struct KeyTermsRow {
    tier: Option<String>,
    metered_seconds: Option<u64>,
    allowed_images: Option<Vec<String>>,
    retention_days: Option<u64>,
}
impl Row for KeyTermsRow {}

impl From<&KeyTerms> for KeyTermsRow {
    fn from(terms: &KeyTerms) -> KeyTermsRow {
        let KeyTerms { tier, metered_seconds, allowed_images, retention_days } = terms.clone();
        KeyTermsRow { tier, metered_seconds, allowed_images, retention_days }
    }
}

impl From<KeyTermsRow> for KeyTerms {
    fn from(row: KeyTermsRow) -> KeyTerms {
        let KeyTermsRow { tier, metered_seconds, allowed_images, retention_days } = row;
        KeyTerms { tier, metered_seconds, allowed_images, retention_days }
    }
}

/// See [`Meter`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(super) struct MeterRow {
    open_seconds: u64,
    used_seconds: u64,
}
impl Row for MeterRow {}

impl From<Meter> for MeterRow {
    fn from(Meter { open_seconds, used_seconds }: Meter) -> MeterRow {
        MeterRow { open_seconds, used_seconds }
    }
}

impl From<MeterRow> for Meter {
    fn from(MeterRow { open_seconds, used_seconds }: MeterRow) -> Meter {
        Meter { open_seconds, used_seconds }
    }
}

/// What a run that has not ended was charged.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct ChargeRow {
    /// The key.
    pub(super) key_id: String,
    /// How much: its `timeout_seconds`.
    pub(super) seconds: u64,
}
impl Row for ChargeRow {}
