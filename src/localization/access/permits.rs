//! What a request was permitted. It is permitted on the newest state when it is looked at, and again in the transaction that
//! changes something: of two who take each other's permissions at once one is too late.

use std::sync::{Arc, Mutex, PoisonError};

use quintet_platform::access::Caller;
use quintet_storage::{Abort, Read};

use super::authorization::demand;
use super::permissions::{Action, ProjectPlace, Wanted};
use crate::refusal::Refusal;

/// What a request was permitted; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Permits(Arc<Mutex<Vec<Permit>>>);

/// A [`Wanted`] of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Permit {
    Org(&'static str),
    WorkspaceAdmin(String),
    InProject(Place, Action),
    InLocale(Place, Action, String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    workspace: String,
    project: String,
}

impl Permits {
    /// Demands a permission, and notes that it was there.
    ///
    /// # Errors
    /// As [`demand`].
    pub fn demand(&self, read: &impl Read, caller: &Caller, wanted: Wanted<'_>) -> Result<(), Abort<Refusal>> {
        demand(read, caller, wanted)?;
        let permit = Permit::of(wanted);
        let mut permits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !permits.contains(&permit) {
            permits.push(permit);
        }
        Ok(())
    }

    /// Demands again whatever was permitted so far.
    ///
    /// # Errors
    /// As [`demand`].
    pub fn demand_again(&self, read: &impl Read, caller: &Caller) -> Result<(), Abort<Refusal>> {
        let permits = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        permits.iter().try_for_each(|permit| demand(read, caller, permit.wanted()))
    }
}

impl Permit {
    fn of(wanted: Wanted<'_>) -> Permit {
        let own = |place: ProjectPlace<'_>| Place {
            workspace: place.workspace.to_owned(),
            project: place.project.to_owned(),
        };
        match wanted {
            Wanted::Org(name) => Permit::Org(name),
            Wanted::WorkspaceAdmin(workspace) => Permit::WorkspaceAdmin(workspace.to_owned()),
            Wanted::InProject(place, action) => Permit::InProject(own(place), action),
            Wanted::InLocale(place, action, tag) => Permit::InLocale(own(place), action, tag.to_owned()),
        }
    }

    fn wanted(&self) -> Wanted<'_> {
        match self {
            Permit::Org(name) => Wanted::Org(name),
            Permit::WorkspaceAdmin(workspace) => Wanted::WorkspaceAdmin(workspace),
            Permit::InProject(place, action) => Wanted::InProject(place.lent(), *action),
            Permit::InLocale(place, action, tag) => Wanted::InLocale(place.lent(), *action, tag),
        }
    }
}

impl Place {
    fn lent(&self) -> ProjectPlace<'_> {
        ProjectPlace { workspace: &self.workspace, project: &self.project }
    }
}
