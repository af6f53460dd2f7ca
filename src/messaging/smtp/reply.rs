//! What a client is answered: a code of three digits, a status that programs can tell apart (RFC 3463), and a text.

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    /// Three digits.
    pub(super) code: u16,
    /// `5.1.1` for instance; empty: the reply has none.
    pub(super) status: &'static str,
    /// Its lines, of visible ASCII; one at least.
    pub(super) lines: Vec<String>,
}

impl Reply {
    /// One of a line.
    pub(super) fn new(code: u16, status: &'static str, text: impl Into<String>) -> Reply {
        Reply { code, status, lines: vec![text.into()] }
    }

    /// Whether it says no for good.
    pub(super) fn is_error(&self) -> bool {
        self.code >= 500
    }

    /// Adds it as it is sent.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let last = self.lines.len().saturating_sub(1);
        for (place, line) in self.lines.iter().enumerate() {
            let separator = if place == last { ' ' } else { '-' };
            let blank = if self.status.is_empty() { "" } else { " " };
            out.extend_from_slice(format!("{}{separator}{}{blank}{line}\r\n", self.code, self.status).as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_they_are_sent() {
        let sent = |reply: &Reply| {
            let mut out = Vec::new();
            reply.write(&mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(sent(&Reply::new(550, "5.1.1", "nobody")), "550 5.1.1 nobody\r\n");
        assert_eq!(sent(&Reply::new(354, "", "go on")), "354 go on\r\n");
        let lines = vec!["mail.example".to_owned(), "SIZE 1".to_owned(), "PIPELINING".to_owned()];
        let several = Reply { code: 250, status: "", lines };
        assert_eq!(sent(&several), "250-mail.example\r\n250-SIZE 1\r\n250 PIPELINING\r\n");
    }
}
