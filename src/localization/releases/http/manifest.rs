//! The manifest of a release: what each entry of its archive was made from, sent as it is read.

use quintet_platform::service::{Answer, Endpoint, Id, JSON, Route, json as success, refusal_of, written};
use quintet_storage::large::LargeValue;
use quintet_storage::{Abort, Failure, Snapshot};

use super::releases::{RELEASE, permitted_release};
use crate::access::Action;
use crate::content::http::wire::Hex;
use crate::http::{Answered, Call, Localization, body_of};
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
    let (context, tenant_id) = (call.context.clone(), call.caller.tenant_id());
    // Whatever cannot be read at all is told with a status.
    let mut sending = Sending { manifest: row.manifest, at: Some(0), is_first: true };
    let begun = context.aside(tenant_id, move |read| {
        let mut first = beginning(release_id, row.sha256);
        first.extend(sending.next(read)?.unwrap_or_default());
        Ok((first, sending))
    });
    let (first, sending) = begun.await.map_err(refusal_of)?;
    let body = body_of(context, call.caller, first, sending, |_, sending, read| sending.next(read));
    Ok(Answer::stream(200, JSON, body))
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

/// A manifest that is being sent.
struct Sending {
    manifest: LargeValue,
    /// Where the next page begins; `None`: all have been sent, and the end as well.
    at: Option<u64>,
    is_first: bool,
}

impl Sending {
    /// The next page with what stands before it, or the end.
    fn next(&mut self, read: &Snapshot) -> Result<Option<Vec<u8>>, Abort<Refusal>> {
        let Some(at) = self.at else { return Ok(None) };
        let Some((entries, next)) = read_page(read, &self.manifest, at)? else {
            self.at = None;
            return Ok(Some(b"]}".to_vec()));
        };
        self.at = Some(next);
        let mut text = if self.is_first { Vec::new() } else { b",".to_vec() };
        self.is_first = false;
        text.extend(write_entries(&entries)?);
        Ok(Some(text))
    }
}
