//! The map of a project's files: which file here is which in the project, and where its translations go.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use quintet_localization::language::Locale;
use serde::Deserialize;

use super::pattern::Pattern;
use super::tree::{self, MAP_NAME};
use crate::cli::CliError;

/// The largest map, in bytes.
const MAP_BYTES_MAX: u64 = 1 << 20;

/// A map, read and checked.
#[derive(Debug)]
pub struct Map {
    /// The directory that all paths begin in.
    pub directory: PathBuf,
    /// Where the service is, unless the command line says so.
    pub url: Option<String>,
    /// In which tenant, likewise.
    pub tenant: Option<String>,
    /// Which project, likewise.
    pub project: Option<String>,
    /// Which files, the first that matches a path counting.
    pub rules: Vec<Rule>,
    /// How a locale is written in paths, where that is not its tag.
    names: BTreeMap<String, String>,
}

/// Some files of a map.
#[derive(Debug)]
pub struct Rule {
    /// Where their sources lie.
    pub source: Pattern,
    /// Where their translations go.
    pub target: Pattern,
    /// `json`, `yaml`, `properties`; `None`: as the ending of the path says.
    kind: Option<String>,
    /// `rails` or `flat`, for YAML.
    pub profile: Option<String>,
    /// The root key of rails files, where that is not the project's source locale.
    pub root: Option<String>,
    /// Into which locales; `None`: the project's.
    pub locales: Option<Vec<String>>,
    /// What an export is asked for: `state` and `fallback`, as the interface has them.
    pub export: Vec<(&'static str, String)>,
}

impl Rule {
    /// The kind of a file.
    ///
    /// # Errors
    /// Its ending says nothing.
    pub fn kind(&self, path: &str) -> Result<&str, CliError> {
        if let Some(kind) = &self.kind {
            return Ok(kind);
        }
        match path.rsplit_once('.').map(|(_, ending)| ending) {
            Some("json") => Ok("json"),
            Some("yml" | "yaml") => Ok("yaml"),
            Some("properties") => Ok("properties"),
            _ => Err(wrong(&format!("{path}: no kind of file has this ending"))
                .hint("say kind = \"json\", \"yaml\" or \"properties\" in its [[files]]")),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MapText {
    url: Option<String>,
    tenant: Option<String>,
    project: Option<String>,
    #[serde(default)]
    files: Vec<RuleText>,
    #[serde(default)]
    names: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleText {
    source: String,
    target: String,
    kind: Option<String>,
    profile: Option<String>,
    root: Option<String>,
    locales: Option<Vec<String>>,
    state: Option<String>,
    fallback: Option<String>,
}

fn wrong(reason: &str) -> CliError {
    CliError::failed(reason).code(CliError::USAGE)
}

impl Map {
    /// The map of this name, else the one here or above.
    ///
    /// # Errors
    /// There is none, or it has a mistake.
    pub fn load(named: Option<&Path>) -> Result<Map, CliError> {
        let (directory, text, shown) = match named {
            Some(path) => {
                let text = tree::text_of(path, File::open(path), MAP_BYTES_MAX)?;
                let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
                (directory.unwrap_or(Path::new(".")).to_path_buf(), text, path.display().to_string())
            }
            None => {
                let here = std::env::current_dir().map_err(CliError::failed)?;
                let (directory, text) = tree::find_above(MAP_NAME, &here, MAP_BYTES_MAX)?;
                let shown = directory.join(MAP_NAME).display().to_string();
                (directory, text, shown)
            }
        };
        Map::parse(&text, directory).map_err(|reason| wrong(&format!("{shown}: {reason}")))
    }

    /// A map of a text.
    ///
    /// # Errors
    /// Its first mistake, for people.
    fn parse(text: &str, directory: PathBuf) -> Result<Map, String> {
        let read: MapText = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
        if read.files.is_empty() {
            return Err("it names no files: add [[files]] with source and target".to_owned());
        }
        let rules = read.files.into_iter().map(rule).collect::<Result<Vec<_>, _>>()?;
        let mut names = BTreeMap::new();
        for (tag, name) in read.names {
            if name.is_empty() || name.contains('/') {
                return Err(format!("names: {name:?} is no part of a path"));
            }
            names.insert(canonical(&tag)?, name);
        }
        let MapText { url, tenant, project, .. } = MapText { files: Vec::new(), names: BTreeMap::new(), ..read };
        Ok(Map { directory, url, tenant, project, rules, names })
    }

    /// How a locale is written in paths.
    pub fn name_of<'m>(&'m self, tag: &'m str) -> &'m str {
        self.names.get(tag).map_or(tag, String::as_str)
    }

    /// The rule for the source at a path, and what its wildcards stand for.
    pub fn rule_of(&self, path: &str) -> Option<(&Rule, Vec<String>)> {
        self.rules.iter().find_map(|rule| Some((rule, rule.source.matches(path)?)))
    }
}

/// A tag in the one spelling of its locale.
fn canonical(tag: &str) -> Result<String, String> {
    match Locale::parse(tag) {
        Ok(locale) => Ok(locale.canonical().to_owned()),
        Err(refusal) => Err(format!("{tag:?} is no locale: {}", refusal.code())),
    }
}

fn rule(text: RuleText) -> Result<Rule, String> {
    let pattern = |member: &str, text: &str| Pattern::parse(text).map_err(|why| format!("{member} = {text:?} {why}"));
    let (source, target) = (pattern("source", &text.source)?, pattern("target", &text.target)?);
    if source.has_locale() {
        return Err(format!("source = {:?} is the file in the source locale: it takes no {{locale}}", text.source));
    }
    if !target.has_locale() {
        return Err(format!("target = {:?} needs {{locale}}: each locale has a file of its own", text.target));
    }
    if source.wildcards() != target.wildcards() {
        return Err(format!(
            "target = {:?} must have the wildcards of source = {:?}, in the same order",
            text.target, text.source
        ));
    }
    let one_of = |member: &str, value: &Option<String>, known: &[&str]| match value {
        Some(value) if !known.contains(&value.as_str()) => {
            Err(format!("{member} = {value:?} is none of {}", known.join(", ")))
        }
        _ => Ok(()),
    };
    one_of("kind", &text.kind, &["json", "yaml", "properties"])?;
    one_of("profile", &text.profile, &["rails", "flat"])?;
    one_of("state", &text.state, &["approved"])?;
    one_of("fallback", &text.fallback, &["source", "omit"])?;
    let locales = text.locales.map(|tags| tags.iter().map(|tag| canonical(tag)).collect()).transpose()?;
    let export = [("state", text.state), ("fallback", text.fallback)];
    let export = export.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    Ok(Rule { source, target, kind: text.kind, profile: text.profile, root: text.root, locales, export })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Map, String> {
        Map::parse(text, PathBuf::new())
    }

    #[test]
    fn a_map_says_where_everything_lies() {
        let map = parse(
            r#"
            project = "p"
            [[files]]
            source = "config/locales/en.yml"
            target = "config/locales/{locale}.yml"
            profile = "rails"
            locales = ["pt-br", "de"]
            state = "approved"
            [[files]]
            source = "web/en/**/*.json"
            target = "web/{locale}/**/*.json"
            fallback = "omit"
            [names]
            "pt-BR" = "pt_BR"
            "#,
        )
        .unwrap();
        let (rails, none) = map.rule_of("config/locales/en.yml").unwrap();
        assert_eq!((rails.kind("config/locales/en.yml").unwrap(), none), ("yaml", vec![]));
        assert_eq!(rails.locales.as_deref(), Some(["pt-BR".to_owned(), "de".to_owned()].as_slice()));
        assert_eq!(rails.export, [("state", "approved".to_owned())]);
        assert_eq!((map.name_of("pt-BR"), map.name_of("de")), ("pt_BR", "de"));
        let (web, found) = map.rule_of("web/en/shop/pay.json").unwrap();
        assert_eq!(web.target.filled(&found, map.name_of("pt-BR")), "web/pt_BR/shop/pay.json");
        assert!(map.rule_of("web/de/pay.json").is_none());
        assert_eq!(web.kind("x.txt").unwrap_err().code, CliError::USAGE);
    }

    #[test]
    fn mistakes_in_a_map_are_told() {
        let files = |rest: &str| format!("[[files]]\nsource = \"en/*.json\"\n{rest}");
        let target = |rest: &str| files(&format!("target = \"{{locale}}/*.json\"\n{rest}"));
        for (text, told) in [
            ("", "it names no files"),
            ("colour = 1", "unknown field `colour`"),
            (&files(""), "missing field `target`"),
            (&files("target = \"de/*.json\""), "needs {locale}"),
            (&files("target = \"{locale}/a.json\""), "must have the wildcards"),
            (&files("target = \"../{locale}/*.json\""), "leads elsewhere"),
            (&target("locales = [\"xx-yy-zz\"]"), "is no locale"),
            (&target("kind = \"xml\""), "is none of json, yaml, properties"),
            (&target("state = \"draft\""), "is none of approved"),
            (&target("[names]\nde = \"a/b\""), "is no part of a path"),
            ("[[files]]\nsource = \"{locale}.json\"\ntarget = \"{locale}.json\"", "takes no {locale}"),
        ] {
            let found = parse(text).err().unwrap_or_else(|| panic!("{text}"));
            assert!(found.contains(told), "{text}: {found}");
        }
    }
}
