//! Real files of real projects: what is accepted comes back byte for byte, and what is changed says what it should to
//! parsers that are not ours. `make corpora-long` tries all files and all variants; a change tries a share of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use fastrand::Rng;

use super::judge::{Judge, corpora, is_long};
use super::texts::{hostile_text, random_forms};
use super::{document, soon};
use crate::formats::budget::Budget;
use crate::formats::model::{Document, Parts, Separator, Style};
use crate::formats::read::scan;
use crate::formats::{Content, Edit, Forms, Kind, Unit, read};

#[derive(Default, Debug)]
struct Tally {
    tried: usize,
    accepted: usize,
    refused: BTreeMap<String, usize>,
    identical: usize,
    edited: usize,
}

/// The text before the first colon of the first line that is more than a comment or a mark.
fn root_of(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with(['#', '-', '%', '\u{feff}']));
    let name = line.unwrap_or_default().split(':').next().unwrap_or_default();
    name.trim().trim_matches(['"', '\'']).to_owned()
}

/// The file itself, with CR LF for LF, with a byte order mark.
fn variants(bytes: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut variants = vec![("", bytes.to_vec())];
    let text = std::str::from_utf8(bytes);
    if !bytes.contains(&b'\r') {
        let crlf = bytes.split(|byte| *byte == b'\n').collect::<Vec<_>>().join(b"\r\n".as_slice());
        variants.push((".crlf", crlf));
    }
    if text.is_ok_and(|text| !text.starts_with('\u{feff}')) {
        variants.push((".bom", [b"\xef\xbb\xbf", bytes].concat()));
    }
    variants
}

/// The bytes with each value of those units struck out.
fn struck_out(document: &Document<'_>, units: &[usize]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut at = 0;
    for unit in units {
        let Parts::Text(leaf) = document.parts[*unit] else { continue };
        let leaf = &document.scan.leaves[leaf];
        out.extend_from_slice(&document.bytes[at..leaf.value.start]);
        out.push(0);
        at = leaf.value.end;
    }
    out.extend_from_slice(&document.bytes[at..]);
    out
}

/// What a unit will say, owned.
enum Wish {
    Keep,
    Text(String),
    Forms(Forms),
    Omit,
}

impl Wish {
    fn edit(&self) -> Edit<'_> {
        match self {
            Wish::Keep => Edit::Keep,
            Wish::Text(text) => Edit::Text(text),
            Wish::Forms(forms) => Edit::Forms(forms),
            Wish::Omit => Edit::Omit,
        }
    }
}

struct Trial {
    judge: Judge,
    tally: Tally,
}

impl Trial {
    /// Tries a file; with edits if `edits`.
    fn file(&mut self, name: &str, kind: Kind<'_>, bytes: &[u8], edits: bool) {
        self.tally.tried += 1;
        let document = match read(kind, bytes, soon()) {
            Ok(document) => document,
            Err(refusal) => {
                *self.tally.refused.entry(refusal.code.to_string()).or_default() += 1;
                return;
            }
        };
        self.tally.accepted += 1;
        let keep = vec![Edit::Keep; document.units().len()];
        let root = if let Kind::Rails { root } = kind { Some(root) } else { None };
        assert_eq!(document.export(root, &keep, soon()).unwrap(), bytes, "{name}");
        self.tally.identical += 1;
        if !edits {
            return;
        }
        let mut rng = Rng::with_seed(bytes.len() as u64);
        self.texts_alone(name, kind, &document, &mut rng);
        self.all_kinds_of_edits(name, kind, &document, &mut rng);
    }

    /// Changes values of texts, and sees that nothing else has changed.
    fn texts_alone(&mut self, name: &str, kind: Kind<'_>, document: &Document<'_>, rng: &mut Rng) {
        let mut changed = Vec::new();
        let wishes: Vec<Wish> = document
            .units()
            .iter()
            .enumerate()
            .map(|(index, unit)| match unit.content() {
                Content::Text(old) if rng.bool() => {
                    let text = hostile_text(rng);
                    if text == *old {
                        return Wish::Keep;
                    }
                    changed.push(index);
                    Wish::Text(text)
                }
                _ => Wish::Keep,
            })
            .collect();
        let edits: Vec<Edit<'_>> = wishes.iter().map(Wish::edit).collect();
        let root = if let Kind::Rails { root } = kind { Some(root) } else { None };
        let written = document.export(root, &edits, soon()).unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
        let again = self::document(kind, &written);
        // A key without a separator gets one, so such a file differs there.
        let missing = document.scan.leaves.iter().any(|leaf| matches!(leaf.style, Style::Property(Separator::Missing)));
        let latin1 = document.scan.latin1 && !again.scan.latin1;
        if !missing && !latin1 {
            let before = struck_out(document, &changed);
            assert!(before == struck_out(&again, &changed), "{name}: bytes beside the values have changed");
        }
        self.ask_the_judge(kind, root, &wishes, document.units(), &written);
    }

