//! Entries: one, and a list.

use quintet_storage::{Abort, Failure, Read, Scan};

use super::model::{Entry, EntryKind, TermId};
use super::tables::ENTRIES;
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::rows;
use crate::spaces::ProjectId;

/// One entry.
///
/// # Errors
/// [`Refusal::NotFound`]
pub fn get_entry(
    read: &impl Read,
    tenant_id: TenantId,
    project_id: ProjectId,
    term_id: TermId,
) -> Result<Entry, Abort<Refusal>> {
    let row = read.get(&ENTRIES, &(tenant_id, project_id, term_id))?.ok_or(Refusal::NotFound)?;
    Ok(row.into_entry(project_id, term_id))
}

/// About how many bytes the texts of a page have: one who asks and never reads holds no more than that.
const PAGE_BYTES_MAX: usize = 1 << 20;

/// A page of entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryPage {
    /// At most as many as were asked for.
    pub entries: Vec<Entry>,
    /// Behind which to go on, if there are more.
    pub next: Option<TermId>,
}

/// The entries of a project behind `after`, of one kind or of all, oldest first. A page ends early once its texts have
/// about 1 MiB. It looks at every entry of the project at most.
///
/// # Errors
/// Only the store's.
pub fn list_entries(
    read: &impl Read,
    tenant_id: TenantId,
    project_id: ProjectId,
    kind: Option<EntryKind>,
    after: Option<TermId>,
    limit: usize,
) -> Result<EntryPage, Failure> {
    let of_project = || {
        let scan = Scan::prefix(&(tenant_id, project_id));
        after.map_or(scan.clone(), |after| scan.after(&(tenant_id, project_id, after)))
    };
    let mut page = EntryPage::default();
    let mut bytes = 0;
    let is_end = rows::each_while::<_, _, Failure>(read, &ENTRIES, of_project, |(.., term_id), row| {
        if kind.is_some_and(|kind| kind != row.wording.kind) {
            return Ok(true);
        }
        // One more than fits: only then it is known that there is another page.
        if page.entries.len() == limit || bytes >= PAGE_BYTES_MAX {
            return Ok(false);
        }
        let texts = [&row.wording.source, &row.wording.target, &row.wording.note];
        bytes += texts.into_iter().flatten().map(String::len).sum::<usize>();
        page.entries.push(row.into_entry(project_id, term_id));
        Ok(true)
    })?;
    page.next = page.entries.last().map(|last| last.term_id).filter(|_| !is_end);
    Ok(page)
}
