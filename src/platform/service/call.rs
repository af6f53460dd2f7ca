//! A request on its way: what was asked, and by whom.

use std::net::{Ipv4Addr, SocketAddr};
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

use axum::body::Body;
use axum::extract::ConnectInfo;
use http::request::Parts;
use http::{Extensions, HeaderMap, Uri};
use quintet_storage::{Abort, Failure, Snapshot, Timestamp, Uuid};

use super::answer::Answer;
use super::dialect::{Answered, Dialect, ServiceRefusal};
use super::fault::Fault;
use super::route::{Parameter, Route};
use super::shape::Shape;
use super::turns::Turns;
use crate::Foundation;
use crate::http::query::{Query, decode_segment, encode_segment};
use crate::http::request_id::RequestId;
use crate::limits::source_key;
use crate::time_text::parse_rfc3339;

/// A request of a route that is open to everybody.
pub struct Visit<D: Dialect> {
    /// What handlers work with.
    pub context: D::Context,
    /// What was called.
    pub route: &'static Route,
    /// The request's method, address, header fields and extensions.
    pub parts: Parts,
    /// The request's body, unread. Nobody shares it; the lock makes the rest of the request one that can be shared.
    body: Mutex<Body>,
    query: Query,
    /// What is wrong with the query, where that waits until an Idempotency-Key was looked up.
    pub(super) query_fault: Option<Fault>,
}

/// A request that was let in.
pub struct Call<D: Dialect> {
    /// Who calls.
    pub caller: D::Caller,
    visit: Visit<D>,
}

impl<D: Dialect> Deref for Call<D> {
    type Target = Visit<D>;

    fn deref(&self) -> &Visit<D> {
        &self.visit
    }
}

impl<D: Dialect> DerefMut for Call<D> {
    fn deref_mut(&mut self) -> &mut Visit<D> {
        &mut self.visit
    }
}

/// A type that a segment of a path can be read as.
pub trait FromSegment: Sized {
    /// Reads it, percent-encoding undone. `None`: it cannot name anything.
    fn from_segment(text: &str) -> Option<Self>;
}

impl FromSegment for String {
    fn from_segment(text: &str) -> Option<String> {
        Some(text.to_owned())
    }
}

impl FromSegment for Uuid {
    fn from_segment(text: &str) -> Option<Uuid> {
        crate::ids::parse_uuid(text)
    }
}

impl<D: Dialect> Visit<D> {
    /// A request of a route, its query read and its parameters known.
    pub(super) fn new(
        context: D::Context,
        route: &'static Route,
        parts: Parts,
        body: Body,
    ) -> Result<Visit<D>, D::Refusal> {
        let is_repeatable = |name: &str| match route.parameters.iter().find(|known| known.name == name) {
            Some(known) => known.is_repeatable,
            // What is passed over may come as often as it likes.
            None => route.takes_any_parameter,
        };
        let read = Query::parse_with(parts.uri.query(), is_repeatable);
        let read = read.and_then(|query| {
            if route.takes_any_parameter {
                return Ok(query);
            }
            query.only(route.parameters.iter().map(|known| known.name)).map(|()| query)
        });
        let known = || route.parameters.iter().map(|known| known.name);
        let (query, query_fault) = match read {
            Ok(query) => (query, None),
            Err(error) => (Query::default(), Some(Fault::of_query(error, known()))),
        };
        match query_fault {
            Some(fault) if !(D::DEMANDS.remembers_refusals && route.is_change()) => Err(fault.into()),
            query_fault => Ok(Visit { context, route, parts, body: Mutex::new(body), query, query_fault }),
        }
    }

    /// Who was let in makes it a call.
    pub(super) fn by(self, caller: D::Caller) -> Call<D> {
        Call { caller, visit: self }
    }

    /// What the service stands on.
    #[must_use]
    pub fn foundation(&self) -> &Foundation {
        D::foundation(&self.context)
    }

    /// Takes the request's body, which can be done once.
    pub fn take_body(&mut self) -> Body {
        std::mem::take(self.body.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts a body into the place of the one that was taken: of a handler that reads it by itself, and goes on as others do.
    pub fn put_body(&mut self, body: Body) {
        *self.body.get_mut().unwrap_or_else(PoisonError::into_inner) = body;
    }

    /// The newest published state.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.foundation().store.read()
    }

    /// The present instant.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.foundation().clock.now()
    }

