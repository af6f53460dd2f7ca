//! Whose data key something is sealed under.

use bincode::{Decode, Encode};
use uuid::Uuid;

use crate::error::Refusal;

/// Whose data key something is sealed under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyOwner {
    /// The appliance itself: what belongs to no tenant.
    Appliance,
    /// A tenant.
    Tenant(Uuid),
    /// A member of a tenant: that member's personal fields, and nothing else.
    Member {
        /// The tenant.
        tenant: Uuid,
        /// The member.
        member: Uuid,
    },
}

/// Bytes of a [`KeyOwner`] in associated data and in rows.
const OWNER_BYTES: usize = 33;

impl KeyOwner {
    /// The owner as the key of the table of data keys.
    pub(crate) fn key(self) -> (u8, Uuid, Uuid) {
        match self {
            KeyOwner::Appliance => (0, Uuid::nil(), Uuid::nil()),
            KeyOwner::Tenant(tenant) => (1, tenant, Uuid::nil()),
            KeyOwner::Member { tenant, member } => (2, tenant, member),
        }
    }

    pub(crate) fn of_key(key: (u8, Uuid, Uuid)) -> Option<KeyOwner> {
        match key {
            (0, tenant, member) if tenant.is_nil() && member.is_nil() => Some(KeyOwner::Appliance),
            (1, tenant, member) if member.is_nil() => Some(KeyOwner::Tenant(tenant)),
            (2, tenant, member) => Some(KeyOwner::Member { tenant, member }),
            _ => None,
        }
    }

    /// The kind (0, 1, 2), the tenant, the member; nil where there is none.
    pub(crate) fn bytes(self) -> [u8; OWNER_BYTES] {
        let (kind, tenant, member) = self.key();
        let parts = std::iter::once(kind).chain(*tenant.as_bytes()).chain(*member.as_bytes());
        let mut bytes = [0; OWNER_BYTES];
        for (to, from) in bytes.iter_mut().zip(parts) {
            *to = from;
        }
        bytes
    }
}

impl Encode for KeyOwner {
    fn encode<E: bincode::enc::Encoder>(&self, encoder: &mut E) -> Result<(), bincode::error::EncodeError> {
        let (kind, tenant, member) = self.key();
        (kind, *tenant.as_bytes(), *member.as_bytes()).encode(encoder)
    }
}

impl<C> Decode<C> for KeyOwner {
    fn decode<D: bincode::de::Decoder<Context = C>>(decoder: &mut D) -> Result<Self, bincode::error::DecodeError> {
        let (kind, tenant, member): (u8, [u8; 16], [u8; 16]) = Decode::decode(decoder)?;
        KeyOwner::of_key((kind, Uuid::from_bytes(tenant), Uuid::from_bytes(member)))
            .ok_or(bincode::error::DecodeError::Other("unknown kind of key owner"))
    }
}

bincode::impl_borrow_decode!(KeyOwner);

/// The owner's data key has been destroyed: what was sealed under it cannot be read by anyone, for good. A state, not
/// damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Erased;

impl Refusal for Erased {}
