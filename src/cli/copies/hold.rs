//! A checkpoint that a running appliance holds while a command reads it.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::json;

use super::CliError;
use crate::admin::client::{CallError, Client};
use crate::admin::protocol::HoldView;

/// A held checkpoint. It is extended from a thread of its own, and given back when this is dropped.
pub struct Held {
    client: Client,
    view: HoldView,
    heartbeat: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Held {
    /// Asks the appliance to make a checkpoint of everything it has acknowledged. That takes as long as it takes to
    /// read what is new since the last one.
    ///
    /// # Errors
    /// Nothing runs there, or it cannot be made.
    pub fn begin(client: &Client) -> Result<Held, CallError> {
        let view: HoldView = client.clone().without_hurry().post("/checkpoints", &json!({}))?;
        Ok(Held { client: client.clone(), view, heartbeat: None })
    }

    /// What the appliance says of it.
    pub fn view(&self) -> &HoldView {
        &self.view
    }

    /// Where it lies.
    pub fn path(&self, data_dir: &Path) -> PathBuf {
        data_dir.join(&self.view.checkpoint)
    }

    /// Begins to extend it.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn keep_alive(&mut self) -> Result<(), CliError> {
        let (stop, stopped) = channel::<()>();
        let (client, path) = (self.client.clone(), self.request("extend"));
        let interval = Duration::from_secs((self.view.hold_seconds / 4).max(1));
        let extend = move || {
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                // Whether the checkpoint is still whole shows when it is read; a server that restarts keeps it for a
                // copy window.
                let _ = client.post::<()>(&path, &json!({}));
            }
        };
        let thread = std::thread::Builder::new().name("hold".into()).spawn(extend).map_err(CliError::failed)?;
        self.heartbeat = Some((stop, thread));
        Ok(())
    }

    fn request(&self, what: &str) -> String {
        format!("/checkpoints/{}/{what}", self.view.hold_id)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.heartbeat.take() {
            drop(stop);
            let _ = thread.join();
        }
        // It ends by itself if the appliance cannot be told.
        let _ =
            self.client.clone().with_patience(Duration::from_secs(5)).post::<()>(&self.request("release"), &json!({}));
    }
}
