//! Goes through the keys of a file with their translations into a locale, some at a time: a file with everything that was
//! written for it may not fit into memory.

use std::collections::VecDeque;

use quintet_storage::{Failure, Read, Scan};

use super::catalogue::{Pages, get_catalogue};
use super::model::{FileId, KeyEntry};
use super::tables::{CatalogueRow, TRANSLATIONS, TranslationRow};
use crate::language::Locale;
use crate::model::TenantId;

/// About how many bytes of keys are read at a time, and of translations; the last of each may go beyond.
const BYTES_AT_A_TIME: usize = 256 << 10;
/// How many translations are read at a time: of the longest they take 20 MB.
const ROWS_AT_A_TIME: usize = 50;

/// A key and its translation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walked {
    /// The key, obsolete or not.
    pub entry: KeyEntry,
    /// Its translation, if there is one.
    pub row: Option<TranslationRow>,
}

/// A file to go through.
#[derive(Clone, Debug)]
pub struct Walk {
    tenant_id: TenantId,
    file_id: FileId,
    /// The canonical tag of the locale; `None`: translations are not wanted.
    locale: Option<String>,
    catalogue: CatalogueRow,
}

impl Walk {
    /// Through the version of a file that is the latest in this state.
    ///
    /// # Errors
    /// Only the store's.
    pub fn of(
        read: &impl Read,
        tenant_id: TenantId,
        file_id: FileId,
        locale: Option<&Locale>,
    ) -> Result<Walk, Failure> {
        let catalogue = get_catalogue(read, tenant_id, file_id)?;
        Ok(Walk { tenant_id, file_id, locale: locale.map(|locale| locale.canonical().to_owned()), catalogue })
    }

    /// The number of the last key that there ever was.
    #[must_use]
    pub fn last_number(&self) -> u64 {
        self.catalogue.next_number.saturating_sub(1)
    }

    /// The version.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.catalogue.version
    }

    /// The next keys with numbers above `after` and up to `until`, in the order of numbers; and behind which number to go
    /// on, `None` at the end.
    ///
    /// # Errors
    /// Only the store's.
    pub fn next(&self, read: &impl Read, after: u64, until: u64) -> Result<(Vec<Walked>, Option<u64>), Failure> {
        let (mut entries, mut behind) = self.entries(read, after, until)?;
        let last = entries.last().map_or(after, |entry| entry.number);
        let (mut rows, covered) = self.rows(read, after, last)?;
        if covered < last {
            entries.retain(|entry| entry.number <= covered);
            behind = Some(covered);
        }
        let walked = entries.into_iter().map(|entry| {
            while rows.front().is_some_and(|(number, _)| *number < entry.number) {
                rows.pop_front();
            }
            let row = rows.pop_front_if(|(number, _)| *number == entry.number).map(|(_, row)| row);
            Walked { entry, row }
        });
        Ok((walked.collect(), behind))
    }

    /// Keys behind a number and up to another, some pages of them; and behind which to go on.
    fn entries(&self, read: &impl Read, after: u64, until: u64) -> Result<(Vec<KeyEntry>, Option<u64>), Failure> {
        let mut pages = Pages::after(read, &self.catalogue, after);
        let mut entries: Vec<KeyEntry> = Vec::new();
        let mut bytes = 0;
        while let Some(range) = pages.next_range() {
            if range.first > until {
                break;
            }
            if bytes >= BYTES_AT_A_TIME {
                return Ok((entries, Some(range.first.saturating_sub(1))));
            }
            let page = pages.read(&range)?.into_iter().filter(|entry| entry.number > after && entry.number <= until);
            entries.extend(page.inspect(|entry| bytes += entry.path.len() + entry.source.bytes()));
        }
        Ok((entries, None))
    }

    /// Translations of keys behind a number, up to another or until they are many; and up to which they are all.
    fn rows(&self, read: &impl Read, after: u64, last: u64) -> Result<(VecDeque<(u64, TranslationRow)>, u64), Failure> {
        let mut found = VecDeque::new();
        let Some(locale) = &self.locale else { return Ok((found, last)) };
        let place = |number: u64| (self.tenant_id, self.file_id, locale.clone(), number);
        let (mut behind, mut bytes) = (after, 0);
        loop {
            let scan = Scan::prefix(&(self.tenant_id, self.file_id, locale.clone())).after(&place(behind));
            // A part of few keys does not read what others have.
            let scan = scan.until(&place(last.saturating_add(1)));
            let rows = read.scan(&TRANSLATIONS, scan.limit(ROWS_AT_A_TIME))?;
            let is_last = rows.len() < ROWS_AT_A_TIME;
            for ((.., number), row) in rows {
                bytes += row.content.bytes();
                behind = number;
                found.push_back((number, row));
            }
            if is_last {
                return Ok((found, last));
            }
            if bytes >= BYTES_AT_A_TIME {
                return Ok((found, behind));
            }
        }
    }
}
