//! Progress for people on standard error: one line that is redrawn on a terminal, sparse lines otherwise.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use super::output;

/// How often the line is redrawn.
const REDRAW: Duration = Duration::from_millis(100);

/// How often a line is written where none can be redrawn.
const SPARSE: Duration = Duration::from_secs(10);

/// Tells what is being done.
pub struct Progress {
    is_silent: bool,
    is_terminal: bool,
    what: String,
    told: Instant,
    is_drawn: bool,
}

impl Progress {
    /// For a command; with `--json` nothing is told.
    pub fn new(json: bool) -> Progress {
        let is_terminal = std::io::stderr().is_terminal();
        Progress { is_silent: json, is_terminal, what: String::new(), told: Instant::now(), is_drawn: false }
    }

    /// A step of which nothing is known but its name.
    pub fn step(&mut self, what: &str) {
        self.tell(what, String::new);
    }

    /// Bytes done of a total; the total may be unknown (0).
    pub fn bytes(&mut self, what: &str, done: u64, total: u64) {
        self.tell(what, || match total {
            0 => format!(" {}", output::size(done)),
            _ => format!(" {} of {} ({} %)", output::size(done), output::size(total), percent(done, total)),
        });
    }

    /// Things done, of an unknown total.
    pub fn count(&mut self, what: &str, done: u64) {
        self.tell(what, || if done == 0 { String::new() } else { format!(" {done}") });
    }

    fn tell(&mut self, what: &str, state: impl Fn() -> String) {
        if self.is_silent {
            return;
        }
        let is_new = self.what != what;
        let interval = if self.is_terminal { REDRAW } else { SPARSE };
        if !is_new && self.told.elapsed() < interval {
            return;
        }
        self.told = Instant::now();
        if is_new {
            self.what = what.to_owned();
        }
        let is_begun = is_new && !self.is_terminal;
        let line = if is_begun { what.to_owned() } else { format!("{what}{}", state()) };
        let mut err = std::io::stderr().lock();
        // Whether anybody sees it does not matter to the work.
        let _ = if self.is_terminal { write!(err, "\r\u{1b}[K{line}") } else { writeln!(err, "{line}") };
        let _ = err.flush();
        self.is_drawn = self.is_terminal;
    }

    /// Takes the line away.
    pub fn finish(&mut self) {
        if std::mem::take(&mut self.is_drawn) {
            let mut err = std::io::stderr().lock();
            let _ = write!(err, "\r\u{1b}[K");
            let _ = err.flush();
        }
        self.what.clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

fn percent(done: u64, total: u64) -> u64 {
    let percent = u128::from(done) * 100 / u128::from(total.max(1));
    u64::try_from(percent).unwrap_or(100).min(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_never_more_than_all() {
        assert_eq!(percent(1, 3), 33);
        assert_eq!(percent(5, 3), 100);
        assert_eq!(percent(0, 0), 0);
        assert_eq!(percent(u64::MAX, u64::MAX), 100);
    }
}
