//! The strict pieces HTTP interfaces are put together from. Each service keeps its own error shape and routes.
//!
//! Reading order: [`query`], [`body`], [`origin`] (what comes in) · [`etag`], [`precondition`] · [`problem`], [`describe`]
//! (what goes out) · [`request_id`].

pub mod body;
pub mod describe;
pub mod etag;
pub mod origin;
pub mod precondition;
pub mod problem;
pub mod query;
pub mod request_id;

/// The most characters of a foreign name that an error repeats.
const SHOWN_NAME_MAX: usize = 64;

/// A name from outside (a member, a parameter) as an error may show it: at most 64 characters, and every character
/// that is not plainly printable ASCII replaced by `?`.
#[must_use]
pub fn shown_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '<' | '>' | '&') { c } else { '?' };
    let mut shown: String = name.chars().take(SHOWN_NAME_MAX).map(plain).collect();
    if name.chars().nth(SHOWN_NAME_MAX).is_some() {
        shown.push_str("...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::shown_name;

    #[test]
    fn shown_names_are_short_and_plain() {
        assert_eq!(shown_name("account_id"), "account_id");
        assert_eq!(shown_name(""), "");
        assert_eq!(shown_name("a\r\nb<script>\u{e9}\u{202e}"), "a??b?script???");
        assert_eq!(shown_name(&"x".repeat(64)), "x".repeat(64));
        assert_eq!(shown_name(&"x".repeat(65)), format!("{}...", "x".repeat(64)));
    }
}
