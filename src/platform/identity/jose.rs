//! JSON Web Signatures in their compact form (RFC 7515, 7.1), read strictly, and the four algorithms that are taken.

use data_encoding::BASE64URL_NOPAD;

use crate::json::{Json, Limits, parse};

/// The longest token, in bytes. Real ones have a few kilobytes.
const TOKEN_BYTES_MAX: usize = 32 * 1024;
/// The longest name of a key, in bytes.
const KEY_NAME_BYTES_MAX: usize = 256;
/// How deep headers and claims may nest.
const LIMITS: Limits = Limits { max_depth: 16 };

/// Why a token is not taken. For the log: whoever sent it is told nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    /// It is no JSON Web Signature, or one with extensions that must be understood.
    #[error("it is no plain JSON Web Signature")]
    Malformed,
    /// An algorithm that is not taken.
    #[error("its algorithm is none of RS256, PS256, ES256 and EdDSA")]
    Algorithm,
    /// The provider has no key of that name for that algorithm.
    #[error("the provider has no such key")]
    UnknownKey,
    /// The signature is not the key's.
    #[error("its signature is not the provider's")]
    Signature,
    /// A claim is missing, or says what it must not; which.
    #[error("its claim {0} is missing or wrong")]
    Claim(&'static str),
}

/// How a token is signed. `none` and whatever has a secret that both sides know (HS256 and the like) is not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// RSASSA-PSS with SHA-256.
    Ps256,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    /// The algorithm of a header's `alg` or a key's.
    pub(super) fn of_name(name: &str) -> Option<Algorithm> {
        match name {
            "RS256" => Some(Algorithm::Rs256),
            "PS256" => Some(Algorithm::Ps256),
            "ES256" => Some(Algorithm::Es256),
            // RFC 9864 calls it by its curve.
            "EdDSA" | "Ed25519" => Some(Algorithm::EdDsa),
            _ => None,
        }
    }
}

/// A token that was read and not checked yet: it says nothing before its signature was.
pub(super) struct Token<'a> {
    pub(super) algorithm: Algorithm,
    /// The name of the key that has signed it, if it says one.
    pub(super) key_name: Option<String>,
    /// What is signed: the first two parts, as they came.
    pub(super) signed: &'a [u8],
    pub(super) signature: Vec<u8>,
    payload: Vec<u8>,
}

impl Token<'_> {
    /// Reads three parts of base64url without padding. What the header has besides `alg` and `kid` (a key, an address of
    /// one, a certificate) is passed over: keys come from the provider's document alone. `typ` may be anything.
    ///
    /// # Errors
    /// [`TokenFault::Malformed`], [`TokenFault::Algorithm`]
    pub(super) fn read(text: &str) -> Result<Token<'_>, TokenFault> {
        if text.len() > TOKEN_BYTES_MAX {
            return Err(TokenFault::Malformed);
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(TokenFault::Malformed)?;
        let (header, payload) = signed.split_once('.').ok_or(TokenFault::Malformed)?;
        let bytes = |part: &str| BASE64URL_NOPAD.decode(part.as_bytes()).map_err(|_| TokenFault::Malformed);
        let header = parse(&bytes(header)?, LIMITS).map_err(|_| TokenFault::Malformed)?;
        // RFC 7515, 4.1.11: whoever does not understand what is critical must not go on.
        if header.get("crit").is_some() {
            return Err(TokenFault::Malformed);
        }
        let algorithm = header.get("alg").and_then(Json::as_str).ok_or(TokenFault::Malformed)?;
        let key_name = match header.get("kid") {
            None => None,
            Some(Json::String(name)) if name.len() <= KEY_NAME_BYTES_MAX => Some(name.clone()),
            Some(_) => return Err(TokenFault::Malformed),
        };
        let (payload, signature) = (bytes(payload)?, bytes(signature)?);
        let algorithm = Algorithm::of_name(algorithm).ok_or(TokenFault::Algorithm)?;
        Ok(Token { algorithm, key_name, signed: signed.as_bytes(), signature, payload })
    }

    /// What it says. To be asked only once its signature was checked.
    ///
    /// # Errors
    /// [`TokenFault::Malformed`]
    pub(super) fn claims(&self) -> Result<Json, TokenFault> {
        match parse(&self.payload, LIMITS) {
            Ok(claims @ Json::Object(_)) => Ok(claims),
            _ => Err(TokenFault::Malformed),
        }
    }
}
