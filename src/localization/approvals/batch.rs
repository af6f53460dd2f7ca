//! Which translations a request is for (localization, R1), and what whoever decides is shown.

use quintet_platform::json::{Json, to_canonical};
use quintet_storage::{Abort, Read};

use super::model::{CONTEXT_BYTES_MAX, ITEMS_MAX, Item, source_json, target_json, target_sha256};
use crate::content::rejudge::{Stamp, stamp};
use crate::content::{
    FILE_LOCALES, File, FileId, Key, KeyClass, KeyEntry, ReviewState, State, TranslationRow, Walk, Walked,
    find_context, get_file, get_row, key_id, state_of,
};
use crate::language::Locale;
use crate::model::{ProjectId, TenantId};
use crate::quality::CheckSet;
use crate::refusal::Refusal;
use crate::review::Standards;
use crate::shelf::Shelf;
use crate::spaces::{Project, get_project};

/// The translations of a request.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Of which file.
    pub file: File,
    /// In the order of their keys' ids.
    pub items: Vec<Item>,
    /// The items as they are shown.
    pub shown: Vec<String>,
    /// Whether one of them is of class legal.
    pub holds_legal: bool,
    /// The revision of the file in the locale.
    pub revision: u64,
    /// The translations that they are of.
    found: Vec<(Key, TranslationRow)>,
    /// What the checks were judged by.
    stamp: Stamp,
}

/// What is looked for.
struct Search<'s, R: Read> {
    read: &'s R,
    shelf: &'s Shelf,
    tenant_id: TenantId,
    project: &'s Project,
    locale: &'s Locale,
    standards: Option<Standards>,
}

impl<R: Read> Search<'_, R> {
    /// Whether every check that blocks passes.
    fn passes(&mut self, key: &Key, row: &TranslationRow) -> Result<bool, Abort<Refusal>> {
        let standards = match &self.standards {
            Some(known) => known.of_other(self.read, self.shelf, self.tenant_id, key)?,
            None => {
                let found = Standards::of(self.read, self.shelf, self.tenant_id, self.project, key, self.locale)?;
                self.standards.insert(found).clone()
            }
        };
        let failing = standards.failing(&key.entry, self.locale, &row.content);
        Ok(failing.and(CheckSet::blocking()).is_empty())
    }
}

impl Batch {
    /// The translations of a file into a locale that a request would be for now. The whole file is looked at.
    ///
    /// # Errors
    /// [`Refusal::NotFound`]; the store's.
    pub fn find(
        read: &impl Read,
        shelf: &Shelf,
        tenant_id: TenantId,
        project: &Project,
        file_id: FileId,
        locale: &Locale,
    ) -> Result<Batch, Abort<Refusal>> {
        let file = get_file(read, tenant_id, project.project_id, file_id)?;
        let stamp = stamp(read, tenant_id, project.project_id)?;
        let counts = read.get(&FILE_LOCALES, &(tenant_id, file_id, locale.canonical().to_owned()))?;
        let changes = counts.unwrap_or_default().changes;
        let mut batch = Batch {
            file,
            items: Vec::new(),
            shown: Vec::new(),
            holds_legal: false,
            revision: 0,
            found: Vec::new(),
            stamp,
        };
        let walk = Walk::of(read, tenant_id, file_id, Some(locale))?;
        let mut search = Search { read, shelf, tenant_id, project, locale, standards: None };
        let (mut outdated, mut bytes, mut is_full) = (0, 0, false);
        let mut behind = Some(0);
        while let Some(after) = behind {
            let (walked, next) = walk.next(read, after, u64::MAX)?;
            behind = next;
            for Walked { entry, row } in walked {
                outdated += u64::from(state_of(&entry, row.as_ref()) == State::Outdated);
                if let Some(row) = row.filter(|_| !is_full) {
                    is_full = batch.consider(&mut search, entry, row, &mut bytes)?;
                }
            }
        }
        batch.revision = u64::from(batch.file.version) + changes + outdated;
        Ok(batch)
    }

    /// Takes a translation in, if it is one to be approved. Whether no other fits.
    fn consider(
        &mut self,
        search: &mut Search<'_, impl Read>,
        entry: KeyEntry,
        row: TranslationRow,
        bytes: &mut usize,
    ) -> Result<bool, Abort<Refusal>> {
        let state = state_of(&entry, Some(&row));
        let is_open = matches!(state, State::Stored(ReviewState::Draft | ReviewState::Reviewed));
        if !is_open || entry.is_obsolete || search.project.is_legal(&entry.path) {
            return Ok(false);
        }
        // What is too much for any context is for reviewers alone.
        if entry.source.bytes() + row.content.bytes() > CONTEXT_BYTES_MAX {
            return Ok(false);
        }
        let key = Key {
            project_id: search.project.project_id,
            file_id: self.file.file_id,
            file_version: self.file.version,
            key_id: key_id(self.file.key_prefix, entry.number),
            entry,
        };
        if !search.passes(&key, &row)? {
            return Ok(false);
        }
        let target_sha256 = target_sha256(&row.content);
        let shown = to_canonical(&Json::object([
            ("key", Json::from(key.entry.path.as_str())),
            ("source", source_json(&key.entry.source)),
            ("target", target_json(&row.content)),
            ("targetHash", Json::from(data_encoding::HEXLOWER.encode(&target_sha256))),
        ]));
        if shown.len() > CONTEXT_BYTES_MAX {
            return Ok(false);
        }
        if *bytes + shown.len() > CONTEXT_BYTES_MAX {
            return Ok(true);
        }
        let context = find_context(search.read, search.shelf, search.tenant_id, self.file.file_id, &key.entry.path)?;
        self.holds_legal |= context.and_then(|context| context.class) == Some(KeyClass::Legal);
        *bytes += shown.len() + 1;
        self.shown.push(shown);
        self.items.push(Item {
            key_id: key.key_id.0.into_bytes(),
            key: key.entry.path.clone(),
            revision: row.revision,
            target_sha256,
            outcome: None,
        });
        self.found.push((key, row));
        Ok(self.items.len() == ITEMS_MAX)
    }

    /// Whether its translations, their sources and what they were judged by are still as they were found. What becomes of
    /// others meanwhile is for the next request.
    ///
    /// # Errors
    /// Only the store's.
    pub fn is_current(
        &self,
        read: &impl Read,
        tenant_id: TenantId,
        project_id: ProjectId,
        locale: &Locale,
    ) -> Result<bool, Abort<Refusal>> {
        let file = get_file(read, tenant_id, project_id, self.file.file_id)?;
        if file.version != self.file.version || stamp(read, tenant_id, project_id)? != self.stamp {
            return Ok(false);
        }
        let project = get_project(read, tenant_id, project_id)?;
        for (key, row) in &self.found {
            let is_same = get_row(read, tenant_id, key, locale)?.as_ref() == Some(row);
            if !is_same || project.is_legal(&key.entry.path) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What whoever decides is shown (localization, R2 and W1).
    #[must_use]
    pub fn context(&self, review_url: Option<&str>) -> String {
        let url = review_url.map(|url| format!(",\"review_url\":{}", to_canonical(&Json::from(url))));
        format!("{{\"items\":[{}]{}}}", self.shown.join(","), url.unwrap_or_default())
    }
}
