//! The keys of a provider (RFC 7517), and what they have signed.

use data_encoding::BASE64URL_NOPAD;
use ring::signature::{self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm};

use super::jose::{Algorithm, Token, TokenFault};
use crate::json::{Json, Limits, parse};

/// The most keys of a provider that are kept.
const KEYS_MAX: usize = 100;
/// The largest modulus, in bytes: 8,192 bits.
const MODULUS_BYTES_MAX: usize = 1024;

/// Keys of a provider.
pub(super) struct KeySet(Vec<Key>);

struct Key {
    name: Option<String>,
    /// The one algorithm that it is for, if it says one.
    algorithm: Option<Algorithm>,
    material: Material,
}

enum Material {
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    /// An uncompressed point.
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl KeySet {
    /// Reads `{"keys": […]}`. Keys of other kinds, for other uses or for other algorithms are left out. `None`: it is none.
    pub(super) fn read(body: &[u8]) -> Option<KeySet> {
        let set = parse(body, Limits { max_depth: 16 }).ok()?;
        let Json::Array(keys) = set.get("keys")? else { return None };
        Some(KeySet(keys.iter().filter_map(read_key).take(KEYS_MAX).collect()))
    }

    /// Whether one of the keys that a token can mean has signed it: those of the name it says, or the only one there is for
    /// its algorithm (OpenID Connect Core 1.0, 10.1: of several it must say which).
    ///
    /// # Errors
    /// [`TokenFault::UnknownKey`], [`TokenFault::Malformed`], [`TokenFault::Signature`]
    pub(super) fn check(&self, token: &Token<'_>) -> Result<(), TokenFault> {
        let is_meant = |key: &&Key| token.key_name.is_none() || key.name == token.key_name;
        let meant: Vec<&Key> = self.0.iter().filter(is_meant).filter(|key| key.is_for(token.algorithm)).collect();
        if meant.is_empty() {
            return Err(TokenFault::UnknownKey);
        }
        if token.key_name.is_none() && meant.len() > 1 {
            return Err(TokenFault::Malformed);
        }
        if meant.iter().any(|key| key.has_signed(token)) { Ok(()) } else { Err(TokenFault::Signature) }
    }
}

fn read_key(json: &Json) -> Option<Key> {
    let text = |name: &str| json.get(name).and_then(Json::as_str);
    let bytes = |name: &str| BASE64URL_NOPAD.decode(text(name)?.as_bytes()).ok();
    let is_for_signatures = json.get("use").is_none_or(|_| text("use") == Some("sig"));
    let checks = |operations: &Json| match operations {
        Json::Array(operations) => operations.iter().any(|operation| operation.as_str() == Some("verify")),
        _ => false,
    };
    if !is_for_signatures || !json.get("key_ops").is_none_or(checks) {
        return None;
    }
    let algorithm = match json.get("alg") {
        None => None,
        Some(_) => Some(Algorithm::of_name(text("alg")?)?),
    };
    let material = match (text("kty")?, text("crv")) {
        ("RSA", _) => {
            let (modulus, exponent) = (bytes("n")?, bytes("e")?);
            if modulus.len() > MODULUS_BYTES_MAX {
                return None;
            }
            Material::Rsa { modulus, exponent }
        }
        ("EC", Some("P-256")) => {
            let (x, y) = (bytes("x")?, bytes("y")?);
            if x.len() != 32 || y.len() != 32 {
                return None;
            }
            Material::P256([&[4], x.as_slice(), y.as_slice()].concat())
        }
        ("OKP", Some("Ed25519")) => Material::Ed25519(bytes("x").filter(|x| x.len() == 32)?),
        _ => return None,
    };
    Some(Key { name: text("kid").map(str::to_owned), algorithm, material })
}

impl Key {
    /// Whether it can check what is signed so: its own kind decides, never the token alone.
    fn is_for(&self, algorithm: Algorithm) -> bool {
        let fits = match self.material {
            Material::Rsa { .. } => matches!(algorithm, Algorithm::Rs256 | Algorithm::Ps256),
            Material::P256(_) => algorithm == Algorithm::Es256,
            Material::Ed25519(_) => algorithm == Algorithm::EdDsa,
        };
        fits && self.algorithm.is_none_or(|own| own == algorithm)
    }

    fn has_signed(&self, token: &Token<'_>) -> bool {
        let of_curve = |algorithm: &'static dyn VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(algorithm, key).verify(token.signed, &token.signature).is_ok()
        };
        match &self.material {
            Material::Rsa { modulus, exponent } => {
                // Moduli of fewer than 2,048 bits are refused there.
                let parameters: &RsaParameters = match token.algorithm {
                    Algorithm::Ps256 => &signature::RSA_PSS_2048_8192_SHA256,
                    _ => &signature::RSA_PKCS1_2048_8192_SHA256,
                };
                let (n, e) = (strip_zeros(modulus), strip_zeros(exponent));
                RsaPublicKeyComponents { n, e }.verify(parameters, token.signed, &token.signature).is_ok()
            }
            Material::P256(point) => of_curve(&signature::ECDSA_P256_SHA256_FIXED, point),
            Material::Ed25519(point) => of_curve(&signature::ED25519, point),
        }
    }
}

/// Some providers write a zero byte in front of a modulus.
fn strip_zeros(mut number: &[u8]) -> &[u8] {
    while let [0, rest @ ..] = number {
        number = rest;
    }
    number
}
