//! Who did what.

use bincode::{Decode, Encode};
use quintet_platform::json::Json;
use quintet_storage::Uuid;

use crate::model::TenantId;

/// The largest payload, in bytes of canonical JSON.
pub const PAYLOAD_BYTES_MAX: usize = 4096;

/// What kind of actor did something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum ActorKind {
    /// The appliance or its operator.
    System,
    /// A person.
    Member,
    /// A program.
    ServiceAccount,
}

impl ActorKind {
    /// Its word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            ActorKind::System => "system",
            ActorKind::Member => "member",
            ActorKind::ServiceAccount => "service_account",
        }
    }
}

/// Who does something, and with which request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// In which tenant.
    pub tenant_id: TenantId,
    /// What kind of actor.
    pub kind: ActorKind,
    /// Which principal.
    pub principal_id: Uuid,
    /// The request's id; empty: none.
    pub request_id: String,
    /// The number of the operator's user on the appliance's machine, as the kernel tells it, where it is known: it goes
    /// into the payload of what he does. Names of people are in no chain.
    pub uid: Option<u32>,
}

impl Actor {
    /// The operator, from the command line.
    #[must_use]
    pub fn operator(tenant_id: TenantId) -> Actor {
        let (kind, principal_id) = (ActorKind::System, Uuid::nil());
        Actor { tenant_id, kind, principal_id, request_id: String::new(), uid: None }
    }

    /// The operator by whose user it was asked for.
    #[must_use]
    pub fn operator_of(tenant_id: TenantId, uid: u32) -> Actor {
        Actor { uid: Some(uid), ..Actor::operator(tenant_id) }
    }
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The action, such as `project.create`.
    pub action: &'static str,
    /// What kind of thing it was done to.
    pub target_type: &'static str,
    /// Which.
    pub target_id: String,
    /// What belongs to it: an object, see the rules of [`super`].
    pub payload: Option<Json>,
}

impl Event {
    /// An event about a thing with an id.
    #[must_use]
    pub fn about(action: &'static str, target_type: &'static str, id: Uuid) -> Event {
        Event { action, target_type, target_id: id.to_string(), payload: None }
    }

    /// The same with a payload.
    #[must_use]
    pub fn with<const N: usize>(mut self, members: [(&'static str, Json); N]) -> Event {
        self.payload = Some(Json::object(members));
        self
    }
}
