//! translate-toolkit reads everything that is written here, and what it writes is read here, over the texts of real string
//! files. Both sides say the same in every unit: what does not is printed, and fails.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::judge::{corpora, is_long};
use super::soon;
use crate::formats::limits::UNITS_MAX;
use crate::formats::tbx::{Concept, TbxReader, Term, begin_tbx, end_tbx, push_concept};
use crate::formats::tmx::{TmxPair, TmxReader, TmxWriter};
use crate::formats::xliff::{File, Pair, Progress, UnitReader, Version, Writer, Written, WrittenUnit};
use crate::formats::xml::is_writable;
use crate::formats::{Content, Kind, read};

/// A unit on both sides: id, source, target.
type Row = (String, String, Option<String>);

/// The texts of a file; plurals give one for each form.
fn texts(kind: &str, bytes: &[u8]) -> Vec<String> {
    let kind = match kind {
        "json" => Kind::Json,
        "properties" => Kind::Properties,
        _ => Kind::Flat,
    };
    let Ok(document) = read(kind, bytes, soon()) else { return Vec::new() };
    let texts = document.units().iter().flat_map(|unit| match unit.content() {
        Content::Text(text) => vec![text.clone()],
        Content::Plural(forms) => forms.values().cloned().collect(),
    });
    texts.collect()
}

/// Units of texts: every fifth has no target; the others' have what is easily lost: white space, markup, line ends.
fn rows(texts: &[String]) -> Vec<Row> {
    let odd =
        ["", " ", "\t", "\n", "\r", "\r\n", "]]>", "<b>&amp;</b>", "\u{a0}", "\u{2028}", "'\"", "\u{85}", "\u{fffd}😀"];
    let row = |(number, text): (usize, &String)| {
        let target = format!("{}{}{text}{}", odd[number % odd.len()], text.len(), odd[number / 7 % odd.len()]);
        (format!("k{number}"), text.clone(), (number % 5 != 4).then_some(target))
    };
    texts.iter().enumerate().filter(|(_, text)| is_writable(text)).map(row).collect()
}

fn xliff(version: Version, rows: &[Row]) -> String {
    let mut document = String::new();
    let file = File { id: "f", path: "dir/file", source_language: "en", target_language: "de" };
    let mut writer = Writer::begin(&mut document, version, &file);
    for (number, (id, source, target)) in rows.iter().enumerate() {
        let pair = Pair { source, target: target.as_deref() };
        // Every eleventh as a plural of one form.
        let content = if number % 11 == 0 { Written::Plural(vec![("other", pair)]) } else { Written::Text(pair) };
        let progress = [Progress::Draft, Progress::Reviewed, Progress::Approved, Progress::Outdated][number % 4];
        writer.unit(&mut document, &WrittenUnit { id, path: source, note: Some(source), progress, content });
    }
    writer.end(&mut document);
    document
}

fn tmx(rows: &[Row]) -> String {
    let mut document = String::new();
    let mut writer = TmxWriter::begin(&mut document, "en");
    for (_, source, target) in rows {
        let target = target.as_deref().unwrap_or("-");
        writer.unit(&mut document, &TmxPair { source_language: "en", source, target_language: "de", target });
    }
    writer.end(&mut document);
    document
}

fn tbx(rows: &[Row]) -> String {
    let mut document = String::new();
    begin_tbx(&mut document, "en");
    for (id, source, target) in rows {
        let term =
            |language: &str, text: &str| Term { language: language.into(), text: text.into(), is_forbidden: false };
        let mut terms = vec![term("en", source)];
        terms.extend(target.as_deref().map(|target| term("de", target)));
        push_concept(&mut document, id, &Concept { terms, note: Some(source.clone()), locale: None });
    }
    end_tbx(&mut document);
    document
}

/// What is read here of a document, as rows; ids where the format has them.
fn read_back(kind: &str, bytes: &[u8]) -> Result<Vec<Row>, String> {
    let told = |error: crate::formats::ReadError| error.to_string();
    let mut rows = Vec::new();
    match kind {
        "xliff1" | "xliff2" => {
            let mut reader = UnitReader::begin(bytes, soon()).map_err(told)?;
            while let Some(unit) = reader.next_unit().map_err(told)? {
                rows.push((unit.id, unit.source.text, unit.target.map(|target| target.text)));
            }
        }
        "tmx" => {
            let mut reader = TmxReader::begin(bytes, soon()).map_err(told)?;
            while let Some(unit) = reader.next_unit().map_err(told)? {
                let mut texts = unit.variants.into_iter().map(|variant| variant.text.unwrap_or_default());
                rows.push((String::new(), texts.next().unwrap_or_default(), texts.next()));
            }
        }
        _ => {
            let mut reader = TbxReader::begin(bytes, soon()).map_err(told)?;
            while let Some(concept) = reader.next_concept().map_err(told)? {
                let mut texts = concept.terms.into_iter().map(|term| term.text);
                rows.push((String::new(), texts.next().unwrap_or_default(), texts.next()));
            }
        }
    }
    Ok(rows)
}

/// The documents that the toolkit is asked about, in one run of it.
struct Bench {
    directory: tempfile::TempDir,
    manifest: fs::File,
    asked: Vec<(String, &'static str, Vec<Row>)>,
}

impl Bench {
    fn new() -> Bench {
        let directory = tempfile::tempdir().unwrap();
        let manifest = fs::File::create(directory.path().join("manifest")).unwrap();
        Bench { directory, manifest, asked: Vec::new() }
    }

