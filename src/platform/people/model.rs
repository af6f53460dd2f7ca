//! What links, operators' sessions and deeds are.

use bincode::{Decode, Encode};
use quintet_storage::{Timestamp, Uuid};

/// How long a link works, in seconds.
pub const LINK_SECONDS: i64 = 600;
/// How long an operator's session lasts at most, in seconds.
pub const OPERATOR_SECONDS: i64 = 8 * 3_600;
/// How long it lasts without a request, in seconds.
pub(super) const OPERATOR_IDLE_SECONDS: i64 = 1_800;
/// How exactly uses of it are noted, in seconds: each note is a transaction.
pub(super) const USE_SECONDS: i64 = 60;
/// The most links that wait to be used. One more takes the place of the oldest.
pub(super) const LINKS_MAX: usize = 1_000;
/// The most sessions of operators. One more takes the place of one that is over, or else ends the oldest.
pub(super) const OPERATORS_MAX: usize = 100;
/// The most deeds that are kept.
pub(super) const DEEDS_MAX: u64 = 10_000;
/// The most permissions of a member.
pub(super) const PERMITS_MAX: usize = 100;

/// Whom a link lets in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Purpose {
    /// An operator.
    Operator,
    /// A member of a tenant.
    Member {
        /// The tenant.
        tenant: [u8; 16],
        /// The member.
        principal: [u8; 16],
    },
}

impl Purpose {
    /// That of a member.
    #[must_use]
    pub fn member(tenant_id: Uuid, principal_id: Uuid) -> Purpose {
        Purpose::Member { tenant: tenant_id.into_bytes(), principal: principal_id.into_bytes() }
    }
}

/// A link that lets somebody in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its id: no secret.
    pub link_id: Uuid,
    /// Whom it lets in.
    pub purpose: Purpose,
    /// Who asked for it: a name on the machine.
    pub asked_by: String,
}

/// A session of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorSession {
    /// Its id: no secret.
    pub session_id: Uuid,
    /// Whose it is: who asked for the link that it began with.
    pub login: String,
    /// When it began.
    pub created_at: Timestamp,
    /// When it was last used, to the minute.
    pub last_used_at: Timestamp,
    /// When it ends at the latest.
    pub ends_at: Timestamp,
}

/// What kind of thing was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Act {
    /// A link for an operator was made.
    OperatorLink,
    /// An operator signed in.
    OperatorSignIn,
    /// A session of an operator was ended.
    OperatorSessionEnd,
    /// A link for a member was made.
    MemberLink,
    /// A member signed in with a link.
    MemberSignIn,
    /// A session of a member was ended.
    MemberSessionEnd,
    /// What a member may do was changed.
    Permits,
    /// A member was invited.
    MemberCreate,
    /// A member was removed.
    MemberRemove,
}

impl Act {
    /// Its word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Act::OperatorLink => "operator_link",
            Act::OperatorSignIn => "operator_sign_in",
            Act::OperatorSessionEnd => "operator_session_end",
            Act::MemberLink => "member_link",
            Act::MemberSignIn => "member_sign_in",
            Act::MemberSessionEnd => "member_session_end",
            Act::Permits => "permits",
            Act::MemberCreate => "member_create",
            Act::MemberRemove => "member_remove",
        }
    }
}

/// What was done, and by whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deed {
    /// When.
    pub at: Timestamp,
    /// What.
    pub act: Act,
    /// Who did it: a name on the machine, or the id of a member.
    pub by: String,
    /// What it was done to: the id of a session, of a member.
    pub about: String,
}
