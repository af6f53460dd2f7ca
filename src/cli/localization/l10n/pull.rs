//! `quintet l10n pull`: translations that differ here are written.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::map::Map;
use super::service::{RemoteFile, Service};
use super::tree::{Inside, Tree};
use crate::cli::{CliError, output};

/// The largest file here that is compared, in bytes; one that is larger differs.
const FILE_BYTES_MAX: u64 = 512 << 20;

/// A file in a locale, and how it stands here.
#[derive(Debug, Serialize)]
pub struct Target {
    /// Where it belongs here.
    pub path: String,
    /// The path of its source.
    pub source: String,
    /// Its locale.
    pub locale: String,
    /// How it stands here.
    pub result: TargetResult,
}

/// How a file in a locale stands here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetResult {
    /// Byte for byte the same.
    Unchanged,
    /// There is another.
    Changed,
    /// There is none.
    New,
}

impl TargetResult {
    /// The word for people.
    pub const fn word(self) -> &'static str {
        match self {
            TargetResult::Unchanged => "unchanged",
            TargetResult::Changed => "changed",
            TargetResult::New => "new",
        }
    }
}

/// What is to be fetched, and where it belongs.
struct Plan<'r> {
    file: &'r RemoteFile,
    locale: String,
    path: Inside,
    export: Vec<(&'static str, String)>,
}

/// Fetches what the map means, and writes what differs here (unless nothing is to be written). Every path is judged before
/// anything is fetched.
///
/// # Errors
/// A path leads elsewhere or is another's, or the service does not answer; what was written before that stays.
pub fn pull(
    map: &Map,
    tree: &Tree,
    service: &Service,
    remote: &[RemoteFile],
    is_dry: bool,
) -> Result<Vec<Target>, CliError> {
    let plans = plans(map, service, remote)?;
    let mut targets = Vec::new();
    for plan in plans {
        service.tell("fetching translations", targets.len());
        let own = [("locale", plan.locale.as_str())].into_iter();
        let parameters: Vec<(&str, &str)> =
            own.chain(plan.export.iter().map(|(name, value)| (*name, value.as_str()))).collect();
        let fetched = service.export(&plan.file.file_id, &parameters).map_err(|error| {
            let reason = format!("{} in {}: {}", output::plain(&plan.file.path), plan.locale, error.reason);
            CliError { reason, ..error }
        })?;
        let result = match tree.read(&plan.path, FILE_BYTES_MAX)? {
            None => TargetResult::New,
            Some(here) if here == fetched => TargetResult::Unchanged,
            Some(_) => TargetResult::Changed,
        };
        if result != TargetResult::Unchanged && !is_dry {
            tree.write(&plan.path, &fetched)?;
        }
        targets.push(Target {
            path: plan.path.as_str().to_owned(),
            source: plan.file.path.clone(),
            locale: plan.locale,
            result,
        });
    }
    service.told();
    Ok(targets)
}

fn plans<'r>(map: &Map, service: &Service, remote: &'r [RemoteFile]) -> Result<Vec<Plan<'r>>, CliError> {
    let mut project_locales = None;
    let mut plans = Vec::new();
    let mut taken: BTreeMap<String, String> = BTreeMap::new();
    let sources: BTreeSet<&str> = remote.iter().map(|file| file.path.as_str()).collect();
    for file in remote {
        let Some((rule, wildcards)) = map.rule_of(&file.path) else { continue };
        let locales = match &rule.locales {
            Some(locales) => locales.clone(),
            None => {
                if project_locales.is_none() {
                    project_locales = Some(service.locales()?);
                }
                project_locales.clone().unwrap_or_default()
            }
        };
        for locale in locales {
            let path = rule.target.filled(&wildcards, map.name_of(&locale));
            let shown = output::plain(&path);
            let Some(inside) = Inside::parse(&path).filter(|_| Inside::parse(&file.path).is_some()) else {
                return Err(CliError::failed(format!("the service names a path that is none to write to: {shown}"))
                    .hint("nothing was written; rename that file in the project"));
            };
            let other = taken.insert(path.clone(), file.path.clone());
            if other.is_some() || sources.contains(path.as_str()) {
                let other = output::plain(&other.unwrap_or(path));
                return Err(CliError::failed(format!(
                    "{shown} would be written for {} and is {other}'s already",
                    output::plain(&file.path)
                ))
                .hint("nothing was written; give each file and locale a target of its own in the map")
                .code(CliError::USAGE));
            }
            plans.push(Plan { file, locale, path: inside, export: rule.export.clone() });
        }
    }
    Ok(plans)
}