    fn all_kinds_of_edits(&mut self, name: &str, kind: Kind<'_>, document: &Document<'_>, rng: &mut Rng) {
        let wishes: Vec<Wish> = document
            .units()
            .iter()
            .map(|unit| match unit.content() {
                _ if rng.u8(..4) == 0 => Wish::Keep,
                _ if kind == Kind::Json && rng.u8(..3) == 0 => Wish::Omit,
                Content::Text(_) => Wish::Text(hostile_text(rng)),
                Content::Plural(_) => Wish::Forms(random_forms(rng)),
            })
            .collect();
        let edits: Vec<Edit<'_>> = wishes.iter().map(Wish::edit).collect();
        let root = if let Kind::Rails { .. } = kind { Some("zh-TW") } else { None };
        let written = document.export(root, &edits, soon()).unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
        self.ask_the_judge(kind, root, &wishes, document.units(), &written);
    }

    /// Puts a file and what it must say where the judge finds both. Plurals are one value for each member; which of
    /// them a wish has, and where, follows from the categories.
    fn ask_the_judge(&mut self, kind: Kind<'_>, root: Option<&str>, wishes: &[Wish], units: &[Unit], written: &[u8]) {
        self.tally.edited += 1;
        let mut values: BTreeMap<String, String> = BTreeMap::new();
        for (unit, wish) in units.iter().zip(wishes) {
            let separator = if kind == Kind::Json { '_' } else { '.' };
            match (wish, unit.content()) {
                (Wish::Text(text), _) => {
                    values.insert(unit.path().to_owned(), text.clone());
                }
                (Wish::Omit, _) if !unit.stays_when_omitted() => {}
                (_, Content::Text(text)) => {
                    values.insert(unit.path().to_owned(), text.clone());
                }
                (_, Content::Plural(old)) => {
                    let forms = if let Wish::Forms(forms) = wish { forms } else { old };
                    for (category, form) in forms {
                        values.insert(format!("{}{separator}{}", unit.path(), category.name()), form.clone());
                    }
                }
            }
        }
        // The order is the file's; the judge compares it, so it is taken from the file.
        let new_kind = match root {
            Some(root) => Kind::Rails { root },
            None => kind,
        };
        let found = scan(new_kind, written, &mut Budget::until(soon())).unwrap();
        assert_eq!(found.leaves.len(), values.len());
        let ordered: Vec<(&str, &str)> =
            found.leaves.iter().map(|leaf| (leaf.path.as_str(), values[&leaf.path].as_str())).collect();
        self.judge.ask(new_kind, written, &ordered, false);
    }
}

#[test]
fn real_files_come_back_byte_for_byte_and_read_alike() {
    let Some(corpora) = corpora() else { return };
    let mut trial = Trial { judge: Judge::new(&corpora), tally: Tally::default() };
    for kind in ["json", "properties", "yaml"] {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(corpora.join("files").join(kind)).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for (index, path) in paths.iter().enumerate() {
            let original = fs::read(path).unwrap();
            for (number, (ending, bytes)) in variants(&original).into_iter().enumerate() {
                let edits = is_long() || (index + number) % 25 == 0;
                let name = format!("{}{ending}", path.display());
                match kind {
                    "json" => trial.file(&name, Kind::Json, &bytes, edits),
                    "properties" => trial.file(&name, Kind::Properties, &bytes, edits),
                    _ => {
                        trial.file(&name, Kind::Rails { root: &root_of(&original) }, &bytes, edits);
                        trial.file(&name, Kind::Flat, &bytes, edits);
                    }
                }
            }
        }
    }
    let Trial { tally, judge } = trial;
    let verdict = judge.verdict();
    println!("files tried {}, accepted {}, refused {:?}", tally.tried, tally.accepted, tally.refused);
    println!("byte-identical {}, edited {}", tally.identical, tally.edited);
    println!("values compared {}, wrong {}", verdict["values"], verdict["wrong"]);
    println!("judge: {verdict:#}");
    assert_eq!(verdict["wrong"], 0);
    assert_eq!(tally.accepted, tally.identical);
    let missing = fs::read_to_string(corpora.join("missing")).unwrap();
    assert!(tally.accepted > 5_000 || !missing.is_empty(), "{tally:?}");
}