    /// The request's header fields.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.parts.headers
    }

    /// Where it comes from, as the rates of strangers count it. Without an address (a unix socket) all are one source.
    #[must_use]
    pub fn source(&self) -> u128 {
        let source = self.parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(source)| source.ip());
        source_key(source.unwrap_or(Ipv4Addr::UNSPECIFIED.into()))
    }

    /// The request's identifier.
    #[must_use]
    pub fn request_id(&self) -> &str {
        request_id_of(&self.parts.extensions)
    }

    /// What the path has in this place of its template; `None` if it cannot name anything.
    #[must_use]
    pub fn segment<T: FromSegment>(&self, name: &str) -> Option<T> {
        let text = segment_of(self.route, &self.parts.uri, name)?;
        T::from_segment(&text)
    }

    /// A parameter's text.
    pub fn text(&mut self, parameter: &Parameter) -> Result<Option<String>, D::Refusal> {
        let text = self.query.take(parameter.name);
        match text {
            Some(text) if !parameter.shape.fits(&text) => Err(self.misfit(parameter)),
            None if parameter.is_required => Err(self.missing(parameter)),
            text => Ok(text),
        }
    }

    /// The texts of a parameter that may be repeated, in their order.
    pub fn texts(&mut self, parameter: &Parameter) -> Result<Vec<String>, D::Refusal> {
        let texts = self.query.take_all(parameter.name);
        match texts.iter().all(|text| parameter.shape.fits(text)) {
            true => Ok(texts),
            false => Err(self.misfit(parameter)),
        }
    }

    /// A parameter that is a whole number, or what it is when nobody says.
    pub fn integer(&mut self, parameter: &Parameter) -> Result<Option<i64>, D::Refusal> {
        let text = self.text(parameter)?;
        let default = match parameter.shape {
            Shape::Integer { default, .. } => default,
            _ => None,
        };
        Ok(text.and_then(|text| text.parse().ok()).or(default))
    }

    /// A parameter that is one of a few words, or what it is when nobody says.
    pub fn word(&mut self, parameter: &Parameter) -> Result<Option<&'static str>, D::Refusal> {
        let text = self.text(parameter)?;
        let Shape::Word(words, default) = parameter.shape else { return Ok(None) };
        let said = text.and_then(|text| words.iter().copied().find(|word| *word == text));
        Ok(said.or(Some(default).filter(|word| !word.is_empty())))
    }

    /// A parameter that is an instant.
    pub fn instant(&mut self, parameter: &Parameter) -> Result<Option<Timestamp>, D::Refusal> {
        Ok(self.text(parameter)?.and_then(|text| parse_rfc3339(&text).ok()))
    }

    /// A parameter as it was given, for those who have codes of their own for what it cannot be.
    pub fn take(&mut self, parameter: &Parameter) -> Option<String> {
        self.query.take(parameter.name)
    }

    fn misfit(&self, parameter: &Parameter) -> D::Refusal {
        Fault::parameter(parameter.name, parameter.shape.expected()).into()
    }

    fn missing(&self, parameter: &Parameter) -> D::Refusal {
        let error = crate::http::query::QueryError::Missing(parameter.name.to_owned());
        Fault::of_query(error, []).into()
    }

    /// The query in one spelling.
    pub(super) fn canonical_query(&self) -> String {
        match &self.query_fault {
            None => self.query.canonical(),
            Some(_) => self.parts.uri.query().unwrap_or_default().to_owned(),
        }
    }

    /// The path, what varies in it in one spelling.
    pub(super) fn canonical_path(&self) -> String {
        let spelled = |template: &str, segment: &str| {
            let name = template.strip_prefix('{')?.strip_suffix('}')?;
            let text = decode_segment(segment)?;
            let described = self.route.segments.iter().find(|described| described.name == name);
            Some(encode_segment(&described.map_or(text.clone(), |described| described.shape.canonical(text))))
        };
        let pairs = self.route.path.split('/').zip(self.parts.uri.path().split('/'));
        let segments = pairs.map(|(template, segment)| spelled(template, segment).unwrap_or(segment.to_owned()));
        segments.collect::<Vec<_>>().join("/")
    }
}

impl<D: Dialect> Call<D> {
    /// Answers with JSON, read from the newest published state. For what is small: it is done at once, on the thread that
    /// serves; what can take long waits for its turn elsewhere ([`Turns`](super::Turns)).
    pub fn answer(
        &self,
        status: u16,
        read: impl FnOnce(&Snapshot) -> Result<Vec<u8>, Abort<D::Refusal>>,
    ) -> Answered<D> {
        let body = read(&self.snapshot()).map_err(refusal_of)?;
        Ok(Answer::json(status, body))
    }

    /// Does what can take long when it is the tenant's turn, off the threads that serve everybody.
    ///
    /// # Errors
    /// As [`Turns::take`], and those of `work`.
    pub async fn in_turn<T: Send + 'static>(
        &self,
        turns: &Turns,
        work: impl FnOnce() -> Result<T, Abort<D::Refusal>> + Send + 'static,
    ) -> Result<T, D::Refusal> {
        turns.take(D::tenant_id(&self.caller), work).await?.map_err(refusal_of)
    }
}

/// The identifier of the request with these extensions.
pub(super) fn request_id_of(extensions: &Extensions) -> &str {
    extensions.get::<RequestId>().map_or("", RequestId::as_str)
}

/// What a path has where its template has a name in braces, decoded; `None` if it is not UTF-8.
fn segment_of(route: &Route, uri: &Uri, name: &str) -> Option<String> {
    let is_named = |template: &str| template.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) == Some(name);
    let mut pairs = route.path.split('/').zip(uri.path().split('/'));
    pairs.find(|(template, _)| is_named(template)).and_then(|(_, segment)| decode_segment(segment))
}

/// What an abort is answered with.
#[must_use]
pub fn refusal_of<R: ServiceRefusal>(abort: Abort<R>) -> R {
    match abort {
        Abort::Refused(refusal) => refusal,
        Abort::Failed(failure) => failed(&failure),
    }
}

/// What a failure of the store is answered with.
#[must_use]
pub fn failed<R: ServiceRefusal>(failure: &Failure) -> R {
    Fault::of_failure(failure).into()
}
