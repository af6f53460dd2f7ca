//! The archive of a release: whole, or a part of it, out of the sealed store as it is read.

use std::io;
use std::ops::Range;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use http::header::{ACCEPT_RANGES, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE};
use http::{HeaderValue, Method};
use quintet_platform::http::precondition::is_not_modified;
use quintet_platform::http::range::{Wanted, wanted};
use quintet_platform::service::{Answer, Endpoint, Route, Success, media, nothing, refusal_of};
use quintet_storage::large::{CHUNK_BYTES, LargeValue};

use super::releases::{RELEASE, permitted_release, tag_of};
use crate::access::Action;
use crate::content::read_part;
use crate::context::Context;
use crate::http::{Answered, Call, Localization};
use crate::model::TenantId;
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
    let body = body_of(call.context.clone(), call.caller.tenant_id(), row.archive, range.clone());
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

/// Some bytes of a value, chunk by chunk, each when the one before it has been taken, and in a state of its own.
fn body_of(context: Context, tenant_id: TenantId, value: LargeValue, range: Range<u64>) -> Body {
    let pieces = stream::try_unfold(range.start, move |at| {
        let (context, value) = (context.clone(), value.clone());
        async move {
            if at >= range.end {
                return Ok::<_, io::Error>(None);
            }
            let chunk = CHUNK_BYTES as u64;
            let next = (at - at % chunk + chunk).min(range.end);
            let length = u32::try_from(next - at).unwrap_or(u32::MAX);
            let read = context.aside(tenant_id, move |read| Ok(read_part(read, &value, at, length)?));
            // The status is gone: all that can be done is to break off.
            let bytes = read.await.map_err(|abort| {
                let refusal = refusal_of(abort);
                tracing::warn!(?refusal, "an archive that was being sent breaks off");
                io::Error::other("the rest of the archive could not be read")
            })?;
            Ok(Some((Bytes::from(bytes), next)))
        }
    });
    Body::from_stream(pieces)
}
