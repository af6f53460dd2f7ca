//! Who says what a principal was granted: an authorization system behind a narrow trait.
//!
//! The embedded one reads the grants of the same store, in the state the request is served from. What a key carries by
//! itself ([`KEY_PERMISSIONS`](crate::permissions::KEY_PERMISSIONS)) holds for the tenant as a whole and comes on top.

use futures_util::future::BoxFuture;
use quintet_platform::access::Caller;
use quintet_storage::{Failure, Snapshot};

use crate::grants;
use crate::model::TenantId;
use crate::permissions::{Granted, Intent, Target, is_ours};

/// An authorization system.
pub trait Authorization: Send + Sync {
    /// What a principal was granted: every intent that holds now.
    fn intents_of<'a>(
        &'a self,
        read: &'a Snapshot,
        tenant_id: TenantId,
        principal_id: quintet_storage::Uuid,
    ) -> BoxFuture<'a, Result<Vec<Intent>, Failure>>;
}

/// The appliance itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Embedded;

impl Authorization for Embedded {
    fn intents_of<'a>(
        &'a self,
        read: &'a Snapshot,
        tenant_id: TenantId,
        principal_id: quintet_storage::Uuid,
    ) -> BoxFuture<'a, Result<Vec<Intent>, Failure>> {
        let intents = grants::intents_of(read, tenant_id, principal_id);
        Box::pin(std::future::ready(intents))
    }
}

/// Everything a caller may: what the key carries and what its principal was granted.
///
/// # Errors
/// Only the store's.
pub async fn granted(authorization: &dyn Authorization, read: &Snapshot, caller: &Caller) -> Result<Granted, Failure> {
    let mut intents = authorization.intents_of(read, TenantId(caller.tenant_id), caller.principal_id).await?;
    let own: Vec<String> = caller.permissions.iter().filter(|text| is_ours(text)).cloned().collect();
    if !own.is_empty() {
        intents.push(Intent { target: Target::Org, permissions: own });
    }
    Ok(Granted(intents))
}
