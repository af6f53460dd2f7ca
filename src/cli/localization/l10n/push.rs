//! `quintet l10n push`: sources that differ here are uploaded.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use data_encoding::HEXLOWER;
use quintet_localization::formats::{self, Code, Content, FILE_BYTES_MAX, Kind, ReaderRefusal};
use quintet_localization::language::Locale;
use quintet_platform::secrets::digest;
use serde::Serialize;

use super::map::{Map, Rule};
use super::service::{RemoteFile, RemoteKey, Service};
use super::tree::{Inside, Tree};
use crate::cli::{CliError, output};

/// How long reading one file may take.
const READING_TIME: Duration = Duration::from_secs(30);

/// A source of the project, and what is to be done with it.
#[derive(Debug, Serialize)]
pub struct Source {
    /// Its path, here and in the project.
    pub path: String,
    /// How it stands there.
    pub result: SourceResult,
    /// Its version in the project, 0 if it is in none.
    pub version: u32,
    /// Keys that are here and not there.
    pub added: usize,
    /// Keys that say something else here.
    pub changed: usize,
    /// Keys that are there and not here.
    pub obsoleted: usize,
    #[serde(skip)]
    bytes: Vec<u8>,
    #[serde(skip)]
    parameters: Vec<(&'static str, String)>,
}

/// How a source stands in the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceResult {
    /// Byte for byte the same.
    Unchanged,
    /// There is another.
    Changed,
    /// There is none.
    New,
    /// There is one, and none here.
    OnlyThere,
}

impl SourceResult {
    /// The word for people.
    pub const fn word(self) -> &'static str {
        match self {
            SourceResult::Unchanged => "unchanged",
            SourceResult::Changed => "changed",
            SourceResult::New => "new",
            SourceResult::OnlyThere => "only there",
        }
    }

    /// Whether a push would upload it.
    pub const fn is_to_upload(self) -> bool {
        matches!(self, SourceResult::Changed | SourceResult::New)
    }
}

/// What the sources here are, and how they stand in the project. Every one is read before anything is uploaded.
///
/// # Errors
/// One cannot be read, or the service does not answer.
pub fn compare(map: &Map, tree: &Tree, service: &Service, remote: &[RemoteFile]) -> Result<Vec<Source>, CliError> {
    let here = sources_here(map, tree)?;
    if here.is_empty() {
        return Err(CliError::failed("no file here matches a source of the map")
            .hint("look at the patterns: paths begin in the map's directory"));
    }
    let there: HashMap<&str, &RemoteFile> = remote.iter().map(|file| (file.path.as_str(), file)).collect();
    let mut sources = Vec::new();
    let mut keys: Option<Vec<RemoteKey>> = None;
    let mut source_locale = None;
    for (path, rule) in here {
        service.tell("reading the sources", sources.len());
        let bytes = tree.read(&path, FILE_BYTES_MAX as u64)?.unwrap_or_default();
        let known = there.get(path.as_str()).copied();
        let mut source = Source {
            path: path.as_str().to_owned(),
            result: if known.is_some() { SourceResult::Changed } else { SourceResult::New },
            version: known.map_or(0, |known| known.version),
            added: 0,
            changed: 0,
            obsoleted: 0,
            parameters: parameters(rule, path.as_str())?,
            bytes,
        };
        if known.is_some_and(|known| known.sha256 == HEXLOWER.encode(&digest(&source.bytes))) {
            source.result = SourceResult::Unchanged;
            sources.push(source);
            continue;
        }
        if source_locale.is_none() {
            source_locale = Some(service.source_locale()?);
        }
        let roots = roots(rule, known, source_locale.as_deref().unwrap_or_default());
        let units = units(&source, rule.kind(path.as_str())?, rule.profile.as_deref(), &roots)?;
        if keys.is_none() && known.is_some() {
            keys = Some(service.keys()?);
        }
        let of_file = |key: &&RemoteKey| known.is_some_and(|known| known.file_id == key.file_id);
        count(&mut source, &units, keys.iter().flatten().filter(of_file));
        sources.push(source);
    }
    service.told();
    Ok(sources)
}

/// The files of the project that the map means, and that are not here.
pub fn only_there(map: &Map, sources: &[Source], remote: &[RemoteFile]) -> Vec<Source> {
    let here: BTreeSet<&str> = sources.iter().map(|source| source.path.as_str()).collect();
    let missing = remote.iter().filter(|file| !here.contains(file.path.as_str()) && map.rule_of(&file.path).is_some());
    let of = |file: &RemoteFile| Source {
        path: file.path.clone(),
        result: SourceResult::OnlyThere,
        version: file.version,
        added: 0,
        changed: 0,
        obsoleted: 0,
        bytes: Vec::new(),
        parameters: Vec::new(),
    };
    missing.map(of).collect()
}

