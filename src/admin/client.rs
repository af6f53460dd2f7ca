//! The command line's side of the administration socket.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;

use super::call::Asked;
use super::problem::Problem;
use super::socket;

/// How long a call waits, for the connection and for the answer, unless it is told otherwise.
const PATIENCE: Duration = Duration::from_secs(30);

/// How soon a full queue is tried again.
const RETRY_AFTER: Duration = Duration::from_millis(50);

/// Why a call did not succeed.
#[derive(Debug)]
pub enum CallError {
    /// No appliance runs on this data directory.
    NotRunning(PathBuf),
    /// An appliance runs, but this user may not talk to it.
    NotAllowed(PathBuf),
    /// The socket could not be reached for another reason.
    Unreachable(PathBuf, io::Error),
    /// An appliance runs, but does not take the connection; how long it was waited for.
    NoConnection(PathBuf, Duration),
    /// An appliance took the request, but does not answer; how long it was waited for.
    NoAnswer(PathBuf, Duration),
    /// The connection broke, or the answer made no sense.
    Broken(String),
    /// The appliance said no.
    Refused(StatusCode, Problem),
}

/// A client for the appliance on one data directory.
#[derive(Clone, Debug)]
pub struct Client {
    data_dir: PathBuf,
    /// How long it waits for a connection.
    connect_patience: Duration,
    /// How long it waits for an answer; for ever if absent.
    answer_patience: Option<Duration>,
}

impl Client {
    /// A client for the appliance on this data directory; nothing is connected yet.
    #[must_use]
    pub fn new(data_dir: &Path) -> Client {
        Client { data_dir: data_dir.to_path_buf(), connect_patience: PATIENCE, answer_patience: Some(PATIENCE) }
    }

    /// The same client, for what may take as long as it likes.
    #[must_use]
    pub fn without_hurry(self) -> Client {
        Client { answer_patience: None, ..self }
    }

    /// The same client, for a question that is not worth a long wait.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Client {
        Client { connect_patience: patience, answer_patience: Some(patience), ..self }
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// See [`CallError`].
    pub fn ask<View: DeserializeOwned>(&self, asked: impl Into<Asked<(), View>>) -> Result<View, CallError> {
        let Asked { method, target, wish, .. } = asked.into();
        let body = wish.map_err(|error| CallError::Broken(error.to_string()))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| CallError::Broken(error.to_string()))?;
        let (status, answer) = runtime.block_on(async {
            let stream = self.connect().await?;
            let exchange = exchange(stream, method, &target, body);
            let Some(patience) = self.answer_patience else { return exchange.await };
            let answered = tokio::time::timeout(patience, exchange).await;
            answered.unwrap_or_else(|_| Err(CallError::NoAnswer(self.data_dir.clone(), patience)))
        })?;
        if status.is_success() {
            return serde_json::from_slice(&answer).map_err(|error| CallError::Broken(error.to_string()));
        }
        let problem = serde_json::from_slice(&answer).map_err(|_| CallError::Broken(format!("answered {status}")))?;
        Err(CallError::Refused(status, problem))
    }

    async fn connect(&self) -> Result<UnixStream, CallError> {
        let begun = Instant::now();
        loop {
            match socket::connect(&self.data_dir) {
                Ok(stream) => {
                    return UnixStream::from_std(stream).map_err(|error| CallError::Broken(error.to_string()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if begun.elapsed() >= self.connect_patience {
                        return Err(CallError::NoConnection(self.data_dir.clone(), self.connect_patience));
                    }
                    tokio::time::sleep(RETRY_AFTER).await;
                }
                Err(error) => return Err(unreachable(&self.data_dir, error)),
            }
        }
    }
}

fn unreachable(data_dir: &Path, error: io::Error) -> CallError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => CallError::NotRunning(data_dir.to_path_buf()),
        io::ErrorKind::PermissionDenied => CallError::NotAllowed(data_dir.to_path_buf()),
        _ => CallError::Unreachable(data_dir.to_path_buf(), error),
    }
}

async fn exchange(
    stream: UnixStream,
    method: Method,
    path: &str,
    body: Vec<u8>,
) -> Result<(StatusCode, Bytes), CallError> {
    let broken = |error: &dyn std::fmt::Display| CallError::Broken(error.to_string());
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admin::call::Call;

    const SHOW: Call<(), ()> = Call::look("/status");

    /// A client whose patience is short.
    fn hasty(data_dir: &Path) -> Client {
        let patience = Duration::from_millis(200);
        Client { data_dir: data_dir.into(), connect_patience: patience, answer_patience: Some(patience) }
    }

    fn ask(client: &Client) -> CallError {
        client.ask(&SHOW).unwrap_err()
    }

    #[test]
    fn an_appliance_that_hangs_is_not_waited_for_for_ever() {
        let directory = tempfile::tempdir().unwrap();
        let listener = socket::bind(directory.path()).unwrap();
        let client = hasty(directory.path());
        assert!(matches!(ask(&client), CallError::NoAnswer(..)));
        // Once the queue is full, connections are not taken either.
        let mut waiting = Vec::new();
        while let Ok(stream) = socket::connect(directory.path()) {
            waiting.push(stream);
        }
        assert!(matches!(ask(&client), CallError::NoConnection(..)));
        drop(listener);
    }

    #[test]
    fn only_a_missing_or_dead_socket_means_that_nothing_runs() {
        let directory = tempfile::tempdir().unwrap();
        assert!(matches!(ask(&hasty(directory.path())), CallError::NotRunning(_)));
        drop(socket::bind(directory.path()).unwrap());
        assert!(matches!(ask(&hasty(directory.path())), CallError::NotRunning(_)));
        let file = directory.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(matches!(ask(&hasty(&file)), CallError::Unreachable(..)));
    }
}
