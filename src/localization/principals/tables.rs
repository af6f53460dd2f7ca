//! The rows of principals.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x031a | members | tenant, id | a member; what tells of the person is sealed for it |
//! | 0x031b | members by e-mail | tenant, mark | the live member of an address |
//! | 0x031c | members by subject | tenant, mark | the live member that a subject of an issuer is bound to |
//! | 0x031d | mark keys | tenant | what marks are made under, sealed for the tenant |
//! | 0x031e | service accounts | tenant, id | a service account |
//! | 0x031f | keys of principals | tenant, principal, key | an index of API keys; the labels of members' ones, sealed for them |
//! | 0x0361 | principal counts | tenant | how many live members, and active service accounts made here, there are |

use bincode::{Decode, Encode};
use quintet_platform::secrets::Secret;
use quintet_storage::seal::{self, Erased, KeyOwner, Sealed};
use quintet_storage::{
    Abort, Failure, Read, Row, Table, TableSpec, Timestamp, Uuid, WriteTx, decode_plain, encode_plain,
};

use super::model::{AccountId, AccountStatus, Member, MemberId, MemberStatus, Person, ServiceAccount};
use crate::model::{FAMILY, TenantId};

/// Members.
pub const MEMBERS: Table<(TenantId, MemberId), MemberRow> = Table::new(0x031a, FAMILY, "localization_members");
/// Live members by their addresses.
pub const MEMBERS_BY_EMAIL: Table<(TenantId, u128), MemberMarkRow> =
    Table::new(0x031b, FAMILY, "localization_members_by_email");
/// Live members by whom they are bound to.
pub const MEMBERS_BY_SUBJECT: Table<(TenantId, u128), MemberMarkRow> =
    Table::new(0x031c, FAMILY, "localization_members_by_subject");
/// What the marks of a tenant's members are made under.
pub const MARK_KEYS: Table<TenantId, MarkKeyRow> = Table::new(0x031d, FAMILY, "localization_mark_keys");
/// Service accounts.
pub const ACCOUNTS: Table<(TenantId, AccountId), AccountRow> =
    Table::new(0x031e, FAMILY, "localization_service_accounts");
/// Keys by whom they act as.
pub const KEYS_OF_PRINCIPALS: Table<(TenantId, Uuid, String), KeyOfPrincipalRow> =
    Table::new(0x031f, FAMILY, "localization_keys_of_principals");
/// How many principals a tenant has.
pub const COUNTS: Table<TenantId, CountsRow> = Table::new(0x0361, FAMILY, "localization_principal_counts");

/// The tables of this folder.
pub const TABLES: &[TableSpec] = &[
    MEMBERS.spec(),
    MEMBERS_BY_EMAIL.spec(),
    MEMBERS_BY_SUBJECT.spec(),
    MARK_KEYS.spec(),
    ACCOUNTS.spec(),
    KEYS_OF_PRINCIPALS.spec(),
    COUNTS.spec(),
];

/// A member.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct MemberRow {
    /// What stands for it among people.
    pub short_id: String,
    /// How far it has come.
    pub status: MemberStatus,
    /// What tells of the person; nothing once it is erased.
    pub person: Option<Sealed>,
    /// The mark of the address, as long as it is the member's.
    pub email_mark: Option<u128>,
    /// The mark of whom the member is bound to, likewise.
    pub subject_mark: Option<u128>,
    /// When it was invited.
    pub created_at: Timestamp,
}
impl Row for MemberRow {}

impl MemberRow {
    /// The member of the id.
    ///
    /// # Errors
    /// The store's; [`Failure::Damaged`] if what tells of the person does not open.
    pub fn into_member(self, read: &impl Read, tenant_id: TenantId, member_id: MemberId) -> Result<Member, Failure> {
        let MemberRow { short_id, status, person, created_at, .. } = self;
        let person = match person {
            Some(sealed) => open_person(read, tenant_id, member_id, &sealed)?,
            None => None,
        };
        Ok(Member { member_id, short_id, status, person, created_at })
    }
}

