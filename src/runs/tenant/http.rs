//! The quotas of a tenant over HTTP.

use quintet_platform::service::{Answer, Content, Endpoint, Route, failed, json as success};
use quintet_storage::WriteTx;

use super::form::read_quotas;
use super::wire::write_quotas;
use crate::allowances::quotas;
use crate::containers::hours;
use crate::context::Context;
use crate::dialect::{Answered, Call, Runs, tenant_of};
use crate::model::TenantId;
use crate::refusal::Refusal;

const GET: Route = Route::get("get_quotas", "/api/v1/tenant/quotas")
    .permission("svc_run_read")
    .summary("What the tenant may, with the operator's ceilings taken into account")
    .successes(&[success(200, "Quotas")]);
const CHANGE: Route = Route::put("change_quotas", "/api/v1/tenant/quotas")
    .permission("svc_tenant_admin")
    .summary("Change some quotas, up to the operator's ceilings; the others stay as they are")
    .body(Content::Json("QuotasChange"))
    .successes(&[success(200, "Quotas")])
    .codes(&["above_ceiling", "invalid_working_hours"]);

pub(crate) const ENDPOINTS: &[Endpoint<Runs>] =
    &[Endpoint::new(&GET, |call| Box::pin(get(call))), Endpoint::new(&CHANGE, |call| Box::pin(change(call)))];

async fn get(call: Call) -> Answered {
    Ok(in_force(&call.context, tenant_of(&call))?)
}

async fn change(call: Call) -> Answered {
    let (context, tenant_id) = (call.context.clone(), tenant_of(&call));
    let ceilings = context.settings.ceilings.clone();
    let mut change = call.change().await?;
    let said = change.json()?;
    // A calendar is compiled, which can take long.
    let asked = context.lookers.take(move || read_quotas(said, &ceilings)).await.map_err(Refusal::from)??;
    let verb = move |tx: &mut WriteTx<'_>, now| {
        hours::set_quotas(tx, now, tenant_id, asked)?;
        Ok(Answer::nothing(204))
    };
    change.write(verb).await?;
    // Only now, for a calendar is not read within a transaction.
    Ok(in_force(&context, tenant_id)?)
}

fn in_force(context: &Context, tenant_id: TenantId) -> Result<Answer, Refusal> {
    let (read, now) = context.store.read_now(context.clock.now());
    let found = quotas::effective(&read, tenant_id, &context.settings.ceilings);
    Ok(Answer::value(200, &write_quotas(now, &found.map_err(|failure| failed::<Refusal>(&failure))?)))
}
