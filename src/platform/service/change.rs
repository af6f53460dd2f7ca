//! A request that changes something: its Idempotency-Key, its body, and the one transaction of what it does with the
//! answer that is remembered.
//!
//! Everything is checked in one order: key, size of the body, its media type, that it is JSON. Then the key is looked up:
//! a repeat is answered as before, one beside it is turned away. A service that remembers refusals looks it up in the
//! transaction alone, and lets everything that is wrong with what the request says wait for that.

use std::time::Instant;

use bytes::Bytes;
use http::HeaderValue;
use http::header::{CONTENT_ENCODING, IF_MATCH};
use quintet_storage::seal::Erased;
use quintet_storage::{Abort, Failure, Read, Snapshot, Timestamp, Uuid, WriteTx};

use super::answer::{Answer, Remembered, Stop};
use super::call::{Call, failed, refusal_of};
use super::dialect::{Dialect, ServiceRefusal};
use super::fault::Fault;
use super::route::{Content, KeyRule, Route};
use crate::access::Basis;
use crate::foundation::NotAdmitted;
use crate::http::body;
use crate::idempotency::{self, Beside, Entered, Guard, IDEMPOTENCY_KEY, Lookup, MalformedKey, RequestDigest, Scope};
use crate::json::{self, Json, JsonError};

/// A body that is read right where the request is served: larger ones wait for their turn elsewhere, where the service
/// has turns for them.
const SMALL_BODY_BYTES: usize = 32 * 1024;

/// A request that changes something, its body read.
pub struct Change<D: Dialect> {
    /// What it shares with those that only read.
    pub call: Call<D>,
    said: Result<Option<Json>, Fault>,
    entered: Option<Entered>,
    /// Others with its key are turned away for as long as it is served.
    guard: Option<Guard>,
    is_freeing: bool,
}

impl<D: Dialect> Call<D> {
    /// Takes in a request that changes something: its Idempotency-Key and its body.
    ///
    /// # Errors
    /// The first fault, in the order that the module says.
    pub async fn change(self) -> Result<Change<D>, D::Refusal> {
        self.change_of(D::DEMANDS.body_bytes_max).await
    }

    /// [`Call::change`] of a route whose body may have so many bytes.
    ///
    /// # Errors
    /// As [`Call::change`].
    pub async fn change_of(mut self, body_bytes_max: usize) -> Result<Change<D>, D::Refusal> {
        let key = self.idempotency_key()?;
        let body = self.take_body();
        let body = match self.route.body {
            Content::Nothing => {
                body::pass_over(self.headers(), body).await;
                Bytes::new()
            }
            _ => {
                let read = body::read(self.headers(), body, body_bytes_max, D::DEMANDS.body_time).await;
                read.map_err(Fault::of_body)?
            }
        };
        if D::DEMANDS.wants_media_type && !body.is_empty() && !body::is_json(self.headers()) {
            return Err(Fault::MediaTypeUnsupported.into());
        }
        self.check_coding()?;
        let enter = key.map(|key| self.entering(key));
        let turns = D::turns(&self.context).filter(|_| body.len() > SMALL_BODY_BYTES);
        let read = move || (json::parse(&body, D::DEMANDS.json), enter.map(|enter| enter(&body)));
        let (said, entered) = match turns {
            Some(turns) => turns.take(D::tenant_id(&self.caller), read).await?,
            None => read(),
        };
        let said = match said {
            Ok(json) => Ok(Some(json)),
            Err(JsonError::Empty) => Ok(None),
            Err(error @ JsonError::TooDeep) => return Err(Fault::Json(error).into()),
            Err(error) => Err(Fault::Json(error)),
        };
        let said = match self.query_fault.take() {
            Some(fault) => Err(fault),
            None => said,
        };
        Ok(Change { call: self, said, entered, guard: None, is_freeing: false })
    }

    /// [`Call::change`] of a route that takes its body in by itself; `content` stands for what it says.
    ///
    /// # Errors
    /// As [`Call::change`], as far as the key goes.
    pub fn change_by(self, key: Option<String>, content: &[u8]) -> Change<D> {
        let entered = key.map(|key| self.entering(key)(content));
        Change { call: self, said: Ok(None), entered, guard: None, is_freeing: false }
    }

