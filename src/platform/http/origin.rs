//! By which scheme a caller reached a service.
//!
//! Only the listener knows: it speaks TLS itself or not, and it alone can tell a proxy that may speak for others
//! (`http.trusted_proxies`) from a stranger who writes the same header field.

/// An extension of a request that came by `https`, to the listener itself or to a trusted proxy before it; a request
/// without it came by `http`. Absolute addresses in answers begin accordingly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReachedByHttps;

/// The scheme of a request with these extensions.
#[must_use]
pub fn scheme(extensions: &http::Extensions) -> &'static str {
    if extensions.get::<ReachedByHttps>().is_some() { "https" } else { "http" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_vouches_for_is_plain() {
        let mut extensions = http::Extensions::new();
        assert_eq!(scheme(&extensions), "http");
        extensions.insert(ReachedByHttps);
        assert_eq!(scheme(&extensions), "https");
    }
}
