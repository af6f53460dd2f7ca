//! Invites over HTTP. Joining stands among agents.

use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{Answer, Content, Endpoint, KeyRule, Route, json as success};
use quintet_storage::{Timestamp, WriteTx};

use super::make::{NewInvite, dead, make};
use crate::dialect::{Answered, Call, Messaging, SECRET, challenged};
use crate::form;
use crate::identity::keys::draw_token;
use crate::keys::http::may_mint;
use crate::refusal::Refusal;

/// How long a token is good if nobody says, in seconds; the least and the most (6-messaging.md, K4).
const TTL_SECONDS: i64 = 3_600;
const TTL_SECONDS_MIN: i64 = 60;
const TTL_SECONDS_MAX: i64 = 604_800;
/// Characters of a role.
const ROLE_CHARS_MAX: usize = 57;

const INVITE: Route = Route::post("make_invite", "/v1/invites")
    .permission("full")
    .marks(&[SECRET])
    .summary("Make a join token, good for one new agent, once; it is shown this once")
    .body(Content::OptionalJson("InviteNew"))
    .successes(&[success(201, "Invite")])
    .key(KeyRule::Optional)
    .codes(&["busy", "limit_reached"]);

/// What is served of invites.
pub(crate) const ENDPOINTS: &[Endpoint<Messaging>] =
    &[Endpoint::new(&INVITE, |call| Box::pin(challenged(call, invite)))];

async fn invite(call: Call) -> Answered {
    may_mint(&call.caller)?;
    let (workspace, key_id) = (call.caller.workspace.no, call.caller.key.id.clone());
    let mut change = call.change().await?;
    change.begin()?;
    let mut fields = form::members(&mut change)?;
    let role = form::optional::<String>(&mut fields, "role")?;
    let role = role.map(|role| form::line("role", role, ROLE_CHARS_MAX)).transpose()?.filter(|role| !role.is_empty());
    let ttl_seconds = form::optional::<i64>(&mut fields, "ttl_seconds")?.unwrap_or(TTL_SECONDS);
    if !(TTL_SECONDS_MIN..=TTL_SECONDS_MAX).contains(&ttl_seconds) {
        let problem = format!("must be an integer from {TTL_SECONDS_MIN} to {TTL_SECONDS_MAX}");
        return Err(Refusal::field("ttl_seconds", problem).into());
    }
    let context = change.call.context.clone();
    let looked = move || Ok(dead(&context.store.read(), workspace)?);
    let dead = change.call.in_turn(&change.call.context.lookers, looked).await?;
    let token = draw_token();
    let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| {
        let told = [
            ("token", Json::from(token.expose().as_str())),
            ("expires_in_seconds", Json::from(ttl_seconds)),
            ("role", role.as_deref().into()),
        ];
        let told = to_compact(&Json::object(told));
        make(tx, now, token.expose(), NewInvite { workspace, key_id, role, ttl_seconds }, &dead)?;
        Ok(Answer::json(201, told).secret())
    };
    change.write(verb).await
}