    /// The Idempotency-Key, as far as the route wants one.
    ///
    /// # Errors
    /// It is missing or malformed.
    pub fn idempotency_key(&self) -> Result<Option<String>, D::Refusal> {
        if self.route.key == KeyRule::Ignored {
            return Ok(None);
        }
        let is_required = self.route.key == KeyRule::Required;
        // Where one is needed, an empty key is as good as none.
        if is_required && self.headers().get_all(&IDEMPOTENCY_KEY).iter().all(HeaderValue::is_empty) {
            return Err(Fault::KeyMissing.into());
        }
        let most = D::DEMANDS.key_chars_max;
        let key = idempotency::request_key(self.headers(), most);
        key.map_err(|MalformedKey| Fault::KeyMalformed(most).into())
    }

    /// A body that is coded cannot be what it says to be.
    ///
    /// # Errors
    /// It is.
    pub fn check_coding(&self) -> Result<(), D::Refusal> {
        let mut codings = self.headers().get_all(CONTENT_ENCODING).iter();
        if D::DEMANDS.wants_media_type && !codings.all(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
            return Err(Fault::MediaTypeUnsupported.into());
        }
        Ok(())
    }

    /// What its answer is remembered under, as soon as there is the body.
    fn entering(&self, key: String) -> impl FnOnce(&[u8]) -> Entered + Send + use<D> {
        let tenant_id = D::tenant_id(&self.caller);
        let mut query = self.canonical_query();
        if self.route.is_conditional {
            // With another If-Match it is another request.
            for value in self.headers().get_all(IF_MATCH) {
                query.push('\n');
                query.push_str(&String::from_utf8_lossy(value.as_bytes()));
            }
        }
        let (method, path) = (self.route.method.as_str(), self.canonical_path());
        let scope =
            Scope { service: D::SERVICE, tenant_id, within: D::key_scope(&self.caller, self.route, &path), key };
        move |body| Entered { scope, digest: RequestDigest::of(method, &path, &query, body) }
    }
}

impl<D: Dialect> Change<D> {
    /// What the body says.
    ///
    /// # Errors
    /// It says nothing, or is no JSON.
    pub fn json(&mut self) -> Result<Json, D::Refusal> {
        let said = self.optional_json()?;
        said.ok_or_else(|| Fault::Json(JsonError::Empty).into())
    }

    /// What the body says, if it says anything.
    ///
    /// # Errors
    /// It is no JSON.
    pub fn optional_json(&mut self) -> Result<Option<Json>, D::Refusal> {
        std::mem::replace(&mut self.said, Ok(None)).map_err(D::Refusal::from)
    }

    /// What its answer is remembered under; `None`: nothing, there is no key.
    #[must_use]
    pub fn entered(&self) -> Option<&Entered> {
        self.entered.as_ref()
    }

    /// Looks the key up: a repeat is answered as before, one beside it is turned away.
    ///
    /// # Errors
    /// The first answer of a repeat; or why the request cannot go on.
    pub fn begin(&mut self) -> Result<(), Stop<D::Refusal>> {
        self.begin_telling(|_, _| Ok(None))
    }

    /// [`Change::begin`] of a route whose answers tell of a member. Of one that was erased since nothing is remembered, neither
    /// what was asked nor what was answered: `of_erased` says what a repeat is told in its place, if the request can have been
    /// one about that member.
    ///
    /// # Errors
    /// As [`Change::begin`].
    pub fn begin_telling(
        &mut self,
        of_erased: impl FnOnce(&Snapshot, Uuid) -> Result<Option<Vec<u8>>, Abort<D::Refusal>>,
    ) -> Result<(), Stop<D::Refusal>> {
        let Some(entered) = &self.entered else { return Ok(()) };
        let foundation = self.call.foundation();
        let read = foundation.store.read();
        let found = idempotency::lookup(&read, &entered.scope, &entered.digest, self.call.now());
        match found.map_err(|failure| failed::<D::Refusal>(&failure))? {
            Lookup::Replay(stored) => {
                self.recheck_repeat(&read)?;
                return Err(Stop::Replay(Box::new(Answer::replayed(stored, self.call.route.etag))));
            }
            Lookup::Erased { member_id, status } => {
                self.recheck_repeat(&read)?;
                let body = of_erased(&read, member_id).map_err(refusal_of)?;
                let body = body.ok_or_else(|| D::Refusal::from(Fault::KeyReused))?;
                return Err(Stop::Replay(Box::new(Answer::json(status, body).as_replay())));
            }
            Lookup::Mismatch => return Err(D::Refusal::from(Fault::KeyReused).into()),
            Lookup::Fresh => {}
        }
        let guard = foundation.in_flight.enter(entered).map_err(|beside| match beside {
            Beside::Same => D::Refusal::from(Fault::KeyInProgress),
            Beside::Other => D::Refusal::from(Fault::KeyReused),
        })?;
        self.guard = Some(guard);
        Ok(())
    }

