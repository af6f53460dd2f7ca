//! The archive of a release: whole, or a part of it, out of the sealed store as it is read.

use std::ops::Range;

use http::header::{ACCEPT_RANGES, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE};
use http::{HeaderValue, Method};
use quintet_platform::http::precondition::is_not_modified;
use quintet_platform::http::range::{Wanted, wanted};
use quintet_platform::service::{Answer, Endpoint, Route, Success, media, nothing};
use quintet_storage::large::{CHUNK_BYTES, LargeValue};
use quintet_storage::{Abort, Snapshot};

use super::releases::{RELEASE, permitted_release, tag_of};
use crate::access::Action;
use crate::content::read_part;
use crate::context::Context;
use crate::http::{Answered, Call, Localization, body_of};
use crate::refusal::Refusal;
use crate::releases::model::ReleaseId;

const ZIP: HeaderValue = HeaderValue::from_static("application/zip");

const fn zip(status: u16, about: &'static str) -> Success {
    media(status, &[("application/zip", r#"{"type":"string","format":"binary"}"#)]).about(about)
}

const ARCHIVE: Route = Route::get("get_release_archive", "/v1/releases/{release_id}/archive")
    .permission("p_<p>_read")
    .summary("The zip; the entity tag is its SHA-256. Takes If-None-Match, Range and If-Range")
    .segments(&[RELEASE])
    .successes(&[
        zip(200, "The zip"),
        zip(206, "The part of it that Range names"),
        nothing(304).about("If-None-Match names its entity tag"),
    ])
    .codes(&["range_not_satisfiable"]);

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] = &[Endpoint::new(&ARCHIVE, |call| Box::pin(archive(call)))];

async fn archive(call: Call) -> Answered {
    let (release_id, row) = permitted_release(&call, Action::Read)?;
    let (etag, size) = (tag_of(&row.sha256), row.archive.size_bytes);
    if is_not_modified(call.headers(), &etag) {
        return Ok(Answer::nothing(304).tagged(&etag));
    }
    // Ranges are defined for GET alone (RFC 9110, 14.2).
    let wanted = match call.parts.method {
        Method::GET => wanted(call.headers(), &etag, size),
        _ => Wanted::All,
    };
    let (status, range) = match wanted {
        Wanted::All => (200, 0..size),
        Wanted::Part(range) => (206, range),
        Wanted::Nothing => return Err(Refusal::RangeNotSatisfiable(size).into()),
    };
    // What is stored under this name never changes: each piece may be read in a state of its own.
    let wanted = (row.archive, range.clone());
    let body = body_of(call.context.clone(), call.caller.clone(), Vec::new(), wanted, next_bytes);
    let answer = Answer::stream(status, ZIP, body)
        .tagged(&etag)
        .header(ACCEPT_RANGES, HeaderValue::from_static("bytes"))
        .header(CONTENT_LENGTH, HeaderValue::from(range.end - range.start))
        .header(CONTENT_DISPOSITION, file_name(release_id));
    let part = format!("bytes {}-{}/{size}", range.start, range.end.saturating_sub(1));
    Ok(match HeaderValue::try_from(part) {
        Ok(part) if status == 206 => answer.header(CONTENT_RANGE, part),
        _ => answer,
    })
}

fn file_name(release_id: ReleaseId) -> HeaderValue {
    let named = format!("attachment; filename=\"release-{}.zip\"", release_id.0);
    HeaderValue::try_from(named).unwrap_or(HeaderValue::from_static("attachment"))
}

/// The next bytes of a value, up to the end of a chunk of it; `None` behind the last of those that are wanted.
fn next_bytes(
    _: &Context,
    (value, left): &mut (LargeValue, Range<u64>),
    read: &Snapshot,
) -> Result<Option<Vec<u8>>, Abort<Refusal>> {
    if left.is_empty() {
        return Ok(None);
    }
    let (at, chunk) = (left.start, CHUNK_BYTES as u64);
    left.start = (at - at % chunk + chunk).min(left.end);
    let length = u32::try_from(left.start - at).unwrap_or(u32::MAX);
    Ok(Some(read_part(read, value, at, length)?))
}
