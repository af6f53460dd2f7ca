//! What the claims of tokens must be, and what is taken from them (OpenID Connect Core 1.0, 3.1.3.7; Back-Channel Logout
//! 1.0, 2.6; 4-localization.md, N2 and N6).

use quintet_storage::Timestamp;

use super::jose::TokenFault;
use crate::json::Json;
use crate::secrets::constant_time_eq;

/// By how much two clocks may differ, in seconds.
const LEEWAY_SECONDS: i64 = 60;
/// How long a logout token counts from its `iat` on, in seconds, whatever its `exp` says: for so long it is remembered which
/// were used.
const LOGOUT_SECONDS_MAX: i64 = 3_600;
/// The longest `sub`, `sid` and `jti`, in bytes (`sub`: OpenID Connect Core 1.0, 2).
const NAME_BYTES_MAX: usize = 255;
/// The longest address, in bytes (RFC 5321 has no longer ones).
const EMAIL_BYTES_MAX: usize = 254;
/// The event that a logout token tells of.
const LOGOUT_EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

/// Whose tokens are taken, for whom, and when.
pub(super) struct Expected<'a> {
    pub(super) issuer: &'a str,
    pub(super) client_id: &'a str,
    pub(super) now: Timestamp,
}

/// An address as a provider tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Email {
    /// The address, as it is written there.
    pub address: String,
    /// Whether the provider says that it is its owner's.
    pub is_verified: bool,
}

impl Email {
    /// The address, if the provider vouches for it.
    #[must_use]
    pub fn verified(&self) -> Option<&str> {
        self.is_verified.then_some(self.address.as_str())
    }

    /// `email` and `email_verified` of claims; `None` without an address. Only `true` itself is true.
    pub(super) fn of(claims: &Json) -> Option<Email> {
        let address = claims.get("email").and_then(Json::as_str)?;
        let is_plain = address.len() <= EMAIL_BYTES_MAX
            && address.split_once('@').is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
            && !address.chars().any(|c| c.is_control() || c.is_whitespace());
        let is_verified = claims.get("email_verified") == Some(&Json::Bool(true));
        is_plain.then(|| Email { address: address.to_owned(), is_verified })
    }
}

/// What an ID token says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdToken {
    /// Who signed in: unique at the provider, for good.
    pub subject: String,
    /// The session at the provider, if it tells.
    pub session: Option<String>,
    /// The address, if it is in the token.
    pub email: Option<Email>,
}

/// What a logout token says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogoutToken {
    /// Whose sessions are over; `None`: whoever the session is of.
    pub subject: Option<String>,
    /// The session at the provider that is over; `None`: all of the subject.
    pub session: Option<String>,
    /// The token's own name, which counts once.
    pub token_name: String,
    /// Until when it would be taken.
    pub ends_at: Timestamp,
}

impl IdToken {
    /// Checks the claims of an ID token.
    ///
    /// # Errors
    /// [`TokenFault::Claim`]
    pub(super) fn of(claims: &Json, expected: &Expected<'_>, nonce: &str) -> Result<IdToken, TokenFault> {
        check_parties(claims, expected)?;
        let subject = name(claims, "sub")?.ok_or(TokenFault::Claim("sub"))?;
        let ends = instant(claims, "exp")?.ok_or(TokenFault::Claim("exp"))?;
        check_end(ends, expected)?;
        check_begin(claims, expected)?;
        let given = claims.get("nonce").and_then(Json::as_str).ok_or(TokenFault::Claim("nonce"))?;
        if !constant_time_eq(given.as_bytes(), nonce.as_bytes()) {
            return Err(TokenFault::Claim("nonce"));
        }
        Ok(IdToken { subject, session: name(claims, "sid")?, email: Email::of(claims) })
    }
}

