//! Service accounts over HTTP.

use quintet_platform::json::Json;
use quintet_platform::service::{
    Answer, CURSOR, Content, Endpoint, Id, Instant, KeyRule, Route, Segment, Shape, json as success, next_cursor,
    refusal_of, written,
};
use quintet_storage::Failure;

use super::create::{Made, add_account};
use super::revoke::revoke_account;
use crate::access::Wanted;
use crate::accounts::leaving::demand_may_shut_out;
use crate::http::{Answered, Call, Form, LIMIT, Localization, read};
use crate::principals::{AccountId, LABEL_CHARS_MAX, ServiceAccount, list_accounts};
use crate::refusal::Refusal;

/// The service account that a path names.
pub const ACCOUNT: Segment = Segment::new("service_account_id", Shape::Uuid);

/// What all of these routes ask for.
const MANAGE: &str = "org_members-manage";

const LIST: Route = Route::get("list_service_accounts", "/v1/service-accounts")
    .permission(MANAGE)
    .summary(
        "List the service accounts, the oldest first, those of keys from the command line and revoked ones among them",
    )
    .parameters(&[CURSOR, LIMIT])
    .successes(&[success(200, "ServiceAccountPage")])
    .codes(&["busy"]);
const CREATE: Route = Route::post("create_service_account", "/v1/service-accounts")
    .permission(MANAGE)
    .summary("Make a service account")
    .key(KeyRule::Optional)
    .body(Content::Json("ServiceAccountCreate"))
    .successes(&[success(201, "ServiceAccount")])
    .makes(ACCOUNT.noun, "id")
    .codes(&["conflict"]);
const REVOKE: Route = Route::delete("revoke_service_account", "/v1/service-accounts/{service_account_id}")
    .permission(MANAGE)
    .summary("Revoke a service account: its keys and grants end with it")
    .segments(&[ACCOUNT])
    .key(KeyRule::Optional)
    .successes(&[success(200, "ServiceAccount")]);

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] = &[
    Endpoint::new(&LIST, |call| Box::pin(list(call))),
    Endpoint::new(&CREATE, |call| Box::pin(create(call))),
    Endpoint::new(&REVOKE, |call| Box::pin(revoke(call))),
];

async fn list(mut call: Call) -> Answered {
    const KIND: &str = "service_accounts";
    let page = call.page::<AccountId>(KIND, &LIMIT)?;
    call.caller.demand(&call.snapshot(), Wanted::Org(MANAGE)).map_err(refusal_of)?;
    let (context, tenant_id) = (call.context.clone(), call.caller.tenant_id());
    let told = context.aside(tenant_id, move |read| {
        let (found, more) = list_accounts(read, tenant_id, page.after, page.limit)?;
        let last = found.last().filter(|_| more).map(|last| last.account_id);
        Ok(Answer::json(200, write_page(&found, next_cursor(KIND, last.as_ref())?)?))
    });
    Ok(told.await.map_err(refusal_of)?)
}

async fn create(call: Call) -> Answered {
    let mut change = call.change().await?;
    let label = read_label(change.json()?)?;
    change.begin()?;
    let call = &change.call;
    call.caller.demand(&call.snapshot(), Wanted::Org(MANAGE)).map_err(refusal_of)?;
    let actor = call.caller.actor.clone();
    let made = change.write(move |tx, now| {
        let made = add_account(tx, now, &actor, label, Made::Here)?;
        Ok(Answer::json(201, written(&of_account(&made))?))
    });
    made.await
}

async fn revoke(call: Call) -> Answered {
    let mut change = call.change().await?.freeing(true);
    change.begin()?;
    let call = &change.call;
    call.caller.demand(&call.snapshot(), Wanted::Org(MANAGE)).map_err(refusal_of)?;
    let account_id = call.segment(ACCOUNT.name).map(AccountId).ok_or(Refusal::NotFound)?;
    let (actor, by) = (call.caller.actor.clone(), call.caller.key.clone());
    let revoked = change.write(move |tx, now| {
        demand_may_shut_out(tx, now, actor.tenant_id, &by, account_id.0)?;
        let revoked = revoke_account(tx, now, &actor, account_id)?;
        Ok(Answer::json(200, written(&of_account(&revoked))?))
    });
    revoked.await
}

/// ServiceAccountCreate.
fn read_label(json: Json) -> Result<String, Refusal> {
    let mut form = Form::of_body(json)?;
    let label = form.required_line("label", LABEL_CHARS_MAX);
    form.finish()?;
    read(label)
}

#[derive(serde::Serialize)]
struct AccountBody<'a> {
    id: Id,
    short_id: &'a str,
    label: &'a str,
    status: &'static str,
    created_at: Instant,
}

fn of_account(one: &ServiceAccount) -> AccountBody<'_> {
    AccountBody {
        id: Id(one.account_id.0),
        short_id: &one.short_id,
        label: &one.label,
        status: one.status.name(),
        created_at: Instant(one.created_at),
    }
}

#[derive(serde::Serialize)]
struct AccountPage<'a> {
    service_accounts: Vec<AccountBody<'a>>,
    next_cursor: Option<String>,
}

fn write_page(page: &[ServiceAccount], next_cursor: Option<String>) -> Result<Vec<u8>, Failure> {
    written(&AccountPage { service_accounts: page.iter().map(of_account).collect(), next_cursor })
}
