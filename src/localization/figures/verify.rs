//! Whether figures are the sums over verdicts, and verdicts those of the translations there are.

use std::collections::{BTreeMap, HashMap, HashSet};

use quintet_storage::{Failure, Read, Scan};

use super::tables::{CountedState, FIGURES, FiguresRow, VERDICTS};
use super::verdict::Verdict;
use crate::content::rejudge::is_open;
use crate::content::{
    FILE_LOCALES, FILES, FileId, KeyEntry, State, TRANSLATIONS, get_catalogue, read_entries, state_of, words_of,
};
use crate::model::{ProjectId, TenantId};
use crate::rows;

/// What contradicts itself; nothing, if all is well. Where catalogues can be opened, states and words are counted anew out
/// of them and of the translations; what the checks say is not.
///
/// # Errors
/// Only the store's.
pub fn verify(read: &impl Read) -> Result<Vec<String>, Failure> {
    let mut findings = Vec::new();
    let mut pages = 0;
    let mut known: HashSet<(TenantId, FileId, String)> = HashSet::new();
    rows::each(read, &FIGURES, |(tenant_id, project_id, file_id, locale), row| {
        let place = format!("file {} in {locale}", file_id.0);
        let verdicts = verdicts_of(read, tenant_id, file_id, &locale, &mut pages)?;
        let sums = FiguresRow::of(verdicts.values().copied());
        if sums != row {
            findings.push(format!("{place}: its figures are {row:?} and its verdicts sum up to {sums:?}"));
        }
        if !is_open(read, tenant_id, project_id)? {
            verify_file(read, (tenant_id, project_id, file_id), &locale, &verdicts, &place, &mut findings)?;
        }
        known.insert((tenant_id, file_id, locale));
        Ok(())
    })?;
    let stored = rows::count(read, &VERDICTS)?;
    if stored != pages {
        findings.push(format!("{stored} rows of verdicts are stored, of which figures know {pages}"));
    }
    rows::each(read, &FILES, |(tenant_id, project_id, file_id), row| {
        if is_open(read, tenant_id, project_id)? {
            return Ok(());
        }
        let locales = read.scan(&FILE_LOCALES, Scan::prefix(&(tenant_id, file_id)))?;
        let lost = locales.into_iter().filter(|(key, _)| !known.contains(key));
        findings.extend(lost.map(|((.., locale), _)| format!("file {} in {locale}: it has no figures", file_id.0)));
        if row.words.is_none() {
            findings.push(format!("file {}: nobody has counted its words", file_id.0));
        }
        Ok(())
    })?;
    Ok(findings)
}

/// The verdicts of a file in a locale; their rows are counted.
fn verdicts_of(
    read: &impl Read,
    tenant_id: TenantId,
    file_id: FileId,
    locale: &str,
    pages: &mut u64,
) -> Result<BTreeMap<u64, Verdict>, Failure> {
    let mut verdicts = BTreeMap::new();
    let scan = || Scan::prefix(&(tenant_id, file_id, locale.to_owned()));
    rows::each_of(read, &VERDICTS, scan, |(.., page), row| {
        *pages += 1;
        verdicts.extend(row.verdicts(page));
        Ok::<_, Failure>(())
    })?;
    Ok(verdicts)
}

/// The verdicts of a file in a locale against its translations.
fn verify_file(
    read: &impl Read,
    (tenant_id, project_id, file_id): (TenantId, ProjectId, FileId),
    locale: &str,
    verdicts: &BTreeMap<u64, Verdict>,
    place: &str,
    findings: &mut Vec<String>,
) -> Result<(), Failure> {
    // Without the root key, catalogues are closed.
    let entries = get_catalogue(read, tenant_id, file_id).and_then(|row| read_entries(read, &row)).ok();
    let entries: Option<HashMap<u64, KeyEntry>> =
        entries.map(|entries| entries.into_iter().map(|entry| (entry.number, entry)).collect());
    let mut found = 0_usize;
    let scan = || Scan::prefix(&(tenant_id, file_id, locale.to_owned()));
    rows::each_of(read, &TRANSLATIONS, scan, |(.., number), row| {
        let verdict = verdicts.get(&number);
        found += usize::from(verdict.is_some());
        let stored = State::Stored(row.state).name();
        let is_right = match (&entries, verdict) {
            (Some(entries), verdict) => {
                let entry = entries.get(&number).filter(|entry| !entry.is_obsolete);
                let expected = entry.map(|entry| (state_of(entry, Some(&row)).name(), words_of(&entry.source)));
                expected == verdict.map(|verdict| (verdict.state.name(), verdict.words))
            }
            (None, Some(verdict)) => verdict.state == CountedState::Outdated || verdict.state.name() == stored,
            (None, None) => true,
        };
        if !is_right {
            findings.push(format!("{place}: the translation of key {number} is {stored} and counted as {verdict:?}"));
        }
        Ok::<_, Failure>(())
    })?;
    if found != verdicts.len() {
        findings.push(format!("{place}: of {} verdicts {found} are of translations", verdicts.len()));
    }
    let sound = read.get(&FILES, &(tenant_id, project_id, file_id))?;
    if sound.is_none() {
        findings.push(format!("{place}: there is no such file in its project"));
    }
    Ok(())
}
