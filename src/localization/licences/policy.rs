//! Approving prose by policy (localization, P5), part by part: each part is judged outside of its transaction, which asks
//! whether all of that still holds.

use quintet_platform::json::{Json, Limits, parse, to_canonical};
use quintet_storage::{Abort, Failure, Read, Timestamp, Uuid, WriteTx};

use super::lapse::{active_licence, due_lapse};
use super::switch::is_enabled;
use crate::audit::Actor;
use crate::census;
use crate::content::rejudge::{Stamp, stamp};
use crate::content::{
    Approval, File, FileId, Key, KeyClass, ReviewState, State, TranslationRow, Walk, Walked, contexts_version,
    find_context, get_row, key_id, state_of,
};
use crate::language::Locale;
use crate::model::{ProjectId, TenantId};
use crate::quality::CheckSet;
use crate::refusal::Refusal;
use crate::review::{Cause, Standards, StateChange, change_state};
use crate::shelf::Shelf;
use crate::spaces::{Project, get_project};
use crate::webhooks::{Changes, Occasion};

/// Keys looked at in one go.
const WINDOW_KEYS: u64 = 100;
/// A part with so many approvals is full: with those of another window it has less than 200.
const PART_APPROVALS: usize = 100;
/// A part looks at so many keys at most.
const PART_KEYS: u64 = 5_000;
/// And at translations of so many bytes; the last may go beyond.
const PART_BYTES: usize = 512 << 10;

/// How many keys were left out, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Approved.
    pub approved: u64,
    /// Not prose.
    pub class: u64,
    /// Under a legal prefix.
    pub legal: u64,
    /// Fails a check that blocks.
    pub qa: u64,
    /// Neither draft nor reviewed.
    pub state: u64,
}

/// What came of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// The evaluation that all parts are of.
    pub evaluation_id: Uuid,
    /// By which licence.
    pub licence_id: Uuid,
    /// Behind which key to go on; `None`: that was the last part.
    pub next: Option<u64>,
    /// Its keys.
    pub counts: Counts,
}

impl Done {
    /// As it is remembered.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Counts { approved, class, legal, qa, state } = self.counts;
        to_canonical(&Json::object([
            ("evaluation_id", Json::from(self.evaluation_id.to_string())),
            ("licence", Json::from(self.licence_id.to_string())),
            ("next", Json::from(self.next)),
            ("counts", Json::from([approved, class, legal, qa, state].map(Json::from).to_vec())),
        ]))
    }

    /// What was remembered; `None`: that is none.
    #[must_use]
    pub fn read(text: &[u8]) -> Option<Done> {
        let json = parse(text, Limits::default()).ok()?;
        let id = |name: &str| json.get(name)?.as_str()?.parse::<Uuid>().ok();
        let number = |json: &Json| match json {
            Json::Number(number) => number.as_u64(),
            _ => None,
        };
        let Json::Array(counts) = json.get("counts")? else { return None };
        let counts: Vec<u64> = counts.iter().map(number).collect::<Option<_>>()?;
        let [approved, class, legal, qa, state] = counts.try_into().ok()?;
        Some(Done {
            evaluation_id: id("evaluation_id")?,
            licence_id: id("licence")?,
            next: number(json.get("next")?),
            counts: Counts { approved, class, legal, qa, state },
        })
    }
}

impl Counts {
    /// The sums of these and of others.
    #[must_use]
    pub fn plus(self, other: Counts) -> Counts {
        Counts {
            approved: self.approved + other.approved,
            class: self.class + other.class,
            legal: self.legal + other.legal,
            qa: self.qa + other.qa,
            state: self.state + other.state,
        }
    }
}

/// What is gone through.
#[derive(Clone, Debug)]
pub struct Wish {
    /// In which project.
    pub project: Project,
    /// Which file.
    pub file: File,
    /// In which locale.
    pub locale: Locale,
}

/// A part that is ready to be written.
#[derive(Clone, Debug)]
pub struct Part {
    project_id: ProjectId,
    file_id: FileId,
    locale: Locale,
    source_locale: Option<Locale>,
    approve: Vec<(Key, TranslationRow)>,
    done: Done,
    stamp: Stamp,
    /// What says which keys are prose.
    classes: Classes,
}

