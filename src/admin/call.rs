//! What a running appliance can be asked for on the administration socket: a constant for each request, beside its
//! handler. The handler is served under it and the command line asks by it, so that a path, a method and the types of a
//! wish and of an answer are written once.
//!
//! Both ends are always the same binary, or neighbours of one upgrade: unknown members are ignored.

use std::marker::PhantomData;

use axum::Router;
use axum::body::Body;
use axum::handler::Handler;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use http::{Method, header};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::task::TaskError;

/// The largest wish, in bytes.
const WISH_BYTES_MAX: usize = 64 * 1024;

/// A request that a running appliance knows: what is wished goes in, what is shown comes out.
#[derive(Clone, Copy, Debug)]
pub struct Call<Wish, View> {
    changes: bool,
    path: &'static str,
    types: PhantomData<fn(Wish) -> View>,
}

/// A list.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Items<T> {
    /// What it holds.
    pub items: Vec<T>,
}

impl<View> Call<(), View> {
    /// What only looks. Names in braces stand for parts of the path.
    #[must_use]
    pub const fn look(path: &'static str) -> Call<(), View> {
        Call { changes: false, path, types: PhantomData }
    }
}

impl<Wish, View> Call<Wish, View> {
    /// What changes something.
    #[must_use]
    pub const fn change(path: &'static str) -> Call<Wish, View> {
        Call { changes: true, path, types: PhantomData }
    }

    /// The request with these parts in its path, in the order of the names that stand for them.
    #[must_use]
    pub fn of(&self, parts: &[&str]) -> Asked<Wish, View> {
        let mut parts = parts.iter();
        let filled = self.path.split('/').map(|segment| match segment.starts_with('{') {
            true => parts.next().map(|part| encoded(part)).unwrap_or_default(),
            false => segment.to_owned(),
        });
        let target = filled.collect::<Vec<_>>().join("/");
        let method = if self.changes { Method::POST } else { Method::GET };
        Asked { method, target, wish: Ok(Vec::new()), types: PhantomData }
    }

    /// The routes of this request alone.
    pub(super) fn served_by<H, T, S>(&self, handler: H) -> Router<S>
    where
        H: Handler<T, S>,
        T: 'static,
        S: Clone + Send + Sync + 'static,
    {
        let method = if self.changes { MethodFilter::POST } else { MethodFilter::GET };
        Router::new().route(self.path, on(method, handler))
    }
}

impl<Wish: Serialize, View> Call<Wish, View> {
    /// The request for this.
    #[must_use]
    pub fn wishing(&self, wish: &Wish) -> Asked<(), View> {
        self.of(&[]).wishing(wish)
    }
}

impl<Wish: DeserializeOwned, View> Call<Wish, View> {
    /// Reads what is wished.
    pub(super) async fn wish(&self, body: Body) -> Result<Wish, TaskError> {
        let bytes = axum::body::to_bytes(body, WISH_BYTES_MAX)
            .await
            .map_err(|_| TaskError::Unusable("the request's body is too large or broke off".into()))?;
        serde_json::from_slice(&bytes)
            .map_err(|error| TaskError::Unusable(format!("the request makes no sense: {error}")))
    }
}

impl<Wish, View: Serialize> Call<Wish, View> {
    /// The answer that shows this.
    pub(super) fn answer(&self, view: &View) -> Result<Response, TaskError> {
        let text = serde_json::to_string(view).map_err(|error| TaskError::Failed(error.to_string()))?;
        Ok(([(header::CONTENT_TYPE, "application/json")], text).into_response())
    }
}

/// A request as it is sent. It is ready once it says all that is wished: then `Wish` is nothing.
#[derive(Debug)]
pub struct Asked<Wish, View> {
    pub(super) method: Method,
    pub(super) target: String,
    pub(super) wish: serde_json::Result<Vec<u8>>,
    types: PhantomData<fn(Wish) -> View>,
}

impl<Wish: Serialize, View> Asked<Wish, View> {
    /// The same request for this.
    #[must_use]
    pub fn wishing(self, wish: &Wish) -> Asked<(), View> {
        Asked { method: self.method, target: self.target, wish: serde_json::to_vec(wish), types: PhantomData }
    }
}

impl<Wish, View> Asked<Wish, View> {
    /// The same request with a parameter, if it has a value.
    #[must_use]
    pub fn with(mut self, name: &str, value: Option<&str>) -> Asked<Wish, View> {
        if let Some(value) = value {
            let separator = if self.target.contains('?') { '&' } else { '?' };
            self.target.push_str(&format!("{separator}{name}={}", encoded(value)));
        }
        self
    }
}

impl<View> From<&Call<(), View>> for Asked<(), View> {
    fn from(call: &Call<(), View>) -> Asked<(), View> {
        call.of(&[])
    }
}

/// A text as one segment of a path: everything but letters and digits is percent-encoded.
fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'-' | b'_' => char::from(byte).to_string(),
            _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_parameters_stay_what_they_are() {
        const SHOW: Call<(), ()> = Call::look("/things/{thing}/of/{owner}");
        let asked = SHOW.of(&["a/b?", "ü"]).with("from", Some("x&y=z")).with("until", None).with("to", Some("1-2_3"));
        assert_eq!(asked.target, "/things/a%2Fb%3F/of/%C3%BC?from=x%26y%3Dz&to=1-2_3");
        assert_eq!((asked.method, asked.wish.unwrap().len()), (Method::GET, 0));
        const MAKE: Call<Items<u8>, ()> = Call::change("/things");
        let asked = MAKE.wishing(&Items { items: vec![1] });
        assert_eq!((asked.method, asked.target.as_str()), (Method::POST, "/things"));
        assert_eq!(asked.wish.unwrap(), br#"{"items":[1]}"#);
    }
}
