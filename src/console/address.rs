//! Addresses of pages and of what rooms are asked, and what stands behind their question marks.

use quintet_platform::http::query::{Query, encode_segment};

use super::notice::Notice;

/// A path with what is asked of it.
pub fn with_query<'a>(path: &str, said: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut address = path.to_owned();
    for (place, (name, text)) in said.into_iter().enumerate() {
        address.push(if place == 0 { '?' } else { '&' });
        address.push_str(name);
        address.push('=');
        address.push_str(&encode_segment(text));
    }
    address
}

/// Reads the query of a page.
///
/// # Errors
/// [`Notice::Malformed`]
pub fn query(raw: Option<&str>) -> Result<Query, Notice> {
    Query::parse(raw).map_err(|_| Notice::Malformed)
}

/// A parameter that is said; an empty field of a form says nothing.
pub fn said(query: &mut Query, name: &str) -> Option<String> {
    query.take(name).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_what_is_asked() {
        assert_eq!(with_query("/runs", []), "/runs");
        assert_eq!(with_query("/runs", [("q", "a&b c"), ("state", "failed")]), "/runs?q=a%26b%20c&state=failed");
        let mut asked = query(Some("state=&q=x")).unwrap();
        assert_eq!((said(&mut asked, "state"), said(&mut asked, "q").as_deref()), (None, Some("x")));
        assert_eq!(query(Some("a=1&a=2")).err(), Some(Notice::Malformed));
    }
}
