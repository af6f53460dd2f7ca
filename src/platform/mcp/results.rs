//! What requests of this protocol are answered with: results as JSON text.

use serde_json::{Value, json};

use super::eras::{Era, VERSIONS};
use super::server::Server;
use crate::json::{Json, to_compact};
use crate::service::{Dialect, Endpoints};

/// For how long a client may go on with what it was told of tools, in milliseconds.
const TOLD_MILLISECONDS: u64 = 3_600_000;

/// What a handshake leads to.
pub(super) fn initialized<D: Dialect>(server: &Server<D>, version: &str) -> Vec<u8> {
    let result = json!({
        "protocolVersion": version,
        "capabilities": capabilities(),
        "serverInfo": implementation(server),
        "instructions": server.instructions,
    });
    result.to_string().into_bytes()
}

/// What a modern client asks first.
pub(super) fn discovered<D: Dialect>(server: &Server<D>) -> Vec<u8> {
    let result = json!({
        "resultType": "complete",
        "supportedVersions": VERSIONS,
        "capabilities": capabilities(),
        "instructions": server.instructions,
        "ttlMs": TOLD_MILLISECONDS,
        "cacheScope": "private",
        "_meta": {"io.modelcontextprotocol/serverInfo": implementation(server)},
    });
    result.to_string().into_bytes()
}

/// All tools.
pub(super) fn listed<D: Dialect>(server: &Server<D>, endpoints: Endpoints<D>, era: Era) -> Vec<u8> {
    let besides = match era {
        Era::Handshake { .. } => String::new(),
        Era::Modern => format!(r#","resultType":"complete","ttlMs":{TOLD_MILLISECONDS},"cacheScope":"private""#),
    };
    format!(r#"{{"tools":{}{besides}}}"#, server.listed(endpoints)).into_bytes()
}

/// What a tool answers: the body of its route, as it is and as text. An array becomes the `items` of an object.
pub(super) fn called(body: &[u8], is_error: bool, era: Era) -> Vec<u8> {
    let is_array = body.first() == Some(&b'[');
    let (opening, closing) = if is_array { (r#"{"items":"#, "}") } else { ("", "") };
    let text = format!("{opening}{}{closing}", String::from_utf8_lossy(body));
    let besides = if era == Era::Modern { r#","resultType":"complete""# } else { "" };
    let escaped = to_compact(&Json::from(text.as_str()));
    format!(
        r#"{{"content":[{{"type":"text","text":{escaped}}}],"structuredContent":{text},"isError":{is_error}{besides}}}"#
    )
    .into_bytes()
}

fn capabilities() -> Value {
    json!({"tools": {}})
}

fn implementation<D: Dialect>(server: &Server<D>) -> Value {
    json!({"name": server.name, "version": env!("CARGO_PKG_VERSION")})
}
