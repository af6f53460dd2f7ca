//! Pictures on their way out: their names, what is said beside them, and their bytes piece by piece, as they are
//! or as base64.

use std::collections::VecDeque;
use std::io;

use axum::body::Body;
use bytes::Bytes;
use data_encoding::{BASE64, HEXLOWER};
use futures_util::stream;
use http::{HeaderName, HeaderValue};
use quintet_drawing::render::Format;
use quintet_platform::service::Answer;
use quintet_storage::Failure;

use crate::context::Context;
use crate::tables::{ContentHash, ResultRow};

/// What could not be honoured.
pub(super) const X_RENDER_WARNING: HeaderName = HeaderName::from_static("x-render-warning");
/// The drawing was simplified.
pub(super) const X_RENDER_DEGRADED: HeaderName = HeaderName::from_static("x-render-degraded");
/// The longest value of a header field with warnings, in bytes.
const WARNING_BYTES_MAX: usize = 1024;

/// A picture that is opened by itself runs nothing, loads nothing, and belongs to no origin.
pub(super) const SANDBOX: HeaderValue =
    HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'self'");

/// The file name of a picture.
pub(super) fn file_name(hash: ContentHash, format: Format) -> String {
    format!("{}.{}", HEXLOWER.encode(&hash.0), format.name())
}

/// What a file name says, if it is one.
pub(super) fn parse_file_name(name: &str) -> Option<(ContentHash, Format)> {
    let (stem, extension) = name.split_once('.')?;
    let hash: [u8; 32] = HEXLOWER.decode(stem.as_bytes()).ok()?.try_into().ok()?;
    Some((ContentHash(hash), Format::named(extension)?))
}

/// Says beside a picture what its drawing could not honour.
pub(super) fn with_warnings(mut answer: Answer, warnings: &[String], is_degraded: bool) -> Answer {
    let mut text = String::new();
    for warning in warnings {
        let separator = if text.is_empty() { "" } else { "; " };
        // Header fields hold visible ASCII and blanks; whatever else a label put into a warning is a question mark.
        let plain = warning.chars().map(|c| if matches!(c, ' '..='~') { c } else { '?' });
        text.extend(separator.chars().chain(plain));
        if text.len() > WARNING_BYTES_MAX {
            text.truncate(WARNING_BYTES_MAX);
            break;
        }
    }
    if let (false, Ok(value)) = (text.is_empty(), HeaderValue::from_str(&text)) {
        answer = answer.header(X_RENDER_WARNING, value);
    }
    match is_degraded {
        true => answer.header(X_RENDER_DEGRADED, HeaderValue::from_static("true")),
        false => answer,
    }
}

/// A picture's bytes, read as they are sent: nobody who reads slowly holds more than a piece.
pub(super) fn bytes_of(context: Context, hash: ContentHash, row: ResultRow, as_base64: bool) -> Result<Body, Failure> {
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

    #[test]
    fn warnings_fit_into_a_header_field() {
        let warning = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(ToString::to_string).collect();
            let response = with_warnings(Answer::nothing(200), &texts, false).into_response();
            response.headers().get(X_RENDER_WARNING).map(|value| value.to_str().unwrap().to_owned())
        };
        assert_eq!(warning(&[]), None);
        assert_eq!(warning(&["a\r\nSet-Cookie: x", "\u{e9}"]).as_deref(), Some("a??Set-Cookie: x; ?"));
        assert_eq!(warning(&["w".repeat(300).as_str(); 9]).map(|text| text.len()), Some(WARNING_BYTES_MAX));
    }
}
