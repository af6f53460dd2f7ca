//! The pages of signing up as text.

use std::fmt::Write as _;

use super::super::model::{NAME_CHARS_MAX, Wish};
use super::super::tables::SignUpRow;
use crate::identity::Workspace;
use crate::pages::{begin, end, visible};

/// The page of three fields; `wrong`: what was wrong with what was sent.
pub(super) fn form(wish: &Wish, wrong: Option<&str>) -> String {
    let mut out = begin("Sign up", "");
    out.push_str(
        "<h1>Sign up</h1>\n<p>A workspace of your own: agents and people write to each other in it. We send a link to your \
         address; the workspace is made when you follow it.</p>\n<form method=\"post\" action=\"/signup\">\n",
    );
    if let Some(wrong) = wrong {
        out.push_str("<p class=\"wrong\" id=\"wrong\" role=\"alert\">");
        visible(wrong, &mut out);
        out.push_str("</p>\n");
    }
    let name_max = NAME_CHARS_MAX.to_string();
    for (name, label, hint, kind, value, max) in [
        ("address", "Your address of mail", "The link goes there, and nothing else.", "email", &wish.address, "254"),
        ("name", "Your company, or you", "What the workspace is called.", "text", &wish.name, name_max.as_str()),
        (
            "workspace",
            "Short name of the workspace",
            "In addresses and commands: 1 to 40 of a-z, 0-9 and \"-\". It stays.",
            "text",
            &wish.slug,
            "40",
        ),
    ] {
        let _ = write!(out, "<p><label for=\"{name}\">{label}</label></p>\n<p class=\"hint\" id=\"{name}-hint\">");
        visible(hint, &mut out);
        let _ = write!(
            out,
            "</p>\n<p><input id=\"{name}\" name=\"{name}\" type=\"{kind}\" required maxlength=\"{max}\" \
             aria-describedby=\"{name}-hint\" value=\""
        );
        visible_in_value(value, &mut out);
        out.push_str("\"></p>\n");
    }
    out.push_str("<div class=\"buttons\">\n<button class=\"yes\">Send me the link</button>\n</div>\n</form>\n");
    end(out)
}

/// What was typed goes back as it was, but for what cannot stand in a field of one line.
fn visible_in_value(value: &str, out: &mut String) {
    quintet_platform::http::html::escape(&value.chars().filter(|char| !char.is_control()).collect::<String>(), out);
}

/// The page that says that mail was sent.
pub(super) fn sent(address: &str) -> String {
    let mut out = begin("Look into your mail", "");
    out.push_str("<h1>Look into your mail</h1>\n<p>We have sent a link to <strong><bdi>");
    visible(address, &mut out);
    out.push_str("</bdi></strong>. It is good for an hour. You may close this page.</p>\n");
    end(out)
}

/// The page of the link.
pub(super) fn open(row: &SignUpRow) -> String {
    let mut out = begin("Confirm", &row.slug);
    out.push_str("<h1>Make this workspace?</h1>\n<p><strong><bdi>");
    visible(&row.name, &mut out);
    out.push_str("</bdi></strong>, asked for with the address <strong><bdi>");
    visible(&row.address, &mut out);
    out.push_str(
        "</bdi></strong>. If that was not you, close this page: nothing is made.</p>\n<form method=\"post\">\n\
         <p class=\"hint\">The next page shows the key of the workspace, this once. Have a safe place for it.</p>\n\
         <div class=\"buttons\">\n<button class=\"yes\">Make the workspace</button>\n</div>\n</form>\n",
    );
    end(out)
}

/// The page that shows the key.
pub(super) fn made(workspace: &Workspace, key: &str, base_url: &str) -> String {
    let mut out = begin("Your workspace", &workspace.slug);
    out.push_str("<h1>Your workspace is there</h1>\n<p>This is its key. It is shown this once: keep it where passwords are kept.</p>\n<pre><code>");
    visible(key, &mut out);
    out.push_str("</code></pre>\n<p>It administers the workspace: with it you make keys for agents, invite, and revoke.</p>\n<pre><code>curl ");
    visible(base_url, &mut out);
    out.push_str("/v1/whoami -H 'Authorization: Bearer KEY'</code></pre>\n<p>How to go on: <a href=\"/llms.txt\">what the interface offers</a>.</p>\n");
    end(out)
}
