//! Examinations for the page of the doctor. Each starts threads and programs and takes some seconds, so that there is one at a
//! time, whoever waits for it or has gone; what it found is shown again for some seconds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Mutex, Semaphore};

use super::notice::Notice;
use crate::doctor::examination::LeftBehind;
use crate::doctor::subject::Finding;

/// How many visitors are answered at once; others are told to come back.
const VISITORS_MAX: usize = 8;
/// How long findings are shown again.
const FRESH: Duration = Duration::from_secs(5);

/// What was found, and when.
struct Found {
    at: Instant,
    findings: Arc<[Finding]>,
}

/// The examinations of an appliance.
pub struct Examinations {
    visitors: Semaphore,
    /// Held by whoever examines.
    last: Arc<Mutex<Option<Found>>>,
    left: LeftBehind,
}

impl Default for Examinations {
    fn default() -> Examinations {
        Examinations { visitors: Semaphore::new(VISITORS_MAX), last: Arc::default(), left: LeftBehind::default() }
    }
}

impl Examinations {
    /// What is found by an examination that ended at most some seconds before `now`, or by a new one.
    ///
    /// # Errors
    /// [`Notice::Busy`] where as many wait as may; whatever the examination fails by.
    pub async fn findings(
        &self,
        now: Instant,
        examine: impl FnOnce(&LeftBehind) -> Result<Vec<Finding>, Notice> + Send + 'static,
    ) -> Result<Arc<[Finding]>, Notice> {
        let _place = self.visitors.try_acquire().map_err(|_| Notice::Busy)?;
        let mut last = Arc::clone(&self.last).lock_owned().await;
        if let Some(found) = last.as_ref().filter(|found| now.saturating_duration_since(found.at) < FRESH) {
            return Ok(Arc::clone(&found.findings));
        }
        let left = self.left.clone();
        // The turn goes along: an examination that nobody waits for any more is still one.
        let examined = tokio::task::spawn_blocking(move || {
            let findings: Arc<[Finding]> = examine(&left)?.into();
            *last = Some(Found { at: Instant::now(), findings: Arc::clone(&findings) });
            Ok::<_, Notice>(findings)
        });
        examined.await.map_err(|_| Notice::Unavailable)?
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::Pin;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::task::Poll;

    use super::*;

    fn one(says: &str) -> Vec<Finding> {
        vec![Finding::ok("disk", says)]
    }

    /// Whether there is nothing to be told yet.
    async fn waits<F: Future>(mut visitor: Pin<&mut F>) -> bool {
        poll_fn(|context| Poll::Ready(visitor.as_mut().poll(context).is_pending())).await
    }

    type Examine = Box<dyn FnOnce(&LeftBehind) -> Result<Vec<Finding>, Notice> + Send>;

    /// An examination that tells when it begins, and ends when it is told to.
    fn held() -> (Examine, Receiver<()>, Sender<()>) {
        let ((begins, begun), (end, ended)) = (channel(), channel::<()>());
        let examine = move |_: &LeftBehind| {
            begins.send(()).unwrap();
            ended.recv().unwrap();
            Ok(one("first"))
        };
        (Box::new(examine), begun, end)
    }

    #[tokio::test]
    async fn whoever_goes_leaves_the_turn_taken() {
        let examinations = Arc::new(Examinations::default());
        let (examine, begun, end) = held();
        let (own, now) = (Arc::clone(&examinations), Instant::now());
        let visitor = tokio::spawn(async move { own.findings(now, examine).await.map(drop) });
        tokio::task::spawn_blocking(move || begun.recv().unwrap()).await.unwrap();
        visitor.abort();
        assert!(visitor.await.unwrap_err().is_cancelled());
        let next = examinations.findings(Instant::now(), |_| panic!("a second one at once"));
        let mut next = Box::pin(next);
        assert!(waits(next.as_mut()).await);
        end.send(()).unwrap();
        assert_eq!(next.await.unwrap()[..], one("first"), "what was found meanwhile");
    }

    #[tokio::test]
    async fn more_visitors_than_may_wait_are_told_so() {
        let examinations = Arc::new(Examinations::default());
        let (examine, begun, end) = held();
        let (own, now) = (Arc::clone(&examinations), Instant::now());
        let first = tokio::spawn(async move { own.findings(now, examine).await.map(drop) });
        tokio::task::spawn_blocking(move || begun.recv().unwrap()).await.unwrap();
        let mut waiting: Vec<_> =
            (1..VISITORS_MAX).map(|_| Box::pin(examinations.findings(now, |_| panic!("too many")))).collect();
        for visitor in &mut waiting {
            assert!(waits(visitor.as_mut()).await);
        }
        assert_eq!(examinations.findings(now, |_| panic!("too many")).await, Err(Notice::Busy));
        drop(waiting.pop());
        end.send(()).unwrap();
        for visitor in waiting {
            assert_eq!(visitor.await.unwrap()[..], one("first"));
        }
        first.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn findings_are_shown_again_for_some_seconds() {
        let examinations = Examinations::default();
        let at = |now, says| examinations.findings(now, move |_| Ok(one(says)));
        let now = Instant::now();
        assert_eq!(at(now, "first").await.unwrap()[..], one("first"));
        assert_eq!(at(now, "second").await.unwrap()[..], one("first"));
        let later = Instant::now() + FRESH;
        assert_eq!(at(later, "second").await.unwrap()[..], one("second"));
        let failed = examinations.findings(Instant::now() + FRESH, |_| Err(Notice::Unavailable)).await;
        assert_eq!(failed, Err(Notice::Unavailable));
    }
}
