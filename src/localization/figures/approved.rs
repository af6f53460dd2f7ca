//! In which locales something is approved.

use std::collections::{BTreeSet, HashMap};

use quintet_storage::{Failure, Read, Scan};

use super::tables::{CountedState, FIGURES};
use crate::content::rejudge::is_open;
use crate::content::{
    FILE_LOCALES, FILES, FileId, KeyEntry, ReviewState, State, TRANSLATIONS, get_catalogue, read_entries, state_of,
};
use crate::model::{ProjectId, TenantId};
use crate::rows;

/// The canonical tags of the locales in which some active key of a project is approved and not outdated (localization, Z1):
/// what the figures say, or, while something is to be judged anew, what translations and keys themselves say.
///
/// # Errors
/// Only the store's.
pub fn approved_locales(read: &impl Read, tenant_id: TenantId, project_id: ProjectId) -> Result<Vec<String>, Failure> {
    let mut approved = BTreeSet::new();
    let project = (tenant_id, project_id);
    if is_open(read, tenant_id, project_id)? {
        rows::each_of(
            read,
            &FILES,
            || Scan::prefix(&project),
            |(.., file_id), _| look_through(read, tenant_id, file_id, &mut approved),
        )?;
    } else {
        rows::each_of(
            read,
            &FIGURES,
            || Scan::prefix(&project),
            |(.., locale), row| {
                if row.in_state(CountedState::Approved) > 0 {
                    approved.insert(locale);
                }
                Ok::<_, Failure>(())
            },
        )?;
    }
    Ok(approved.into_iter().collect())
}

/// Adds the locales in which some active key of a file is approved.
fn look_through(
    read: &impl Read,
    tenant_id: TenantId,
    file_id: FileId,
    approved: &mut BTreeSet<String>,
) -> Result<(), Failure> {
    let mut entries: Option<HashMap<u64, KeyEntry>> = None;
    rows::each_of(
        read,
        &FILE_LOCALES,
        || Scan::prefix(&(tenant_id, file_id)),
        |(.., locale), _| {
            if approved.contains(&locale) {
                return Ok(());
            }
            let in_locale = || Scan::prefix(&(tenant_id, file_id, locale.clone()));
            let is_none = rows::each_while(read, &TRANSLATIONS, in_locale, |(.., number), row| {
                if row.state != ReviewState::Approved {
                    return Ok::<_, Failure>(true);
                }
                let known = match &mut entries {
                    Some(known) => known,
                    none => none.insert(active_entries(read, tenant_id, file_id)?),
                };
                let state = known.get(&number).map(|entry| state_of(entry, Some(&row)));
                Ok(state != Some(State::Stored(ReviewState::Approved)))
            })?;
            if !is_none {
                approved.insert(locale);
            }
            Ok(())
        },
    )
}

/// The active keys of a file, by their numbers.
fn active_entries(read: &impl Read, tenant_id: TenantId, file_id: FileId) -> Result<HashMap<u64, KeyEntry>, Failure> {
    let entries = read_entries(read, &get_catalogue(read, tenant_id, file_id)?)?;
    let active = entries.into_iter().filter(|entry| !entry.is_obsolete);
    Ok(active.map(|entry| (entry.number, entry)).collect())
}