/// What says which keys of a file are prose, at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Classes {
    contexts_version: u64,
    legal_prefixes: Vec<String>,
}

impl Classes {
    fn of(read: &impl Read, tenant_id: TenantId, project: &Project, file_id: FileId) -> Result<Classes, Failure> {
        let contexts_version = contexts_version(read, tenant_id, file_id)?;
        Ok(Classes { contexts_version, legal_prefixes: project.legal_prefixes.clone() })
    }
}

impl Part {
    /// Behind which key the next one begins; `None`: there is none.
    #[must_use]
    pub const fn next(&self) -> Option<u64> {
        self.done.next
    }
}

/// The licence by which a locale is approved now.
///
/// # Errors
/// In this order: [`Refusal::PolicyUnlicensed`], [`Refusal::PolicyDisabled`].
pub fn licence_for(
    read: &impl Read,
    now: Timestamp,
    tenant_id: TenantId,
    project_id: ProjectId,
    locale: &Locale,
) -> Result<Uuid, Abort<Refusal>> {
    let licence = active_licence(read, tenant_id, project_id, locale.canonical())?;
    let licence = licence.filter(|licence| due_lapse(&licence.row, now).is_none());
    let licence = licence.ok_or(Refusal::PolicyUnlicensed)?;
    if !is_enabled(read, tenant_id, project_id, locale.canonical())? {
        return Err(Refusal::PolicyDisabled.into());
    }
    Ok(licence.subject.id)
}

/// A part being put together.
struct Building<'b, R: Read> {
    read: &'b R,
    shelf: &'b Shelf,
    tenant_id: TenantId,
    wish: &'b Wish,
    standards: Option<Standards>,
    counts: Counts,
    approve: Vec<(Key, TranslationRow)>,
    bytes: usize,
}

impl<R: Read> Building<'_, R> {
    /// Counts a key once: why it is left out, or that it is approved.
    fn consider(&mut self, file_version: u32, walked: Walked) -> Result<(), Abort<Refusal>> {
        let Walked { entry, row } = walked;
        if entry.is_obsolete {
            return Ok(());
        }
        let file_id = self.wish.file.file_id;
        let context = find_context(self.read, self.shelf, self.tenant_id, file_id, &entry.path)?;
        if context.and_then(|context| context.class) != Some(KeyClass::Prose) {
            self.counts.class += 1;
            return Ok(());
        }
        if self.wish.project.is_legal(&entry.path) {
            self.counts.legal += 1;
            return Ok(());
        }
        let state = state_of(&entry, row.as_ref());
        let is_open = matches!(state, State::Stored(ReviewState::Draft | ReviewState::Reviewed));
        let Some(row) = row.filter(|_| is_open) else {
            self.counts.state += 1;
            return Ok(());
        };
        let key = Key {
            project_id: self.wish.project.project_id,
            file_id,
            file_version,
            key_id: key_id(self.wish.file.key_prefix, entry.number),
            entry,
        };
        let (read, shelf, tenant_id) = (self.read, self.shelf, self.tenant_id);
        let standards = match &self.standards {
            Some(known) => known.of_other(read, shelf, tenant_id, &key)?,
            None => {
                let found = Standards::of(read, shelf, tenant_id, &self.wish.project, &key, &self.wish.locale)?;
                self.standards.insert(found).clone()
            }
        };
        let failing = standards.failing(&key.entry, &self.wish.locale, &row.content);
        if !failing.and(CheckSet::blocking()).is_empty() {
            self.counts.qa += 1;
            return Ok(());
        }
        self.counts.approved += 1;
        self.bytes += row.content.bytes() + key.entry.source.bytes();
        self.approve.push((key, row));
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.approve.len() >= PART_APPROVALS || self.bytes >= PART_BYTES
    }
}

