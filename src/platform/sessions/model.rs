//! What a session is.

use bincode::{Decode, Encode};
use quintet_storage::{Timestamp, Uuid};

use crate::identity::{LoginKey, LogoutToken};

/// How long a session lasts at most, in seconds (4-localization.md, N5).
pub const LIFE_SECONDS: i64 = 12 * 3_600;
/// How long it lasts without a request, in seconds (N5).
pub(super) const IDLE_SECONDS: i64 = 3_600;
/// The most sessions of a principal behind one door. The contract knows no such limit.
pub const SESSIONS_MAX: usize = 50;

/// Where a session lets in. What is good for one is nothing at the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Door {
    /// Localization.
    Localization,
    /// The console.
    Console,
}

/// A session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its id: no secret.
    pub session_id: Uuid,
    /// Where it lets in.
    pub door: Door,
    /// The tenant that it is bound to.
    pub tenant_id: Uuid,
    /// Whose it is.
    pub principal_id: Uuid,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends at the latest.
    pub ends_at: Timestamp,
}

/// What the identity provider said when a session began.
#[derive(Clone, PartialEq, Eq, Encode, Decode)]
pub struct Origin {
    /// The provider.
    pub issuer: String,
    /// Who signed in there.
    pub subject: String,
    /// The session there, if it told.
    pub provider_session: Option<String>,
    /// The address that it vouched for, if any.
    pub email: Option<String>,
    /// The ID token; it goes into the address at which people sign out there.
    pub id_token: String,
}

/// By which marks a session is found when the provider names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// That of who signed in.
    pub subject: u128,
    /// That of the session at the provider, if it told.
    pub provider_session: Option<u128>,
}

impl Marks {
    /// The marks of a session that began so.
    #[must_use]
    pub fn of(key: &LoginKey, origin: &Origin) -> Marks {
        let session = origin.provider_session.as_deref();
        Marks {
            subject: subject_mark(key, &origin.issuer, &origin.subject),
            provider_session: session.map(|session| session_mark(key, &origin.issuer, session)),
        }
    }
}

/// Sessions that an identity provider can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtProvider {
    /// All of a subject, by its mark.
    Subject(u128),
    /// Those of one session there.
    Session {
        /// Its mark.
        session: u128,
        /// The mark of whose it must be, if that was said.
        subject: Option<u128>,
    },
}

impl AtProvider {
    /// What a logout token names; `None`: nothing.
    #[must_use]
    pub fn of(key: &LoginKey, issuer: &str, token: &LogoutToken) -> Option<AtProvider> {
        let subject = token.subject.as_deref().map(|subject| subject_mark(key, issuer, subject));
        match &token.session {
            Some(session) => Some(AtProvider::Session { session: session_mark(key, issuer, session), subject }),
            None => subject.map(AtProvider::Subject),
        }
    }
}

fn subject_mark(key: &LoginKey, issuer: &str, subject: &str) -> u128 {
    key.mark(&[b"subject", issuer.as_bytes(), subject.as_bytes()])
}

fn session_mark(key: &LoginKey, issuer: &str, session: &str) -> u128 {
    key.mark(&[b"session", issuer.as_bytes(), session.as_bytes()])
}
