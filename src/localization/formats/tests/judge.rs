//! Parsers that are not ours (`tests/corpora/judge.py`), and the files they are asked about.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::formats::Kind;

pub(crate) use crate::testing::{corpora, is_long};

/// Files to be judged.
pub struct Judge {
    python: PathBuf,
    directory: tempfile::TempDir,
    manifest: fs::File,
    pub files: usize,
}

impl Judge {
    pub fn new(corpora: &Path) -> Judge {
        let directory = tempfile::tempdir().unwrap();
        let manifest = fs::File::create(directory.path().join("manifest")).unwrap();
        Judge { python: corpora.join("python/bin/python3"), directory, manifest, files: 0 }
    }

    /// Asks for a file; its string values must be these, in this order.
    pub fn ask(&mut self, kind: Kind<'_>, bytes: &[u8], values: &[(&str, &str)], may_be_refused: bool) {
        self.put(kind, bytes, json!({"values": values, "may_be_refused": may_be_refused}));
    }

    /// Asks for a file that must be refused.
    pub fn ask_refused(&mut self, kind: Kind<'_>, bytes: &[u8]) {
        self.put(kind, bytes, json!({"values": [], "must_be_refused": true}));
    }

    fn put(&mut self, kind: Kind<'_>, bytes: &[u8], mut entry: Value) {
        let (name, root) = match kind {
            Kind::Json => ("json", None),
            Kind::Properties => ("properties", None),
            Kind::Rails { root } => ("yaml", Some(root)),
            Kind::Flat => ("yaml", None),
        };
        let file = self.directory.path().join(format!("{}.{name}", self.files));
        self.files += 1;
        fs::write(&file, bytes).unwrap();
        entry["kind"] = json!(name);
        entry["file"] = json!(file);
        entry["root"] = json!(root);
        writeln!(self.manifest, "{entry}").unwrap();
    }

    /// What the parsers say. In a long run, more of them.
    pub fn verdict(self) -> Value {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpora/judge.py");
        let mut judge = Command::new(&self.python);
        judge.arg(script).arg(self.directory.path().join("manifest"));
        if is_long() {
            judge.arg("thorough");
        }
        let output = judge.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let verdict: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(verdict["files"], self.files);
        if verdict["wrong"] != 0 {
            eprintln!("the files are kept in {}", self.directory.keep().display());
        }
        verdict
    }
}
