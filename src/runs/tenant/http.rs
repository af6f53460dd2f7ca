//! The quotas of a tenant over HTTP.

use quintet_platform::service::{Answer, Content, Endpoint, Route, json as success};
use quintet_storage::{Abort, WriteTx};

use super::form::read_quotas;
use super::wire::write_quotas;
use crate::allowances::quotas;
use crate::containers::hours;
use crate::dialect::{Answered, Call, Runs, tenant_of};
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
    Ok(in_force(&call).await?)
}

async fn change(call: Call) -> Answered {
    let (context, tenant_id) = (call.context.clone(), tenant_of(&call));
    let ceilings = context.settings.ceilings.clone();
    let mut change = call.change().await?;
    let said = change.json()?;
    // A calendar is compiled, which can take long.
    let read = move || read_quotas(said, &ceilings).map_err(Abort::Refused);
    let asked = change.call.in_turn(&context.lookers, read).await?;
    let verb = move |tx: &mut WriteTx<'_>, now| {
        hours::set_quotas(tx, now, tenant_id, asked)?;
        Ok(Some(Answer::nothing(204)))
    };
    change.try_write(verb).await?;
    // Only now, for a calendar is not read within a transaction.
    Ok(in_force(&change.call).await?)
}

/// What holds now; the calendar may have to be compiled.
async fn in_force(call: &Call) -> Result<Answer, Refusal> {
    let (context, tenant_id) = (call.context.clone(), tenant_of(call));
    let read = move || {
        let (read, now) = context.store.read_now(context.clock.now());
        Ok(write_quotas(now, &quotas::effective(&read, tenant_id, &context.settings.ceilings)?))
    };
    Ok(Answer::value(200, &call.in_turn(&call.context.lookers, read).await?))
}
