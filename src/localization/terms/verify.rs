//! Whether entries agree with the index of what they say, and both they and styles with what is counted of them.

use std::collections::BTreeMap;

use quintet_storage::{Failure, Read};

use super::model::{ENTRIES_MAX, ENTRY_BYTES_MAX, STYLE_BYTES_MAX, STYLES_MAX};
use super::style::json_bytes;
use super::tables::{ENTRIES, PROJECT_TERMS, STYLES, WORDINGS, place_of};
use crate::model::TenantId;
use crate::rows;
use crate::spaces::ProjectId;

/// What was counted of a project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counted {
    entries: u32,
    entry_bytes: u64,
    styles: u32,
    style_bytes: u64,
}

/// What contradicts itself; nothing, if all is well.
///
/// # Errors
/// Only the store's.
pub fn verify(read: &impl Read) -> Result<Vec<String>, Failure> {
    let mut findings = Vec::new();
    let mut counted: BTreeMap<(TenantId, ProjectId), Counted> = BTreeMap::new();
    let mut entries = 0_u64;
    rows::each(read, &ENTRIES, |(tenant_id, project_id, term_id), row| {
        entries += 1;
        let count = counted.entry((tenant_id, project_id)).or_default();
        count.entries += 1;
        count.entry_bytes += row.wording.bytes();
        let said = read.get(&WORDINGS, &(tenant_id, project_id, place_of(&row.wording)))?;
        if said.is_none_or(|said| said.term_id != term_id) {
            findings.push(format!("glossary entry {}: what it says is not noted as its own", term_id.0));
        }
        Ok(())
    })?;
    let wordings = rows::count(read, &WORDINGS)?;
    if entries != wordings {
        findings.push(format!("{entries} glossary entries are noted to say {wordings} things"));
    }
    rows::each(read, &STYLES, |(tenant_id, project_id, ..), row| {
        let count = counted.entry((tenant_id, project_id)).or_default();
        count.styles += 1;
        count.style_bytes += json_bytes(&row.text);
        Ok(())
    })?;
    rows::each(read, &PROJECT_TERMS, |(tenant_id, project_id), row| {
        let found = counted.remove(&(tenant_id, project_id)).unwrap_or_default();
        let (entries, entry_bytes, styles, style_bytes) = (row.entries, row.entry_bytes, row.styles, row.style_bytes);
        if found != (Counted { entries, entry_bytes, styles, style_bytes }) {
            findings.push(format!("project {}: {found:?} of its terms are counted as {row:?}", project_id.0));
        }
        let fits_entries = entries <= ENTRIES_MAX && entry_bytes <= ENTRY_BYTES_MAX;
        if !fits_entries || styles > STYLES_MAX || style_bytes > STYLE_BYTES_MAX {
            findings.push(format!("project {}: it has more terms than it may have", project_id.0));
        }
        Ok(())
    })?;
    let uncounted =
        counted.keys().map(|(_, project_id)| format!("project {}: its terms are not counted", project_id.0));
    findings.extend(uncounted);
    Ok(findings)
}
