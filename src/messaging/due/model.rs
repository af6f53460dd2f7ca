//! The kinds of what falls due, each with what it needs, and how they stand in keys.

use quintet_storage::{Failure, Key};

use crate::model::{AgentKey, AgentNo, ApprovalKey, MessageId, ThreadKey, WorkspaceNo};

/// What is done when its time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    /// An agent's time of withholding is over, or what is held for it goes on being released.
    Release(AgentKey),
    /// A paused thread may go on.
    Resume(ThreadKey),
    /// An agent may have been idle for too long.
    Idle(AgentKey),
    /// A message has not been acknowledged: its recipient is reminded, or its sender told. The recipient, the message.
    Nag((WorkspaceNo, AgentNo, MessageId)),
    /// A reminder: the agent's, by its number.
    Remind((WorkspaceNo, AgentNo, u64)),
    /// A join token is over.
    Invite(u128),
    /// A one-time address of a key is over.
    KeyUrl(u128),
    /// What a workspace used on a day is forgotten.
    Usage((WorkspaceNo, u32)),
    /// Nobody has confirmed a sign-up in time.
    SignUp(u128),
    /// A suspended workspace may be active again, and has parked what fell due meanwhile.
    Parked(WorkspaceNo),
    /// An agent that has retired or come back is not in the lists of all of its rooms as it should be.
    Rooms(AgentKey),
    /// Nobody has decided an approval in time.
    Approval(ApprovalKey),
}

/// The first byte of each kind; they are stored.
const RELEASE: u8 = 0;
const RESUME: u8 = 1;
const IDLE: u8 = 2;
const NAG: u8 = 3;
const REMIND: u8 = 4;
const INVITE: u8 = 5;
const KEY_URL: u8 = 6;
const USAGE: u8 = 7;
const SIGN_UP: u8 = 17;
const PARKED: u8 = 24;
const ROOMS: u8 = 25;
const APPROVAL: u8 = 16;

impl Due {
    /// None stands before it.
    pub(crate) const FIRST: Due = Due::Release((WorkspaceNo(0), AgentNo(0)));
}

impl Key for Due {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Due::Release(agent) => Key::encode(&(RELEASE, *agent), out),
            Due::Resume(thread) => Key::encode(&(RESUME, *thread), out),
            Due::Idle(agent) => Key::encode(&(IDLE, *agent), out),
            Due::Nag(owed) => Key::encode(&(NAG, *owed), out),
            Due::Remind(reminder) => Key::encode(&(REMIND, *reminder), out),
            Due::Invite(invite) => Key::encode(&(INVITE, *invite), out),
            Due::KeyUrl(url) => Key::encode(&(KEY_URL, *url), out),
            Due::Usage(day) => Key::encode(&(USAGE, *day), out),
            Due::SignUp(place) => Key::encode(&(SIGN_UP, *place), out),
            Due::Parked(workspace) => Key::encode(&(PARKED, *workspace), out),
            Due::Rooms(agent) => Key::encode(&(ROOMS, *agent), out),
            Due::Approval(approval) => Key::encode(&(APPROVAL, *approval), out),
        }
    }

    fn decode(input: &mut &[u8]) -> Result<Due, Failure> {
        Ok(match <u8 as Key>::decode(input)? {
            RELEASE => Due::Release(Key::decode(input)?),
            RESUME => Due::Resume(Key::decode(input)?),
            IDLE => Due::Idle(Key::decode(input)?),
            NAG => Due::Nag(Key::decode(input)?),
            REMIND => Due::Remind(Key::decode(input)?),
            INVITE => Due::Invite(Key::decode(input)?),
            KEY_URL => Due::KeyUrl(Key::decode(input)?),
            USAGE => Due::Usage(Key::decode(input)?),
            SIGN_UP => Due::SignUp(Key::decode(input)?),
            PARKED => Due::Parked(Key::decode(input)?),
            ROOMS => Due::Rooms(Key::decode(input)?),
            APPROVAL => Due::Approval(Key::decode(input)?),
            kind => return Err(Failure::Damaged(format!("nothing falls due that has kind {kind}"))),
        })
    }
}

#[cfg(test)]
mod tests {
    use quintet_storage::Uuid;

    use super::*;
    use crate::model::{ApprovalId, ThreadId};

    /// One of each kind, with the byte that it is stored by.
    fn examples() -> Vec<(u8, Due)> {
        let (workspace, agent) = (WorkspaceNo(1), AgentNo(2));
        vec![
            (0, Due::Release((workspace, agent))),
            (1, Due::Resume((workspace, ThreadId(Uuid::from_u128(4))))),
            (2, Due::Idle((workspace, agent))),
            (3, Due::Nag((workspace, agent, MessageId(Uuid::from_u128(3))))),
            (4, Due::Remind((workspace, agent, 5))),
            (5, Due::Invite(6)),
            (6, Due::KeyUrl(7)),
            (7, Due::Usage((workspace, 8))),
            (17, Due::SignUp(10)),
            (24, Due::Parked(workspace)),
            (25, Due::Rooms((workspace, agent))),
            (16, Due::Approval((workspace, ApprovalId(Uuid::from_u128(9))))),
        ]
    }

    #[test]
    fn every_kind_is_stored_and_read_back_with_all_it_needs() {
        for (byte, due) in examples() {
            let mut bytes = Vec::new();
            Key::encode(&due, &mut bytes);
            assert_eq!(bytes[0], byte, "what is stored stays what it is");
            let mut input = bytes.as_slice();
            assert_eq!((<Due as Key>::decode(&mut input), input), (Ok(due), [].as_slice()));
            assert!(Due::FIRST < due);
        }
        assert!(<Due as Key>::decode(&mut [200_u8; 40].as_slice()).is_err());
    }
}
