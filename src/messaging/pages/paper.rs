//! A page as text, complete without scripts, and the answer that it comes in.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::LazyLock;

use axum::extract::ConnectInfo;
use data_encoding::BASE64;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS};
use http::{HeaderMap, HeaderName, HeaderValue};
use quintet_platform::http::html::escape;
use quintet_platform::http::visible::visible;
use quintet_platform::http::web_origin::{is_from, web_origin};
use quintet_platform::limits::source_key;
use quintet_platform::secrets::digest;
use quintet_platform::service::{Answer, Visit};

use crate::context::Context;
use crate::dialect::Messaging;

const STYLE: &str = include_str!("../../../assets/messaging/page.css");

/// What the page may do: wear its own style, and send its form to where it is from (P3).
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let style = BASE64.encode(&digest(STYLE.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{style}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
});

/// Whether a form is from a page of this service: it says from where it is, and that is here.
pub(crate) fn is_from_here(context: &Context, headers: &HeaderMap) -> bool {
    web_origin(&context.base_url()).is_some_and(|own| is_from(headers, &own))
}

/// The address that a visitor comes from.
pub(crate) fn source(visit: &Visit<Messaging>) -> String {
    address(visit).map_or_else(String::new, |source| source.to_canonical().to_string())
}

/// The same as far as one host has it for itself: of IPv6 that is a network.
pub(crate) fn network(visit: &Visit<Messaging>) -> String {
    address(visit).map_or_else(String::new, network_of)
}

fn address(visit: &Visit<Messaging>) -> Option<IpAddr> {
    visit.parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(source)| source.ip())
}

fn network_of(source: IpAddr) -> String {
    Ipv6Addr::from(source_key(source)).to_canonical().to_string()
}

/// A page that says why there is nothing to do on it.
pub(crate) fn notice(heading: &str, text: &str) -> String {
    let mut out = begin(heading, "");
    let _ = write!(out, "<h1>{heading}</h1>\n<p>");
    escape(text, &mut out);
    out.push_str("</p>\n");
    end(out)
}

/// Begins a page. The referrer's policy in the page stands in the place of the one that came with it: with `no-referrer`, browsers would
/// say that the form is from nowhere (Fetch, "append a request `Origin` header").
pub(crate) fn begin(heading: &str, workspace: &str) -> String {
    let mut out = String::with_capacity(16 << 10);
    out.push_str("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>");
    // Where browsers show it there is no room for marks.
    escape(&heading.chars().filter(|char| !char.is_control()).collect::<String>(), &mut out);
    out.push_str(
        "</title>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"same-origin\">\n\
         <meta name=\"robots\" content=\"noindex, nofollow\">\n<style>",
    );
    out.push_str(STYLE);
    out.push_str("</style>\n</head>\n<body>\n<main>\n");
    if !workspace.is_empty() {
        out.push_str("<p class=\"where\">Workspace <strong>");
        visible(workspace, &mut out);
        out.push_str("</strong></p>\n");
    }
    out
}

/// Ends it.
pub(crate) fn end(mut out: String) -> String {
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

/// A page that nobody keeps, frames, or is told the address of.
pub(crate) fn answer(status: u16, text: String) -> Answer {
    const ROBOTS: HeaderName = HeaderName::from_static("x-robots-tag");
    const OPENER: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
    const RESOURCE: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
    let policy = HeaderValue::try_from(POLICY.as_str()).unwrap_or(HeaderValue::from_static("default-src 'none'"));
    Answer::other(status, HeaderValue::from_static("text/html; charset=utf-8"), text)
        .header(CONTENT_SECURITY_POLICY, policy)
        .header(CACHE_CONTROL, HeaderValue::from_static("no-store"))
        .header(REFERRER_POLICY, HeaderValue::from_static("no-referrer"))
        .header(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"))
        .header(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"))
        .header(OPENER, HeaderValue::from_static("same-origin"))
        .header(RESOURCE, HeaderValue::from_static("same-origin"))
        .header(ROBOTS, HeaderValue::from_static("noindex, nofollow"))
}

#[cfg(test)]
mod tests {
    use super::STYLE;

    #[test]
    fn the_style_brings_nothing_from_elsewhere() {
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import") && !STYLE.contains('<'));
    }
}
