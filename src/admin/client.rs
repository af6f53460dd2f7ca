//! The command line's side of the administration socket.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;

use super::protocol::Problem;
use super::socket;

/// Why a call did not succeed.
#[derive(Debug)]
pub enum CallError {
    /// No appliance runs on this data directory.
    NotRunning(PathBuf),
    /// An appliance runs, but this user may not talk to it.
    NotAllowed(PathBuf),
    /// The connection broke, or the answer made no sense.
    Broken(String),
    /// The appliance said no.
    Refused(StatusCode, Problem),
}

/// A client for the appliance on one data directory.
#[derive(Clone, Debug)]
pub struct Client {
    data_dir: PathBuf,
}

impl Client {
    /// A client for the appliance on this data directory; nothing is connected yet.
    #[must_use]
    pub fn new(data_dir: &Path) -> Client {
        Client { data_dir: data_dir.to_path_buf() }
    }

    /// Reads something.
    ///
    /// # Errors
    /// See [`CallError`].
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CallError> {
        self.call(Method::GET, path, Vec::new())
    }

    /// Asks for something to be done.
    ///
    /// # Errors
    /// See [`CallError`].
    pub fn post<T: DeserializeOwned>(&self, path: &str, wish: &impl Serialize) -> Result<T, CallError> {
        let body = serde_json::to_vec(wish).map_err(|error| CallError::Broken(error.to_string()))?;
        self.call(Method::POST, path, body)
    }

    fn call<T: DeserializeOwned>(&self, method: Method, path: &str, body: Vec<u8>) -> Result<T, CallError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| CallError::Broken(error.to_string()))?;
        let (status, answer) = runtime.block_on(self.exchange(method, path, body))?;
        if status.is_success() {
            return serde_json::from_slice(&answer).map_err(|error| CallError::Broken(error.to_string()));
        }
        let problem = serde_json::from_slice(&answer).map_err(|_| CallError::Broken(format!("answered {status}")))?;
        Err(CallError::Refused(status, problem))
    }

    async fn exchange(&self, method: Method, path: &str, body: Vec<u8>) -> Result<(StatusCode, Bytes), CallError> {
        let broken = |error: &dyn std::fmt::Display| CallError::Broken(error.to_string());
        let stream = socket::connect(&self.data_dir).map_err(|error| match error.kind() {
            std::io::ErrorKind::PermissionDenied => CallError::NotAllowed(self.data_dir.clone()),
            _ => CallError::NotRunning(self.data_dir.clone()),
        })?;
        let stream = UnixStream::from_std(stream).map_err(|error| broken(&error))?;
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = handshake.map_err(|error| broken(&error))?;
        tokio::spawn(connection);
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(http::header::HOST, "quintet")
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| broken(&error))?;
        let response = sender.send_request(request).await.map_err(|error| broken(&error))?;
        let status = response.status();
        let answer = response.into_body().collect().await.map_err(|error| broken(&error))?.to_bytes();
        Ok((status, answer))
    }
}
