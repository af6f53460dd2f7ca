//! Localization, for the operator: the language core under rehearsal, the templates that keys are granted, the key that
//! checks audit chains.

use axum::Router;
use axum::extract::{Path, State};
use axum::response::Response;
use quintet_localization::AuditStanding;
use quintet_localization::language::CheckName;
use quintet_localization::operator::{GrantWish, read_grant_wish};
use quintet_platform::access::{Service, Tenant};
use quintet_platform::clock::rfc3339;
use serde::{Deserialize, Serialize};

use super::call::{Call, Items};
use super::task::TaskError;
use crate::app::App;

/// How the language core's checks went.
pub const CHECKS: Call<(), Items<CoreCheckView>> = Call::look("/core");
/// Makes a check fail.
pub const FAIL: Call<(), Items<CoreCheckView>> = Call::change("/core/{check}/fail");
/// Lets a check pass again.
pub const RESTORE: Call<(), Items<CoreCheckView>> = Call::change("/core/{check}/restore");

/// Whether the authorization system answers, if there is one. Asks it.
pub const AUTHORIZATION: Call<(), AuthorizationView> = Call::look("/authorization");
/// The key that checks checkpoints of audit chains.
pub const AUDIT_KEY: Call<(), AuditKeyView> = Call::look("/audit/key");

/// The key that checks checkpoints of audit chains.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AuditKeyView {
    /// The first 16 hexadecimal digits of its SHA-256.
    pub key_id: String,
    /// Its 32 bytes (Ed25519), in hexadecimal digits.
    pub public_key: String,
    /// The same as tools read it.
    pub pem: String,
    /// When it was made; RFC 3339.
    pub made_at: String,
}

/// How the anchors of audit chains are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditView {
    /// The file they are in; absent if none is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor_file: Option<String>,
    /// How many are not in it yet; a thousand stands for more.
    #[serde(default)]
    pub anchors_waiting: u64,
    /// Why it could not be written the last time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complaint: Option<String>,
}

/// How a check of the language core went.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CoreCheckView {
    /// Its name.
    pub name: String,
    /// Whether it passed.
    pub ok: bool,
    /// How long it took.
    pub milliseconds: u64,
}

/// Whether the authorization system answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AuthorizationView {
    /// Whether there is one.
    pub is_set: bool,
    /// What is wrong with it.
    pub problem: Option<String>,
}

pub(super) fn routes(app: App) -> Router {
    Router::new()
        .merge(CHECKS.served_by(async |State(app): State<App>| CHECKS.answer(&checks(&app))))
        .merge(AUTHORIZATION.served_by(async |State(app): State<App>| {
            let found = app.localization.authorization_problem().await;
            let problem = found.and_then(Result::err).map(|problem| problem.to_string());
            AUTHORIZATION.answer(&AuthorizationView { is_set: found.is_some(), problem })
        }))
        .merge(FAIL.served_by(fail_check))
        .merge(RESTORE.served_by(restore_check))
        .merge(AUDIT_KEY.served_by(async |State(app): State<App>| AUDIT_KEY.answer(&audit_key(&app)?)))
        .with_state(app)
}

async fn fail_check(State(app): State<App>, Path(check): Path<String>) -> Result<Response, TaskError> {
    let check = rehearsed(&app, &check)?;
    app.localization.core().fail(check);
    FAIL.answer(&checks(&app))
}

async fn restore_check(State(app): State<App>, Path(check): Path<String>) -> Result<Response, TaskError> {
    let check = rehearsed(&app, &check)?;
    app.localization.core().restore(check);
    RESTORE.answer(&checks(&app))
}

fn audit_key(app: &App) -> Result<AuditKeyView, TaskError> {
    let key = quintet_localization::audit_key(&app.store.read())?;
    let key = key.ok_or_else(|| TaskError::NotFound("the key is not made yet: the disk is full".into()))?;
    Ok(AuditKeyView { key_id: key.id_text(), public_key: key.text(), pem: key.pem(), made_at: rfc3339(key.made_at) })
}

/// How the anchors of audit chains are.
pub(super) fn audit(app: &App) -> Result<AuditView, TaskError> {
    let AuditStanding { anchor_file, waiting, complaint } = quintet_localization::audit_standing(&app.localization)?;
    Ok(AuditView { anchor_file, anchors_waiting: waiting, complaint })
}

/// How the language core's checks went.
pub(super) fn checks(app: &App) -> Items<CoreCheckView> {
    let outcomes = app.localization.core().outcomes();
    let view = |one: &quintet_localization::language::CheckOutcome| CoreCheckView {
        name: one.name.name().to_owned(),
        ok: one.ok,
        milliseconds: one.milliseconds,
    };
    Items { items: outcomes.iter().map(view).collect() }
}

/// The check of a name, on a rehearsal directory.
fn rehearsed(app: &App, name: &str) -> Result<CheckName, TaskError> {
    if !app.clock.is_rehearsal() {
        return Err(TaskError::Conflict("checks are made to fail on rehearsal directories only".into()));
    }
    CheckName::from_name(name).map_err(|_| {
        let known: Vec<&str> = CheckName::ALL.iter().map(|check| check.name()).collect();
        TaskError::NotFound(format!("unknown check {name:?}; the checks are {}", known.join(", ")))
    })
}

/// The template a key is to have, if one was asked for.
pub(super) fn grant_wish(
    tenant: &Tenant,
    template: Option<&str>,
    scope: Option<&str>,
) -> Result<Option<GrantWish>, TaskError> {
    let Some(template) = template else {
        return match scope {
            Some(_) => Err(TaskError::Unusable("a scope goes with a template".into())),
            None => Ok(None),
        };
    };
    if !tenant.services.contains(Service::Localization) {
        return Err(TaskError::Unusable(
            "templates are localization's, which the tenant is not provisioned for".into(),
        ));
    }
    read_grant_wish(template, scope).map(Some).map_err(TaskError::Unusable)
}
