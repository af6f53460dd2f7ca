//! What one transaction does to the translations of a file in a locale is one event, however many there are: an evaluation
//! by policy, a document or a call of the engine would else tell of each of thousands.

use quintet_platform::json::Json;
use quintet_platform::webhooks::Subscription;
use quintet_storage::{Failure, Read, Timestamp, Uuid, WriteTx};

use super::events::bit_of;
use super::room::WEBHOOKS;
use super::tell::{Told, tell_listeners};
use crate::audit::Actor;
use crate::model::{ProjectId, TenantId};

const EVENT: &str = "translation";

/// What changes translations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// Somebody wrote one.
    Written,
    /// The engine or the memory drafted some.
    Drafted,
    /// A document brought some.
    Imported,
    /// A reviewer.
    Transition,
    /// A decision.
    Decision,
    /// A licence.
    Policy,
}

impl Occasion {
    /// Its word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Occasion::Written => "written",
            Occasion::Drafted => "drafted",
            Occasion::Imported => "imported",
            Occasion::Transition => "transition",
            Occasion::Decision => "decision",
            Occasion::Policy => "policy",
        }
    }
}

/// Where translations lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place<'p> {
    /// In which project.
    pub project_id: ProjectId,
    /// Of which file.
    pub file_id: Uuid,
    /// The canonical tag of the locale.
    pub locale: &'p str,
}

/// A translation that changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed<'c> {
    /// Of which key.
    pub key_id: Uuid,
    /// Its revision now.
    pub revision: u64,
    /// Its state before.
    pub from: &'static str,
    /// Its state now.
    pub to: &'static str,
    /// What approved it, by another's decision.
    pub approval_ref: Option<&'c str>,
}

/// What a transaction does to the translations of a file in a locale.
pub struct Changes {
    listeners: Vec<Subscription>,
    occasion: Occasion,
    /// Project, file and locale, from the first change on.
    place: Option<(ProjectId, Uuid, String)>,
    approval_ref: Option<String>,
    keys: Vec<Json>,
}

impl Changes {
    /// None so far.
    ///
    /// # Errors
    /// The store's.
    pub fn begin(read: &impl Read, tenant_id: TenantId, occasion: Occasion) -> Result<Changes, Failure> {
        let listeners = WEBHOOKS.listeners(read, tenant_id.0, bit_of(EVENT))?;
        Ok(Changes { listeners, occasion, place: None, approval_ref: None, keys: Vec::new() })
    }

    /// Notes one, if anybody is to be told.
    pub fn note(&mut self, place: &Place<'_>, changed: Changed<'_>) {
        if self.listeners.is_empty() {
            return;
        }
        self.place.get_or_insert_with(|| (place.project_id, place.file_id, place.locale.to_owned()));
        if let Some(reference) = changed.approval_ref {
            self.approval_ref.get_or_insert_with(|| reference.to_owned());
        }
        self.keys.push(Json::object([
            ("key_id", Json::from(changed.key_id.to_string())),
            ("revision", changed.revision.into()),
            ("from", changed.from.into()),
            ("to", changed.to.into()),
        ]));
    }

    /// Tells of them, if there are any.
    ///
    /// # Errors
    /// The store's.
    pub fn tell(self, tx: &mut WriteTx<'_>, now: Timestamp, actor: &Actor) -> Result<(), Failure> {
        let Changes { listeners, occasion, place, approval_ref, keys } = self;
        let Some((project_id, file_id, locale)) = place else { return Ok(()) };
        let data = [
            ("project_id", Json::from(project_id.0.to_string())),
            ("file_id", file_id.to_string().into()),
            ("locale", locale.into()),
            ("cause", occasion.name().into()),
            ("approval_ref", approval_ref.map_or(Json::Null, Json::from)),
            ("count", keys.len().into()),
            ("keys", keys.into()),
        ];
        let told = Told { event: EVENT, resource_type: "file", resource_id: file_id, data };
        tell_listeners(tx, now, actor, &listeners, told)
    }
}