/// Judges the keys behind a number, as many as one part has.
///
/// # Errors
/// [`Refusal::PolicyUnlicensed`], [`Refusal::PolicyDisabled`]; the store's.
pub fn prepare_part(
    read: &impl Read,
    shelf: &Shelf,
    now: Timestamp,
    tenant_id: TenantId,
    wish: &Wish,
    evaluation_id: Uuid,
    after: u64,
) -> Result<Part, Abort<Refusal>> {
    let project_id = wish.project.project_id;
    let licence_id = licence_for(read, now, tenant_id, project_id, &wish.locale)?;
    let stamp = stamp(read, tenant_id, project_id)?;
    let classes = Classes::of(read, tenant_id, &wish.project, wish.file.file_id)?;
    let walk = Walk::of(read, tenant_id, wish.file.file_id, Some(&wish.locale))?;
    let counts = Counts::default();
    let mut building =
        Building { read, shelf, tenant_id, wish, standards: None, counts, approve: Vec::new(), bytes: 0 };
    let mut behind = after;
    let next = loop {
        if behind >= walk.last_number() {
            break None;
        }
        if building.is_full() || behind - after >= PART_KEYS {
            break Some(behind);
        }
        let until = behind.saturating_add(WINDOW_KEYS);
        let (walked, within) = walk.next(read, behind, until)?;
        for walked in walked {
            behind = behind.max(walked.entry.number);
            building.consider(walk.version(), walked)?;
            if building.bytes >= PART_BYTES {
                break;
            }
        }
        if building.bytes < PART_BYTES {
            behind = behind.max(within.unwrap_or(until));
        }
    };
    let Building { standards, counts, approve, .. } = building;
    Ok(Part {
        project_id,
        file_id: wish.file.file_id,
        locale: wish.locale.clone(),
        source_locale: standards.map(|standards| standards.source_locale().clone()),
        approve,
        done: Done { evaluation_id, licence_id, next, counts },
        stamp,
        classes,
    })
}

/// Approves what a part says. `None`: something has changed since it was judged.
///
/// # Errors
/// [`Refusal::PolicyUnlicensed`], [`Refusal::PolicyDisabled`]
pub fn approve_part(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    part: Part,
) -> Result<Option<Done>, Abort<Refusal>> {
    let Part { project_id, file_id, locale, source_locale, approve, done, stamp: judged_by, classes } = part;
    let tenant_id = actor.tenant_id;
    if census::is_open(tx, tenant_id, project_id)? {
        return Ok(None);
    }
    let licence_id = licence_for(tx, now, tenant_id, project_id, &locale)?;
    let is_current = licence_id == done.licence_id
        && stamp(tx, tenant_id, project_id)? == judged_by
        && Classes::of(tx, tenant_id, &get_project(tx, tenant_id, project_id)?, file_id)? == classes;
    if !is_current {
        return Ok(None);
    }
    for (key, row) in &approve {
        if get_row(tx, tenant_id, key, &locale)?.as_ref() != Some(row) {
            return Ok(None);
        }
    }
    let approval = Approval {
        at: now,
        by: actor.principal_id.into_bytes(),
        label: Some(format!("policy:{licence_id}@1")),
        reference: Some(done.evaluation_id.to_string()),
    };
    let mut changes = Changes::begin(tx, tenant_id, Occasion::Policy)?;
    for (key, before) in approve {
        let source_locale = source_locale.as_ref().ok_or_else(|| Failure::Io("nothing was judged".to_owned()))?;
        let (to, cause, approval) = (ReviewState::Approved, Cause::Policy, approval.clone());
        let change = StateChange { key: &key, source_locale, locale: &locale, before, to, cause, approval };
        change_state(tx, now, actor, change, &mut changes)?;
    }
    changes.tell(tx, now, actor)?;
    Ok(Some(done))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_of_a_part_is_read_back() {
        let counts = Counts { approved: 1, class: 2, legal: 3, qa: 4, state: 5 };
        for next in [None, Some(7)] {
            let done = Done { evaluation_id: Uuid::from_u128(1), licence_id: Uuid::from_u128(2), next, counts };
            assert_eq!(Done::read(done.to_text().as_bytes()), Some(done));
        }
        assert_eq!(Done::read(b"{}"), None);
        assert_eq!(counts.plus(counts).state, 10);
    }
}
