//! The addresses of commands: `<…>` with what stands behind it (RFC 5321, 4.1.2).

/// The most bytes of an address, as those of agents.
const ADDRESS_BYTES_MAX: usize = 254;

/// What stands behind `MAIL FROM:` or `RCPT TO:`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path<'a> {
    /// What stands in the brackets.
    pub(super) address: &'a str,
    /// What stands behind them, apart by blanks.
    pub(super) parameters: Vec<&'a str>,
}

/// Reads a path; some clients put blanks before it.
pub(super) fn path(text: &str) -> Option<Path<'_>> {
    let rest = text.trim_start_matches(' ').strip_prefix('<')?;
    // A quoted name may have a bracket in it.
    let mut is_quoted = false;
    let mut is_escaped = false;
    let end = rest.char_indices().find(|(_, char)| {
        let is_end = *char == '>' && !is_quoted;
        if is_escaped {
            is_escaped = false;
        } else if *char == '\\' && is_quoted {
            is_escaped = true;
        } else if *char == '"' {
            is_quoted = !is_quoted;
        }
        is_end
    });
    let (address, behind) = rest.split_at(end?.0);
    let behind = behind.strip_prefix('>')?;
    if !behind.is_empty() && !behind.starts_with(' ') {
        return None;
    }
    Some(Path { address, parameters: behind.split(' ').filter(|part| !part.is_empty()).collect() })
}

/// Whether somebody could have sent mail from this: visible ASCII with an `@`, or nothing, of which reports come.
pub(super) fn is_sender(address: &str) -> bool {
    let is_visible = address.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'<' && byte != b'>');
    let has_domain = address.rsplit_once('@').is_some_and(|(local, domain)| !local.is_empty() && !domain.is_empty());
    address.is_empty() || (is_visible && has_domain && address.len() <= ADDRESS_BYTES_MAX)
}

/// Whether an address is written in a way that leads elsewhere at some servers: a route, a `%`, a quoted name (M2).
pub(super) fn is_indirect(address: &str) -> bool {
    address.starts_with('@') || address.contains(['%', '"', '\\', '!']) || address.matches('@').count() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let read = |text| path(text).map(|path| (path.address, path.parameters));
        assert_eq!(read("<a@b.example>"), Some(("a@b.example", vec![])));
        assert_eq!(
            read(" <a@b.example> SIZE=5  BODY=8BITMIME"),
            Some(("a@b.example", vec!["SIZE=5", "BODY=8BITMIME"]))
        );
        assert_eq!(read("<>"), Some(("", vec![])));
        assert_eq!(read("<\"a>b\"@c>"), Some(("\"a>b\"@c", vec![])));
        assert_eq!(read("<\"a\\\">b\"@c> X"), Some(("\"a\\\">b\"@c", vec!["X"])));
        for none in ["", "a@b", "<a@b", "<a@b>x", "a <b@c>", "<\"a>"] {
            assert_eq!(read(none), None, "{none}");
        }
    }

    #[test]
    fn senders() {
        for good in ["", "a@b", "a+b=c@d.example", "\"a\"@b", "a@[192.0.2.1]"] {
            assert!(is_sender(good), "{good}");
        }
        for bad in ["a", "@b", "a@", "a b@c", "a@b\t", "é@b", "a<@b", &format!("{}@b", "a".repeat(253))] {
            assert!(!is_sender(bad), "{bad}");
        }
    }

    #[test]
    fn what_leads_elsewhere() {
        for bad in ["@a,@b:c@d", "c%d@a", "\"c\"@a", "c@d@a", "d!c@a", "c\\d@a"] {
            assert!(is_indirect(bad), "{bad}");
        }
        assert!(!is_indirect("agentbus+acme.ben@mail.example"));
    }
}
