//! Reading the memory.

use bincode::{Decode, Encode};
use quintet_storage::{Failure, Read, Scan};

use super::model::{MemoryUnit, source_id};
use super::tables::{MEMORY_BY_PROJECT, MEMORY_SOURCES, MEMORY_UNITS, MemorySourceRow};
use crate::likeness::LanguagePair;
use crate::model::TenantId;
use crate::spaces::ProjectId;

/// About how many bytes of texts a page has; its last unit may go beyond.
const PAGE_BYTES_MAX: usize = 1 << 20;

/// The unit of a source text.
///
/// # Errors
/// Only the store's.
pub fn get_unit(read: &impl Read, pair: &LanguagePair, source: &str) -> Result<Option<MemoryUnit>, Failure> {
    let found = unit_of(read, pair, source_id(source))?;
    Ok(found.filter(|unit| unit.source == source))
}

/// The unit of the id of a source text.
pub(super) fn unit_of(read: &impl Read, pair: &LanguagePair, id: u128) -> Result<Option<MemoryUnit>, Failure> {
    let (tenant_id, source, target) = pair.key();
    let known = read.get(&MEMORY_SOURCES, &(tenant_id, source.clone(), target.clone(), id))?;
    let Some(MemorySourceRow { number }) = known else { return Ok(None) };
    let row = read.get(&MEMORY_UNITS, &(tenant_id, source, target, number))?;
    Ok(row.map(super::tables::MemoryUnitRow::into_unit))
}

/// Where in a project's units a page ends.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct UnitPlace {
    target_locale: String,
    source_locale: String,
    number: u64,
}

/// A unit in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedUnit {
    /// The content form of the source locale.
    pub source_locale: String,
    /// The canonical tag of the target locale.
    pub target_locale: String,
    /// The unit.
    pub unit: MemoryUnit,
}

/// A page of units.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnitPage {
    /// At most as many as were asked for.
    pub units: Vec<ListedUnit>,
    /// Behind which place to go on, if there may be more.
    pub next: Option<UnitPlace>,
}

/// The units that a project wrote last (localization, M3), into one target locale or all, behind `after`: by target locale,
/// by source locale, then in the order in which they were written. A page ends early once its texts have about 1 MiB.
///
/// # Errors
/// Only the store's.
pub fn list_units(
    read: &impl Read,
    tenant_id: TenantId,
    project_id: ProjectId,
    target_locale: Option<&str>,
    after: Option<&UnitPlace>,
    limit: usize,
) -> Result<UnitPage, Failure> {
    let mut scan = match target_locale {
        Some(target) => Scan::prefix(&(tenant_id, project_id, target.to_owned())),
        None => Scan::prefix(&(tenant_id, project_id)),
    };
    if let Some(UnitPlace { target_locale, source_locale, number }) = after {
        scan = scan.after(&(tenant_id, project_id, target_locale.clone(), source_locale.clone(), *number));
    }
    let rows = read.scan(&MEMORY_BY_PROJECT, scan.limit(limit.saturating_add(1)))?;
    let (mut page, mut bytes) = (UnitPage::default(), 0);
    let mut last = None;
    for ((.., target_locale, source_locale, number), _) in rows {
        if page.units.len() == limit || bytes >= PAGE_BYTES_MAX {
            page.next = last;
            break;
        }
        let row = read.get(&MEMORY_UNITS, &(tenant_id, source_locale.clone(), target_locale.clone(), number))?;
        let unit = row.ok_or_else(|| Failure::Damaged(format!("unit {number} of a memory is gone")))?.into_unit();
        bytes += unit.source.len() + unit.target.len();
        last = Some(UnitPlace { target_locale: target_locale.clone(), source_locale: source_locale.clone(), number });
        page.units.push(ListedUnit { source_locale, target_locale, unit });
    }
    Ok(page)
}
