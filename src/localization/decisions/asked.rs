//! What the answer to a request of the interface is remembered under whose decision is raised outside of any transaction: the
//! answer is remembered in the one that notes the decision, also if that is made after a crash.

use bincode::{Decode, Encode};
use quintet_platform::access::Service;
use quintet_platform::idempotency::{Entered, KEPT_SECONDS, RequestDigest, Scope, StoredAnswer, remember};
use quintet_storage::{Failure, Timestamp, WriteTx};

use crate::model::TenantId;

/// The status of the answer to whoever makes something.
const CREATED: u16 = 201;

/// What an answer is remembered under.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Asked {
    /// What the key is unique within.
    within: String,
    /// The key.
    key: String,
    /// What was asked.
    digest: RequestDigest,
}

impl Asked {
    /// That of a request.
    #[must_use]
    pub fn of(entered: &Entered) -> Asked {
        let Entered { scope, digest } = entered.clone();
        Asked { within: scope.within, key: scope.key, digest }
    }
}

/// Remembers what was answered to whoever asked.
///
/// # Errors
/// Only the store's.
pub fn remember_made(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: TenantId,
    asked: Asked,
    body: Vec<u8>,
) -> Result<(), Failure> {
    let Asked { within, key, digest } = asked;
    let scope = Scope { service: Service::Localization, tenant_id: tenant_id.0, within, key };
    let answer = StoredAnswer { status: CREATED, content_type: "application/json".to_owned(), body };
    remember(tx, now, &Entered { scope, digest }, &answer, KEPT_SECONDS)
}