    /// The same, which shuts somebody out or frees something, if so: it goes on below the disk reserve.
    #[must_use]
    pub fn freeing(mut self, is_freeing: bool) -> Change<D> {
        self.is_freeing = is_freeing;
        self
    }

    /// Goes on with a later part of the same request, which is remembered by itself: under a key that no caller can send,
    /// for it has a control character.
    pub fn go_on_with_part(&mut self, number: usize) {
        if let Some(entered) = &mut self.entered {
            let own = entered.scope.key.split('\n').next().unwrap_or_default();
            entered.scope.key = format!("{own}\n{number}");
        }
    }

    /// The one transaction: that the caller still may, what the verb does, and the answer under its key.
    ///
    /// # Errors
    /// What the verb refuses, or what the store cannot do.
    pub async fn write(
        self,
        verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<Answer, Abort<D::Refusal>> + Send + 'static,
    ) -> Result<Answer, Stop<D::Refusal>> {
        let written = self.try_write(|tx, now| verb(tx, now).map(Some)).await?;
        written.ok_or_else(|| D::Refusal::from(Fault::Internal).into())
    }

    /// [`Change::write`] for a verb that may find, before it has written anything, that what it was given is out of date:
    /// `None`, and nothing is remembered.
    ///
    /// # Errors
    /// As [`Change::write`].
    pub async fn try_write(
        &self,
        verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<Option<Answer>, Abort<D::Refusal>> + Send + 'static,
    ) -> Result<Option<Answer>, D::Refusal> {
        let (entered, route) = (self.entered.clone(), self.call.route);
        let recheck = self.recheck();
        let work = move |tx: &mut WriteTx<'_>, now: Timestamp| {
            recheck(tx, now)?;
            match entered {
                Some(entered) => once::<D>(tx, now, &entered, route, verb),
                None => verb(tx, now),
            }
        };
        match self.transact(work).await {
            Ok(answer) => Ok(answer),
            Err(Abort::Failed(failure)) => self.replay_after(&failure).map(Some),
            Err(abort) => Err(refusal_of(abort)),
        }
    }

    /// A transaction of the request whose answer is made later: that the caller still may, and what the verb does. Nothing is
    /// remembered under its key.
    ///
    /// # Errors
    /// What the verb refuses, or what the store cannot do.
    pub async fn write_first<T: Send + 'static>(
        &self,
        verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<D::Refusal>> + Send + 'static,
    ) -> Result<T, D::Refusal> {
        let recheck = self.recheck();
        let work = move |tx: &mut WriteTx<'_>, now: Timestamp| {
            recheck(tx, now)?;
            verb(tx, now)
        };
        self.transact(work).await.map_err(refusal_of)
    }

    /// Another transaction of the same request, where what it did in its first one had to be told elsewhere: its answer
    /// takes the place of the one that is remembered.
    ///
    /// # Errors
    /// What the verb refuses, or what the store cannot do: then the first transaction's answer stands.
    pub async fn write_again(
        &self,
        verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<Answer, Abort<D::Refusal>> + Send + 'static,
    ) -> Result<Answer, D::Refusal> {
        let entered = self.entered.clone();
        let work = move |tx: &mut WriteTx<'_>, now: Timestamp| {
            let answer = verb(tx, now)?;
            if let Some(entered) = &entered {
                remember(tx, now, entered, &answer, D::DEMANDS.key_kept_seconds)?;
            }
            Ok(answer)
        };
        self.transact(work).await.map_err(refusal_of)
    }

    /// What every transaction of the request asks first: that the caller still may.
    fn recheck(&self) -> impl FnOnce(&WriteTx<'_>, Timestamp) -> Result<(), Abort<D::Refusal>> + Send + use<D> {
        let (basis, own) = (D::basis(&self.call.caller), D::recheck(&self.call.caller, self.call.route));
        move |tx, now| {
            check_basis::<D>(basis, tx, now)?;
            own.map_or(Ok(()), |own| own(tx))
        }
    }

    /// The same, before an answer that was remembered is given again without a transaction.
    fn recheck_repeat(&self, read: &Snapshot) -> Result<(), D::Refusal> {
        let caller = &self.call.caller;
        check_basis::<D>(D::basis(caller), read, self.call.now()).map_err(refusal_of)?;
        D::recheck_repeat(caller, self.call.route, read).map_err(refusal_of)
    }

    async fn transact<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<D::Refusal>> + Send + 'static,
    ) -> Result<T, Abort<D::Refusal>> {
        let store = &self.call.foundation().store;
        let deadline = Instant::now() + D::DEMANDS.writer_time;
        match self.is_freeing {
            false => store.write(deadline, work).await,
            true => store.write_freeing(deadline, work).await,
        }
    }

    /// A request that the writer did not take may be a repeat all the same: its answer can be read.
    fn replay_after(&self, failure: &Failure) -> Result<Answer, D::Refusal> {
        let is_readable = matches!(failure, Failure::Busy | Failure::StorageFull | Failure::Stopped);
        if let (true, Some(entered)) = (is_readable, &self.entered) {
            let read = self.call.snapshot();
            let found = idempotency::lookup(&read, &entered.scope, &entered.digest, self.call.now());
            if let Ok(Lookup::Replay(stored)) = found {
                self.recheck_repeat(&read)?;
                return Ok(Answer::replayed(stored, self.call.route.etag));
            }
        }
        Err(failed(failure))
    }
}

