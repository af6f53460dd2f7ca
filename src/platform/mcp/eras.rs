//! The versions of the protocol, and what each demands of a request's header.

use data_encoding::BASE64;
use http::{HeaderMap, HeaderName};

use super::rpc::{Request, RpcError};
use crate::json::Json;

/// Every version that is spoken, the oldest first.
pub const VERSIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", MODERN];

/// The version without a handshake.
const MODERN: &str = "2026-07-28";
/// What is offered to those who ask for a version that no handshake leads to.
const NEWEST_HANDSHAKE: &str = "2025-11-25";
/// The one whose messages may come several at a time.
const WITH_BATCHES: &str = "2025-03-26";

const VERSION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD_HEADER: HeaderName = HeaderName::from_static("mcp-method");
const NAME_HEADER: HeaderName = HeaderName::from_static("mcp-name");

/// What a modern request says of itself in `params._meta`.
const VERSION_MEMBER: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_MEMBER: &str = "io.modelcontextprotocol/clientCapabilities";

/// How a request is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Era {
    /// 2024-11-05 to 2025-11-25.
    Handshake {
        /// Whether several messages may come at a time.
        takes_batches: bool,
    },
    /// 2026-07-28.
    Modern,
}

impl Era {
    /// The era of a request by its header. Those who say nothing speak a version before 2025-06-18.
    pub(super) fn of(headers: &HeaderMap) -> Result<Era, RpcError> {
        let Some(version) = only(headers, &VERSION_HEADER)? else {
            return Ok(Era::Handshake { takes_batches: true });
        };
        match version {
            MODERN => Ok(Era::Modern),
            known if VERSIONS.contains(&known) => Ok(Era::Handshake { takes_batches: known == WITH_BATCHES }),
            unknown => Err(unsupported(unknown)),
        }
    }

    /// The HTTP status of an error. Before 2026-07-28 only what is no message is an error of HTTP as well.
    pub(super) fn status(self, error: &RpcError) -> u16 {
        match (self, error.code) {
            (Era::Modern, RpcError::METHOD_NOT_FOUND) => 404,
            (Era::Handshake { .. }, RpcError::METHOD_NOT_FOUND | RpcError::INVALID_PARAMS | RpcError::BATCH_FULL) => {
                200
            }
            _ => 400,
        }
    }

    /// Whether a request says in its header what it says in its body.
    pub(super) fn check(self, headers: &HeaderMap, request: &Request) -> Result<(), RpcError> {
        let envelope = request.params.get("_meta");
        let version = envelope.and_then(|envelope| envelope.get(VERSION_MEMBER));
        if let Era::Handshake { .. } = self {
            return match version.and_then(Json::as_str) {
                Some(MODERN) => Err(mismatch("MCP-Protocol-Version")),
                _ => Ok(()),
            };
        }
        let capabilities = envelope.and_then(|envelope| envelope.get(CAPABILITIES_MEMBER));
        let (Some(version), Some(Json::Object(_))) = (version, capabilities) else {
            let needs = format!("params._meta has {VERSION_MEMBER} and {CAPABILITIES_MEMBER}");
            return Err(RpcError::parameters(needs));
        };
        if version.as_str() != Some(MODERN) {
            return Err(mismatch("MCP-Protocol-Version"));
        }
        if only(headers, &METHOD_HEADER)? != Some(request.method.as_str()) {
            return Err(mismatch("Mcp-Method"));
        }
        if request.method == "tools/call" {
            let said = only(headers, &NAME_HEADER)?.and_then(decoded);
            let name = request.params.get("name").and_then(Json::as_str);
            if name.is_some() && said.as_deref() != name {
                return Err(mismatch("Mcp-Name"));
            }
        }
        Ok(())
    }
}

/// The version that a handshake leads to.
pub(super) fn agreed(asked: &str) -> &'static str {
    let known = VERSIONS.into_iter().find(|known| *known == asked && *known != MODERN);
    known.unwrap_or(NEWEST_HANDSHAKE)
}

/// A header field of which there is one at most, and that is text.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, RpcError> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| mismatch(name.as_str())),
        _ => Err(mismatch(name.as_str())),
    }
}

/// What a header field says: as it stands, or, between `=?base64?` and `?=`, in base64.
fn decoded(text: &str) -> Option<String> {
    match text.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        None => Some(text.to_owned()),
        Some(coded) => String::from_utf8(BASE64.decode(coded.as_bytes()).ok()?).ok(),
    }
}

fn mismatch(name: &str) -> RpcError {
    RpcError::new(RpcError::HEADER_MISMATCH, format!("the header {name} does not say what the body says"))
}

fn unsupported(asked: &str) -> RpcError {
    let supported: Vec<Json> = VERSIONS.into_iter().map(Json::from).collect();
    let data = Json::object([("supported", Json::from(supported)), ("requested", Json::from(asked))]);
    RpcError { data: Some(data), ..RpcError::new(RpcError::UNSUPPORTED_VERSION, "this version is not spoken here") }
}
