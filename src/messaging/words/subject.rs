//! The subjects of what answers a message and of what hands it on.

/// The most bytes of a subject ("Order", M3): what one line of mail has.
pub(crate) const SUBJECT_BYTES_MAX: usize = 998;

const REPLY: &str = "Re: ";
const FORWARD: &str = "Fwd: ";

/// The subject of a reply that was given none: its parent's with `Re: ` before it, once, however often it is answered.
/// What stands at the end of a subject that is long already gives way to it.
pub(crate) fn of_reply(parent: &str) -> String {
    if is_reply(parent) {
        return parent.to_owned();
    }
    with(REPLY, parent)
}

/// The subject of a message that hands another one on, as the client writes it: that one's with `Fwd: ` before it.
pub(crate) fn of_forward(original: &str) -> String {
    with(FORWARD, original)
}

fn with(prefix: &str, subject: &str) -> String {
    let mut subject = format!("{prefix}{subject}");
    subject.truncate(subject.floor_char_boundary(SUBJECT_BYTES_MAX));
    subject
}

/// Mail programs write `RE:` and `re:` as well, some of them without a blank behind it.
fn is_reply(subject: &str) -> bool {
    subject.get(..3).is_some_and(|beginning| beginning.eq_ignore_ascii_case("re:"))
}

#[cfg(test)]
mod tests {
    use super::{SUBJECT_BYTES_MAX, of_reply};

    #[test]
    fn once_however_often() {
        let cases = [
            ("Build is red", "Re: Build is red"),
            ("Re: Build is red", "Re: Build is red"),
            ("RE: Build is red", "RE: Build is red"),
            ("re:Build is red", "re:Build is red"),
            ("Fwd: Re: x", "Re: Fwd: Re: x"),
            ("Regression", "Re: Regression"),
            (" Re: x", "Re:  Re: x"),
            ("", "Re: "),
            ("é", "Re: é"),
            ("aé", "Re: aé"),
        ];
        for (parent, expected) in cases {
            assert_eq!(of_reply(parent), expected, "{parent:?}");
            assert_eq!(of_reply(expected), expected, "{parent:?}");
        }
    }

    #[test]
    fn a_long_one_stays_within_its_bytes() {
        for parent in ["x".repeat(SUBJECT_BYTES_MAX), "é".repeat(SUBJECT_BYTES_MAX / 2), "漢".repeat(332)] {
            let subject = of_reply(&parent);
            assert!(subject.len() <= SUBJECT_BYTES_MAX && subject.len() > SUBJECT_BYTES_MAX - 4, "{}", subject.len());
            assert!(format!("Re: {parent}").starts_with(&subject));
        }
    }
}
