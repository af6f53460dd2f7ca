//! Uploads: a file as it is, taken in as it arrives.

use std::time::Duration;

use axum::body::Body;
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body_util::BodyExt as _;
use quintet_platform::http::body::media_type;
use quintet_platform::service::{
    Answer, Content, Endpoint, Fault, KeyRule, Parameter, Route, Shape, json as success, refusal_of,
};

use super::files::{FILE, SEQ, write_file};
use crate::access::Action;
use crate::content::imports::{Arrived, ImportFile, Receiver, prepare_import, publish_import};
use crate::content::model::Format;
use crate::content::rejudge::wait_for_pass;
use crate::formats::FILE_BYTES_MAX;
use crate::http::{Answered, Call, Localization};
use crate::lists::joined;
use crate::refusal::{READER_CODES, Refusal};
use crate::spaces::http::{PROJECT, permitted};

/// How long the body of an upload may take to arrive.
const UPLOAD_TIME: Duration = Duration::from_secs(300);
/// How long a body that is refused unread may go on arriving, so that its sender gets to read the answer.
const DRAIN_TIME: Duration = Duration::from_secs(20);
/// The longest path of a file, in characters.
const PATH_CHARS_MAX: usize = 512;

const KIND: Parameter = Parameter::new(
    "kind",
    Shape::Word(&["json", "yaml", "properties", "android", "ios-strings", "ios-stringsdict"], ""),
    "What kind of file it is; the last three are not offered.",
)
.required();
const PROFILE: Parameter =
    Parameter::new("profile", Shape::Word(&["rails", "flat"], ""), "Required for yaml, refused for others.");
const LOCALE: Parameter = Parameter::new(
    "locale",
    Shape::Text { min: 1, max: 255 },
    "The root key of a rails file; by default the project's source locale, as it was given, canonical or in content form.",
);
const PATH: Parameter =
    Parameter::new("path", Shape::Text { min: 1, max: PATH_CHARS_MAX }, "A relative path in the project.").required();

