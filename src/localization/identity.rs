//! Whom people sign in with, and where they come back to: what the operator says of it.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::HeaderMap;
use quintet_platform::http::web_origin::{is_from, web_origin};
use quintet_platform::identity::{LoginKeys, Provider};
use quintet_platform::service::{Fault, Turn, Turns};
use quintet_storage::{Store, Uuid};

/// What the browser holds of a session (4-localization.md, Routes the contract names without a path).
pub const SESSION_COOKIE: &str = "__Host-l10n_session";
/// What it holds of a login under way (4-localization.md, N3).
pub const LOGIN_COOKIE: &str = "__Host-l10n_login";

/// How many callbacks ask the provider at a time, and how many of one source address: codes can be made up.
const CALLBACKS_MAX: usize = 32;
const CALLBACKS_OF_A_SOURCE: usize = 8;
/// How long a callback waits for others'.
const CALLBACK_PATIENCE: Duration = Duration::from_secs(10);
/// How many logins are remembered that have failed.
const FAILED_MAX: usize = 10_000;

/// Whom people sign in with.
pub struct Identity {
    /// The provider.
    pub(crate) provider: Provider,
    /// What logins are sealed with.
    pub(crate) keys: LoginKeys,
    /// Where the service is reached, without a slash at its end.
    public_url: String,
    /// The origin of that.
    origin: String,
    /// The logins whose callbacks are being served.
    under_way: Mutex<HashSet<u128>>,
    /// The last logins that have failed: strangers make as many as they like, so that nothing of them is stored.
    failed: Mutex<VecDeque<u128>>,
    /// Those of callbacks that ask the provider.
    callbacks: Turns,
}

/// `localization.public_url` is no address that browsers reach a service at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("localization.public_url is no address that browsers reach a service at")]
pub struct NoPublicUrl;

impl Identity {
    /// A provider, and where people come back to.
    ///
    /// # Errors
    /// [`NoPublicUrl`]
    pub fn new(store: Store, provider: Provider, public_url: &str) -> Result<Identity, NoPublicUrl> {
        let public_url = public_url.trim_end_matches('/').to_owned();
        let origin = web_origin(&public_url).filter(|_| !public_url.contains(['?', '#'])).ok_or(NoPublicUrl)?;
        Ok(Identity {
            provider,
            keys: LoginKeys::new(store),
            public_url,
            origin,
            under_way: Mutex::default(),
            failed: Mutex::default(),
            callbacks: Turns::of(CALLBACKS_MAX, CALLBACKS_OF_A_SOURCE),
        })
    }

    /// Where the provider sends people who have signed in.
    #[must_use]
    pub fn callback_url(&self) -> String {
        format!("{}/auth/callback", self.public_url)
    }

    /// Where it sends people who have signed out.
    #[must_use]
    pub fn logged_out_url(&self) -> String {
        format!("{}/auth/logged-out", self.public_url)
    }

    /// What logins are sealed for.
    #[must_use]
    pub fn purpose(&self) -> String {
        format!("quintet/localization/login/1\n{}", self.provider.party())
    }

    /// Whether a request says that it is from a page of this service (4-localization.md, N5).
    #[must_use]
    pub fn is_own_page(&self, headers: &HeaderMap) -> bool {
        is_from(headers, &self.origin)
    }

    /// Serves a login's callback alone, for as long as what is given lives; `None`: another one of it is being served.
    pub(crate) fn alone(&self, login: u128) -> Option<Alone<'_>> {
        self.under_way().insert(login).then_some(Alone { identity: self, login })
    }

    /// The turn of a callback from a source to ask the provider: no source keeps the others waiting.
    ///
    /// # Errors
    /// [`Fault::Busy`]
    pub(crate) async fn turn(&self, source: u128) -> Result<Turn, Fault> {
        self.callbacks.hold(Uuid::from_u128(source), 1, CALLBACK_PATIENCE).await
    }

    /// Notes that a login has failed, which ends it. Of very many the first are forgotten: the provider gives nothing for a
    /// code that it has seen.
    pub(crate) fn note_failed(&self, login: u128) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.len() >= FAILED_MAX {
            failed.pop_front();
        }
        failed.push_back(login);
    }

    /// Whether a login has failed.
    pub(crate) fn has_failed(&self, login: u128) -> bool {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).contains(&login)
    }

    fn under_way(&self) -> MutexGuard<'_, HashSet<u128>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Identity { provider, public_url, .. } = self;
        f.debug_struct("Identity").field("provider", provider).field("public_url", public_url).finish_non_exhaustive()
    }
}

/// A login whose callback is being served.
pub(crate) struct Alone<'a> {
    identity: &'a Identity,
    login: u128,
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        self.identity.under_way().remove(&self.login);
    }
}
