//! The page of an approval as text, complete without scripts, and what it says when there is nothing to decide.

use std::fmt::Write as _;

use data_encoding::HEXLOWER;
use quintet_platform::clock::rfc3339;
use quintet_platform::http::html::escape;
use quintet_platform::json::{Json, Limits, parse, to_compact};
use quintet_storage::Timestamp;

use super::super::model::{Approval, Person, REASON_CHARS_MAX, Status, Verdict};
use super::super::record::Known;
use crate::identity::{Attestation, Workspace};
use crate::pages::{begin, end, visible};

/// What stands on a page on which somebody decides.
pub(super) struct Open<'p> {
    pub(super) known: &'p Known,
    pub(super) workspace: &'p Workspace,
    pub(super) person: &'p Person,
    pub(super) now: Timestamp,
    /// What was wrong with what was sent, and the reason that was typed.
    pub(super) wrong: Option<(String, String)>,
}

/// The page on which somebody decides.
pub(super) fn open(page: &Open<'_>) -> String {
    let Open { known, workspace, now, .. } = page;
    let approval = &known.approval;
    let mut out = begin(&format!("Approval: {}", approval.title), &workspace.slug);
    out.push_str("<p class=\"eyebrow\">Approval wanted <span class=\"kind\">");
    visible(&approval.kind, &mut out);
    out.push_str("</span></p>\n<h1><bdi>");
    visible(&approval.title, &mut out);
    out.push_str("</bdi></h1>\n");
    who_asks(approval, &mut out);
    if let Some(summary) = known.matter.summary.as_ref().filter(|summary| !summary.is_empty()) {
        out.push_str("<h2>What the agent says of it</h2>\n<p class=\"said\"><bdi>");
        visible(summary, &mut out);
        out.push_str("</bdi></p>\n");
    }
    proposed(known, &mut out);
    let _ = writeln!(
        out,
        "<p class=\"left\"><strong>{} left</strong>: until <time datetime=\"{}\">{}</time>. What nobody decides by then \
         is not approved.</p>",
        left(*now, approval.expires_at),
        rfc3339(approval.expires_at),
        minute(approval.expires_at)
    );
    form(page, &mut out);
    end(out)
}

/// Who asks, and what is known of him (Q3).
fn who_asks(approval: &Approval, out: &mut String) {
    out.push_str("<p class=\"who\">The agent <strong><bdi>");
    visible(&approval.requested_by, out);
    out.push_str("</bdi></strong> asks. <span class=\"known\">");
    out.push_str(match approval.attestation {
        Attestation::Platform => {
            "It asked with a key that is bound to this one agent. That does not tell who or what holds the key."
        }
        Attestation::Workspace => {
            "It asked with a key of the workspace that may act as this agent: others with such a key could have asked."
        }
        Attestation::External => "It asked from outside the workspace: its name is what it says.",
        Attestation::System => "The platform itself asks.",
    });
    let _ = writeln!(
        out,
        "</span> <span class=\"when\">Asked at <time datetime=\"{}\">{}</time>.</span></p>",
        rfc3339(approval.created_at),
        minute(approval.created_at)
    );
}

/// The action as canonical JSON with its digest, and what it is to be understood from.
fn proposed(known: &Known, out: &mut String) {
    out.push_str("<h2>What it wants to do</h2>\n");
    json_box(&known.matter.action, out);
    let _ = writeln!(
        out,
        "<p class=\"digest\">SHA-256 of exactly these characters (RFC 8785): <code>{}</code></p>",
        HEXLOWER.encode(&known.approval.action_sha256)
    );
    for (summary, text) in
        [("The same, line by line", &known.matter.action), ("The context that the agent gives", &known.matter.context)]
    {
        let text = indented(text);
        // Of an empty object there is nothing to see.
        if text.len() > 2 {
            let _ = writeln!(out, "<details><summary>{summary}</summary>");
            json_box(&text, out);
            out.push_str("</details>\n");
        }
    }
}

fn json_box(text: &str, out: &mut String) {
    out.push_str("<pre dir=\"ltr\"><code>");
    visible(text, out);
    out.push_str("</code></pre>\n");
}

fn form(page: &Open<'_>, out: &mut String) {
    out.push_str("<form method=\"post\">\n");
    let (wrong, reason) = page.wrong.as_ref().map_or((None, ""), |(wrong, reason)| (Some(wrong), reason.as_str()));
    let described = if let Some(wrong) = wrong {
        out.push_str("<p class=\"wrong\" id=\"wrong\" role=\"alert\">");
        visible(wrong, out);
        out.push_str("</p>\n");
        "wrong hint"
    } else {
        "hint"
    };
    let _ = write!(
        out,
        "<label for=\"reason\">Reason</label>\n<p class=\"hint\" id=\"hint\">Needed to reject. The agent reads it.</p>\n\
         <textarea id=\"reason\" name=\"reason\" rows=\"3\" maxlength=\"{REASON_CHARS_MAX}\" required \
         aria-describedby=\"{described}\">"
    );
    escape(reason, out);
    out.push_str(
        "</textarea>\n<div class=\"buttons\">\n\
         <button class=\"no\" name=\"verdict\" value=\"rejected\">Reject</button>\n\
         <button class=\"yes\" name=\"verdict\" value=\"approved\" formnovalidate>Approve</button>\n</div>\n\
         <p class=\"hint\">You decide as <strong><bdi>",
    );
    visible(page.person.name(), out);
    out.push_str(
        "</bdi></strong>. What you press is recorded with that name, the time and the address you come from; the first \
         decision counts.</p>\n</form>\n",
    );
}