impl LogoutToken {
    /// Checks the claims of a logout token.
    ///
    /// # Errors
    /// [`TokenFault::Claim`]
    pub(super) fn of(claims: &Json, expected: &Expected<'_>) -> Result<LogoutToken, TokenFault> {
        check_parties(claims, expected)?;
        let begun = check_begin(claims, expected)?;
        let latest = begun.saturating_add(LOGOUT_SECONDS_MAX);
        let ends = instant(claims, "exp")?.map_or(latest, |ends| ends.min(latest));
        check_end(ends, expected)?;
        let event = claims.get("events").and_then(|events| events.get(LOGOUT_EVENT));
        if !matches!(event, Some(Json::Object(_))) {
            return Err(TokenFault::Claim("events"));
        }
        // An ID token that is passed off as one has a nonce.
        if claims.get("nonce").is_some() {
            return Err(TokenFault::Claim("nonce"));
        }
        let (subject, session) = (name(claims, "sub")?, name(claims, "sid")?);
        if subject.is_none() && session.is_none() {
            return Err(TokenFault::Claim("sub"));
        }
        let token_name = name(claims, "jti")?.ok_or(TokenFault::Claim("jti"))?;
        let ends_at = Timestamp::EPOCH.plus_seconds(ends.saturating_add(LEEWAY_SECONDS));
        Ok(LogoutToken { subject, session, token_name, ends_at })
    }
}

/// Who made it, and for whom.
fn check_parties(claims: &Json, expected: &Expected<'_>) -> Result<(), TokenFault> {
    if claims.get("iss").and_then(Json::as_str) != Some(expected.issuer) {
        return Err(TokenFault::Claim("iss"));
    }
    let is_ours = |audience: &Json| audience.as_str() == Some(expected.client_id);
    let (is_for_us, is_for_others) = match claims.get("aud") {
        Some(one @ Json::String(_)) => (is_ours(one), false),
        Some(Json::Array(several)) => (several.iter().any(is_ours), several.iter().any(|one| !is_ours(one))),
        _ => (false, false),
    };
    if !is_for_us {
        return Err(TokenFault::Claim("aud"));
    }
    match claims.get("azp") {
        None if is_for_others => Err(TokenFault::Claim("azp")),
        Some(party) if !is_ours(party) => Err(TokenFault::Claim("azp")),
        _ => Ok(()),
    }
}

fn check_end(ends: i64, expected: &Expected<'_>) -> Result<(), TokenFault> {
    let is_over = ends.saturating_add(LEEWAY_SECONDS) <= seconds(expected.now);
    if is_over { Err(TokenFault::Claim("exp")) } else { Ok(()) }
}

/// `iat` must be there and past, `nbf` past if it is there; when it was made.
fn check_begin(claims: &Json, expected: &Expected<'_>) -> Result<i64, TokenFault> {
    let latest = seconds(expected.now).saturating_add(LEEWAY_SECONDS);
    let made = instant(claims, "iat")?.filter(|made| *made <= latest).ok_or(TokenFault::Claim("iat"))?;
    if instant(claims, "nbf")?.is_some_and(|begins| begins > latest) {
        return Err(TokenFault::Claim("nbf"));
    }
    Ok(made)
}

fn seconds(at: Timestamp) -> i64 {
    at.as_micros().div_euclid(1_000_000)
}

/// A NumericDate (RFC 7519, 2): seconds since the epoch, perhaps with a fraction, which is cut off.
fn instant(claims: &Json, name: &'static str) -> Result<Option<i64>, TokenFault> {
    /// The end of the year 9999.
    const LATEST: i64 = 253_402_300_799;
    let Some(value) = claims.get(name) else { return Ok(None) };
    let Json::Number(number) = value else { return Err(TokenFault::Claim(name)) };
    let whole = number.as_str().split('.').next().unwrap_or_default();
    let known = whole.parse().ok().filter(|seconds| (0..=LATEST).contains(seconds));
    // A number with an exponent is none that a provider writes.
    let is_plain = number.as_str().bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    known.filter(|_| is_plain).map(Some).ok_or(TokenFault::Claim(name))
}

/// A name that a claim may have, of 1 to 255 bytes.
fn name(claims: &Json, name: &'static str) -> Result<Option<String>, TokenFault> {
    match claims.get(name) {
        None => Ok(None),
        Some(Json::String(text)) if (1..=NAME_BYTES_MAX).contains(&text.len()) => Ok(Some(text.clone())),
        Some(_) => Err(TokenFault::Claim(name)),
    }
}