/// Uploads what differs, one file after another.
///
/// # Errors
/// One is not taken; those before it are.
pub fn push(sources: &mut [Source], service: &Service) -> Result<(), CliError> {
    for source in sources.iter_mut().filter(|source| source.result.is_to_upload()) {
        service.tell(&format!("uploading {}", output::plain(&source.path)), 0);
        let parameters: Vec<(&str, &str)> =
            source.parameters.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let taken = service.upload(&parameters, &source.bytes);
        let taken = taken.map_err(|error| CliError {
            reason: format!("{}: {}", output::plain(&source.path), error.reason),
            ..error
        })?;
        source.version = taken.version;
    }
    service.told();
    Ok(())
}

/// Every file here that matches a source, with the first rule that it matches.
fn sources_here<'m>(map: &'m Map, tree: &Tree) -> Result<BTreeMap<Inside, &'m Rule>, CliError> {
    let mut found = BTreeMap::new();
    for folder in map.rules.iter().map(|rule| rule.source.folder()).collect::<BTreeSet<_>>() {
        for path in tree.files(folder)? {
            if let Some((rule, _)) = map.rule_of(path.as_str()) {
                found.insert(path, rule);
            }
        }
    }
    Ok(found)
}

/// What an upload of the file is asked under.
fn parameters(rule: &Rule, path: &str) -> Result<Vec<(&'static str, String)>, CliError> {
    let kind = rule.kind(path)?;
    let usage = |reason: String| CliError::failed(reason).code(CliError::USAGE);
    let mut parameters = vec![("kind", kind.to_owned()), ("path", path.to_owned())];
    match (kind, &rule.profile) {
        ("yaml", Some(profile)) => parameters.push(("profile", profile.clone())),
        ("yaml", None) => {
            return Err(usage(format!("{path}: YAML needs a profile"))
                .hint("say profile = \"rails\" (all below the locale) or \"flat\" in its [[files]]"));
        }
        (_, Some(_)) => return Err(usage(format!("{path}: only YAML has a profile"))),
        (_, None) => {}
    }
    if let Some(root) = &rule.root {
        parameters.push(("locale", root.clone()));
    }
    Ok(parameters)
}

/// What the root key of a rails file may be, likeliest first.
fn roots(rule: &Rule, known: Option<&RemoteFile>, source_locale: &str) -> Vec<String> {
    let mut roots: Vec<String> = match &rule.root {
        Some(root) => vec![root.clone()],
        None => {
            known.and_then(|known| known.root_locale.clone()).into_iter().chain([source_locale.to_owned()]).collect()
        }
    };
    if let (None, Ok(locale)) = (&rule.root, Locale::parse(source_locale)) {
        roots.push(locale.canonical().to_owned());
    }
    roots.dedup();
    roots
}

/// The keys of a file here, by path.
fn units(
    source: &Source,
    kind: &str,
    profile: Option<&str>,
    roots: &[String],
) -> Result<BTreeMap<String, Content>, CliError> {
    let read = |kind: Kind<'_>| formats::read(kind, &source.bytes, Instant::now() + READING_TIME);
    let document = match (kind, profile) {
        ("json", _) => read(Kind::Json),
        ("properties", _) => read(Kind::Properties),
        (_, Some("flat")) => read(Kind::Flat),
        _ => {
            let mut tried = roots.iter().map(|root| read(Kind::Rails { root }));
            let first = tried.next().unwrap_or_else(|| read(Kind::Flat));
            let is_other_root =
                |read: &Result<_, ReaderRefusal>| matches!(read, Err(refusal) if refusal.code == Code::KeyInvalid);
            if is_other_root(&first) { tried.find(|read| !is_other_root(read)).unwrap_or(first) } else { first }
        }
    };
    let document = document.map_err(|refusal| {
        CliError::failed(format!("{}: {refusal}", output::plain(&source.path)))
            .hint("nothing was uploaded; `quintet manual localization` says what files may have")
    })?;
    Ok(document.into_units().into_iter().map(formats::Unit::into_parts).collect())
}

/// Counts how the keys here differ from those there.
fn count<'k>(source: &mut Source, units: &BTreeMap<String, Content>, there: impl Iterator<Item = &'k RemoteKey>) {
    let mut known = 0;
    for key in there {
        match units.get(&key.path) {
            None => source.obsoleted += 1,
            Some(content) => {
                known += 1;
                source.changed += usize::from(!says(content, key));
            }
        }
    }
    source.added = units.len() - known;
}

/// Whether a key there says what it says here.
fn says(content: &Content, key: &RemoteKey) -> bool {
    match (content, &key.source, &key.forms) {
        (Content::Text(text), Some(source), _) => text == source,
        (Content::Plural(forms), _, Some(known)) => {
            forms.len() == known.len() && forms.iter().all(|(category, text)| known.get(category.name()) == Some(text))
        }
        _ => false,
    }
}