/// Whether what the caller was let in by stands.
fn check_basis<D: Dialect>(basis: Option<Basis>, read: &impl Read, now: Timestamp) -> Result<(), Abort<D::Refusal>> {
    let Some(basis) = basis else { return Ok(()) };
    basis.check(read, now).map_err(|abort| match abort {
        Abort::Refused(refusal) => Abort::Refused(Fault::of_admission(NotAdmitted::Refused(refusal)).into()),
        Abort::Failed(failure) => Abort::Failed(failure),
    })
}

/// Does something once, within a transaction: a repeat gets the first answer, which is remembered with what was done.
///
/// # Errors
/// The key was used for another request; or what the verb refuses, unless the service remembers that.
pub fn once<D: Dialect>(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    entered: &Entered,
    route: &Route,
    verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<Option<Answer>, Abort<D::Refusal>>,
) -> Result<Option<Answer>, Abort<D::Refusal>> {
    match idempotency::lookup(tx, &entered.scope, &entered.digest, now)? {
        Lookup::Replay(stored) => return Ok(Some(Answer::replayed(stored, route.etag))),
        Lookup::Mismatch | Lookup::Erased { .. } => return Err(Abort::Refused(Fault::KeyReused.into())),
        Lookup::Fresh => {}
    }
    let outcome = match D::DEMANDS.remembers_refusals {
        true => tx.savepoint(|tx| verb(tx, now)),
        false => verb(tx, now),
    };
    let answer = match outcome {
        Ok(Some(answer)) => answer,
        Ok(None) => return Ok(None),
        Err(Abort::Refused(refusal)) if D::DEMANDS.remembers_refusals && refusal.is_final() => refused::<D>(&refusal),
        Err(abort) => return Err(abort),
    };
    remember(tx, now, entered, &answer, D::DEMANDS.key_kept_seconds)?;
    Ok(Some(answer))
}

/// A refusal as the answer that is remembered.
#[must_use]
pub fn refused<D: Dialect>(refusal: &D::Refusal) -> Answer {
    let mut verdict = refusal.verdict();
    let (media_type, body) = D::write(&verdict, "");
    let headers = verdict.take_headers();
    let answer = Answer::other(verdict.status, media_type, body);
    headers.into_iter().fold(answer, |answer, (name, value)| match name {
        Some(name) => answer.header(name, value),
        None => answer,
    })
}

fn remember(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    entered: &Entered,
    answer: &Answer,
    kept_seconds: i64,
) -> Result<(), Failure> {
    let stored = answer.stored();
    let kept = match answer.remembered() {
        Remembered::Open => {
            return idempotency::remember(tx, now, entered, &stored, kept_seconds);
        }
        Remembered::Sealed => idempotency::remember_secret(tx, now, entered, &stored, kept_seconds),
        Remembered::Personal(member_id) => {
            idempotency::remember_personal(tx, now, entered, &stored, kept_seconds, *member_id)
        }
    };
    kept.map_err(|abort| match abort {
        Abort::Failed(failure) => failure,
        // Whoever still has a key of an erased tenant is turned away before this, and of an erased member nothing is told.
        Abort::Refused(Erased) => Failure::Io("whom the answer is sealed for has been erased".to_owned()),
    })
}
