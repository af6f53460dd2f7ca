//! The way of a request: who asks, from where, what, and in which era; then each message of it.

use bytes::Bytes;
use http::header::CONTENT_ENCODING;
use http::{HeaderName, HeaderValue, Method};

use super::argument::{Argument, Becomes};
use super::arguments::{Asked, Outer, field_of, take, wrong};
use super::eras::{Era, agreed};
use super::results;
use super::rpc::{Message, NoMessage, Request, RpcError, write_error, write_result};
use super::server::Server;
use super::steps::{Ended, Steps, Told, carried, whole};
use super::tool::{EACH_MAX, Tool};
use crate::http::body;
use crate::http::web_origin::is_from_elsewhere;
use crate::json::{self, Json, JsonError, Limits, to_compact};
use crate::service::{
    Answer, AnswerTo, Answered, Dialect, Endpoint, Endpoints, Fault, Recognized, ServiceRefusal as _, Stop, Visit,
};

/// The largest body, in bytes.
pub const BODY_BYTES_MAX: usize = 2 << 20;
/// The most messages that may come at a time.
const BATCH_MAX: usize = 20;
/// Once the answers to a batch have so many bytes, no more of it is done.
const BATCH_BYTES_MAX: usize = 8 << 20;
/// How many levels of JSON stand around a tool's arguments: the batch, the message, its parameters.
const LEVELS_AROUND: usize = 3;
/// What has more bytes than this is read and written when it is the tenant's turn.
const SMALL_BYTES: usize = 64 << 10;

/// A request of `visit.route`, which is for every key and is asked about every method; `endpoints` has the tools' routes.
///
/// # Errors
/// Who has no key of the service, comes from another site, uses another method than POST, or sends a body that is too
/// large or says to be no JSON.
pub async fn serve<D: Dialect>(
    mut visit: Visit<D>,
    endpoints: Endpoints<D>,
    server: &'static Server<D>,
) -> Answered<D> {
    let recognized = D::recognize(&visit.context, &visit.parts).await?;
    let tenant_id = recognized.tenant_id;
    if is_from_elsewhere(&visit.parts) {
        return Err(D::from_elsewhere().into());
    }
    if visit.parts.method != Method::POST {
        return Err(D::Refusal::from(Fault::MethodNotAllowed).into());
    }
    if !body::is_json(visit.headers()) || visit.headers().contains_key(CONTENT_ENCODING) {
        return Err(D::Refusal::from(Fault::MediaTypeUnsupported).into());
    }
    let body = visit.take_body();
    let body = body::read(visit.headers(), body, BODY_BYTES_MAX, D::DEMANDS.body_time).await;
    let body = body.map_err(|error| D::Refusal::from(Fault::of_body(error)))?;
    let mut exchange = Exchange { visit, endpoints, server, recognized, is_change: false };
    let reply = exchange.reply(body).await?;
    let answer = match reply.body {
        None => Answer::nothing(202),
        Some(body) => Answer::json(reply.status, body),
    };
    Ok(answer.to(AnswerTo { tenant_id, is_change: exchange.is_change }))
}

/// A request on its way, and whether it may have changed something.
struct Exchange<D: Dialect> {
    visit: Visit<D>,
    endpoints: Endpoints<D>,
    server: &'static Server<D>,
    recognized: Recognized,
    is_change: bool,
}

/// What goes back: nothing where nothing was asked.
struct Reply {
    status: u16,
    body: Option<Vec<u8>>,
}

impl Reply {
    const NOTHING: Reply = Reply { status: 202, body: None };

    fn refusing(no: &NoMessage) -> Reply {
        Reply { status: 400, body: Some(write_error(no.id.as_ref(), &no.error)) }
    }
}

impl<D: Dialect> Exchange<D> {
    async fn reply(&mut self, body: Bytes) -> Result<Reply, Stop<D::Refusal>> {
        let era = Era::of(self.visit.headers());
        let limits = Limits { max_depth: D::DEMANDS.json.max_depth + LEVELS_AROUND };
        let message = match self.in_turn(body.len(), move || json::parse(&body, limits)).await? {
            Ok(Json::Array(messages)) => return self.batch(era, messages).await,
            Ok(message) => Message::read(message),
            Err(error) => Err(no_json(&error)),
        };
        let (era, request) = match (era, message) {
            (_, Err(no)) => return Ok(Reply::refusing(&no)),
            (Ok(_), Ok(Message::Notification)) => return Ok(Reply::NOTHING),
            (Ok(Era::Handshake { .. }), Ok(Message::Answer)) => return Ok(Reply::NOTHING),
            (Ok(Era::Modern), Ok(Message::Answer)) => {
                let error = RpcError::invalid("nobody was asked anything");
                return Ok(Reply::refusing(&NoMessage { id: None, error }));
            }
            (Err(error), Ok(Message::Request(request))) => {
                return Ok(Reply::refusing(&NoMessage { id: Some(request.id), error }));
            }
            (Err(error), Ok(_)) => return Ok(Reply::refusing(&NoMessage { id: None, error })),
            (Ok(era), Ok(Message::Request(request))) => (era, request),
        };
        let checked = era.check(self.visit.headers(), &request);
        let status = checked.as_ref().err().map_or(200, |error| era.status(error));
        let answered = match checked {
            Ok(()) => self.answered(era, request, false).await?,
            Err(error) => (status, write_error(Some(&request.id), &error)),
        };
        Ok(Reply { status: answered.0, body: Some(answered.1) })
    }

