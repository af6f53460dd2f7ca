//! Making a workspace.

use quintet_storage::{Abort, Timestamp, Uuid, WriteTx};

use crate::form;
use crate::identity::{Status, Workspace, workspaces};
use crate::refusal::Refusal;
use crate::words::workspace_slug;

/// Characters of a workspace's name for people.
const NAME_CHARS_MAX: usize = 200;

/// A workspace to be made.
#[derive(Clone, Debug)]
pub(crate) struct NewWorkspace {
    /// Its name in addresses and commands.
    pub(crate) slug: String,
    /// Its name for people; none: the slug.
    pub(crate) name: Option<String>,
    /// Whose it is.
    pub(crate) tenant_id: Uuid,
    /// Whether bodies must arrive sealed; for good.
    pub(crate) is_encrypted: bool,
}

/// Makes a workspace. Mail from outside is not taken until the operator says so.
///
/// # Errors
/// The slug is none, or taken; the name is none.
pub(crate) fn create(tx: &mut WriteTx<'_>, now: Timestamp, new: NewWorkspace) -> Result<Workspace, Abort<Refusal>> {
    let NewWorkspace { slug, name, tenant_id, is_encrypted } = new;
    if !workspace_slug::is_slug(&slug) {
        return Err(Refusal::field("slug", workspace_slug::RULE).into());
    }
    let name = form::line("name", name.unwrap_or_else(|| slug.clone()), NAME_CHARS_MAX)?;
    if workspaces::by_slug(tx, &slug)?.is_some() {
        return Err(Refusal::NameTaken(slug).into());
    }
    let workspace = Workspace {
        no: workspaces::next_no(tx)?,
        id: tx.new_id(),
        slug,
        name,
        tenant_id,
        is_encrypted,
        is_ingress_open: false,
        status: Status::Active,
        created_at: now,
        limits: Vec::new(),
    };
    workspaces::put(tx, &workspace)?;
    Ok(workspace)
}
