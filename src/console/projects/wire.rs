//! What localization's interface answers, as far as pages show it (contract 1).

use std::collections::BTreeMap;

use serde::Deserialize;

#[derive(Deserialize)]
pub struct Project {
    pub id: String,
    pub name: String,
    pub slug: String,
    pub source_locale: String,
}

#[derive(Deserialize)]
pub struct Projects {
    pub projects: Vec<Project>,
    pub next_cursor: Option<String>,
}

#[derive(Deserialize)]
pub struct Stats {
    pub keys: u64,
    pub words: u64,
    pub locales: Vec<LocaleStats>,
}

#[derive(Deserialize)]
pub struct LocaleStats {
    pub locale: String,
    pub keys: u64,
    pub states: BTreeMap<String, u64>,
    pub failing: Failing,
}

#[derive(Deserialize)]
pub struct Failing {
    pub checks: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
pub struct File {
    pub file_id: String,
    pub path: String,
    pub format: String,
    pub version: u64,
    pub keys: u64,
}

#[derive(Deserialize)]
pub struct Files {
    pub files: Vec<File>,
    pub next_cursor: Option<String>,
}

#[derive(Deserialize)]
pub struct Release {
    pub id: String,
    pub entries: u64,
    pub size: u64,
    pub sha256: String,
    pub created_at: String,
    pub withdrawn: bool,
}

#[derive(Deserialize)]
pub struct Releases {
    pub releases: Vec<Release>,
}

/// Texts by the name of their plural category.
pub type Forms = BTreeMap<String, String>;

#[derive(Deserialize)]
pub struct Listed {
    pub key_id: String,
    pub state: String,
    pub revision: u64,
    pub text: Option<String>,
    pub forms: Option<Forms>,
    pub path: String,
    pub source: Option<String>,
    pub source_forms: Option<Forms>,
    pub failed: Vec<String>,
}

#[derive(Deserialize)]
pub struct Translations {
    pub translations: Vec<Listed>,
    pub next_cursor: Option<String>,
}

#[derive(Deserialize)]
pub struct Key {
    pub id: String,
    pub project_id: String,
    pub path: String,
    pub source: Option<String>,
    pub forms: Option<Forms>,
    pub obsolete: bool,
    pub context: Option<String>,
    pub class: Option<String>,
    pub min_length: Option<u32>,
    pub max_length: Option<u32>,
}

#[derive(Clone, Deserialize)]
pub struct Translation {
    pub state: String,
    pub revision: u64,
    pub text: Option<String>,
    pub forms: Option<Forms>,
    pub updated_at: Option<String>,
    pub origin: Option<String>,
}

#[derive(Deserialize)]
pub struct Check {
    pub check: String,
    pub name: String,
    pub blocking: bool,
    pub status: String,
    pub detail: Option<String>,
}

#[derive(Deserialize)]
pub struct Annotations {
    pub checks: Vec<Check>,
}

#[derive(Deserialize)]
pub struct Suggestion {
    pub score: u32,
    pub source: String,
    pub target: String,
}

#[derive(Deserialize)]
pub struct Suggestions {
    pub suggestions: Vec<Suggestion>,
}

#[derive(Deserialize)]
pub struct Term {
    pub id: String,
    pub kind: String,
    pub locale: Option<String>,
    pub source: Option<String>,
    pub target: Option<String>,
    pub note: Option<String>,
}

#[derive(Deserialize)]
pub struct Terms {
    pub terms: Vec<Term>,
    pub next_cursor: Option<String>,
}

#[derive(Default, Deserialize)]
pub struct Style {
    pub locale: String,
    pub scope: String,
    pub text: String,
    pub register: Option<String>,
}

#[derive(Deserialize)]
pub struct Styles {
    pub styles: Vec<Style>,
}
