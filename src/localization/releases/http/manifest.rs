//! The manifest of a release: what each entry of its archive was made from, sent as it is read.

use std::io;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use quintet_platform::service::{Answer, Endpoint, Id, JSON, Route, json as success, refusal_of, written};
use quintet_storage::large::LargeValue;
use quintet_storage::{Abort, Failure};

use super::releases::{RELEASE, permitted_release};
use crate::access::Action;
use crate::content::http::wire::Hex;
use crate::context::Context;
use crate::http::{Answered, Call, Localization};
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::releases::manifest::read_page;
use crate::releases::model::{Entry, ReleaseId};

const MANIFEST: Route = Route::get("get_release_manifest", "/v1/releases/{release_id}/manifest")
    .permission("p_<p>_read")
    .summary("What each entry of the archive was made from, in the order of names")
    .segments(&[RELEASE])
    .successes(&[success(200, "ReleaseManifest")])
    .codes(&["busy"]);

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] = &[Endpoint::new(&MANIFEST, |call| Box::pin(manifest(call)))];

async fn manifest(call: Call) -> Answered {
    let (release_id, row) = permitted_release(&call, Action::Read)?;
    let sending = Sending { context: call.context.clone(), tenant_id: call.caller.tenant_id(), manifest: row.manifest };
    let first = beginning(release_id, row.sha256);
    let page = sending.page(0).await.map_err(refusal_of)?;
    Ok(Answer::stream(200, JSON, sending.body(first, page)))
}

fn beginning(release_id: ReleaseId, sha256: [u8; 32]) -> Vec<u8> {
    let sha256 = data_encoding::HEXLOWER.encode(&sha256);
    format!("{{\"release_id\":\"{}\",\"sha256\":\"{sha256}\",\"entries\":[", release_id.0).into_bytes()
}

#[derive(serde::Serialize)]
struct EntryBody<'a> {
    name: &'a str,
    sha256: Hex,
    size: u64,
    file_id: Id,
    version: u32,
    revision: u64,
}

/// Entries without the brackets around them.
fn write_entries(entries: &[Entry]) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    for entry in entries {
        if !text.is_empty() {
            text.push(b',');
        }
        text.extend(written(&EntryBody {
            name: &entry.name,
            sha256: Hex(entry.sha256),
            size: entry.size_bytes,
            file_id: Id(entry.file_id.0),
            version: entry.version,
            revision: entry.revision,
        })?);
    }
    Ok(text)
}

/// A page of entries as it is sent, and where the next begins.
type Page = Option<(Vec<u8>, u64)>;

/// A manifest that is being sent.
struct Sending {
    context: Context,
    tenant_id: TenantId,
    manifest: LargeValue,
}

impl Sending {
    async fn page(&self, at: u64) -> Result<Page, Abort<Refusal>> {
        let manifest = self.manifest.clone();
        let read = self.context.aside(self.tenant_id, move |read| {
            let Some((entries, next)) = read_page(read, &manifest, at)? else { return Ok(None) };
            Ok(Some((write_entries(&entries)?, next)))
        });
        read.await
    }

    /// The whole, of which the beginning and the first page are there: whatever cannot be read at all is told with a status.
    fn body(self, beginning: Vec<u8>, first: Page) -> Body {
        let begun = Some((self, beginning, first));
        let pieces = stream::try_unfold(begun, |state| async move {
            let Some((sending, mut text, page)) = state else { return Ok::<_, io::Error>(None) };
            let Some((entries, next)) = page else {
                text.extend_from_slice(b"]}");
                return Ok(Some((Bytes::from(text), None)));
            };
            text.extend(entries);
            // The status is gone: all that can be done is to break off.
            let page = sending.page(next).await.map_err(|abort| {
                let refusal = refusal_of(abort);
                tracing::warn!(?refusal, "a manifest that was being sent breaks off");
                io::Error::other("the rest of the manifest could not be read")
            })?;
            let between = if page.is_some() { b",".to_vec() } else { Vec::new() };
            Ok(Some((Bytes::from(text), Some((sending, between, page)))))
        });
        Body::from_stream(pieces)
    }
}
