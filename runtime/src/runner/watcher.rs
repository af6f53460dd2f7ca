//! Threads that wait for something.

use std::io;

/// Does something in a thread of its own.
pub(super) fn spawn_watcher(watch: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name("watcher".into()).stack_size(256 << 10).spawn(watch).map(|_| ())
}
