//! Reading a file of any kind: its encoding, then its grammar.

use std::borrow::Cow;
use std::time::Instant;

use super::budget::Budget;
use super::bytes::BYTE_ORDER_MARK;
use super::model::{Document, Kind, Scan};
use super::refusal::{Code, Offence, ReaderRefusal};
use super::{json, properties, yaml};

/// Reads a file.
///
/// # Errors
/// The first offence in byte order, see [`Code`]. Two are judged only when the whole file is well-formed, since they
/// depend on all of it: two keys whose final paths are equal, and a byte sequence that is not the file's encoding
/// behind a place that is wrong in itself.
pub fn read<'b>(kind: Kind<'_>, bytes: &'b [u8], deadline: Instant) -> Result<Document<'b>, ReaderRefusal> {
    let document = scan(kind, bytes, &mut Budget::until(deadline)).and_then(|found| {
        let document = Document::new(kind, bytes, found);
        document.refuse_equal_paths()?;
        Ok(document)
    });
    document.map_err(|offence| offence.place_in(bytes))
}

/// Finds the string values of a file, before they are units.
pub(super) fn scan(kind: Kind<'_>, bytes: &[u8], budget: &mut Budget) -> Result<Scan, Offence> {
    budget.size(bytes.len())?;
    budget.step(0)?;
    let marked = bytes.starts_with(BYTE_ORDER_MARK);
    let start = if marked { BYTE_ORDER_MARK.len() } else { 0 };
    let invalid = std::str::from_utf8(bytes).err().map(|error| error.valid_up_to());
    let found = match (kind, invalid) {
        // The marks of UTF-16, which is nothing a properties file may be in.
        (Kind::Properties, _) if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") => {
            return Err(Offence::new(Code::EncodingInvalid, 0));
        }
        (Kind::Properties, Some(_)) if !marked => return properties::scan(bytes, start, true, budget),
        (Kind::Properties, _) => properties::scan(bytes, start, false, budget),
        (Kind::Json, _) => json::scan(&as_utf8(bytes), start, budget),
        (Kind::Rails { root }, _) => yaml::scan(&as_utf8(bytes), start, Some(root), budget),
        (Kind::Flat, _) => yaml::scan(&as_utf8(bytes), start, None, budget),
    };
    match (found, invalid) {
        (Err(offence), Some(at)) if offence.at < at => Err(offence),
        (_, Some(at)) => Err(Offence::new(Code::EncodingInvalid, at)),
        (found, None) => found,
    }
}

/// The bytes as text. Those that are no UTF-8 give way to as many other bytes, so that what comes before them can be
/// judged.
fn as_utf8(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(std::iter::repeat_n('_', chunk.invalid().len()));
    }
    Cow::Owned(text)
}
