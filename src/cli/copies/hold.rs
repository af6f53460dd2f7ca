//! A checkpoint that a running appliance holds while a command reads it.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::admin::backups::{self, HoldView};
use crate::admin::client::{CallError, Client};
use crate::cli::CliError;

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
        let view = client.clone().without_hurry().ask(backups::HOLD.of(&[]))?;
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
        let (client, hold_id) = (self.client.clone(), self.view.hold_id.to_string());
        let interval = Duration::from_secs((self.view.hold_seconds / 4).max(1));
        let extend = move || {
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                // Whether the checkpoint is still whole shows when it is read; a server that restarts keeps it for a
                // copy window.
                let _ = client.ask(backups::EXTEND.of(&[&hold_id]));
            }
        };
        let thread = std::thread::Builder::new().name("hold".into()).spawn(extend).map_err(CliError::failed)?;
        self.heartbeat = Some((stop, thread));
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.heartbeat.take() {
            drop(stop);
            let _ = thread.join();
        }
        // It ends by itself if the appliance cannot be told.
        let release = backups::RELEASE.of(&[&self.view.hold_id.to_string()]);
        let _ = self.client.clone().with_patience(Duration::from_secs(5)).ask(release);
    }
}
