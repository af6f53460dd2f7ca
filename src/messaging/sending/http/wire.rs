//! Writing what became of a message: as text at once, for one to a large room names many.

use quintet_platform::ids::ulid;
use quintet_platform::json::{Json, to_compact};

use super::super::model::Sent;
use crate::attendance::Reached;
use crate::mail::post::HeldFor;
use crate::wire::{instant_or_null, texts};

/// The answer to a send.
pub(super) fn write_sent(sent: &Sent) -> String {
    let mut out = String::with_capacity(512 + 64 * sent.recipients.len());
    let posted = &sent.posted;
    member(&mut out, '{', "id", &text(&ulid(posted.message.0)));
    member(&mut out, ',', "thread_id", &text(&ulid(posted.thread.0)));
    member(&mut out, ',', "delivery_count", &sent.recipients.len().to_string());
    list(&mut out, ',', "recipients", sent.recipients.iter().map(String::as_str));
    member(&mut out, ',', "cc", &to_compact(&texts(&sent.cc)));
    let held = posted.held.iter().map(write_held).collect::<Vec<_>>();
    member(&mut out, ',', "held", &to_compact(&Json::Array(held)));
    member(&mut out, ',', "thread_paused", if posted.pause.is_some() { "true" } else { "false" });
    let resumes_at = posted.pause.map(|pause| pause.resumes_at);
    member(&mut out, ',', "thread_resumes_at", &to_compact(&instant_or_null(resumes_at)));
    out.push_str(",\"reachability\":");
    let reach = &sent.reachability;
    let named = |places: &'_ [usize]| -> Vec<&str> {
        places.iter().filter_map(|place| sent.recipients.get(*place)).map(String::as_str).collect()
    };
    list(&mut out, '{', "not_responsive", named(&reach.not_responsive).into_iter());
    list(&mut out, ',', "no_wake_channel", named(&reach.no_wake_channel).into_iter());
    list(&mut out, ',', "busy", named(&reach.busy).into_iter());
    out.push('}');
    member(&mut out, ',', "external_count", &sent.external_count.to_string());
    if let Some(skipped) = &sent.skipped_retired {
        member(&mut out, ',', "skipped_retired", &to_compact(&texts(skipped)));
    }
    out.push('}');
    out
}

/// The answer to a send of what is stored nowhere.
pub(super) fn write_ephemeral(reached: Reached, withheld: usize) -> String {
    to_compact(&Json::object([
        ("status", Json::from("accepted")),
        ("guarantee", "fire_and_forget".into()),
        ("reached", reached.agents.into()),
        ("live_subscribers", reached.streams.into()),
        ("withheld", withheld.into()),
    ]))
}

fn write_held(held: &HeldFor) -> Json {
    Json::object([
        ("agent", Json::from(held.agent.as_str())),
        ("availability", held.availability.name().into()),
        ("held_until", instant_or_null(held.until)),
        ("reason", held.reason.as_deref().into()),
    ])
}

/// A text that needs no escape.
fn text(plain: &str) -> String {
    format!("\"{plain}\"")
}

fn member(out: &mut String, before: char, name: &str, value: &str) {
    out.push(before);
    out.push('"');
    out.push_str(name);
    out.push_str("\":");
    out.push_str(value);
}

/// Names and addresses: most need no escape, and are written as they are.
fn list<'t>(out: &mut String, before: char, name: &str, items: impl Iterator<Item = &'t str>) {
    member(out, before, name, "[");
    for (place, item) in items.enumerate() {
        if place > 0 {
            out.push(',');
        }
        if item.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._@+:=".contains(&byte)) {
            out.push('"');
            out.push_str(item);
            out.push('"');
        } else {
            out.push_str(&to_compact(&Json::from(item)));
        }
    }
    out.push(']');
}
