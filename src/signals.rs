//! SIGTERM and SIGINT: how often the process was told to stop.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Counts the signals from the moment it is made; from then on they no longer end the process by themselves.
#[derive(Clone, Debug)]
pub struct Signals {
    count: watch::Receiver<u64>,
}

impl Signals {
    /// Begins to listen, on the current runtime.
    ///
    /// # Errors
    /// The kernel does not hand signals over.
    pub fn listen() -> io::Result<Signals> {
        let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let (sender, count) = watch::channel(0);
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
                sender.send_modify(|count| *count += 1);
            }
        });
        Ok(Signals { count })
    }

    /// How many came so far.
    #[must_use]
    pub fn received(&self) -> u64 {
        *self.count.borrow()
    }

    /// Waits until more than so many have come.
    pub async fn more_than(&self, seen: u64) {
        let mut count = self.count.clone();
        if count.wait_for(|count| *count > seen).await.is_err() {
            // The runtime is ending, and everything with it.
            std::future::pending::<()>().await;
        }
    }
}
