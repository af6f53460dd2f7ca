//! Workspaces, projects and their locales over HTTP.

pub mod locales;
pub mod projects;
pub mod workspaces;

pub use projects::{PROJECT, permitted};
