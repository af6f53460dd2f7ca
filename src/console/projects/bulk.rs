//! Many strings at once: each is moved on that may be, and the page says which were not, and why.

use axum::body::Body;
use axum::extract::Path;
use axum::response::Response;

use super::editor::{Wanted, page};
use super::filters::{Filters, Place, STRIP_ROWS};
use super::outcome::{Outcome, Skipped};
use super::save::moved;
use super::wire::Key;
use crate::console::form;
use crate::console::notice::Notice;
use crate::console::rooms::{Refused, Room};
use crate::console::visitor::Member;
use quintet_platform::http::query::encode_segment;

/// The largest form, in bytes.
const FORM_BYTES_MAX: usize = 64 << 10;

/// Takes the form of the strip.
pub async fn take(
    member: Member,
    Path((project, locale)): Path<(String, String)>,
    body: Body,
) -> Result<Response, Notice> {
    let place = Place { project, locale };
    let mut form = form::read_of(body, FORM_BYTES_MAX, "string").await?;
    let filters = Filters::take(&mut form);
    let (action, word) = match form.take("act").as_deref() {
        Some("review") => ("review", "editor.done.review"),
        Some("approve") => ("approve", "editor.done.approve"),
        Some("reject") => ("reject", "editor.done.reject"),
        _ => return Err(Notice::Malformed),
    };
    let once = form.take("once").unwrap_or_default();
    let mut outcome = Outcome { word, done: 0, skipped: Vec::new() };
    for string in form.take_all("string").into_iter().take(STRIP_ROWS) {
        let (key, revision) = string.split_once(':').ok_or(Notice::Malformed)?;
        let revision = revision.parse().map_err(|_| Notice::Malformed)?;
        // A tenant's own bulk is many small changes: each is stored, audited and told of by itself.
        match moved(&member.asking, &place, (key, revision), action, &format!("{once}-{key}")).await? {
            Ok(()) => outcome.done += 1,
            Err(refused) => {
                let found: Key =
                    member.asking.get(Room::Localization, &format!("/v1/keys/{}", encode_segment(key))).await?;
                let address = place.editor(&filters, Some(key));
                outcome.skipped.push(Skipped { address, path: found.path, reason: reason(refused) });
            }
        }
    }
    let key = form.take("key").filter(|key| !key.is_empty());
    page(member, place, filters, Wanted { key, outcome: Some(outcome), ..Wanted::default() }).await
}

/// The checks that fail, or the room's sentence.
fn reason(refused: Refused) -> String {
    match refused.code.as_str() {
        "qa_failed" => refused.detail.unwrap_or(refused.title),
        _ => refused.title,
    }
}
