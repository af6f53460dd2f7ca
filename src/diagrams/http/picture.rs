//! Stored pictures on their way out: piece by piece, as they are or as base64.

use std::collections::VecDeque;
use std::io;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use data_encoding::{BASE64, HEXLOWER};
use futures_util::stream;
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderValue};
use quintet_platform::http::etag::ETag;
use quintet_platform::http::precondition::is_not_modified;

use super::answer::{nosniff, tell_warnings};
use super::request;
use crate::context::Context;
use crate::refusal::Refusal;
use crate::tables::{ContentHash, ResultRow};
use quintet_drawing::render::Format;

/// A picture by its name never changes. Where keys are required, only the caller's own cache may keep it.
const FOR_EVERYBODY: HeaderValue = HeaderValue::from_static("public, immutable, max-age=31536000");
const FOR_ITS_READER: HeaderValue = HeaderValue::from_static("private, immutable, max-age=31536000");
/// A picture that is opened by itself runs nothing, loads nothing, and belongs to no origin.
const SANDBOX: HeaderValue =
    HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'self'");
/// Plain text, in base64's letters.
const PLAIN: HeaderValue = HeaderValue::from_static("text/plain; charset=us-ascii");

/// The file name of a picture.
pub(super) fn file_name(hash: ContentHash, format: Format) -> String {
    format!("{}.{}", HEXLOWER.encode(&hash.0), format.name())
}

/// What a file name says, if it is one.
fn parse_file_name(name: &str) -> Option<(ContentHash, Format)> {
    let (stem, extension) = name.split_once('.')?;
    let hash: [u8; 32] = HEXLOWER.decode(stem.as_bytes()).ok()?.try_into().ok()?;
    Some((ContentHash(hash), Format::named(extension)?))
}

/// Answers a request for a picture.
pub(super) async fn answer(context: &Context, request: Request) -> Result<Response, Refusal> {
    request::authorize(context, request.headers()).await?;
    let mut query = request::query(request.uri())?;
    let as_base64 = query.one_of("base64", &["true", "false"]).map_err(request::parameter)? == Some("true");
    query.finish().map_err(request::parameter)?;
    let named = request::behind(&request, "/graphs/").and_then(|name| parse_file_name(&name));
    let (hash, format) = named.ok_or_else(|| {
        Refusal::Invalid("a picture's name is 64 hexadecimal digits with .png or .svg behind them".to_owned())
    })?;
    let row = context.results.find(hash)?.filter(|row| row.format == format.into());
    let row = row.ok_or(Refusal::NotFound("no such picture; POST /graphs draws it (again)"))?;
    let name = HEXLOWER.encode(&hash.0);
    let tag = ETag::strong(&if as_base64 { format!("{name}-base64") } else { name });
    let mut response = Response::new(Body::empty());
    let fields = response.headers_mut();
    fields.insert(ETAG, tag.header_value());
    fields.insert(CACHE_CONTROL, if context.requires_key { FOR_ITS_READER } else { FOR_EVERYBODY });
    if is_not_modified(request.headers(), &tag) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return Ok(response);
    }
    let content_type = if as_base64 { PLAIN } else { HeaderValue::from_static(format.content_type()) };
    let length = if as_base64 { row.size_bytes.div_ceil(3).saturating_mul(4) } else { row.size_bytes };
    fields.insert(CONTENT_TYPE, content_type);
    fields.insert(CONTENT_LENGTH, HeaderValue::from(length));
    fields.insert(CONTENT_SECURITY_POLICY, SANDBOX);
    tell_warnings(&mut response, &row.warnings, row.is_degraded);
    *response.body_mut() = body(context.clone(), hash, row, as_base64)?;
    Ok(nosniff(response))
}

/// A picture's bytes, read as they are sent: nobody who reads slowly holds more than a piece.
fn body(context: Context, hash: ContentHash, row: ResultRow, as_base64: bool) -> Result<Body, Refusal> {
    // The first piece is read before the status is sent.
    let mut pieces: VecDeque<Vec<u8>> = context.results.piece(hash, &row, 0)?.into_iter().collect();
    let mut index = 1;
    let mut carried: Vec<u8> = Vec::new();
    let mut is_over = false;
    let next = move || -> io::Result<Option<Bytes>> {
        while !is_over {
            let piece = match pieces.pop_front() {
                Some(piece) => Some(piece),
                None => {
                    let piece = context.results.piece(hash, &row, index).map_err(io::Error::other)?;
                    index += 1;
                    piece
                }
            };
            is_over = piece.is_none();
            if !as_base64 {
                return Ok(piece.map(Bytes::from));
            }
            // Three bytes become four letters, so what is left over waits for the next piece.
            carried.extend(piece.unwrap_or_default());
            let whole = if is_over { carried.len() } else { carried.len() / 3 * 3 };
            let rest = carried.split_off(whole);
            let text = BASE64.encode(&std::mem::replace(&mut carried, rest));
            if !text.is_empty() {
                return Ok(Some(Bytes::from(text)));
            }
        }
        Ok(None)
    };
    let pieces =
        stream::try_unfold(next, |mut next| async move { Ok::<_, io::Error>(next()?.map(|piece| (piece, next))) });
    Ok(Body::from_stream(pieces))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_exact() {
        let hash = ContentHash([0xab; 32]);
        for format in [Format::Png, Format::Svg] {
            assert_eq!(parse_file_name(&file_name(hash, format)), Some((hash, format)));
        }
        let stem = "ab".repeat(32);
        for name in [
            "".to_owned(),
            stem.clone(),
            format!("{stem}."),
            format!("{stem}.gif"),
            format!("{stem}.PNG"),
            format!("{stem}.png.png"),
            format!("{}.png", stem.to_uppercase()),
            format!("{stem}ab.png"),
            "ab.png".to_owned(),
            format!("../{stem}.png"),
            format!("{stem}.png/"),
            format!("{stem}.png\0"),
        ] {
            assert_eq!(parse_file_name(&name), None, "{name}");
        }
    }
}
