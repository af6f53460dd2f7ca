//! Reading what callers say of endpoints: bounds, and which addresses may be called, as far as they tell before they are:
//! they are vetted again at each attempt.

use http::Uri;
use uuid::Uuid;

use super::model::SigningSecret;
use crate::egress::{Egress, EgressError, Party, PublicPort};
use crate::json::Json;
use crate::service::FromSegment;

/// The most patterns.
pub const PATTERNS_MAX: usize = 64;
/// The longest secret, in bytes.
pub const SECRET_BYTES_MAX: usize = 256;
/// The longest description, in characters.
pub const DESCRIPTION_CHARS_MAX: usize = 256;
/// The longest address, in characters.
pub const URL_CHARS_MAX: usize = 2048;

/// What is wrong with patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternsProblem {
    /// It is no array.
    NoArray,
    /// There is none, or there are more than [`PATTERNS_MAX`].
    Count,
    /// One is no text, or nobody emits such a thing.
    Unknown,
}

/// Patterns, each once.
///
/// # Errors
/// See [`PatternsProblem`].
pub fn patterns(given: Json, is_known: impl Fn(&str) -> bool) -> Result<Vec<String>, PatternsProblem> {
    let Json::Array(items) = given else { return Err(PatternsProblem::NoArray) };
    if items.is_empty() || items.len() > PATTERNS_MAX {
        return Err(PatternsProblem::Count);
    }
    let mut patterns = Vec::new();
    for item in items {
        match item {
            Json::String(pattern) if is_known(&pattern) => {
                if !patterns.contains(&pattern) {
                    patterns.push(pattern);
                }
            }
            _ => return Err(PatternsProblem::Unknown),
        }
    }
    Ok(patterns)
}

/// A secret of the caller's; none if it is empty or too long.
#[must_use]
pub fn supplied(text: String) -> Option<SigningSecret> {
    let fits = !text.is_empty() && text.len() <= SECRET_BYTES_MAX;
    fits.then(|| SigningSecret::supplied(text))
}

/// Whether a description has no more characters than it may.
#[must_use]
pub fn is_description(text: &str) -> bool {
    text.chars().count() <= DESCRIPTION_CHARS_MAX
}

/// Whether deliveries of a tenant may go to an address; its name is resolved, which takes two seconds at most.
///
/// # Errors
/// What it must be.
pub async fn check_address(egress: &Egress, tenant_id: Uuid, url: &str) -> Result<(), &'static str> {
    check_address_at(egress, tenant_id, url, None).await
}

/// The same where on the public internet one port alone may be called.
///
/// # Errors
/// As of [`check_address`].
pub async fn check_address_at(
    egress: &Egress,
    tenant_id: Uuid,
    url: &str,
    port: Option<PublicPort>,
) -> Result<(), &'static str> {
    let is_plain = url.len() <= URL_CHARS_MAX && url.bytes().all(|byte| byte.is_ascii_graphic()) && !url.contains('#');
    let uri = Uri::try_from(url).ok().filter(|_| is_plain);
    let uri = uri.ok_or("must be an absolute https:// address of at most 2048 ASCII characters")?;
    egress.vet_at(&uri, Party(tenant_id), port).await.map_err(|error| match error {
        EgressError::Forbidden => "must be an address of the public internet",
        EgressError::Plain => "must be https://: http:// is for networks that the operator allows",
        EgressError::WrongPort => "must be at port 443: others are for networks that the operator allows",
        _ => "must be an absolute https:// address of a plainly written host, without a user",
    })
}

/// The number of a delivery in a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryNumber(pub u64);

impl FromSegment for DeliveryNumber {
    fn from_segment(text: &str) -> Option<DeliveryNumber> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
        text.parse().ok().filter(|_| is_plain).map(DeliveryNumber)
    }
}
