//! Why a file was refused, and where; never what it says there.

use std::fmt;

use super::bytes::BYTE_ORDER_MARK;

/// Why an uploaded file is not taken, by the codes that the upload route (POST /v1/projects/{id}/files) answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// The bytes do not follow the format's grammar.
    Malformed,
    /// A member occurs twice, or two keys have the same path in the end.
    DuplicateKey,
    /// A YAML anchor or alias.
    YamlAliasRefused,
    /// A YAML tag other than `!` alone.
    YamlTagRefused,
    /// JSON or YAML that is not UTF-8, or a NUL byte in a properties file.
    EncodingInvalid,
    /// Deeper than [`super::limits::DEPTH_MAX`].
    NestingTooDeep,
    /// The deadline passed.
    ParseTimeout,
    /// More than [`super::limits::UNITS_MAX`] string values, [`super::limits::VALUES_MAX`] values of any kind, or
    /// [`super::limits::PATHS_BYTES_MAX`] bytes of paths.
    TooManyUnits,
    /// A key without a name, with U+0000 or half a surrogate pair in it, or a rails root that is not the locale.
    KeyInvalid,
    /// A path of more than [`super::limits::PATH_CHARACTERS_MAX`] characters.
    KeyTooLong,
    /// A value with U+0000 or half a surrogate pair in it.
    ValueUnrepresentable,
    /// Well-formed, but nothing that a string file has: a root that is no object, a directive, a second document, a
    /// merge key, a complex key, a line break that YAML 1.1 and 1.2 read differently.
    UnsupportedConstruct,
    /// More than [`super::limits::FILE_BYTES_MAX`] bytes.
    UploadTooLarge,
}

impl Code {
    /// All of them.
    pub const ALL: [Code; 13] = [
        Code::Malformed,
        Code::DuplicateKey,
        Code::YamlAliasRefused,
        Code::YamlTagRefused,
        Code::EncodingInvalid,
        Code::NestingTooDeep,
        Code::ParseTimeout,
        Code::TooManyUnits,
        Code::KeyInvalid,
        Code::KeyTooLong,
        Code::ValueUnrepresentable,
        Code::UnsupportedConstruct,
        Code::UploadTooLarge,
    ];

    /// The stable code on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Code::Malformed => "malformed",
            Code::DuplicateKey => "duplicate_key",
            Code::YamlAliasRefused => "yaml_alias_refused",
            Code::YamlTagRefused => "yaml_tag_refused",
            Code::EncodingInvalid => "encoding_invalid",
            Code::NestingTooDeep => "nesting_too_deep",
            Code::ParseTimeout => "parse_timeout",
            Code::TooManyUnits => "too_many_units",
            Code::KeyInvalid => "key_invalid",
            Code::KeyTooLong => "key_too_long",
            Code::ValueUnrepresentable => "value_unrepresentable",
            Code::UnsupportedConstruct => "unsupported_construct",
            Code::UploadTooLarge => "upload_too_large",
        }
    }
}

/// A file is refused. It displays as code and place; what the file says there is never shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code} at line {line}, column {column}")]
pub struct ReaderRefusal {
    /// Why.
    pub code: Code,
    /// The line, from 1. Lines end with LF, CR LF or CR.
    pub line: usize,
    /// The character in the line, from 1; a byte order mark does not count, and one that is not UTF-8 counts as one.
    pub column: usize,
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A refusal before its place is known as line and column: readers work with byte offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offence {
    pub code: Code,
    /// In bytes from the start of the file.
    pub at: usize,
}

impl Offence {
    pub fn new(code: Code, at: usize) -> Offence {
        Offence { code, at }
    }

    /// Counts lines and characters up to the offence.
    pub fn place_in(self, bytes: &[u8]) -> ReaderRefusal {
        let before = bytes.get(..self.at.min(bytes.len())).unwrap_or_default();
        let before = before.strip_prefix(BYTE_ORDER_MARK).unwrap_or(before);
        let mut line = 1;
        let mut start = 0;
        let mut previous = 0;
        for (index, &byte) in before.iter().enumerate() {
            match byte {
                b'\n' if previous == b'\r' => start = index + 1,
                b'\n' | b'\r' => {
                    line += 1;
                    start = index + 1;
                }
                _ => {}
            }
            previous = byte;
        }
        let rest = before.get(start..).unwrap_or_default();
        let column =
            rest.utf8_chunks().map(|chunk| chunk.valid().chars().count() + usize::from(!chunk.invalid().is_empty()));
        ReaderRefusal { code: self.code, line, column: column.sum::<usize>() + 1 }
    }
}
