//! What is stored of triggers. Nobody but `rows` knows the shape of a row.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x042D | triggers | tenant, template, trigger | how a trigger stands |
//! | 0x042E | trigger contents | tenant, template, trigger | values of parameters and its webhook's secret, sealed |

use bincode::{Decode, Encode};
use quintet_storage::seal::Sealed;
use quintet_storage::{Row, Table, TableSpec};

use super::model::Trigger;
use crate::model::{FAMILY, TriggerKey};

/// Triggers.
pub(super) const TRIGGERS: Table<TriggerKey, TriggerRow> = Table::new(0x042D, FAMILY, "runs_triggers");
/// What they hold.
pub(super) const CONTENTS: Table<TriggerKey, ContentsRow> = Table::new(0x042E, FAMILY, "runs_trigger_contents");

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[TRIGGERS.spec(), CONTENTS.spec()];

/// See [`Trigger`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct TriggerRow(pub(super) Trigger);
impl Row for TriggerRow {}

/// What is sealed for the tenant.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct ContentsRow(pub(super) Sealed);
impl Row for ContentsRow {}
