//! Who the caller is, and what it may.

use quintet_platform::service::{Answer, Endpoint, Id, Route, json as success, refusal_of, written};

use super::effective::effective_permissions;
use crate::access::granted;
use crate::http::{Answered, Call, Localization};

const ME: Route = Route::get("get_me", "/v1/me")
    .permission("authenticated")
    .summary("Who the caller is, and what it may")
    .successes(&[success(200, "Me")])
    .codes(&["busy"]);

/// The endpoints of this folder.
pub const ENDPOINTS: &[Endpoint<Localization>] = &[Endpoint::new(&ME, |call| Box::pin(get_me(call)))];

#[derive(serde::Serialize)]
struct Me {
    tenant_id: Id,
    principal_id: Id,
    kind: &'static str,
    permissions: Vec<String>,
}

/// Every permission the caller has now, with each project that it covers by its own short id.
async fn get_me(call: Call) -> Answered {
    let context = call.context.clone();
    let told = context.aside(call.caller.tenant_id(), move |read| {
        let actor = &call.caller.actor;
        let granted = granted(read, &call.caller.key)?;
        let permissions = effective_permissions(read, actor.tenant_id, &granted)?;
        let me = Me {
            tenant_id: Id(actor.tenant_id.0),
            principal_id: Id(actor.principal_id),
            kind: actor.kind.name(),
            permissions,
        };
        Ok(Answer::json(200, written(&me)?))
    });
    Ok(told.await.map_err(refusal_of)?)
}
