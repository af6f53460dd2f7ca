//! Which error codes a route can answer with: its own, and those that follow from what it takes.

use crate::http::query::QueryError;
use crate::json::JsonError;
use crate::service::dialect::{Dialect, ServiceRefusal};
use crate::service::fault::{Fault, Problem};
use crate::service::route::{Content, KeyRule, Route};
use crate::service::verdict::Code;

/// The faults that a route can meet, by what it is.
#[must_use]
pub fn faults_of<D: Dialect>(route: &Route) -> Vec<Fault> {
    let mut faults = vec![Fault::Internal];
    if !route.takes_any_parameter {
        faults.push(Fault::of_query(QueryError::Unknown(Vec::new()), []));
    }
    if !route.parameters.is_empty() {
        faults.push(Fault::parameter("", ""));
    }
    if route.wants_key() {
        faults.extend([
            Fault::Unauthenticated,
            Fault::CredentialExpired,
            Fault::TenantNotProvisioned,
            Fault::TenantSuspended,
            Fault::Forbidden,
            Fault::QuotaExceeded(1),
            Fault::AuthorizationUnavailable,
            Fault::AppliancesCredentialRejected,
            Fault::Unreadable,
        ]);
    }
    if route.is_change() && route.wants_key() {
        faults.extend([Fault::Busy, Fault::DiskReserve, Fault::WritingStopped, Fault::OutcomeUnknown]);
    }
    match route.key {
        KeyRule::Ignored => {}
        KeyRule::Optional => faults.extend([Fault::KeyMalformed(1), Fault::KeyReused]),
        KeyRule::Required => faults.extend([Fault::KeyMissing, Fault::KeyMalformed(1), Fault::KeyReused]),
    }
    if route.key != KeyRule::Ignored && !D::DEMANDS.remembers_refusals {
        faults.push(Fault::KeyInProgress);
    }
    if matches!(route.body, Content::Json(_) | Content::OptionalJson(_)) {
        faults.extend([
            Fault::BodyTooLarge,
            Fault::BodyTimedOut,
            Fault::BodyBroken,
            Fault::Json(JsonError::NotUtf8),
            Fault::Json(JsonError::TooDeep),
            Fault::Shape(vec![Problem::new("", "")]),
        ]);
        if D::DEMANDS.wants_media_type {
            faults.push(Fault::MediaTypeUnsupported);
        }
    }
    faults
}

/// Every error code of a route with its status. A code of its own that comes with two statuses is there with both.
#[must_use]
pub fn codes_of<D: Dialect>(route: &Route) -> Vec<&'static Code> {
    let met: Vec<(u16, &str)> = faults_of::<D>(route)
        .into_iter()
        .map(|fault| {
            let verdict = D::Refusal::from(fault).verdict();
            (verdict.status, verdict.code)
        })
        .collect();
    let besides = D::codes_besides(route);
    let is_own = |code: &str| route.codes.contains(&code) || besides.contains(&code);
    let is_met = |code: &&Code| met.contains(&(code.status, code.code)) || is_own(code.code);
    D::INTERFACE.codes.iter().filter(is_met).collect()
}
