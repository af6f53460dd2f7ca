//! Types and rules of tenants and permissions.

use std::fmt;
use std::str::FromStr;

use quintet_storage::{Refusal, Timestamp};
use uuid::Uuid;

/// The longest name and label, in characters (the ledger contract's cap).
const NAME_LEN_MAX: usize = 255;
/// The longest permission, in bytes.
const PERMISSION_LEN_MAX: usize = 255;
/// The most permissions of one key.
const PERMISSIONS_MAX: usize = 1000;
/// The longest life of a key, in days (the ledger's rule).
const TTL_DAYS_MAX: u32 = 3650;

/// One of the five services.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Service {
    /// String files, translations, review, releases.
    Localization,
    /// Containers, workflows, timers, webhooks.
    Runs,
    /// Double-entry bookkeeping.
    Ledger,
    /// Messages between agents.
    Messaging,
    /// Diagrams from DOT.
    Diagrams,
}

impl Service {
    /// All of them, in the order of their documents.
    pub const ALL: [Service; 5] =
        [Service::Localization, Service::Runs, Service::Ledger, Service::Messaging, Service::Diagrams];

    /// The name in configuration, commands and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Service::Localization => "localization",
            Service::Runs => "runs",
            Service::Ledger => "ledger",
            Service::Messaging => "messaging",
            Service::Diagrams => "diagrams",
        }
    }

    /// Its place in stored sets and keys; never changes.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Service::Localization => 0,
            Service::Runs => 1,
            Service::Ledger => 2,
            Service::Messaging => 3,
            Service::Diagrams => 4,
        }
    }

    /// The service that has this place, if one has.
    pub(crate) fn of_code(code: u8) -> Option<Service> {
        Service::ALL.into_iter().find(|service| service.code() == code)
    }

    const fn bit(self) -> u8 {
        1 << self.code()
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that names no service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a service; the services are localization, runs, ledger, messaging and diagrams")]
pub struct UnknownService;

impl FromStr for Service {
    type Err = UnknownService;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Service::ALL.into_iter().find(|service| service.name() == name).ok_or(UnknownService)
    }
}

/// A set of services.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Services(u8);

impl Services {
    /// Every service.
    pub const ALL: Services = Services(0b1_1111);

    /// Whether a service is in it.
    #[must_use]
    pub const fn contains(self, service: Service) -> bool {
        self.0 & service.bit() != 0
    }

    /// Whether every service of `other` is in it.
    #[must_use]
    pub const fn contains_all(self, other: Services) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether it is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Its services, in the order of [`Service::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Service> {
        Service::ALL.into_iter().filter(move |service| self.contains(*service))
    }

    pub(crate) const fn bits(self) -> u8 {
        self.0
    }

    /// Bits that no service has are dropped.
    pub(crate) const fn from_bits(bits: u8) -> Services {
        Services(bits & Services::ALL.0)
    }
}

impl FromIterator<Service> for Services {
    fn from_iter<I: IntoIterator<Item = Service>>(services: I) -> Self {
        Services(services.into_iter().fold(0, |bits, service| bits | service.bit()))
    }
}

impl From<Service> for Services {
    fn from(service: Service) -> Self {
        Services(service.bit())
    }
}

/// Whether a tenant may act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TenantStatus {
    /// It may.
    Active,
    /// It and its sub-tenants may not, until it is activated.
    Suspended,
}

impl TenantStatus {
    /// `active` or `suspended`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            TenantStatus::Active => "active",
            TenantStatus::Suspended => "suspended",
        }
    }
}

/// A tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    /// Its identifier in all services.
    pub tenant_id: Uuid,
    /// A name for people.
    pub name: String,
    /// What it is provisioned for.
    pub services: Services,
    /// Whether it may act.
    pub status: TenantStatus,
    /// The tenant it is a client of; `None` for a root tenant.
    pub parent: Option<Uuid>,
    /// When it was created.
    pub created_at: Timestamp,
}

impl Tenant {
    /// The tenant that usage is metered against: the parent, or itself.
    #[must_use]
    pub fn root_tenant_id(&self) -> Uuid {
        self.parent.unwrap_or(self.tenant_id)
    }
}

/// Why a change of tenants or keys was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessRefusal {
    /// There is no such tenant.
    #[error("no such tenant")]
    TenantNotFound,
    /// There is one with this id already.
    #[error("a tenant with this id exists already")]
    TenantExists,
    /// The named parent does not exist.
    #[error("no such parent tenant")]
    ParentNotFound,
    /// The named parent is a sub-tenant itself.
    #[error("a sub-tenant cannot have sub-tenants")]
    ParentIsSubTenant,
    /// A sub-tenant would have services its parent has not.
    #[error("a sub-tenant's services must be among its parent's")]
    ServicesNotOfParent,
    /// A tenant of no service.
    #[error("a tenant needs at least one service")]
    NoServices,
    /// Not 1 to 255 characters, or with control characters.
    #[error("a name has 1 to 255 characters and no control characters")]
    InvalidName,
    /// More than 255 characters, or with control characters.
    #[error("a label has at most 255 characters and no control characters")]
    InvalidLabel,
    /// A permission is empty, too long or has characters that none has; or there are too many.
    #[error("a permission has 1 to 255 of letters, digits, '_', '-', '.', ':', '*'; a key has at most 1000")]
    InvalidPermission,
    /// Not 1 to 3650 days.
    #[error("a key lives 1 to 3650 days")]
    InvalidTtl,
    /// There is no such key, or it is another tenant's.
    #[error("no such key")]
    KeyNotFound,
}

impl Refusal for AccessRefusal {}

fn is_short_text(text: &str) -> bool {
    text.chars().take(NAME_LEN_MAX + 1).count() <= NAME_LEN_MAX && !text.chars().any(char::is_control)
}

pub(crate) fn check_name(name: &str) -> Result<(), AccessRefusal> {
    if is_short_text(name) && !name.trim().is_empty() { Ok(()) } else { Err(AccessRefusal::InvalidName) }
}

pub(crate) fn check_label(label: &str) -> Result<(), AccessRefusal> {
    if is_short_text(label) { Ok(()) } else { Err(AccessRefusal::InvalidLabel) }
}

pub(crate) fn check_ttl(ttl_days: Option<u32>) -> Result<(), AccessRefusal> {
    match ttl_days {
        Some(days) if !(1..=TTL_DAYS_MAX).contains(&days) => Err(AccessRefusal::InvalidTtl),
        _ => Ok(()),
    }
}

/// Sorts them and drops repetitions.
pub(crate) fn checked_permissions(mut permissions: Vec<String>) -> Result<Vec<String>, AccessRefusal> {
    permissions.sort_unstable();
    permissions.dedup();
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:*".contains(&byte);
    let valid = |text: &String| (1..=PERMISSION_LEN_MAX).contains(&text.len()) && text.bytes().all(known);
    if permissions.len() <= PERMISSIONS_MAX && permissions.iter().all(valid) {
        Ok(permissions)
    } else {
        Err(AccessRefusal::InvalidPermission)
    }
}