    fn path(&self, number: usize, what: &str) -> PathBuf {
        self.directory.path().join(format!("{number}.{what}"))
    }

    fn ask(&mut self, name: &str, kind: &'static str, document: &str, rows: Vec<Row>) {
        let number = self.asked.len();
        fs::write(self.path(number, "written"), document).unwrap();
        let entry = json!({
            "kind": kind, "file": self.path(number, "written"), "rows": rows,
            "edited": self.path(number, "edited"), "made": self.path(number, "made"),
        });
        writeln!(self.manifest, "{entry}").unwrap();
        self.asked.push((name.to_owned(), kind, rows));
    }

    /// The toolkit's answers, in the order of what was asked: for each document how many units it read, and where they
    /// differ.
    fn run(&self, corpora: &Path) -> Vec<Value> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpora/exchange.py");
        let output = Command::new(corpora.join("python/bin/python3"))
            .args([script.as_path(), &self.directory.path().join("manifest")])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let lines = String::from_utf8(output.stdout).unwrap();
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Counts by format and reader.
#[derive(Debug, Default)]
struct Tally {
    documents: usize,
    units: usize,
    differences: usize,
}

/// Rows as they were meant, against those that were read: the places where they differ.
fn differences(kind: &str, meant: &[Row], found: &[Row]) -> Vec<String> {
    let alike = |one: &Row, other: &Row| {
        let (source, target) = (one.1 == other.1, one.2.as_deref().unwrap_or("") == other.2.as_deref().unwrap_or(""));
        source && target && (!kind.starts_with("xliff") || one.0 == other.0)
    };
    let mut told: Vec<String> =
        meant.iter().zip(found).filter(|(one, other)| !alike(one, other)).map(|pair| format!("{pair:?}")).collect();
    if meant.len() != found.len() {
        told.push(format!("{} units, {} read", meant.len(), found.len()));
    }
    told
}

#[test]
fn the_toolkit_and_we_read_each_other() {
    let Some(corpora) = corpora() else { panic!("translate-toolkit cannot be had") };
    let mut bench = Bench::new();
    for kind in ["json", "properties", "yaml"] {
        let files = fs::read_dir(corpora.join("files").join(kind)).unwrap();
        let mut paths: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for (index, path) in paths.iter().enumerate() {
            if !is_long() && index % 60 != 7 {
                continue;
            }
            let rows = rows(&texts(kind, &fs::read(path).unwrap()));
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let as_written: Vec<Row> = rows
                .iter()
                .enumerate()
                .map(|(number, (id, source, target))| {
                    let id = if number % 11 == 0 { format!("{id}.other") } else { id.clone() };
                    (id, source.clone(), target.clone())
                })
                .collect();
            bench.ask(&name, "xliff1", &xliff(Version::V1, &rows), as_written.clone());
            bench.ask(&name, "xliff2", &xliff(Version::V2, &rows), as_written);
            let always =
                |(id, source, target): &Row| (id.clone(), source.clone(), Some(target.clone().unwrap_or("-".into())));
            let pairs: Vec<Row> = rows.iter().map(always).collect();
            bench.ask(&name, "tmx", &tmx(&rows), pairs);
            // Of two terms each, no more than a document may have.
            let concepts: Vec<Row> = rows.into_iter().take(UNITS_MAX / 2).collect();
            bench.ask(&name, "tbx", &tbx(&concepts), concepts);
        }
    }
    let answers = bench.run(&corpora);
    assert_eq!(answers.len(), bench.asked.len());
    let mut tally: BTreeMap<(&str, &str), Tally> = BTreeMap::new();
    let mut told = String::new();
    for (number, ((name, kind, rows), answer)) in bench.asked.iter().zip(&answers).enumerate() {
        let of_toolkit: Vec<String> = serde_json::from_value(answer["differences"].clone()).unwrap();
        let mut note = |reader: &'static str, units: usize, differences: Vec<String>| {
            let entry = tally.entry((kind, reader)).or_default();
            entry.documents += 1;
            entry.units += units;
            entry.differences += differences.len();
            for difference in differences.iter().take(3) {
                told += &format!("{name} {kind} {reader}: {difference}\n");
            }
        };
        note("ours, read by the toolkit", rows.len(), of_toolkit);
        for (reader, what, meant) in [
            ("edited by the toolkit, read here", "edited", &answer["edited"]),
            ("made by the toolkit, read here", "made", &answer["made"]),
        ] {
            let meant: Vec<Row> = serde_json::from_value(meant.clone()).unwrap();
            let differences = match read_back(kind, &fs::read(bench.path(number, what)).unwrap()) {
                Ok(found) => differences(kind, &meant, &found),
                Err(error) => vec![error],
            };
            note(reader, meant.len(), differences);
        }
    }
    println!("| format | reader | documents | units | differences |\n|---|---|---|---|---|");
    for ((kind, reader), Tally { documents, units, differences }) in &tally {
        println!("| {kind} | {reader} | {documents} | {units} | {differences} |");
    }
    assert!(told.is_empty(), "{told}");
    assert!(tally.values().map(|entry| entry.units).sum::<usize>() > 1_000, "{tally:?}");
}