/// `None` for a member that has been erased since.
fn open_person(
    read: &impl Read,
    tenant_id: TenantId,
    member_id: MemberId,
    sealed: &Sealed,
) -> Result<Option<Person>, Failure> {
    match seal::open(read, key_owner(tenant_id, member_id), &MEMBERS, &(tenant_id, member_id), sealed) {
        Ok(bytes) => decode_plain(&bytes).map(Some),
        Err(Abort::Refused(Erased)) => Ok(None),
        Err(Abort::Failed(failure)) => Err(failure),
    }
}

/// What tells of a person, sealed under the member's own key.
///
/// # Errors
/// Refused for a member that is erased.
pub fn sealed_person(
    tx: &mut WriteTx<'_>,
    tenant_id: TenantId,
    member_id: MemberId,
    person: &Person,
) -> Result<Sealed, Abort<Erased>> {
    let bytes = Secret::new(encode_plain(person)?);
    seal::seal(tx, key_owner(tenant_id, member_id), &MEMBERS, &(tenant_id, member_id), bytes.expose())
}

/// Whose key a member's person is sealed under.
fn key_owner(tenant_id: TenantId, member_id: MemberId) -> KeyOwner {
    KeyOwner::Member { tenant: tenant_id.0, member: member_id.0 }
}

/// The member that a mark is of.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct MemberMarkRow {
    /// Which.
    pub member_id: MemberId,
}
impl Row for MemberMarkRow {}

/// What marks are made under.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct MarkKeyRow {
    /// 32 bytes, sealed for the tenant.
    pub key: Sealed,
}
impl Row for MarkKeyRow {}

/// A service account.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct AccountRow {
    /// What stands for it among people.
    pub short_id: String,
    /// What people call it.
    pub label: String,
    /// Whether it may act.
    pub status: AccountStatus,
    /// Whether it is that of a key from the command line.
    pub is_operators: bool,
    /// When it was made.
    pub created_at: Timestamp,
}
impl Row for AccountRow {}

impl AccountRow {
    /// The service account of the id.
    pub fn into_account(self, account_id: AccountId) -> ServiceAccount {
        let AccountRow { short_id, label, status, created_at, .. } = self;
        ServiceAccount { account_id, short_id, label, status, created_at }
    }
}

/// A key of a principal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct KeyOfPrincipalRow {
    /// What a member calls it, sealed for that one: it may tell of the person. What others call theirs lies with the key.
    pub label: Option<Sealed>,
}
impl Row for KeyOfPrincipalRow {
    const VERSION: u8 = 2;

    /// Up to version 1 all labels lay with the keys.
    fn migrate(version: u8, _bytes: &[u8]) -> Result<Self, Failure> {
        match version {
            1 => Ok(KeyOfPrincipalRow { label: None }),
            _ => Err(Failure::Damaged(format!("a key of a principal has unknown version {version}"))),
        }
    }
}

impl KeyOfPrincipalRow {
    /// The label that lies here; `None`: none does, or the member has been erased.
    ///
    /// # Errors
    /// The store's; [`Failure::Damaged`] if it does not open.
    pub fn label(&self, read: &impl Read, key: &(TenantId, Uuid, String)) -> Result<Option<String>, Failure> {
        let Some(sealed) = &self.label else { return Ok(None) };
        match seal::open(read, key_owner(key.0, MemberId(key.1)), &KEYS_OF_PRINCIPALS, key, sealed) {
            Ok(text) => Ok(Some(String::from_utf8_lossy(&text).into_owned())),
            Err(Abort::Refused(Erased)) => Ok(None),
            Err(Abort::Failed(failure)) => Err(failure),
        }
    }
}

/// The label of a member's key, sealed for the member.
///
/// # Errors
/// Refused for a member that is erased.
pub fn sealed_label(
    tx: &mut WriteTx<'_>,
    key: &(TenantId, Uuid, String),
    label: &str,
) -> Result<Sealed, Abort<Erased>> {
    let owner = key_owner(key.0, MemberId(key.1));
    seal::seal(tx, owner, &KEYS_OF_PRINCIPALS, key, label.as_bytes())
}

/// How many principals a tenant has; without a row: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct CountsRow {
    /// Members that are pending or active.
    pub live_members: u32,
    /// Service accounts that are active and were not made by a key from the command line.
    pub active_accounts: u32,
}
impl Row for CountsRow {}
