//! Writes a document, unit by unit.
//!
//! XML 1.0 cannot hold most control characters. XLIFF 2.1 has an element for them, `cp`; 1.2 has none: there, a unit whose
//! source has one is left out, one whose target has one is written without it, and a comment at the end says how many.

use super::model::Version;
use crate::formats::xml::{is_writable, push_attribute, push_comment, push_text};

/// How far a translation has come, as a document can say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It is written.
    Draft,
    /// It is reviewed.
    Reviewed,
    /// It is approved.
    Approved,
    /// Its source has changed since.
    Outdated,
}

/// A key and its translation.
#[derive(Clone, Debug)]
pub struct WrittenUnit<'u> {
    /// The key's id.
    pub id: &'u str,
    /// Its path.
    pub path: &'u str,
    /// What translators are told of it.
    pub note: Option<&'u str>,
    /// How far its translation has come.
    pub progress: Progress,
    /// What it says.
    pub content: Written<'u>,
}

/// Sources and targets.
#[derive(Clone, Debug)]
pub enum Written<'u> {
    /// Of a text.
    Text(Pair<'u>),
    /// Of a plural, with the names of the target locale's categories.
    Plural(Vec<(&'static str, Pair<'u>)>),
}

/// A source and its target.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'u> {
    /// The source.
    pub source: &'u str,
    /// None if there is none.
    pub target: Option<&'u str>,
}

/// Writes a document.
#[derive(Debug)]
pub struct Writer {
    version: Version,
    left_out: usize,
    without_target: usize,
}