/// The page that says what was recorded.
pub(super) fn recorded(workspace: &Workspace, approval: &Approval, person: &Person) -> String {
    let (status, at) = (approval.status, approval.decided_at.unwrap_or(approval.created_at));
    let mut out = begin(&format!("Recorded: {}", status.words()), &workspace.slug);
    let _ = writeln!(out, "<p class=\"eyebrow\">Recorded</p>\n<h1 class=\"{}\">{}</h1>", status.name(), title(status));
    about(approval, &mut out);
    out.push_str("<p>By <strong><bdi>");
    visible(person.name(), &mut out);
    let _ = write!(out, "</bdi></strong>, at {}. The agent ", minute(at));
    visible(&approval.requested_by, &mut out);
    out.push_str(" has been told. You may close this page.</p>\n");
    end(out)
}

/// The page of a link that is over: how the approval ended.
pub(super) fn over(workspace: &Workspace, approval: &Approval, verdict: Option<&Verdict>, now: Timestamp) -> String {
    let status = approval.status_at(now);
    let mut out = begin(&format!("Over: {}", status.words()), &workspace.slug);
    let _ =
        writeln!(out, "<p class=\"eyebrow\">This is over</p>\n<h1 class=\"{}\">{}</h1>", status.name(), title(status));
    about(approval, &mut out);
    out.push_str("<p>");
    let at = approval.decided_by(now).unwrap_or(approval.expires_at);
    match (status, verdict.filter(|verdict| !verdict.by.is_empty())) {
        (Status::TimedOut, _) => {
            let _ = write!(out, "Nobody decided until {}. It counts as not approved", minute(at));
        }
        (_, Some(verdict)) => {
            out.push_str("By <strong><bdi>");
            visible(&verdict.by, &mut out);
            let _ = write!(out, "</bdi></strong>, at {}", minute(at));
        }
        (_, None) => {
            let _ = write!(out, "At {}", minute(at));
        }
    }
    out.push_str(". Nothing can be changed about it, and nothing was changed now.</p>\n");
    end(out)
}

fn about(approval: &Approval, out: &mut String) {
    out.push_str("<p class=\"said\"><bdi>");
    visible(&approval.title, out);
    out.push_str("</bdi></p>\n");
}

const fn title(status: Status) -> &'static str {
    match status {
        Status::Pending => "Pending",
        Status::Approved => "Approved",
        Status::Rejected => "Rejected",
        Status::TimedOut => "Timed out",
        Status::Cancelled => "Cancelled",
    }
}

/// An instant to the minute, for people.
fn minute(at: Timestamp) -> String {
    let text = rfc3339(at);
    let (day, time) = (text.get(..10).unwrap_or_default(), text.get(11..16).unwrap_or_default());
    format!("{day} {time} UTC")
}

/// How long it is until an instant, in the two largest units.
fn left(now: Timestamp, until: Timestamp) -> String {
    let minutes = (until.as_micros() - now.as_micros()).div_euclid(60_000_000);
    let counted = |count: i64, unit: &str| format!("{count} {unit}{}", if count == 1 { "" } else { "s" });
    match minutes {
        ..=0 => "Less than a minute".to_owned(),
        1..=59 => counted(minutes, "minute"),
        60..=1_439 => format!("{} and {}", counted(minutes / 60, "hour"), counted(minutes % 60, "minute")),
        _ => format!("{} and {}", counted(minutes / 1_440, "day"), counted(minutes % 1_440 / 60, "hour")),
    }
}

/// JSON line by line.
fn indented(text: &str) -> String {
    let mut out = String::new();
    if let Ok(json) = parse(text.as_bytes(), Limits::default()) {
        indent(&json, 0, &mut out);
    }
    out
}

/// Calls itself; the depth of trees is bounded by the reader.
fn indent(json: &Json, depth: usize, out: &mut String) {
    let line = |depth: usize, out: &mut String| {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    };
    match json {
        Json::Array(items) if !items.is_empty() => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                out.push_str(if place > 0 { "," } else { "" });
                line(depth + 1, out);
                indent(item, depth + 1, out);
            }
            line(depth, out);
            out.push(']');
        }
        Json::Object(members) if !members.is_empty() => {
            out.push('{');
            for (place, (name, value)) in members.iter().enumerate() {
                out.push_str(if place > 0 { "," } else { "" });
                line(depth + 1, out);
                out.push_str(&to_compact(&Json::from(name.as_str())));
                out.push_str(": ");
                indent(value, depth + 1, out);
            }
            line(depth, out);
            out.push('}');
        }
        other => out.push_str(&to_compact(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_told_in_two_units() {
        let now = Timestamp::from_micros(1_764_160_200_000_000);
        for (seconds, told) in [
            (-5, "Less than a minute"),
            (59, "Less than a minute"),
            (60, "1 minute"),
            (3_599, "59 minutes"),
            (3_600, "1 hour and 0 minutes"),
            (86_399, "23 hours and 59 minutes"),
            (86_400, "1 day and 0 hours"),
            (604_800, "7 days and 0 hours"),
        ] {
            assert_eq!(left(now, now.plus_seconds(seconds)), told, "{seconds}");
        }
        assert_eq!(minute(now), "2025-11-26 12:30 UTC");
    }

    #[test]
    fn json_is_laid_out_without_losing_anything() {
        let text = r#"{"a":[1,{"b":[]},"x\"y"],"c":{},"d":null}"#;
        let expected = "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    },\n    \"x\\\"y\"\n  ],\n  \"c\": {},\n  \"d\": null\n}";
        assert_eq!(indented(text), expected);
    }
}
