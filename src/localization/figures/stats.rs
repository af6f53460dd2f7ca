//! The figures of a project: for each locale, and for each file in it.

use std::collections::BTreeMap;

use quintet_storage::{Failure, Read, Scan};

use super::tables::{FIGURES, FiguresRow};
use crate::content::{FILES, File, FileId};
use crate::language::Locale;
use crate::model::{ProjectId, TenantId};
use crate::rows;
use crate::spaces::get_locales;

/// Of how many files in how many locales the figures are told one by one: some 10 MB.
pub const PAIRS_SHOWN_MAX: usize = 20_000;

/// The figures of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Active keys of all files.
    pub keys: u64,
    /// The words of their sources.
    pub words: u64,
    /// Its files, oldest first.
    pub files: Vec<File>,
    /// Target locales and whatever else has translations, by identity key and tag.
    pub locales: Vec<LocaleStats>,
}

/// The figures of a project in a locale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocaleStats {
    /// The canonical tag of its translations; of a target locale without any, the tag of the set.
    pub locale: String,
    /// Over all files.
    pub sums: FiguresRow,
    /// Of those files that have translations.
    pub by_file: BTreeMap<FileId, FiguresRow>,
}

impl Stats {
    /// Whether there are not too many files in too many locales to tell them one by one.
    #[must_use]
    pub fn shows_files(&self) -> bool {
        self.files.len().saturating_mul(self.locales.len()) <= PAIRS_SHOWN_MAX
    }
}

/// The figures of a project. A target locale is told under the tags that its translations have, for a target set says
/// `zh-Hant-TW` where translations say `zh-TW`: both are one locale by their identity keys.
///
/// # Errors
/// Only the store's.
pub fn stats(read: &impl Read, tenant_id: TenantId, project_id: ProjectId) -> Result<Stats, Failure> {
    let project = (tenant_id, project_id);
    let mut files = Vec::new();
    rows::each_of(
        read,
        &FILES,
        || Scan::prefix(&project),
        |(.., file_id), row| {
            files.push(row.into_file(file_id));
            Ok::<_, Failure>(())
        },
    )?;
    let mut by_locale: BTreeMap<String, BTreeMap<FileId, FiguresRow>> = BTreeMap::new();
    rows::each_of(
        read,
        &FIGURES,
        || Scan::prefix(&project),
        |(.., file_id, locale), row| {
            by_locale.entry(locale).or_default().insert(file_id, row);
            Ok::<_, Failure>(())
        },
    )?;
    let mut locales: BTreeMap<(String, String), BTreeMap<FileId, FiguresRow>> = BTreeMap::new();
    for (locale, by_file) in by_locale {
        let known =
            Locale::parse(&locale).map_err(|_| Failure::Damaged(format!("{locale:?} is stored as a locale")))?;
        locales.insert((known.identity_key().to_owned(), locale), by_file);
    }
    for target in get_locales(read, tenant_id, project_id)?.locales {
        let from = (target.identity_key.clone(), String::new());
        let is_there = locales.range(from..).next().is_some_and(|((key, _), _)| *key == target.identity_key);
        if !is_there {
            locales.insert((target.identity_key, target.tag), BTreeMap::new());
        }
    }
    let of_locale = |((_, locale), by_file): ((String, String), BTreeMap<FileId, FiguresRow>)| {
        let sums = by_file.values().fold(FiguresRow::default(), |sums, row| sums.plus(row));
        LocaleStats { locale, sums, by_file }
    };
    Ok(Stats {
        keys: files.iter().map(|file| u64::from(file.keys)).sum(),
        words: files.iter().filter_map(|file| file.words).sum(),
        locales: locales.into_iter().map(of_locale).collect(),
        files,
    })
}