impl Writer {
    /// Writes the beginning of a document: of one file, in two languages.
    pub fn begin(document: &mut String, version: Version, file: &File<'_>) -> Writer {
        document.push_str("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let original: String;
        let path = match is_writable(file.path) {
            true => file.path,
            false => {
                original = file.path.replace(|character: char| !is_writable(character.encode_utf8(&mut [0; 4])), "");
                &original
            }
        };
        match version {
            Version::V1 => {
                document.push_str("<xliff version=\"1.2\" xmlns=\"urn:oasis:names:tc:xliff:document:1.2\">\n<file");
                push_attribute(document, "original", path);
                push_attribute(document, "source-language", file.source_language);
                push_attribute(document, "target-language", file.target_language);
                document.push_str(" datatype=\"plaintext\">\n<body>\n");
            }
            Version::V2 => {
                document.push_str("<xliff version=\"2.1\" xmlns=\"urn:oasis:names:tc:xliff:document:2.0\"");
                push_attribute(document, "srcLang", file.source_language);
                push_attribute(document, "trgLang", file.target_language);
                document.push_str(">\n<file");
                push_attribute(document, "id", file.id);
                push_attribute(document, "original", path);
                document.push_str(">\n");
            }
        }
        Writer { version, left_out: 0, without_target: 0 }
    }

    /// Writes a key.
    pub fn unit(&mut self, document: &mut String, unit: &WrittenUnit<'_>) {
        match &unit.content {
            Written::Text(pair) => {
                let Some(with_target) = self.fit(&[*pair]) else { return };
                self.push_unit(document, unit, unit.id, *pair, with_target);
            }
            Written::Plural(forms) => {
                let pairs: Vec<Pair<'_>> = forms.iter().map(|(_, pair)| *pair).collect();
                let Some(with_target) = self.fit(&pairs) else { return };
                document.push_str("<group");
                push_attribute(document, "id", unit.id);
                self.push_path(document, unit.path);
                document.push_str(">\n");
                for (category, pair) in forms {
                    self.push_unit(document, unit, &format!("{}.{category}", unit.id), *pair, with_target);
                }
                document.push_str("</group>\n");
            }
        }
    }

    /// Writes the end.
    pub fn end(self, document: &mut String) {
        for (count, what) in [(self.left_out, "are left out"), (self.without_target, "are without their targets")] {
            if count > 0 {
                let text = format!("{count} {what}: XLIFF 1.2 cannot hold their control characters, 2.1 can");
                push_comment(document, &text);
            }
        }
        document.push_str(match self.version {
            Version::V1 => "</body>\n</file>\n</xliff>\n",
            Version::V2 => "</file>\n</xliff>\n",
        });
    }

    /// Whether a key can be written with its targets; `None`: it cannot be written at all.
    fn fit(&mut self, pairs: &[Pair<'_>]) -> Option<bool> {
        if self.version == Version::V2 {
            return Some(true);
        }
        if !pairs.iter().all(|pair| is_writable(pair.source)) {
            self.left_out += 1;
            return None;
        }
        let fits = pairs.iter().all(|pair| pair.target.is_none_or(is_writable));
        self.without_target += usize::from(!fits);
        Some(fits)
    }

    fn push_path(&self, document: &mut String, path: &str) {
        let name = match self.version {
            Version::V1 => "resname",
            Version::V2 => "name",
        };
        if is_writable(path) {
            push_attribute(document, name, path);
        }
    }

    fn push_unit(&self, document: &mut String, unit: &WrittenUnit<'_>, id: &str, pair: Pair<'_>, with_target: bool) {
        let target = pair.target.filter(|_| with_target);
        let note = unit.note.filter(|note| is_writable(note));
        document.push_str(match self.version {
            Version::V1 => "<trans-unit",
            Version::V2 => "<unit",
        });
        push_attribute(document, "id", id);
        self.push_path(document, unit.path);
        match self.version {
            Version::V1 => {
                if target.is_some() && unit.progress == Progress::Approved {
                    document.push_str(" approved=\"yes\"");
                }
                document.push_str(">\n");
                push_content(document, "source", None, pair.source);
                if let Some(target) = target {
                    push_content(document, "target", Some(state_of_1(unit.progress)), target);
                }
                if let Some(note) = note {
                    document.push_str("<note>");
                    push_text(document, note);
                    document.push_str("</note>\n");
                }
                document.push_str("</trans-unit>\n");
            }
            Version::V2 => {
                document.push_str(">\n");
                if let Some(note) = note {
                    document.push_str("<notes><note>");
                    push_text(document, note);
                    document.push_str("</note></notes>\n");
                }
                document.push_str("<segment");
                if target.is_some() {
                    push_attribute(document, "state", state_of_2(unit.progress));
                }
                document.push_str(">\n");
                push_content(document, "source", None, pair.source);
                if let Some(target) = target {
                    push_content(document, "target", None, target);
                }
                document.push_str("</segment>\n</unit>\n");
            }
        }
    }
}

/// The file that a document is of.
#[derive(Clone, Copy, Debug)]
pub struct File<'f> {
    /// Its id.
    pub id: &'f str,
    /// Its path.
    pub path: &'f str,
    /// The tag of its sources.
    pub source_language: &'f str,
    /// The tag of its targets.
    pub target_language: &'f str,
}

const fn state_of_1(progress: Progress) -> &'static str {
    match progress {
        Progress::Draft => "needs-review-translation",
        Progress::Reviewed => "signed-off",
        Progress::Approved => "final",
        Progress::Outdated => "needs-adaptation",
    }
}

const fn state_of_2(progress: Progress) -> &'static str {
    match progress {
        Progress::Draft => "translated",
        Progress::Reviewed => "reviewed",
        Progress::Approved => "final",
        Progress::Outdated => "initial",
    }
}

/// A source or a target. Many readers collapse white space where they are not told to preserve it.
fn push_content(document: &mut String, name: &str, state: Option<&str>, text: &str) {
    document.push('<');
    document.push_str(name);
    document.push_str(" xml:space=\"preserve\"");
    if let Some(state) = state {
        push_attribute(document, "state", state);
    }
    document.push('>');
    if is_writable(text) {
        push_text(document, text);
    } else {
        push_with_controls(document, text);
    }
    document.push_str("</");
    document.push_str(name);
    document.push_str(">\n");
}

/// Characters that XML cannot hold, as XLIFF 2 says them.
fn push_with_controls(document: &mut String, text: &str) {
    for character in text.chars() {
        let mut bytes = [0; 4];
        let one = character.encode_utf8(&mut bytes);
        match is_writable(one) {
            true => push_text(document, one),
            false => document.push_str(&format!("<cp hex=\"{:04X}\"/>", u32::from(character))),
        }
    }
}
