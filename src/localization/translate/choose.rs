//! Which keys a call drafts (localization, A5): those without a translation, those whose translation is outdated, and drafts
//! that the engine wrote before some instant; in the order of their ids, those that the engine failed at lately last.

use std::collections::HashMap;

use quintet_storage::{Abort, Failure, Read, Timestamp};

use super::model::{CALL_BYTES_MAX, Candidate, SOURCE_BYTES_MAX, Wish};
use super::tables::FAILED_DRAFTS;
use crate::content::{
    FileId, Key, KeyEntry, KeyId, ReviewState, State, TranslationRow, Wording, each_active_key, each_row, find_context,
    get_file, get_key,
};
use crate::model::TenantId;
use crate::quality::Limits;
use crate::refusal::Refusal;
use crate::shelf::Shelf;
use crate::spaces::{Project, ProjectId};

/// The keys of a call.
#[derive(Debug, Default)]
pub struct Chosen {
    /// Those to be drafted.
    pub candidates: Vec<Candidate>,
    /// Those whose sources are longer than any translation may be: nobody is asked for them.
    pub too_long: Vec<Key>,
    /// How many more qualify.
    pub remaining: u64,
}

/// Demands that there are the things which a body names: the file in the project, and every key in the file.
///
/// # Errors
/// [`Refusal::NotFound`]
pub fn demand_named(
    read: &impl Read,
    shelf: &Shelf,
    tenant_id: TenantId,
    project_id: ProjectId,
    file_id: FileId,
    keys: impl Iterator<Item = KeyId>,
) -> Result<(), Abort<Refusal>> {
    get_file(read, tenant_id, project_id, file_id)?;
    for key_id in keys {
        if get_key(read, shelf, tenant_id, key_id)?.file_id != file_id {
            return Err(Refusal::NotFound.into());
        }
    }
    Ok(())
}

/// What is known of a stored translation, without its text.
struct Known {
    revision: u64,
    review: ReviewState,
    source_version: u32,
    origin: Option<Wording>,
    updated_at: Timestamp,
}

impl Known {
    fn of(row: &TranslationRow) -> Known {
        let TranslationRow { revision, state, source_version, origin, updated_at, .. } = row;
        Known {
            revision: *revision,
            review: *state,
            source_version: *source_version,
            origin: *origin,
            updated_at: *updated_at,
        }
    }

    fn qualifies(&self, entry: &KeyEntry, wish: &Wish) -> bool {
        match State::of(entry, self.review, self.source_version) {
            State::Outdated => true,
            State::Stored(ReviewState::Draft) => {
                let is_old = wish.drafted_before.is_some_and(|before| self.updated_at < before);
                is_old && self.origin == Some(Wording::Ai)
            }
            State::Untranslated | State::Stored(_) => false,
        }
    }
}

/// Chooses the keys of a call. Looks at all keys of the file.
///
/// # Errors
/// Only the store's, and [`Refusal::NotFound`] for a file that is none.
pub fn choose(
    read: &impl Read,
    shelf: &Shelf,
    tenant_id: TenantId,
    project: &Project,
    wish: &Wish,
    now: Timestamp,
) -> Result<Chosen, Abort<Refusal>> {
    let file = get_file(read, tenant_id, project.project_id, wish.file_id)?;
    let mut known: HashMap<u64, Known> = HashMap::new();
    each_row(read, tenant_id, wish.file_id, &wish.locale, |number, row| {
        known.insert(number, Known::of(&row));
        Ok::<_, Failure>(())
    })?;
    let place = (tenant_id, wish.file_id, wish.locale.canonical().to_owned());
    let lately = read.get(&FAILED_DRAFTS, &place)?.unwrap_or_default();
    let lately: HashMap<u64, usize> = lately.lately(now).collect();
    let (mut first, mut last): (Vec<Key>, Vec<(usize, Key)>) = Default::default();
    let mut qualifying = 0_u64;
    each_active_key(read, tenant_id, project.project_id, &file, |key| {
        let qualifies = wish.keys.as_ref().is_none_or(|keys| keys.contains(&key.key_id))
            && known.get(&key.entry.number).is_none_or(|known| known.qualifies(&key.entry, wish));
        if !qualifies {
            return;
        }
        qualifying += 1;
        match lately.get(&key.entry.number) {
            None if first.len() < wish.batch => first.push(key),
            Some(place) => push_earliest(&mut last, (*place, key), wish.batch),
            None => {}
        }
    })?;
    last.sort_by_key(|(place, _)| *place);
    let keys = first.into_iter().chain(last.into_iter().map(|(_, key)| key)).take(wish.batch);
    let mut chosen = within_a_call(keys, &known, project);
    chosen.remaining = qualifying - (chosen.candidates.len() + chosen.too_long.len()) as u64;
    tell(read, shelf, tenant_id, wish, &mut chosen)?;
    Ok(chosen)
}

/// Keeps the keys whose failure is longest ago, so many of them.
fn push_earliest(last: &mut Vec<(usize, Key)>, one: (usize, Key), count: usize) {
    last.push(one);
    if last.len() > count
        && let Some((latest, _)) = last.iter().enumerate().max_by_key(|(_, (place, _))| *place)
    {
        last.swap_remove(latest);
    }
}

/// As many of the keys as fit into a call, at least one.
fn within_a_call(keys: impl Iterator<Item = Key>, known: &HashMap<u64, Known>, project: &Project) -> Chosen {
    let mut chosen = Chosen::default();
    let mut bytes = 0;
    for key in keys {
        let own = key.entry.source.bytes();
        if own > SOURCE_BYTES_MAX {
            chosen.too_long.push(key);
            continue;
        }
        bytes += own;
        if bytes > CALL_BYTES_MAX && !chosen.candidates.is_empty() {
            break;
        }
        let revision = known.get(&key.entry.number).map_or(0, |known| known.revision);
        let is_legal = project.is_legal(&key.entry.path);
        chosen.candidates.push(Candidate { key, revision, context: None, limits: Limits::default(), is_legal });
    }
    chosen
}

/// What translators are told of the keys.
fn tell(read: &impl Read, shelf: &Shelf, tenant_id: TenantId, wish: &Wish, chosen: &mut Chosen) -> Result<(), Failure> {
    for candidate in &mut chosen.candidates {
        let context = find_context(read, shelf, tenant_id, wish.file_id, &candidate.key.entry.path)?;
        if let Some(context) = context {
            candidate.limits = Limits { min: context.min_length, max: context.max_length };
            candidate.context = context.context;
        }
    }
    Ok(())
}
