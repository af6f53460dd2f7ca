//! Approvals of messaging and its tool guard, for the operator.

use std::time::Instant;

use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use axum::{Extension, Router};
use quintet_messaging::approval_operator::{
    self, ApprovalView, DecideWish, KindView, KindWish, LinkView, LinkWish, Login, PreparedLink,
};
use quintet_messaging::guard_operator::{self, RulesView, RulesWish};
use quintet_messaging::operator::NotDone;
use quintet_storage::{Abort, Timestamp, WriteTx};

use super::asker::Asker;
use super::call::{Call, Items};
use super::messaging::{look, told};
use super::records::Asked;
use super::task::{TaskError, WRITE_DEADLINE, blocking};
use crate::app::App;

/// The newest approvals; `workspace`, `status`.
pub const LIST: Call<(), Items<ApprovalView>> = Call::look("/messaging/approvals");
/// One approval.
pub const SHOW: Call<(), ApprovalView> = Call::look("/messaging/approvals/{approval}");
/// Decides an approval.
pub const DECIDE: Call<DecideWish, ApprovalView> = Call::change("/messaging/approvals/{approval}/decide");
/// Makes a link to the page of an approval.
pub const LINK: Call<LinkWish, LinkView> = Call::change("/messaging/approvals/{approval}/link");
/// The kinds of a workspace.
pub const KINDS: Call<(), Items<KindView>> = Call::look("/messaging/workspaces/{slug}/approval-kinds");
/// Makes a kind, or replaces it.
pub const SET_KIND: Call<KindWish, KindView> = Call::change("/messaging/workspaces/{slug}/approval-kinds/{kind}");
/// Removes a kind.
pub const REMOVE_KIND: Call<(), KindView> = Call::change("/messaging/workspaces/{slug}/approval-kinds/{kind}/remove");
/// The rules of a workspace's guard.
pub const RULES: Call<(), RulesView> = Call::look("/messaging/workspaces/{slug}/guard");
/// Replaces the rules.
pub const SET_RULES: Call<RulesWish, RulesView> = Call::change("/messaging/workspaces/{slug}/guard");
/// Takes the rules away.
pub const CLEAR_RULES: Call<(), RulesView> = Call::change("/messaging/workspaces/{slug}/guard/clear");

pub(super) fn routes(app: App) -> Router {
    Router::new()
        .merge(LIST.served_by(list))
        .merge(SHOW.served_by(show))
        .merge(DECIDE.served_by(decide))
        .merge(LINK.served_by(link))
        .merge(KINDS.served_by(kinds))
        .merge(SET_KIND.served_by(set_kind))
        .merge(REMOVE_KIND.served_by(remove_kind))
        .merge(RULES.served_by(rules))
        .merge(SET_RULES.served_by(set_rules))
        .merge(CLEAR_RULES.served_by(clear_rules))
        .with_state(app)
}

/// Runs a verb on the writer.
async fn write<T: Send + 'static>(
    app: &App,
    verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<NotDone>> + Send + 'static,
) -> Result<T, TaskError> {
    app.store.write(Instant::now() + WRITE_DEADLINE, verb).await.map_err(told)
}

/// Who asks, with the name that he logs in with.
async fn login(asker: Asker) -> Result<Login, TaskError> {
    blocking(move || Login { name: asker.login(), uid: asker.uid }).await
}

async fn list(State(app): State<App>, RawQuery(raw): RawQuery) -> Result<Response, TaskError> {
    let mut asked = Asked::of(raw.as_deref())?;
    let (workspace, status) = (asked.0.take("workspace"), asked.0.take("status"));
    let listed = move |messaging: &_| approval_operator::list(messaging, workspace.as_deref(), status.as_deref());
    LIST.answer(&Items { items: look(app, listed).await? })
}

async fn show(State(app): State<App>, Path(id): Path<String>) -> Result<Response, TaskError> {
    SHOW.answer(&look(app, move |messaging| approval_operator::show(messaging, &id)).await?)
}

async fn decide(
    State(app): State<App>,
    Extension(asker): Extension<Asker>,
    Path(id): Path<String>,
    body: Body,
) -> Result<Response, TaskError> {
    let (wish, login) = (DECIDE.wish(body).await?, login(asker).await?);
    DECIDE.answer(&write(&app, move |tx, now| approval_operator::decide(tx, now, &id, wish, &login)).await?)
}

async fn link(
    State(app): State<App>,
    Extension(asker): Extension<Asker>,
    Path(id): Path<String>,
    body: Body,
) -> Result<Response, TaskError> {
    let (wish, login) = (LINK.wish(body).await?, login(asker).await?);
    let ((base_url, _), prepared) = (approval_operator::places(&app.messaging), PreparedLink::draw());
    let made =
        move |tx: &mut WriteTx<'_>, now| approval_operator::link(tx, now, &base_url, &id, (wish, &login), prepared);
    LINK.answer(&write(&app, made).await?)
}

async fn kinds(State(app): State<App>, Path(slug): Path<String>) -> Result<Response, TaskError> {
    let items = look(app, move |messaging| approval_operator::list_kinds(messaging, &slug)).await?;
    KINDS.answer(&Items { items })
}

async fn set_kind(
    State(app): State<App>,
    Path((slug, kind)): Path<(String, String)>,
    body: Body,
) -> Result<Response, TaskError> {
    let wish = SET_KIND.wish(body).await?;
    let (_, domain) = approval_operator::places(&app.messaging);
    let set = move |tx: &mut WriteTx<'_>, now| approval_operator::set_kind(tx, now, &domain, (&slug, &kind), wish);
    SET_KIND.answer(&write(&app, set).await?)
}

async fn remove_kind(
    State(app): State<App>,
    Path((slug, kind)): Path<(String, String)>,
) -> Result<Response, TaskError> {
    REMOVE_KIND.answer(&write(&app, move |tx, _| approval_operator::remove_kind(tx, &slug, &kind)).await?)
}

async fn rules(State(app): State<App>, Path(slug): Path<String>) -> Result<Response, TaskError> {
    RULES.answer(&look(app, move |messaging| guard_operator::show(messaging, &slug)).await?)
}

async fn set_rules(State(app): State<App>, Path(slug): Path<String>, body: Body) -> Result<Response, TaskError> {
    let wish = SET_RULES.wish(body).await?;
    SET_RULES.answer(&write(&app, move |tx, now| guard_operator::set(tx, now, &slug, &wish)).await?)
}

async fn clear_rules(State(app): State<App>, Path(slug): Path<String>) -> Result<Response, TaskError> {
    CLEAR_RULES.answer(&write(&app, move |tx, _| guard_operator::clear(tx, &slug)).await?)
}
