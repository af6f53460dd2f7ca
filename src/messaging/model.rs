//! The words that all of messaging shares: how things are named in keys, and what an id looks like.
//!
//! Workspaces and agents are counted: their numbers are short, and stand in the keys of nearly every row. What callers
//! see of them are slugs, names and ULIDs. A message is named by a UUID version 7 of the log; a delivery by one that is
//! put together from where it lies, so that it is found without another row.

use bincode::{Decode, Encode};
use quintet_storage::{Failure, Family, Key, Row, Timestamp, Uuid, key_newtype};

/// The column family that all rows of the room lie in.
pub(crate) const FAMILY: Family = Family::named("messaging");

macro_rules! number {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
        pub(crate) struct $name(pub(crate) u32);

        impl Key for $name {
            fn encode(&self, out: &mut Vec<u8>) {
                Key::encode(&self.0, out);
            }
            fn decode(input: &mut &[u8]) -> Result<Self, Failure> {
                <u32 as Key>::decode(input).map($name)
            }
        }
    };
}

number!(
    /// A workspace, counted from 1 in the whole appliance.
    WorkspaceNo
);
number!(
    /// An agent, counted from 1 in its workspace.
    AgentNo
);
key_newtype!(
    /// A message; callers know it as its ULID.
    pub(crate) MessageId(Uuid)
);
key_newtype!(
    /// A thread; callers know it as its ULID.
    pub(crate) ThreadId(Uuid)
);

key_newtype!(
    /// An approval; callers know it as its ULID.
    pub(crate) ApprovalId(Uuid)
);

/// An agent of a workspace: what most rows are found by.
pub(crate) type AgentKey = (WorkspaceNo, AgentNo);
/// A message of a workspace.
pub(crate) type MessageKey = (WorkspaceNo, MessageId);
/// A thread of a workspace.
pub(crate) type ThreadKey = (WorkspaceNo, ThreadId);
/// An approval of a workspace.
pub(crate) type ApprovalKey = (WorkspaceNo, ApprovalId);

/// An agent as one number: what is told of its inbox is told of this.
pub(crate) fn packed((workspace, agent): AgentKey) -> u64 {
    u64::from(workspace.0) << 32 | u64::from(agent.0)
}

/// The agent that a number stands for.
pub(crate) fn unpacked(number: u64) -> AgentKey {
    let low = u32::try_from(number & u64::from(u32::MAX)).unwrap_or(u32::MAX);
    let high = u32::try_from(number >> 32).unwrap_or(u32::MAX);
    (WorkspaceNo(high), AgentNo(low))
}

/// The row of an index whose key says everything.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Mark;

impl Row for Mark {}

/// A message in an agent's inbox.
///
/// Its id is the instant of its arrival in milliseconds (48 bits), the agent's number (32 bits) and its place in the inbox
/// (48 bits): a ULID in the order of time, which tells where the row is. It is no secret: whoever names it must be the
/// agent. The four bits that tell the version of a message's id are 0 here, as agents' numbers stay below 2^28.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DeliveryId {
    pub(crate) arrived_at: Timestamp,
    pub(crate) agent: AgentNo,
    pub(crate) seq: u64,
}

/// Agents of a workspace beyond this number would get ids that look like a message's.
pub(crate) const AGENTS_EVER_MAX: u32 = (1 << 28) - 1;
const SEQ_BITS: u32 = 48;
const SEQ_MASK: u128 = (1 << SEQ_BITS) - 1;

impl DeliveryId {
    /// As one number.
    pub(crate) fn to_uuid(self) -> Uuid {
        let millis = u128::from(self.arrived_at.as_micros().div_euclid(1000).max(0).unsigned_abs());
        Uuid::from_u128(millis << 80 | u128::from(self.agent.0) << SEQ_BITS | u128::from(self.seq) & SEQ_MASK)
    }
}

/// What an id in a request may name: callers give a message where a delivery is meant, and the other way round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MailId {
    /// A message.
    Message(MessageId),
    /// A place in an agent's inbox; the milliseconds of its arrival are compared with the row's.
    Delivery { agent: AgentNo, seq: u64, millis: i64 },
}

impl MailId {
    /// What an id names by its form.
    pub(crate) fn of(id: Uuid) -> MailId {
        if id.get_version_num() == 7 {
            return MailId::Message(MessageId(id));
        }
        let number = id.as_u128();
        let agent = u32::try_from(number >> SEQ_BITS & u128::from(u32::MAX)).unwrap_or(u32::MAX);
        MailId::Delivery {
            agent: AgentNo(agent),
            seq: u64::try_from(number & SEQ_MASK).unwrap_or(u64::MAX),
            millis: i64::try_from(number >> 80).unwrap_or(i64::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_is_found_by_its_id() {
        let arrived_at = Timestamp::from_micros(1_764_000_000_123_456);
        for (agent, seq) in [(1, 1), (7, 1 << 40), (AGENTS_EVER_MAX, (1 << 48) - 1)] {
            let id = DeliveryId { arrived_at, agent: AgentNo(agent), seq }.to_uuid();
            let found = MailId::of(id);
            assert_eq!(found, MailId::Delivery { agent: AgentNo(agent), seq, millis: 1_764_000_000_123 });
        }
        let message = Uuid::from_u128(0x0190_a1b2_c3d4_7e5f_8a9b_0c1d_2e3f_4a5b);
        assert_eq!(MailId::of(message), MailId::Message(MessageId(message)));
    }

    #[test]
    fn an_agent_is_one_number() {
        let key = (WorkspaceNo(3), AgentNo(u32::MAX));
        assert_eq!(unpacked(packed(key)), key);
    }
}
