//! Real translations: the files of the corpora whose English is there too, key by key (`tests/corpora/fetch.sh`). Tests and
//! measurements share it; their modules bring the readers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::formats::{Content, Kind, read};
use super::language::{Category, Locale};

/// A key whose text somebody has translated.
pub struct Translated {
    /// Whose it is.
    pub corpus: String,
    /// `json`, `yaml` or `properties`.
    pub kind: &'static str,
    /// What it was translated from.
    pub source_locale: Locale,
    /// What it was translated into.
    pub locale: Locale,
    /// The key's path.
    pub path: String,
    /// The form, if it is a plural, its source and its text.
    pub texts: Vec<(Option<Category>, String, String)>,
    /// The source's own `one` of a plural.
    pub source_one: Option<String>,
}

/// Everything that is translated in the corpora, in the order of files and keys. What says nothing was not translated yet.
pub fn translated(corpora: &Path) -> Vec<Translated> {
    let mut all = Vec::new();
    for kind in ["json", "properties", "yaml"] {
        let mut files: BTreeMap<String, BTreeMap<String, PathBuf>> = BTreeMap::new();
        for entry in fs::read_dir(corpora.join("files").join(kind)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            if let Some((group, tag)) = group_and_tag(&name) {
                files.entry(group).or_default().insert(tag, path);
            }
        }
        for (group, mut of_group) in files {
            let source = ["en", "en-US", ""].into_iter().find_map(|tag| of_group.remove_entry(tag));
            let Some((_, source)) = source else { continue };
            let source_units = units(kind, &source);
            for (tag, path) in of_group {
                let Some(locale) = locale(&tag) else { continue };
                let corpus = group.split(['-', '_']).next().unwrap_or_default().to_owned();
                for (path, content) in units(kind, &path) {
                    let Some((texts, source_one)) = source_units.get(&path).and_then(|of| texts(of, content)) else {
                        continue;
                    };
                    let (corpus, locale, source_locale) =
                        (corpus.clone(), locale.clone(), Locale::parse("en").unwrap());
                    all.push(Translated { corpus, kind, source_locale, locale, path, texts, source_one });
                }
            }
        }
    }
    all
}

/// What a file belongs to and its language. Names of countries and made-up data are no translations.
fn group_and_tag(name: &str) -> Option<(String, String)> {
    if ["ruby-faker", "i18n-iso", "tomcat9-i18n"].iter().any(|prefix| name.starts_with(prefix)) {
        return None;
    }
    // Its English lies in another archive than its translations.
    let name = name.replace("freeplaneeditor-1.7.10__translations", "freeplaneviewer__translations");
    let parts: Vec<&str> = name.split("__").collect();
    if let [package, tag, file] = parts[..]
        && package.starts_with("node-red")
    {
        return Some((format!("node-red-{package}-{file}"), tag.to_owned()));
    }
    if let [package, "locales", tag] = parts[..] {
        return Some((package.to_owned(), tag.to_owned()));
    }
    let is_language = |part: &&str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_region = |part: &&str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_uppercase());
    let pieces: Vec<&str> = name.split('_').collect();
    match &pieces[..] {
        [stem @ .., language, region] if is_language(language) && is_region(region) => {
            Some((stem.join("_"), format!("{language}-{region}")))
        }
        [stem @ .., language] if is_language(language) => Some((stem.join("_"), (*language).to_owned())),
        _ => Some((name.clone(), String::new())),
    }
}

/// The locale of a tag; where the script is a matter of course to those who named the file, it is said.
fn locale(tag: &str) -> Option<Locale> {
    let tag = match tag {
        "sr" => "sr-Cyrl",
        "sr-YU" => "sr-Latn",
        "az" => "az-Latn",
        "zh" => "zh-Hans",
        tag => tag,
    };
    Locale::parse(tag).ok()
}

fn units(kind: &str, path: &Path) -> BTreeMap<String, Content> {
    let bytes = fs::read(path).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with(['#', '-', '%', '\u{feff}']));
    let root = line.unwrap_or_default().split(':').next().unwrap_or_default().trim().trim_matches(['"', '\'']);
    let kind = match kind {
        "json" => Kind::Json,
        "properties" => Kind::Properties,
        _ => Kind::Rails { root },
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    let Ok(document) = read(kind, &bytes, deadline) else { return BTreeMap::new() };
    document.into_units().into_iter().map(|unit| unit.into_parts()).collect()
}

/// The texts of a key, each with its source; `None` where it is not translated or is a text here and a plural there.
type Texts = (Vec<(Option<Category>, String, String)>, Option<String>);

fn texts(source: &Content, target: Content) -> Option<Texts> {
    let (texts, one) = match (source, target) {
        (Content::Text(source), Content::Text(target)) => (vec![(None, source.clone(), target)], None),
        (Content::Plural(source), Content::Plural(target)) => {
            let other = source.get(&Category::Other)?;
            let texts = target
                .into_iter()
                .map(|(category, text)| (Some(category), source.get(&category).unwrap_or(other).clone(), text));
            (texts.collect(), source.get(&Category::One).cloned())
        }
        _ => return None,
    };
    let says_something = texts.iter().all(|(_, source, target)| !source.trim().is_empty() && !target.trim().is_empty());
    says_something.then_some((texts, one))
}
