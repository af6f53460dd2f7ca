//! The rows of grants.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0318 | grants | tenant, id | who was granted which template, and what it expanded to |
//! | 0x0319 | grants by principal | tenant, principal, id | an index of those that are not revoked |
//! | 0x0360 | open grants | tenant, id | an index of those of which the authorization system has something to do |
//! | 0x0363 | revoked grants | tenant, when, id | an index of those of which nothing is left to do, by when that was |
//! | 0x0364 | grant counts | tenant | how many there are of both |
//! | 0x038f | grant versions | tenant, principal | what its grants are called as they stand now |

use bincode::{Decode, Encode};
use quintet_storage::{Failure, Row, Table, TableSpec, Timestamp, Uuid, decode_plain};

use super::model::{Grant, GrantId, GrantIntent, Scope};
use super::permissions::{Intent, Target};
use super::states::IntentState;
use crate::model::{FAMILY, TenantId};

/// Grants.
pub const GRANTS: Table<(TenantId, GrantId), GrantRow> = Table::new(0x0318, FAMILY, "localization_grants");
/// Grants of which the authorization system has something to do.
pub const OPEN_GRANTS: Table<(TenantId, GrantId), MarkRow> = Table::new(0x0360, FAMILY, "localization_open_grants");
/// Grants that are revoked for good.
pub const REVOKED_GRANTS: Table<(TenantId, Timestamp, GrantId), MarkRow> =
    Table::new(0x0363, FAMILY, "localization_revoked_grants");
/// How many grants a tenant has.
pub const GRANT_COUNTS: Table<TenantId, GrantCountsRow> = Table::new(0x0364, FAMILY, "localization_grant_counts");
/// What the grants of a principal are called as they stand now; without a row they are read each time.
pub const GRANT_VERSIONS: Table<(TenantId, Uuid), GrantVersionRow> =
    Table::new(0x038F, FAMILY, "localization_grant_versions");
/// Grants of a principal that are not revoked.
pub const GRANTS_BY_PRINCIPAL: Table<(TenantId, Uuid, GrantId), MarkRow> =
    Table::new(0x0319, FAMILY, "localization_grants_by_principal");

/// The tables of this folder.
pub const TABLES: &[TableSpec] = &[
    GRANTS.spec(),
    GRANTS_BY_PRINCIPAL.spec(),
    OPEN_GRANTS.spec(),
    REVOKED_GRANTS.spec(),
    GRANT_COUNTS.spec(),
    GRANT_VERSIONS.spec(),
];

/// The row of an index whose key says everything.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct MarkRow;
impl Row for MarkRow {}

/// One intent of a grant.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct IntentRow {
    /// Where it holds, as text.
    pub target: String,
    /// What it confers, as texts.
    pub permissions: Vec<String>,
    /// How far it has come.
    pub state: IntentState,
    /// Whether the authorization system was told of it, or is being told.
    pub is_told: bool,
}

/// How many grants a tenant has. Without a row nobody has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct GrantCountsRow {
    /// Those of which something holds or is left to do.
    pub standing: u32,
    /// Those that are revoked for good, and kept.
    pub revoked: u32,
}
impl Row for GrantCountsRow {}

/// What the grants of a principal are called as they stand now: every change of one of them draws it anew, so that whoever
/// keeps what they come to knows whether it still holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct GrantVersionRow {
    /// Drawn at random.
    pub version: [u8; 16],
}
impl Row for GrantVersionRow {}

/// A grant.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct GrantRow {
    /// To whom.
    pub principal: [u8; 16],
    /// Which template.
    pub template: String,
    /// Within which scope.
    pub scope: Scope,
    /// What it expanded to.
    pub intents: Vec<IntentRow>,
    /// When.
    pub created_at: Timestamp,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// What version 1 was: all grants were the operator's, and none was ever revoked.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct FirstGrantRow {
    /// To whom.
    pub principal: [u8; 16],
    /// Which template.
    pub template: String,
    /// Within which scope.
    pub scope: Scope,
    /// What it expanded to.
    pub intents: Vec<FirstIntentRow>,
    /// When.
    pub created_at: Timestamp,
}

/// An intent of version 1.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct FirstIntentRow {
    /// Where it holds, as text.
    pub target: String,
    /// What it confers, as texts.
    pub permissions: Vec<String>,
    /// How far it has come.
    pub state: IntentState,
}

impl Row for GrantRow {
    const VERSION: u8 = 2;

    fn migrate(version: u8, bytes: &[u8]) -> Result<Self, Failure> {
        if version != 1 {
            return Err(Failure::Damaged(format!("a grant has unknown version {version}")));
        }
        let FirstGrantRow { principal, template, scope, intents, created_at } = decode_plain(bytes)?;
        let intents = intents.into_iter().map(|FirstIntentRow { target, permissions, state }| IntentRow {
            target,
            permissions,
            state,
            is_told: false,
        });
        let intents = intents.collect();
        Ok(GrantRow { principal, template, scope, intents, created_at, revoked_at: None })
    }
}

impl GrantRow {
    /// The grant of the id.
    ///
    /// # Errors
    /// [`Failure::Damaged`] if an intent has a target that is none.
    pub fn into_grant(self, grant_id: GrantId) -> Result<Grant, Failure> {
        let GrantRow { principal, template, scope, intents, created_at, revoked_at } = self;
        let read = |row: IntentRow| {
            let target = Target::parse(&row.target);
            let target = target.ok_or_else(|| Failure::Damaged(format!("grant {}: its target is none", grant_id.0)))?;
            let intent = Intent { target, permissions: row.permissions };
            Ok::<_, Failure>(GrantIntent { intent, state: row.state, is_told: row.is_told })
        };
        let intents = intents.into_iter().map(read).collect::<Result<_, _>>()?;
        let principal_id = Uuid::from_bytes(principal);
        Ok(Grant { grant_id, principal_id, template, scope, intents, created_at, revoked_at })
    }
}
