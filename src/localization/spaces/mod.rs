//! Spaces: where files lie.
//!
//! Nouns: a tenant has *workspaces*, they have *projects*; a project has one *source locale* and a set of *target
//! locales*. A *short id* stands for a workspace or project in permissions; members and service accounts have one, too.
//!
//! Invariants:
//! - a short id stands for one thing of its tenant, for good;
//! - slugs are unique: a workspace's in its tenant, a project's in its workspace;
//! - a project lies in its workspace for good;
//! - of the target locales no two are one locale; they and the source locale have versions of their own.
//!
//! Reading order: `model` · `tables` · `short_ids` · `workspaces` · `projects` · `locales` · `http` · `verify`.

pub mod http;
mod locales;
mod model;
mod projects;
mod short_ids;
mod tables;
mod verify;
mod workspaces;

#[cfg(test)]
mod tests;

pub use locales::{get_locales, given_locale, put_source_locale};
pub use model::{Expected, GivenLocale, Project, ProjectId, SourceLocale};
pub use projects::{each_project, get_project};
pub use short_ids::{owner_of, take_short_id};
pub use tables::{ShortIdRow, TABLES};
#[cfg(test)]
pub use tables::{WORKSPACE_SLUGS, WORKSPACES, WorkspaceSlugRow};
pub use verify::verify;
pub use workspaces::{each_workspace, get_workspace};
#[cfg(test)]
pub use {
    model::WorkspaceId,
    projects::{CreateProject, create_project},
    workspaces::{CreateWorkspace, create_workspace},
};
