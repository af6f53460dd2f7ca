//! The words of templates.

use bincode::{Decode, Encode};
use quintet_platform::json::Json;
use quintet_storage::Timestamp;

use super::params::Declaration;
use crate::refusal::Refusal;

/// Templates of a tenant, at most.
pub(super) const TEMPLATES_MAX: u64 = 1_000;
/// Versions of a template, at most: deleting it takes them all in one transaction.
pub(super) const VERSIONS_MAX: u64 = 1_000;

/// What there is none of.
pub(super) const NO_TEMPLATE: Refusal = Refusal::NoSuch("no such template in this tenant");
/// The same of a version.
pub(super) const NO_VERSION: Refusal = Refusal::NoSuch("the template has no such version");

/// A template, but for what its versions say.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Template {
    pub(super) name: Option<String>,
    /// The number of its latest version; the first is 1, and none is left out.
    pub(super) latest_version: u64,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
}

/// What a version says: what is asked of those who run it, and the body of a submission with placeholders.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) params: Vec<Declaration>,
    pub(super) definition: Json,
    pub(super) node_count: u32,
}

/// What is to become of a template; what is not given stays.
pub(super) struct TemplateChange {
    pub(super) name: Option<String>,
    pub(super) params: Option<Vec<Declaration>>,
    pub(super) definition: Option<Json>,
}
