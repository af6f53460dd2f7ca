//! The demo's ways into the console: a link for whoever runs it, and one for a member of its tenant.

use serde::Serialize;

use crate::admin::console::{LinkView, Who, operator_link};
use crate::admin::members::{self, MEMBER_PERMISSIONS, MemberWish, OneWish, TemplateWish};
use crate::admin::task::TaskError;
use crate::app::App;
use crate::cli::output;

/// The member of the demo's tenant: an address that is nobody's (RFC 2606).
const MEMBER: &str = "demo@example.com";
/// What it is granted in localization: everything.
const TEMPLATE: &str = "org_admin";

/// The links; each works once.
#[derive(Serialize)]
pub struct Ways {
    /// To the pages of operators.
    pub operator: Option<LinkView>,
    /// To those of members.
    pub member: Option<LinkView>,
}

/// Makes the links, and the member, if there is none yet.
///
/// # Errors
/// They cannot be made.
pub async fn prepare(app: &App, tenant_id: &str) -> Result<Ways, TaskError> {
    let has = |listener: &str| app.places.of(listener).is_some();
    let operator = match has("operations") {
        true => Some(operator_link(app, Who::own().await?).await?),
        false => None,
    };
    let member = match has("console") {
        true => Some(member(app, tenant_id).await?),
        false => None,
    };
    Ok(Ways { operator, member })
}

async fn member(app: &App, tenant_id: &str) -> Result<LinkView, TaskError> {
    let wish = || OneWish { tenant: tenant_id.to_owned(), member: MEMBER.to_owned(), permissions: Vec::new() };
    match members::member_link(app, wish(), Who::own().await?).await {
        Err(TaskError::NotThere(..)) => {
            output::progress("inviting a member ...");
            let new = MemberWish {
                tenant: tenant_id.to_owned(),
                email: MEMBER.to_owned(),
                templates: vec![TemplateWish { name: TEMPLATE.to_owned(), scope: None }],
                permissions: MEMBER_PERMISSIONS.iter().map(ToString::to_string).collect(),
            };
            members::create_member(app, new, &Who::own().await?).await?;
            members::member_link(app, wish(), Who::own().await?).await
        }
        made => made,
    }
}
