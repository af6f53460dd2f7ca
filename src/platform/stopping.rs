//! The stop of the appliance, for what would not end by itself: streams, waits, work on the outside.
//!
//! A listener that drains waits for the requests that are open. So a stream or a wait ends with what it has as soon as
//! the appliance stops, and the next one is not begun.

use tokio::sync::watch;

/// Whether the appliance stops. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Stopping(watch::Sender<bool>);

impl Stopping {
    /// Has everything end that asks; for good.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }

    /// Whether the appliance stops.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        *self.0.borrow()
    }

    /// Ends when the appliance stops, at once if it does already.
    pub fn stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut stopping = self.0.subscribe();
        async move {
            // Where nobody is left who could stop anything, nothing is stopped.
            if stopping.wait_for(|is_stopping| *is_stopping).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_stop_ends_what_waits_and_what_comes_later() {
        let stopping = Stopping::default();
        let waiting = tokio::spawn(stopping.stopped());
        tokio::task::yield_now().await;
        assert!(!stopping.is_stopping() && !waiting.is_finished());
        stopping.clone().stop();
        stopping.stop();
        assert!(stopping.is_stopping());
        let patience = Duration::from_secs(20);
        tokio::time::timeout(patience, waiting).await.expect("it waits on").unwrap();
        tokio::time::timeout(patience, stopping.stopped()).await.expect("it waits on");
    }

    #[tokio::test]
    async fn whoever_is_left_behind_is_not_stopped() {
        let left = Stopping::default().stopped();
        assert!(tokio::time::timeout(Duration::from_millis(20), left).await.is_err());
    }
}
