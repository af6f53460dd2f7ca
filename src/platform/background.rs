//! Work that takes long, and for which nobody waits as others wait for their requests: on a thread of its own, which gets the
//! processor where others leave it.

use std::thread::Builder;

use tokio::sync::oneshot;

/// How far such a thread stands behind others (`setpriority(2)`): a core is shared with one that does not at about one to ten.
const NICE: i32 = 10;

/// Does work on a thread of its own; its result, or nothing if the work panicked or no thread could be had.
pub fn spawn<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> oneshot::Receiver<T> {
    let (done, result) = oneshot::channel();
    let own = move || {
        // On Linux this is of the calling thread alone. Where it is not allowed the work goes on as any other.
        let _ = rustix::process::setpriority_process(None, NICE);
        let _ = done.send(work());
    };
    if let Err(error) = Builder::new().name(name.to_owned()).spawn(own) {
        tracing::error!(%error, "no thread could be had for {name}");
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_stands_behind_others_and_its_maker_does_not() {
        let nice = || rustix::process::getpriority_process(None).unwrap();
        let before = nice();
        assert_eq!(spawn("work", nice).await, Ok(NICE.max(before)));
        assert_eq!(nice(), before);
        assert!(spawn("fails", || assert_eq!(1, 2)).await.is_err());
    }
}