const UPLOAD: Route = Route::post("upload_file", "/v1/projects/{project_id}/files")
    .permission("p_<p>_files-write")
    .summary("Upload a file, as a new version if its path is known")
    .segments(&[PROJECT])
    .parameters(&[KIND, PROFILE, LOCALE, PATH])
    .key(KeyRule::Required)
    .body(Content::Media(&[
        ("application/octet-stream", r#"{"type":"string","format":"binary"}"#),
        ("application/json", r#"{"type":"object"}"#),
    ]))
    .successes(&[success(201, "FileImported")])
    .makes(FILE.noun, "file_id")
    .makes(SEQ.noun, "version")
    .codes(&joined::<_, { UPLOAD_CODES.len() + READER_CODES.len() }>(&[UPLOAD_CODES, READER_CODES]));

/// What an upload can be refused with, besides what the readers refuse.
const UPLOAD_CODES: &[&str] = &[
    "invalid_body",
    "request_timeout",
    "upload_too_large",
    "unsupported_media_type",
    "format_not_offered",
    "format_mismatch",
    "conflict",
];

/// The endpoints of this file.
pub const ENDPOINTS: &[Endpoint<Localization>] = &[Endpoint::new(&UPLOAD, |call| Box::pin(upload(call)))];

/// Size, media type and replay come before project and permission, and of a body in chunks the first and the last of them
/// are known only when it has arrived. So project and permission are looked at first, to store nothing of what is going to
/// be refused, and answer in their place.
async fn upload(mut call: Call) -> Answered {
    let UploadWish { format, root_locale, path } = upload_wish(&mut call)?;
    let key = call.idempotency_key()?;
    let body = call.take_body();
    let wanted = permitted(&call, Action::FilesWrite).and_then(|_| format.ok_or(Refusal::FormatNotOffered));
    let Arrived { sha256, original } = receive(&call, body, wanted.is_ok()).await?;
    let mut change = call.change_by(key, &sha256);
    change.begin()?;
    let format = wanted?;
    let original = original.ok_or(Refusal::from(Fault::Internal))?;
    let call = &change.call;
    // Again: a body may take minutes.
    let project = permitted(call, Action::FilesWrite)?;
    let (context, tenant_id) = (call.context.clone(), call.caller.tenant_id());
    let (project_id, actor) = (project.project_id, call.caller.actor.clone());
    let command = ImportFile { project, path, format, root_locale, original };
    let import = prepare_import(&context, tenant_id, command).await.map_err(refusal_of)?;
    let published = change.write(move |tx, now| {
        let file = publish_import(tx, now, &actor, import)?;
        Ok(Answer::json(201, write_file(project_id, &file)?))
    });
    let answer = published.await?;
    wait_for_pass(&context.store, tenant_id, project_id).await;
    Ok(answer)
}

/// What the query of an upload says.
struct UploadWish {
    /// `None`: a kind that is known and not offered.
    format: Option<Format>,
    /// The root locale of a rails file; `None`: the project's source locale.
    root_locale: Option<String>,
    path: String,
}

fn upload_wish(call: &mut Call) -> Result<UploadWish, Refusal> {
    let kind = call.word(&KIND)?.unwrap_or_default();
    let profile = call.word(&PROFILE)?;
    let locale = call.text(&LOCALE)?;
    let path = call.text(&PATH)?.unwrap_or_default();
    let format = match (kind, profile) {
        ("yaml", None) => return Err(Refusal::parameter(PROFILE.name, "is required for yaml")),
        ("yaml", Some("rails")) => Some(Format::YamlRails),
        ("yaml", Some(_)) => Some(Format::YamlFlat),
        (_, Some(_)) => return Err(Refusal::parameter(PROFILE.name, "goes with yaml only")),
        ("json", None) => Some(Format::Json),
        ("properties", None) => Some(Format::Properties),
        (_, None) => None,
    };
    if locale.is_some() && format != Some(Format::YamlRails) {
        return Err(Refusal::parameter(LOCALE.name, "goes with the profile rails only"));
    }
    if !is_file_path(&path) {
        let rule = "is a relative path, without empty, dot or dot-dot segments, controls, backslashes";
        return Err(Refusal::parameter(PATH.name, rule));
    }
    Ok(UploadWish { format, root_locale: locale, path })
}

/// Whether a text is the relative path of a resource.
fn is_file_path(path: &str) -> bool {
    !path.chars().any(|character| character.is_control() || character == '\\')
        && path.split('/').all(|segment| !matches!(segment, "" | "." | ".."))
}

/// Takes a body in as it arrives, size first, then media type: sealed if it is kept, else to know what it is.
async fn receive(call: &Call, mut body: Body, is_kept: bool) -> Result<Arrived, Refusal> {
    if claimed_bytes(call.headers()).is_some_and(|bytes| bytes > FILE_BYTES_MAX as u64) {
        drain(body).await;
        return Err(Refusal::UploadTooLarge);
    }
    if let Err(refusal) = check_media_type(call) {
        return Err(match drain(body).await {
            Drained::All(bytes) if bytes > FILE_BYTES_MAX => Refusal::UploadTooLarge,
            Drained::More => Refusal::UploadTooLarge,
            Drained::All(_) | Drained::Broken => refusal,
        });
    }
    let mut receiver = match is_kept {
        true => Receiver::begin(&call.foundation().store, call.caller.tenant_id()).await.map_err(refusal_of)?,
        false => Receiver::passing_over(),
    };
    let arriving = async {
        while let Some(frame) = body.frame().await {
            let Ok(chunk) = frame.map_err(|_| Fault::BodyBroken)?.into_data() else { continue };
            receiver.push(&chunk).await.map_err(refusal_of)?;
        }
        Ok(())
    };
    match tokio::time::timeout(UPLOAD_TIME, arriving).await {
        Ok(Ok(())) => {}
        Ok(Err(refusal)) => {
            if refusal == Refusal::UploadTooLarge {
                drain(body).await;
            }
            return Err(refusal);
        }
        Err(_) => return Err(Fault::BodyTimedOut.into()),
    }
    receiver.finish().await.map_err(refusal_of)
}

/// A body must be a file as it is: of a media type that files have, and not coded.
fn check_media_type(call: &Call) -> Result<(), Refusal> {
    match media_type(call.headers()).as_deref() {
        Some("application/json" | "application/octet-stream") => call.check_coding(),
        _ => Err(Fault::MediaTypeUnsupported.into()),
    }
}

fn claimed_bytes(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.trim().parse().ok()
}

/// What was left of a body.
enum Drained {
    /// So many bytes, and then its end.
    All(usize),
    /// More than twice of what is allowed, or for too long.
    More,
    /// It broke off.
    Broken,
}

/// Reads a body and forgets it: who is still sending does not read the answer.
async fn drain(mut body: Body) -> Drained {
    let mut bytes = 0;
    let draining = async {
        while let Some(frame) = body.frame().await {
            match frame {
                Ok(frame) => bytes += frame.data_ref().map_or(0, bytes::Bytes::len),
                Err(_) => return Drained::Broken,
            }
            if bytes > 2 * FILE_BYTES_MAX {
                return Drained::More;
            }
        }
        Drained::All(bytes)
    };
    tokio::time::timeout(DRAIN_TIME, draining).await.unwrap_or(Drained::More)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let is_path = |path: &str| PATH.shape.fits(path) && is_file_path(path);
        for good in ["a", "a/b.json", "ä/ö", "a b", "...", "a/.hidden", &"x".repeat(512)] {
            assert!(is_path(good), "{good}");
        }
        for bad in ["", "/a", "a/", "a//b", ".", "..", "a/./b", "a/../b", "a\\b", "a\nb", "\u{7f}", &"x".repeat(513)] {
            assert!(!is_path(bad), "{bad}");
        }
    }
}