    /// Messages that came together are answered together, in their order.
    async fn batch(&mut self, era: Result<Era, RpcError>, messages: Vec<Json>) -> Result<Reply, Stop<D::Refusal>> {
        let refused = |message: &str| Ok(Reply::refusing(&NoMessage { id: None, error: RpcError::invalid(message) }));
        let era = match era {
            Ok(era @ Era::Handshake { takes_batches: true }) => era,
            Ok(_) => return refused("this version of the protocol has one message a request"),
            Err(error) => return Ok(Reply::refusing(&NoMessage { id: None, error })),
        };
        if messages.is_empty() || messages.len() > BATCH_MAX {
            return refused(&format!("a batch has 1 to {BATCH_MAX} messages"));
        }
        let mut told: Vec<u8> = Vec::new();
        for message in messages {
            let answer = match Message::read(message) {
                Ok(Message::Request(request)) if told.len() > BATCH_BYTES_MAX => {
                    let full =
                        RpcError::new(RpcError::BATCH_FULL, "the answers are too long for more; nothing was done");
                    write_error(Some(&request.id), &full)
                }
                Ok(Message::Request(request)) => match era.check(self.visit.headers(), &request) {
                    Ok(()) => self.answered(era, request, true).await?.1,
                    Err(error) => write_error(Some(&request.id), &error),
                },
                Ok(Message::Notification | Message::Answer) => continue,
                Err(no) => write_error(no.id.as_ref(), &no.error),
            };
            told.push(if told.is_empty() { b'[' } else { b',' });
            told.extend_from_slice(&answer);
        }
        if told.is_empty() {
            return Ok(Reply::NOTHING);
        }
        told.push(b']');
        Ok(Reply { status: 200, body: Some(told) })
    }

    /// The answer to a request, with its status.
    async fn answered(
        &mut self,
        era: Era,
        request: Request,
        is_in_batch: bool,
    ) -> Result<(u16, Vec<u8>), Stop<D::Refusal>> {
        let Request { id, method, params } = request;
        let result = match (era, method.as_str()) {
            (Era::Handshake { .. }, "initialize") if is_in_batch => {
                Err(RpcError::invalid("initialize does not come with others"))
            }
            (Era::Handshake { .. }, "initialize") => match params.get("protocolVersion").and_then(Json::as_str) {
                Some(asked) => Ok(results::initialized(self.server, agreed(asked))),
                None => Err(RpcError::parameters("protocolVersion is a text")),
            },
            (Era::Handshake { .. }, "ping") => Ok(b"{}".to_vec()),
            (Era::Modern, "server/discover") => Ok(results::discovered(self.server)),
            (_, "tools/list") => match params.get("cursor") {
                None | Some(Json::Null) => Ok(results::listed(self.server, self.endpoints, era)),
                Some(_) => Err(RpcError::parameters("all tools are on the first page: there is no cursor")),
            },
            (_, "tools/call") => match self.tool(&params) {
                Ok(tool) => {
                    let Told { body, is_error, held } = self.call(tool, arguments_of(params), is_in_batch).await?;
                    let (bytes, server) = (body.len(), self.server);
                    let write = move || write_result(&id, &results::called(&server.shown(body), is_error, era));
                    let written = self.in_turn(bytes, write).await?;
                    drop(held);
                    return Ok((200, written));
                }
                Err(error) => Err(error),
            },
            _ => Err(RpcError::new(RpcError::METHOD_NOT_FOUND, "there is no such method")),
        };
        Ok(match result {
            Ok(result) => (200, write_result(&id, &result)),
            Err(error) => (era.status(&error), write_error(Some(&id), &error)),
        })
    }

