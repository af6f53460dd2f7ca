//! What a request was permitted. It is permitted on the newest state when it is looked at, and again in the transaction that
//! changes something: of two who take each other's permissions at once one is too late.

use std::sync::{Arc, Mutex, PoisonError};

use quintet_platform::access::Caller;
use quintet_platform::service::Fault;
use quintet_storage::{Abort, Read};

use super::authorization::may;
use super::permissions::{Action, ProjectPlace, Wanted};
use crate::refusal::Refusal;
use crate::shelf::Shelf;

/// What a request was permitted; clones share it.
#[derive(Clone)]
pub struct Permits {
    shelf: Arc<Shelf>,
    /// Each with what would do instead.
    noted: Arc<Mutex<Vec<Vec<Permit>>>>,
}

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
    /// Of a request that was permitted nothing yet.
    #[must_use]
    pub fn new(shelf: Arc<Shelf>) -> Permits {
        Permits { shelf, noted: Arc::default() }
    }

    /// Demands any of some permissions, and notes that one was there.
    ///
    /// # Errors
    /// [`Fault::Forbidden`]
    pub fn demand(&self, read: &impl Read, caller: &Caller, wanted: &[Wanted<'_>]) -> Result<(), Abort<Refusal>> {
        self.demand_any(read, caller, wanted.iter().copied())?;
        let permits = wanted.iter().map(|wanted| Permit::of(*wanted)).collect();
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        if !noted.contains(&permits) {
            noted.push(permits);
        }
        Ok(())
    }

    /// Demands again whatever was permitted so far.
    ///
    /// # Errors
    /// [`Fault::Forbidden`]
    pub fn demand_again(&self, read: &impl Read, caller: &Caller) -> Result<(), Abort<Refusal>> {
        let noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner).clone();
        noted.iter().try_for_each(|permits| self.demand_any(read, caller, permits.iter().map(Permit::wanted)))
    }

    fn demand_any<'w>(
        &self,
        read: &impl Read,
        caller: &Caller,
        wanted: impl IntoIterator<Item = Wanted<'w>>,
    ) -> Result<(), Abort<Refusal>> {
        for wanted in wanted {
            if may(read, &self.shelf, caller, wanted)? {
                return Ok(());
            }
        }
        Err(Refusal::Fault(Fault::Forbidden).into())
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
