//! Uploads: a file as it is, taken in as it arrives.

use quintet_platform::service::{
    Answer, Content, Endpoint, Fault, KeyRule, Parameter, Route, Shape, json as success, refusal_of,
};

use super::arriving::receive;
use super::files::{FILE, SEQ, write_file};
use crate::access::Action;
use crate::content::imports::{Arrived, ImportFile, Original, prepare_import, publish_import};
use crate::content::model::Format;
use crate::content::rejudge::wait_for_pass;
use crate::http::{Answered, Call, Localization};
use crate::lists::joined;
use crate::refusal::{READER_CODES, Refusal};
use crate::spaces::http::{PROJECT, permitted};

/// The media types of string files.
const MEDIA_TYPES: &[&str] = &["application/json", "application/octet-stream"];
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
    let Arrived { sha256, units_max, staged } = receive(&call, body, wanted.is_ok(), MEDIA_TYPES).await?;
    let mut change = call.change_by(key, &sha256);
    change.begin()?;
    let format = wanted?;
    // Whatever it comes to: what is not adopted by then goes with this.
    let staged = staged.ok_or(Refusal::from(Fault::Internal))?;
    let original = Original { value: staged.value().clone(), sha256, units_max };
    let call = &change.call;
    // Again: a body may take minutes.
    let project = permitted(call, Action::FilesWrite)?;
    let (context, tenant_id) = (call.context.clone(), call.caller.tenant_id());
    let (project_id, actor) = (project.project_id, call.caller.actor.clone());
    let command = ImportFile { project, path, format, root_locale, original };
    let (import, _prepared) = prepare_import(&context, tenant_id, command).await.map_err(refusal_of)?;
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
