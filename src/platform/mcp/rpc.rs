//! Messages of JSON-RPC 2.0: how they are read, and how answers are written.

use crate::json::{Json, to_compact};

/// An error that is answered in the place of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RpcError {
    /// Its number.
    pub(super) code: i32,
    /// What is wrong; nothing that came in.
    pub(super) message: String,
    /// More about it.
    pub(super) data: Option<Json>,
}

impl RpcError {
    /// The body is no JSON.
    pub(super) const PARSE_ERROR: i32 = -32700;
    /// The JSON is no message.
    pub(super) const INVALID_REQUEST: i32 = -32600;
    /// There is no such method.
    pub(super) const METHOD_NOT_FOUND: i32 = -32601;
    /// The method's parameters are wrong; there is no such tool.
    pub(super) const INVALID_PARAMS: i32 = -32602;
    /// The header says something else than the body (2026-07-28).
    pub(super) const HEADER_MISMATCH: i32 = -32020;
    /// The version of the protocol is not spoken here (2026-07-28).
    pub(super) const UNSUPPORTED_VERSION: i32 = -32022;
    /// The answers to a batch have become too long for more of it.
    pub(super) const BATCH_FULL: i32 = -32000;

    pub(super) fn new(code: i32, message: impl Into<String>) -> RpcError {
        RpcError { code, message: message.into(), data: None }
    }

    pub(super) fn invalid(message: &str) -> RpcError {
        RpcError::new(RpcError::INVALID_REQUEST, message)
    }

    pub(super) fn parameters(message: impl Into<String>) -> RpcError {
        RpcError::new(RpcError::INVALID_PARAMS, message)
    }
}

/// By what an answer is told apart from others: a text or a number, handed back as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Id(Json);

/// A request: it wants an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) id: Id,
    pub(super) method: String,
    /// Members of `params`; none where that is absent.
    pub(super) params: Json,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    Request(Request),
    /// It wants no answer, and nothing that is told this way matters here.
    Notification,
    /// It answers something that nobody asked.
    Answer,
}

/// What is no message: the error, and whom it is for as far as that can be told.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoMessage {
    pub(super) id: Option<Id>,
    pub(super) error: RpcError,
}

impl Message {
    /// Reads a message.
    pub(super) fn read(json: Json) -> Result<Message, NoMessage> {
        let Json::Object(members) = json else {
            return Err(NoMessage { id: None, error: RpcError::invalid("a message is an object") });
        };
        let (mut version, mut id, mut method, mut params, mut is_answer) = (None, None, None, None, false);
        for (name, value) in members {
            match name.as_str() {
                "jsonrpc" => version = Some(value),
                "id" => id = Some(value),
                "method" => method = Some(value),
                "params" => params = Some(value),
                "result" | "error" => is_answer = true,
                _ => {}
            }
        }
        let is_request = id.is_some();
        let id = match id {
            Some(id @ (Json::String(_) | Json::Number(_))) => Some(Id(id)),
            _ => None,
        };
        let fault = |message: &str| Err(NoMessage { id: id.clone(), error: RpcError::invalid(message) });
        if version.as_ref().and_then(Json::as_str) != Some("2.0") {
            return fault("jsonrpc is \"2.0\"");
        }
        let method = match method {
            Some(Json::String(method)) => method,
            None if is_answer => return Ok(Message::Answer),
            _ => return fault("method is a text"),
        };
        let params = match params {
            None => Json::Object(Vec::new()),
            Some(params @ Json::Object(_)) => params,
            Some(_) => return fault("params is an object"),
        };
        match id {
            Some(id) => Ok(Message::Request(Request { id, method, params })),
            None if is_request => fault("id is a text or a number"),
            None => Ok(Message::Notification),
        }
    }
}

/// A result, which is JSON already.
pub(super) fn write_result(id: &Id, result: &[u8]) -> Vec<u8> {
    let head = format!(r#"{{"jsonrpc":"2.0","id":{},"result":"#, to_compact(&id.0));
    let mut text = Vec::with_capacity(head.len() + result.len() + 1);
    text.extend_from_slice(head.as_bytes());
    text.extend_from_slice(result);
    text.push(b'}');
    text
}

/// An error.
pub(super) fn write_error(id: Option<&Id>, error: &RpcError) -> Vec<u8> {
    let mut told = vec![("code", number(error.code)), ("message", Json::from(error.message.as_str()))];
    told.extend(error.data.clone().map(|data| ("data", data)));
    let id = id.map_or(Json::Null, |id| id.0.clone());
    let answer = [("jsonrpc", Json::from("2.0")), ("id", id), ("error", Json::object(told))];
    to_compact(&Json::object(answer)).into_bytes()
}

fn number(code: i32) -> Json {
    Json::from(code)
}
