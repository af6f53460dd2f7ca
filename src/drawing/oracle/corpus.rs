//! Real graphs, and mutations of them.

use std::path::Path;

/// One source.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name of its file, or of the file and the mutation.
    pub name: String,
    /// What it holds.
    pub source: Vec<u8>,
}

/// The files of the corpus, by name.
pub fn files(top: &Path) -> Vec<Case> {
    let mut cases: Vec<Case> = std::fs::read_dir(top.join("corpus"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "gv" || extension == "dot"))
        .map(|path| Case {
            name: path.file_name().unwrap().to_string_lossy().into_owned(),
            source: std::fs::read(&path).unwrap(),
        })
        .collect();
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
}

/// Pieces that matter to the grammar, to be put in.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ";",
    ",",
    ":",
    "=",
    "+",
    "->",
    "--",
    "\"",
    "<",
    ">",
    "/*",
    "*/",
    "//",
    "#",
    "\n",
    "\n# 5 \"x\"\n",
    "\\",
    "\\\n",
    "graph",
    "digraph",
    "node",
    "edge",
    "subgraph",
    "strict",
    "1a",
    "-.5",
    "-",
    ".",
    "é",
    "@",
    "&amp;",
    "\"a\" + \"b\"",
    "<b>",
    "[a=b]",
    "{ a b } -> c",
    "subgraph x { y }",
    "\u{feff}",
    "\r\n",
    "\t",
    "\u{1}",
    "NODE",
];

/// `count` sources made from those of `files` by one to four changes each, the same ones for the same seed.
pub fn mutations(files: &[Case], count: usize, seed: u64) -> Vec<Case> {
    let mut random = fastrand::Rng::with_seed(seed);
    // Changes to the largest ones would mostly repeat what changes to the others show.
    let files: Vec<&Case> = files.iter().filter(|case| case.source.len() < 20_000).collect();
    (0..count)
        .map(|number| {
            let case = files[random.usize(..files.len())];
            let mut source = case.source.clone();
            for _ in 0..random.usize(1..=4) {
                mutate(&mut source, &mut random);
            }
            Case { name: format!("{}~{seed}.{number}", case.name), source }
        })
        .collect()
}

fn mutate(source: &mut Vec<u8>, random: &mut fastrand::Rng) {
    let at = random.usize(..=source.len());
    match random.u32(..10) {
        // A byte goes, comes, or changes.
        0 if at < source.len() => {
            source.remove(at);
        }
        1 => source.insert(at, random.u8(..)),
        2 if at < source.len() => source[at] = random.u8(32..127),
        // A stretch goes, or comes twice.
        3 => {
            let end = (at + random.usize(..40)).min(source.len());
            source.drain(at..end);
        }
        4 => {
            let end = (at + random.usize(..40)).min(source.len());
            let copy = source[at..end].to_vec();
            source.splice(at..at, copy);
        }
        // The rest goes.
        5 if random.u32(..4) == 0 => source.truncate(at),
        // One piece of the grammar goes, where there is one.
        6 => {
            let piece = PIECES[random.usize(..12)].as_bytes();
            let places: Vec<usize> =
                source.windows(piece.len()).enumerate().filter(|(_, w)| *w == piece).map(|(i, _)| i).collect();
            if !places.is_empty() {
                let at = places[random.usize(..places.len())];
                source.drain(at..at + piece.len());
            }
        }
        _ => {
            let piece = PIECES[random.usize(..PIECES.len())];
            source.splice(at..at, piece.bytes());
        }
    }
}