    /// The tool that a call names.
    fn tool(&self, params: &Json) -> Result<&'static Tool<D>, RpcError> {
        let name = params.get("name").and_then(Json::as_str);
        let name = name.ok_or_else(|| RpcError::parameters("name is a text"))?;
        let tool = self.server.tool(self.endpoints, name);
        tool.ok_or_else(|| RpcError::parameters("there is no such tool; tools/list has all there are"))
    }

    /// Calls a tool: requests of its routes, as if they had come by themselves.
    async fn call(
        &mut self,
        tool: &'static Tool<D>,
        arguments: Result<Vec<(String, Json)>, Fault>,
        is_in_batch: bool,
    ) -> Result<Told, Stop<D::Refusal>> {
        let read = arguments.and_then(|mut arguments| Ok((self.acting(&mut arguments)?, arguments)));
        let (said, arguments) = match read {
            Ok((said, arguments)) => (said, Ok(arguments)),
            Err(fault) => (None, Err(fault)),
        };
        let outer = self.outer(said.as_ref());
        let steps = Steps::new(&self.visit.context, self.recognized.tenant_id, self.endpoints, outer);
        let ended = match arguments {
            Ok(arguments) => self.ended(tool, &steps, arguments).await,
            Err(fault) => Err(self.refusing(tool, &steps, fault).await.into()),
        };
        let is_change = steps.is_change();
        drop(steps);
        self.is_change |= is_change;
        match ended {
            Ok(told) => Ok(told),
            Err(Stop::Replay(answer)) => Ok(Told::success(whole(*answer).unwrap_or_default())),
            Err(Stop::Refused(refusal)) => self.problem(refusal, is_in_batch),
        }
    }

    /// As whom a call acts, if an argument says it; that is taken out.
    fn acting(&self, arguments: &mut Vec<(String, Json)>) -> Result<Option<HeaderValue>, Fault> {
        let Some(acts) = self.server.acts else { return Ok(None) };
        take(arguments, acts.name).map(|said| field_of(acts.name, &said)).transpose()
    }

    /// What all requests of a call have from the one that it came with.
    fn outer(&self, said: Option<&HeaderValue>) -> Outer<'_> {
        let headers = self.visit.headers();
        let mut fields: Vec<_> = carried(headers, self.server.carried.iter().copied()).collect();
        let mut own = None;
        if let Some(Argument { becomes: Becomes::Field(name), .. }) = self.server.acts {
            let named: Vec<_> = match said {
                Some(value) => vec![(HeaderName::from_static(name), value.clone())],
                None => carried(headers, [name]).collect(),
            };
            own = named.first().and_then(|(_, value)| value.to_str().ok()).map(|name| name.trim().to_owned());
            fields.extend(named);
        }
        Outer { parts: &self.visit.parts, own: own.or_else(|| self.recognized.name.clone()), fields }
    }

    /// How a call with these arguments ends.
    async fn ended(&self, tool: &'static Tool<D>, steps: &Steps<'_, D>, arguments: Vec<(String, Json)>) -> Ended<D> {
        if let Some(composed) = &tool.composed {
            return (composed.compose)(steps, arguments).await;
        }
        match arguments.iter().position(|(name, value)| name == tool.each && matches!(value, Json::Array(_))) {
            Some(place) => self.each(tool, steps, place, arguments).await,
            None => self.one(tool, steps, arguments).await,
        }
    }

    /// One request of one route.
    async fn one(&self, tool: &'static Tool<D>, steps: &Steps<'_, D>, arguments: Vec<(String, Json)>) -> Ended<D> {
        match self.asked(tool, steps, arguments) {
            Ok((endpoint, asked)) => {
                let answer = steps.serve(endpoint, asked.request).await?;
                Ok(self.told(tool, answer, &asked.named))
            }
            Err(fault) => Err(self.refusing(tool, steps, fault).await.into()),
        }
    }

    /// The same for each item of the argument in a place: all of their answers, each problem with its item.
    async fn each(
        &self,
        tool: &'static Tool<D>,
        steps: &Steps<'_, D>,
        place: usize,
        arguments: Vec<(String, Json)>,
    ) -> Ended<D> {
        let mut rest = arguments;
        let (name, Json::Array(items)) = rest.remove(place) else { return self.one(tool, steps, rest).await };
        if items.is_empty() || items.len() > EACH_MAX {
            let fault = wrong(&name, &format!("must have 1 to {EACH_MAX} items"));
            return Err(self.refusing(tool, steps, fault).await.into());
        }
        let (count, mut failed, mut told) = (items.len(), 0, Vec::new());
        for item in items {
            let item_text = to_compact(&item);
            let arguments = rest.iter().cloned().chain([(name.clone(), item)]).collect();
            told.push(match self.one(tool, steps, arguments).await {
                Ok(one) => String::from_utf8_lossy(&one.body).into_owned(),
                Err(Stop::Replay(answer)) => String::from_utf8_lossy(answer.body()).into_owned(),
                // Whose key is not good any more, for him all is over.
                Err(Stop::Refused(refusal)) if refusal.verdict().status == 401 => return Err(refusal.into()),
                Err(Stop::Refused(refusal)) => {
                    failed += 1;
                    let (_, problem) = D::write(&refusal.verdict(), self.visit.request_id());
                    let problem = String::from_utf8_lossy(&problem).into_owned();
                    let rest = problem.strip_prefix('{').unwrap_or("}");
                    format!("{{\"{name}\":{item_text},{rest}")
                }
            });
        }
        let body = format!(r#"{{"items":[{}],"count":{count},"failed":{failed}}}"#, told.join(","));
        Ok(Told { is_error: failed > 0, ..Told::success(body) })
    }

    /// What somebody is told whose call says too little: who may not call it is told that first, and the call counts as well.
    async fn refusing(&self, tool: &'static Tool<D>, steps: &Steps<'_, D>, fault: Fault) -> D::Refusal {
        let endpoint = tool.routes().find_map(|(choice, _)| tool.endpoint(self.endpoints, choice));
        let Some(endpoint) = endpoint else { return Fault::Internal.into() };
        let is_of_own = !tool.form.own.is_empty() && tool.form.argument_for(tool.form.own).is_none();
        steps.admitted(endpoint, is_of_own).await.err().unwrap_or_else(|| fault.into())
    }

    /// A refusal as it is told; whoever has no key any more is told so by the listener.
    fn problem(&self, refusal: D::Refusal, is_in_batch: bool) -> Ended<D> {
        let verdict = refusal.verdict();
        if verdict.status == 401 && !is_in_batch {
            return Err(refusal.into());
        }
        let (_, body) = D::write(&verdict, self.visit.request_id());
        Ok(Told { is_error: true, ..Told::success(body) })
    }

    /// The request that a tool's arguments mean.
    fn asked(
        &self,
        tool: &'static Tool<D>,
        steps: &Steps<'_, D>,
        mut arguments: Vec<(String, Json)>,
    ) -> Result<(&'static Endpoint<D>, Asked), Fault> {
        let choice = tool.chosen(&mut arguments)?;
        let endpoint = tool.endpoint(self.endpoints, choice).ok_or(Fault::Internal)?;
        Ok((endpoint, steps.asked(endpoint, &tool.form, arguments)?))
    }

    /// What a route answered.
    fn told(&self, tool: &Tool<D>, answer: Answer, named: &[(&'static str, String)]) -> Told {
        let besides = tool.besides.map_or_else(Vec::new, |besides| besides(answer.headers()));
        let body = whole(answer).unwrap_or_else(|| {
            let told = tool.acknowledge.map(|tell| tell(&self.visit.context, self.recognized.tenant_id, named));
            told.unwrap_or_else(|| serde_json::json!({"status": "ok"})).to_string().into()
        });
        Told::success(with_members(body, besides))
    }

    /// Does what takes long for so many bytes when it is the tenant's turn.
    async fn in_turn<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, D::Refusal> {
        match D::turns(&self.visit.context).filter(|_| bytes > SMALL_BYTES) {
            Some(turns) => Ok(turns.take(self.recognized.tenant_id, work).await?),
            None => Ok(work()),
        }
    }
}

/// An object with further members.
fn with_members(body: Bytes, besides: Vec<(&'static str, Json)>) -> Bytes {
    let Some(opened) = body.strip_suffix(b"}").filter(|_| !besides.is_empty()) else { return body };
    let besides = to_compact(&Json::object(besides));
    let separator: &[u8] = if opened == b"{" { b"" } else { b"," };
    [opened, separator, besides.as_bytes().strip_prefix(b"{").unwrap_or(b"}")].concat().into()
}

/// A call's arguments, by name.
fn arguments_of(params: Json) -> Result<Vec<(String, Json)>, Fault> {
    let Json::Object(members) = params else { return Ok(Vec::new()) };
    match members.into_iter().find(|(name, _)| name == "arguments").map(|(_, arguments)| arguments) {
        None | Some(Json::Null) => Ok(Vec::new()),
        Some(Json::Object(arguments)) => Ok(arguments),
        Some(_) => Err(wrong("arguments", "must be an object")),
    }
}

fn no_json(error: &JsonError) -> NoMessage {
    let message = match error {
        // Where the first of the two stood would have to be said with names that came in.
        JsonError::DuplicateKey { .. } => "a JSON object names a member twice".to_owned(),
        other => other.to_string(),
    };
    NoMessage { id: None, error: RpcError::new(RpcError::PARSE_ERROR, message) }
}
