//! Tests of the readers and writers. A table row is a file and what comes of it.

mod corpora;
mod export;
mod json;
mod judge;
mod properties;
mod random;
mod suites;
mod texts;
mod yaml;

use std::time::{Duration, Instant};

use super::{Content, Document, Edit, ExportRefusal, Kind, read};

const EN: Kind<'static> = Kind::Rails { root: "en" };

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(10)
}

fn document<'b>(kind: Kind<'_>, bytes: &'b [u8]) -> Document<'b> {
    read(kind, bytes, soon()).unwrap_or_else(|refusal| panic!("{refusal}: {:?}", String::from_utf8_lossy(bytes)))
}

/// All units as `path=text`, plurals as `path=one:…|other:…`.
fn units(kind: Kind<'_>, bytes: impl AsRef<[u8]>) -> Vec<String> {
    let document = document(kind, bytes.as_ref());
    let show = |unit: &super::Unit| match unit.content() {
        Content::Text(text) => format!("{}={text}", unit.path()),
        Content::Plural(forms) => {
            let forms: Vec<String> = forms.iter().map(|(name, form)| format!("{}:{form}", name.name())).collect();
            format!("{}={}", unit.path(), forms.join("|"))
        }
    };
    document.units().iter().map(show).collect()
}

/// The refusal's code and place.
fn refusal(kind: Kind<'_>, bytes: impl AsRef<[u8]>) -> String {
    let bytes = bytes.as_ref();
    match read(kind, bytes, soon()) {
        Ok(document) => panic!("{:?} has units {:?}", String::from_utf8_lossy(bytes), document.units()),
        Err(refusal) => format!("{} {}:{}", refusal.code, refusal.line, refusal.column),
    }
}

/// Exports with the edits of those paths; all other units are kept.
fn try_export(
    kind: Kind<'_>,
    bytes: &[u8],
    root: Option<&str>,
    edits: &[(&str, Edit<'_>)],
) -> Result<Vec<u8>, ExportRefusal> {
    let document = document(kind, bytes);
    let all: Vec<Edit<'_>> = document
        .units()
        .iter()
        .map(|unit| edits.iter().find(|(path, _)| *path == unit.path()).map_or(Edit::Keep, |(_, edit)| *edit))
        .collect();
    for (path, _) in edits {
        assert!(document.units().iter().any(|unit| unit.path() == *path), "no unit {path} in {:?}", document.units());
    }
    document.export(root, &all, soon())
}

fn export(kind: Kind<'_>, bytes: impl AsRef<[u8]>, root: Option<&str>, edits: &[(&str, Edit<'_>)]) -> String {
    let bytes = bytes.as_ref();
    let written = try_export(kind, bytes, root, edits)
        .unwrap_or_else(|refusal| panic!("{refusal}: {:?}", String::from_utf8_lossy(bytes)));
    String::from_utf8_lossy(&written).into_owned()
}

/// Compares what came with what was expected, and shows all rows that differ.
#[derive(Default)]
struct Table {
    wrong: Vec<String>,
}

impl Table {
    fn row<T: PartialEq<U> + std::fmt::Debug, U: std::fmt::Debug>(&mut self, input: &str, came: T, expected: U) {
        if came != expected {
            self.wrong.push(format!("{input:.120?}\n    came {came:?}\nexpected {expected:?}"));
        }
    }

    fn done(self) {
        assert!(self.wrong.is_empty(), "{}", self.wrong.join("\n"));
    }
}
