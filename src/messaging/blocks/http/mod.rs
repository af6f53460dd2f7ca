//! Blocks over HTTP: blocking another agent, listing, unblocking.

use quintet_platform::json::{Json, to_compact};
use quintet_platform::service::{Answer, Content, Endpoint, KeyRule, Route, json as success};
use quintet_storage::{Failure, Timestamp, WriteTx};

use super::model::Block;
use super::rows;
use crate::dialect::{ACTING, Answered, Call, Messaging, challenged};
use crate::form::{self, AGENT, agent_of};
use crate::identity::{agents, mailboxes};
use crate::refusal::Refusal;
use crate::wire::instant_or_null;

/// The most characters of a reason.
const REASON_CHARS_MAX: usize = 500;

const BLOCK: Route = Route::post("block_agent", "/v1/blocks")
    .permission("send")
    .marks(&[ACTING])
    .summary("Take nothing from another agent, until an instant or for good; again: reason and instant are replaced")
    .body(Content::Json("BlockNew"))
    .successes(&[success(201, "Block")])
    .makes("name", "agent")
    .key(KeyRule::Optional);
const LIST: Route = Route::get("list_blocks", "/v1/blocks")
    .permission("send")
    .marks(&[ACTING])
    .summary("The agent's blocks, lapsed ones too")
    .successes(&[success(200, "Blocks")])
    .codes(&["busy"]);
const UNBLOCK: Route = Route::delete("unblock_agent", "/v1/blocks/{name}")
    .permission("send")
    .marks(&[ACTING])
    .summary("Take messages from an agent again; one that is not blocked stays so")
    .segments(&[AGENT])
    .successes(&[success(200, "Unblocked")]);

/// What is served of blocks.
pub(crate) const ENDPOINTS: &[Endpoint<Messaging>] = &[
    Endpoint::new(&BLOCK, |call| Box::pin(challenged(call, block))),
    Endpoint::new(&LIST, |call| Box::pin(challenged(call, list))),
    Endpoint::new(&UNBLOCK, |call| Box::pin(challenged(call, unblock))),
];

async fn block(call: Call) -> Answered {
    let (blocker, _) = call.caller.acting()?;
    let mut change = call.change().await?;
    change.begin()?;
    let mut fields = form::members(&mut change)?;
    let name: String = form::required(&mut fields, "agent")?;
    let reason = form::optional::<String>(&mut fields, "reason")?;
    let reason = reason.map(|reason| form::line("reason", reason, REASON_CHARS_MAX)).transpose()?;
    let expires_at = form::instant(&mut fields, "expires_at")?;
    let verb = move |tx: &mut WriteTx<'_>, now: Timestamp| {
        let unknown = || Refusal::field("agent", "is the name of no agent of this workspace");
        let blocked = agents::by_name(tx, blocker.0, &name)?.ok_or_else(unknown)?;
        if blocked == blocker.1 {
            return Err(Refusal::field("agent", "cannot be the agent itself").into());
        }
        if expires_at.is_some_and(|at| at <= now) {
            return Err(Refusal::field("expires_at", "must lie in the future").into());
        }
        let before = rows::find(tx, blocker, blocked)?;
        let (created_at, suppressed_count) =
            before.map_or((now, 0), |before| (before.created_at, before.suppressed_count));
        let block = Block { reason, expires_at, created_at, suppressed_count };
        rows::put(tx, blocker, blocked, block.clone())?;
        Ok(Answer::json(201, to_compact(&record(&name, &block, now))))
    };
    change.write(verb).await
}

async fn list(call: Call) -> Answered {
    let (blocker, _) = call.caller.acting()?;
    let (context, now) = (call.context.clone(), call.now());
    let look = move || {
        let read = context.store.read();
        let all = rows::of_agent(&read, blocker)?.into_iter().map(|(blocked, block)| {
            let name = mailboxes::get(&read, (blocker.0, blocked))?.name;
            Ok(record(&name, &block, now))
        });
        let blocks = all.collect::<Result<Vec<_>, Failure>>()?;
        Ok(to_compact(&Json::object([("count", Json::from(blocks.len())), ("blocks", blocks.into())])))
    };
    Ok(Answer::json(200, call.in_turn(&call.context.lookers, look).await?))
}

async fn unblock(call: Call) -> Answered {
    let (blocker, _) = call.caller.acting()?;
    let (blocked, name) = agent_of(&call)?;
    let change = call.change().await?;
    let verb = move |tx: &mut WriteTx<'_>, _| {
        let before = rows::find(tx, blocker, blocked)?;
        if before.is_some() {
            rows::remove(tx, blocker, blocked)?;
        }
        let suppressed = before.map_or(0, |block| block.suppressed_count);
        let told = [("agent", Json::from(name)), ("suppressed_count", suppressed.into())];
        Ok(Answer::json(200, to_compact(&Json::object(told))))
    };
    change.write(verb).await
}

fn record(name: &str, block: &Block, now: Timestamp) -> Json {
    Json::object([
        ("agent", Json::from(name)),
        ("reason", block.reason.as_deref().into()),
        ("expires_at", instant_or_null(block.expires_at)),
        ("suppressed_count", block.suppressed_count.into()),
        ("active", block.is_active(now).into()),
    ])
}
