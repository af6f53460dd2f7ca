//! Tests of the readers and writers. A table row is a file and what comes of it.

mod corpora;
mod ends;
mod exchange;
mod export;
mod json;
mod judge;
mod plurals;
mod properties;
mod random;
mod suites;
mod texts;
mod yaml;

use std::time::{Duration, Instant};

use super::{Code, Content, Document, Edit, ExportRefusal, FILE_BYTES_MAX, Kind, VALUES_MAX, read};

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

#[test]
fn time_and_size_are_limited() {
    let past = Instant::now();
    for kind in [Kind::Json, Kind::Properties, EN, Kind::Flat] {
        let refusal = read(kind, b"en: {}", past).unwrap_err();
        assert_eq!(refusal.to_string(), "parse_timeout at line 1, column 1");
        let refusal = read(kind, &vec![b' '; FILE_BYTES_MAX + 1], soon()).unwrap_err();
        assert_eq!(refusal.to_string(), "upload_too_large at line 1, column 1");
    }
    // Not only at the start: some deadline passes in the midst, however busy the machine is.
    let long = format!("{{\"a\": [{}1]}}", "1,".repeat(900_000));
    let in_the_midst = (0..2_000).any(|step| {
        let deadline = Instant::now() + Duration::from_micros(step * 50);
        let refusal = read(Kind::Json, long.as_bytes(), deadline);
        refusal.is_err_and(|refusal| refusal.code == Code::ParseTimeout && refusal.column > 1)
    });
    assert!(in_the_midst);
    let values = format!("{{\"a\": [{}1]}}", "1,".repeat(VALUES_MAX));
    assert_eq!(refusal_of(Kind::Json, values.as_bytes()), Code::TooManyUnits);
    let values = format!("a: [{}1]", "1,".repeat(VALUES_MAX));
    assert_eq!(refusal_of(Kind::Flat, values.as_bytes()), Code::TooManyUnits);
}

/// A path repeats all that it lies in: together they may be far more than the file.
#[test]
fn paths_are_limited_together() {
    let name = "x".repeat(700);
    let count = super::PATHS_BYTES_MAX / 703;
    let json = |count: usize| format!("{{\"{name}\": [{}\"x\"]}}", "\"x\",".repeat(count));
    assert!(read(Kind::Json, json(count - 2_000).as_bytes(), soon()).is_ok());
    assert_eq!(refusal_of(Kind::Json, json(count).as_bytes()), Code::TooManyUnits);
    let yaml = format!("{name}: [{}x]", "x,".repeat(count));
    assert_eq!(refusal_of(Kind::Flat, yaml.as_bytes()), Code::TooManyUnits);
}

fn refusal_of(kind: Kind<'_>, bytes: &[u8]) -> Code {
    read(kind, bytes, soon()).unwrap_err().code
}

/// The processor time of this thread, which other work on the machine does not lengthen.
fn cpu_seconds() -> f64 {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    schedstat.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

/// Whatever is in a file, reading it takes time in proportion to its size, and little of it.
#[test]
fn no_input_is_slow() {
    const SIZE: usize = 150_000;
    let pieces = [
        "[",
        "{",
        "{\"a\":",
        "[[],",
        "\"\\u00e9\",",
        "a: [",
        "- ",
        "? ",
        "- - ",
        "a: b\n",
        "a:\n",
        "'",
        "\"",
        "\\\n",
        "\\",
        "!",
        "! ",
        "&a ",
        "*a ",
        "# x\n",
        " #",
        "|\n",
        ">\n ",
        "a: |\n\n",
        "\n",
        " ",
        "\t",
        "\r",
        ":",
        "=",
        "a=\\\n",
        "\\u",
        "%a\n",
        "---\n",
        "a, ",
        "a: b, ",
        "{a: b}, ",
        "\u{2028}",
        "\u{1}",
        "\u{e9}",
    ];
    for piece in pieces {
        for start in ["", "{\"a\": [", "{\"a\": \"", "a: ", "a: [", "a: \"", "a: |\n  ", "a:\n  - x\n  - ", "a="] {
            let file = format!("{start}{}", piece.repeat(SIZE / piece.len()));
            for kind in [Kind::Json, Kind::Properties, EN, Kind::Flat] {
                let begun = cpu_seconds();
                let _ = read(kind, file.as_bytes(), soon());
                let seconds = cpu_seconds() - begun;
                assert!(seconds < 1.0, "{seconds} s for {start:?} and many {piece:?} as {kind:?}");
            }
        }
    }
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
