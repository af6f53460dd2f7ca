//! The same questions, put to rapidfuzz (`tests/corpora/distances.py`), over random texts and those of real files.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use super::{LETTERS, changed, random_text};
use crate::formats::{Content, Kind, read};
use crate::likeness::score::composed;
use crate::likeness::{CHARS_MAX, Entry, Index, Query, SCORE_LEAST, Unit, Wish};

struct Known(usize, String);

impl Unit for Known {
    fn source(&self) -> &str {
        &self.1
    }
    fn written_micros(&self) -> i64 {
        0
    }
}

/// Every text of the real files that there are.
fn real_texts(corpora: &Path) -> BTreeSet<String> {
    let mut texts = BTreeSet::new();
    for (folder, kind) in [("json", Kind::Json), ("properties", Kind::Properties), ("yaml", Kind::Rails { root: "en" })]
    {
        for entry in fs::read_dir(corpora.join("files").join(folder)).unwrap() {
            let bytes = fs::read(entry.unwrap().path()).unwrap();
            let until = Instant::now() + std::time::Duration::from_secs(60);
            let Ok(document) = read(kind, &bytes, until) else { continue };
            for unit in document.units() {
                if let Content::Text(text) = unit.content() {
                    texts.insert(text.clone());
                }
            }
        }
    }
    texts
}

#[test]
fn rapidfuzz_finds_the_same() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpora/fetch.sh");
    let output = Command::new(script).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "rapidfuzz cannot be had");
    let corpora = std::path::PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
    let mut random = fastrand::Rng::with_seed(17);
    let mut sources: Vec<String> =
        real_texts(&corpora).into_iter().filter(|text| text.chars().count() <= CHARS_MAX).collect();
    assert!(sources.len() > 5000, "{}", sources.len());
    random.shuffle(&mut sources);
    sources.truncate(20_000);
    for _ in 0..2000 {
        let length = random.usize(..80);
        sources.push(random_text(&mut random, LETTERS, length));
    }
    let mut queries = Vec::new();
    for _ in 0..150 {
        let text = sources[random.usize(..sources.len())].clone();
        let changes = random.usize(..3 + text.chars().count() / 8);
        queries.push(changed(&mut random, LETTERS, &text, changes));
    }
    let pairs: Vec<[String; 2]> = (0..2000)
        .map(|_| {
            let one = sources[random.usize(..sources.len())].clone();
            let changes = random.usize(..6 + one.len() / 8);
            let other = changed(&mut random, LETTERS, &one, changes);
            [one, other]
        })
        .collect();
    let directory = tempfile::tempdir().unwrap();
    let asked = directory.path().join("asked.json");
    fs::write(&asked, json!({"pairs": pairs, "queries": queries, "sources": sources}).to_string()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpora/distances.py");
    let told = Command::new(corpora.join("python/bin/python3")).arg(script).arg(&asked).output().unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();

    for (place, [one, other]) in pairs.iter().enumerate() {
        let (one, other) = (composed(one), composed(other));
        let length = other.chars().count();
        let distance =
            crate::likeness::pattern::Pattern::of(&one).distance_within(&other, length, usize::MAX / 4, &mut 0);
        assert_eq!(json!(distance), told["distances"][place], "{one:?} {other:?}");
    }
    let mut index = Index::default();
    for (id, source) in (0..).zip(&sources) {
        index.add(&Entry { id, written_micros: 0, source });
    }
    let wish = Wish { least: SCORE_LEAST, count: usize::MAX, without: None, effort: u64::MAX };
    let mut found_at_all = 0;
    for (place, query) in queries.iter().enumerate() {
        let read = |id: u128| Ok::<_, Infallible>(Some(Known(id as usize, sources[id as usize].clone())));
        let found = index.search(&Query::of(query).unwrap(), wish, read).unwrap();
        let found: BTreeSet<(u64, u64)> =
            found.iter().map(|(score, unit)| (u64::from(*score), unit.0 as u64)).collect();
        let theirs = told["found"][place].as_array().unwrap().iter();
        let theirs: BTreeSet<(u64, u64)> =
            theirs.map(|one| (one[0].as_u64().unwrap(), one[1].as_u64().unwrap())).collect();
        assert_eq!(found, theirs, "{query:?}");
        found_at_all += found.len();
    }
    assert!(found_at_all > 100, "{found_at_all}");
}
