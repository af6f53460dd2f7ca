//! What a stored answer is of, and what it is.

use bincode::{Decode, Encode};
use uuid::Uuid;

use crate::access::Service;
use crate::secrets::digest_parts;

/// How long most rooms keep an answer, in seconds: 30 days.
pub const KEPT_SECONDS: i64 = 30 * 86_400;

/// What a key is unique within.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The service that was called.
    pub service: Service,
    /// The caller's tenant.
    pub tenant_id: Uuid,
    /// What the key is unique within: the route's method and template (`POST /v1/accounts/{id}`), or what the service's
    /// contract says instead.
    pub within: String,
    /// The Idempotency-Key.
    pub key: String,
}

/// What a request was: SHA-256 over method, path, query and body, cut to 16 bytes. It tells the requests of one
/// caller apart, who gains nothing from two that look alike. Whoever has it can try bodies on it: where one tells of a person, it
/// is stored sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RequestDigest([u8; 16]);

/// An answer as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAnswer {
    /// The status.
    pub status: u16,
    /// The content type; empty if there was no body.
    pub content_type: String,
    /// The body.
    pub body: Vec<u8>,
}

/// What is known of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// Nothing: go on.
    Fresh,
    /// It was answered already, with this.
    Replay(StoredAnswer),
    /// The key was used for another request; or for this one, and its answer, a secret, was erased with the tenant's
    /// data key.
    Mismatch,
    /// It was used for a request about a member who was erased since, whether for this one or not.
    Erased {
        /// The member.
        member_id: Uuid,
        /// The status of the answer.
        status: u16,
    },
}

impl Scope {
    pub(super) fn table_key(&self) -> (Uuid, u128) {
        let digest = digest_parts(&[&[self.service.code()], self.within.as_bytes(), self.key.as_bytes()]);
        (self.tenant_id, u128::from_be_bytes(first_half(digest)))
    }
}

impl RequestDigest {
    /// The digest of a request. `path` is the concrete path, `query` its parameters in a canonical spelling
    /// ([`Query::canonical`](crate::http::query::Query::canonical)), `body` the bytes as they came.
    #[must_use]
    pub fn of(method: &str, path: &str, query: &str, body: &[u8]) -> RequestDigest {
        RequestDigest(first_half(digest_parts(&[method.as_bytes(), path.as_bytes(), query.as_bytes(), body])))
    }

    /// What stands where a digest lies sealed elsewhere.
    pub(super) const SEALED: RequestDigest = RequestDigest([0; 16]);

    pub(super) fn bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

fn first_half(digest: [u8; 32]) -> [u8; 16] {
    let mut half = [0; 16];
    for (to, from) in half.iter_mut().zip(digest) {
        *to = from;
    }
    half
}
