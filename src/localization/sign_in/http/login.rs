//! The way to the provider.

use http::HeaderValue;
use http::header::{LOCATION, SET_COOKIE};
use quintet_platform::access::{Service, find_tenant, is_suspended};
use quintet_platform::http::cookie::set_cookie;
use quintet_platform::identity::{LIFE_SECONDS, Login};
use quintet_platform::ids::parse_uuid;
use quintet_platform::service::{Answer, Fault, Parameter, Route, Shape, Visit, failed, nothing};
use quintet_storage::{Failure, Read, Uuid};

use super::answers::private;
use crate::http::{Answered, Localization};
use crate::identity::LOGIN_COOKIE;
use crate::refusal::Refusal;

const TENANT: Parameter = Parameter::new("tenant", Shape::Uuid, "The tenant to sign in to.").required();

pub const LOGIN: Route = Route::get("login", "/auth/login")
    .summary("Sign in: to the identity provider, which sends the browser back to /auth/callback")
    .parameters(&[TENANT])
    .successes(&[nothing(302).about("The address of the provider; a sealed cookie holds the login for ten minutes")])
    .codes(&["not_found", "identity_unavailable"]);

/// Begins a login: what it is stays with the browser, sealed, and nothing is stored (localization, N3).
pub async fn login(mut visit: Visit<Localization>) -> Answered {
    let tenant = visit.text(&TENANT)?.and_then(|text| parse_uuid(&text));
    let tenant_id = tenant.ok_or_else(|| Refusal::parameter(TENANT.name, "must be a UUID"))?;
    if !can_be_entered(&visit.snapshot(), tenant_id).map_err(|failure| failed::<Refusal>(&failure))? {
        return Err(Refusal::NotFound.into());
    }
    let identity = visit.context.demand_identity()?;
    let login = Login::new(tenant_id, visit.now());
    let address = identity.provider.authorization_url(&login, &identity.callback_url()).await;
    let address = address.map_err(|unavailable| {
        tracing::warn!(%unavailable, "nobody can sign in: the identity provider does not answer as it should");
        Refusal::IdentityUnavailable
    })?;
    let key = identity.keys.get().await.map_err(|failure| failed::<Refusal>(&failure))?;
    let sealed = key.seal(&login, &identity.purpose()).ok_or(Refusal::Fault(Fault::Internal))?;
    let location = HeaderValue::try_from(address).map_err(|_| Refusal::IdentityUnavailable)?;
    let answer = Answer::nothing(302).header(LOCATION, location);
    Ok(private(answer).header(SET_COOKIE, set_cookie(LOGIN_COOKIE, &sealed, Some(LIFE_SECONDS))))
}

/// Whether people can sign in to a tenant: there is one, it has this service, and neither it nor its parent is suspended.
pub fn can_be_entered(read: &impl Read, tenant_id: Uuid) -> Result<bool, Failure> {
    let Some(tenant) = find_tenant(read, tenant_id)? else { return Ok(false) };
    Ok(tenant.services.contains(Service::Localization) && !is_suspended(read, tenant_id)?)
}
