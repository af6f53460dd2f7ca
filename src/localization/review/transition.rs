//! Moving a translation on: review, reject, approve, revoke.

use quintet_platform::json::Json;
use quintet_storage::{Abort, Timestamp, WriteTx};

use super::judging::Standards;
use super::states::Step;
use super::write::place_of;
use crate::audit::{self, Actor, Event};
use crate::content::{
    Approval, Key, ReviewState, State, Translation, TranslationRow, get_row, put_row, state_of, translation,
};
use crate::figures::move_verdict;
use crate::glance::Look;
use crate::language::Locale;
use crate::likeness::LanguagePair;
use crate::memory;
use crate::model::TenantId;
use crate::quality::{QaCheck, Status};
use crate::refusal::Refusal;
use crate::webhooks::{Changed, Changes, Occasion};

/// What somebody asks for.
#[derive(Clone, Copy, Debug)]
pub struct StepWish {
    /// What is to be done.
    pub step: Step,
    /// The revision it is meant for; `None`: whichever there is.
    pub revision: Option<u64>,
}

/// Moves a translation on.
#[derive(Clone, Debug)]
pub struct MoveOn {
    key: Key,
    locale: Locale,
    wish: StepWish,
    standards: Standards,
    /// What was judged; the transaction finds the same, or all is judged anew.
    row: Option<TranslationRow>,
    failed: Vec<QaCheck>,
}

impl MoveOn {
    /// The wish for a key's translation as it stands, judged.
    ///
    /// # Errors
    /// Only the store's.
    pub fn new(
        read: &impl Look,
        tenant_id: TenantId,
        key: Key,
        locale: Locale,
        wish: StepWish,
        standards: Standards,
    ) -> Result<MoveOn, Abort<Refusal>> {
        let row = get_row(read, tenant_id, &key, &locale)?;
        let failed = match &row {
            Some(row) if wish.step.is_judged() => {
                read.work_through(key.entry.source.bytes() + row.content.bytes())?;
                blocking(standards.judge(&key.entry, &locale, &row.content))
            }
            _ => Vec::new(),
        };
        Ok(MoveOn { key, locale, wish, standards, row, failed })
    }
}

/// Those that refuse review and approval.
fn blocking(checks: Vec<QaCheck>) -> Vec<QaCheck> {
    checks.into_iter().filter(|told| told.status == Status::Fail && told.check.is_blocking()).collect()
}

/// Moves a translation on. `None`: something has changed since it was judged.
///
/// # Errors
/// In this order (localization, O2): [`Refusal::KeyObsolete`], [`Refusal::RevisionMismatch`],
/// [`Refusal::InvalidTransition`], [`Refusal::QaFailed`].
pub fn move_on(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    command: MoveOn,
) -> Result<Option<Translation>, Abort<Refusal>> {
    let MoveOn { key, locale, wish, standards, row, failed } = command;
    let is_current = standards.is_current(tx, actor.tenant_id, &key)?;
    if !is_current || get_row(tx, actor.tenant_id, &key, &locale)? != row {
        return Ok(None);
    }
    if key.entry.is_obsolete {
        return Err(Refusal::KeyObsolete.into());
    }
    let stored = row.as_ref().map(|row| row.revision);
    if stored.is_some_and(|stored| wish.revision.is_some_and(|wished| wished != stored)) {
        return Err(Refusal::RevisionMismatch.into());
    }
    let to = wish.step.from(state_of(&key.entry, row.as_ref()));
    let (Some(row), Some(to)) = (row, to) else { return Err(Refusal::InvalidTransition.into()) };
    if !failed.is_empty() {
        let ids = failed.iter().map(|told| told.check.id()).collect();
        let checks = failed.iter().map(QaCheck::to_json).collect();
        return Err(Refusal::QaFailed { ids, checks }.into());
    }
    let approval = Approval { at: now, by: actor.principal_id.into_bytes(), label: None, reference: None };
    let source_locale = standards.source_locale();
    let cause = Cause::Transition;
    let change = StateChange { key: &key, source_locale, locale: &locale, before: row, to, cause, approval };
    let mut changes = Changes::begin(tx, actor.tenant_id, Occasion::Transition)?;
    let after = change_state(tx, now, actor, change, &mut changes)?;
    changes.tell(tx, now, actor)?;
    Ok(Some(translation(&key, &locale, Some(after))))
}

/// What moves a translation on (localization, T7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A reviewer.
    Transition,
    /// A decision.
    Decision,
    /// A licence.
    Policy,
}

impl Cause {
    /// The word of the audit chain.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Cause::Transition => "transition",
            Cause::Decision => "decision",
            Cause::Policy => "policy",
        }
    }
}

/// A translation in another state.
pub struct StateChange<'c> {
    /// Of which key.
    pub key: &'c Key,
    /// The locale of the sources.
    pub source_locale: &'c Locale,
    /// Into which locale.
    pub locale: &'c Locale,
    /// As it is.
    pub before: TranslationRow,
    /// What becomes of it.
    pub to: ReviewState,
    /// Why.
    pub cause: Cause,
    /// What approves it, if that is what happens.
    pub approval: Approval,
}

/// The one place where a stored state changes and the text does not: revision, text and who wrote it stay (localization,
/// T1), the approval comes and goes with the state (T5), one event tells it (T7), and what is approved is remembered (M2).
/// It is noted among the changes of the transaction, which the caller tells of.
///
/// # Errors
/// The store's.
pub fn change_state(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    actor: &Actor,
    change: StateChange<'_>,
    changes: &mut Changes,
) -> Result<TranslationRow, Abort<Refusal>> {
    let StateChange { key, source_locale, locale, before, to, cause, approval } = change;
    let approved = (to == ReviewState::Approved).then_some(approval);
    let row = TranslationRow { state: to, approved, ..before.clone() };
    put_row(tx, actor.tenant_id, key, locale, Some(&before), &row)?;
    move_verdict(tx, actor.tenant_id, key, locale.canonical(), to)?;
    if to == ReviewState::Approved {
        let pair = LanguagePair::new(actor.tenant_id, source_locale.content_form(), locale);
        if let Some(approved) = memory::of_translation(&key.entry.source, &row.content, row.origin) {
            memory::remember(tx, now, &pair, key.project_id, approved)?;
        }
    }
    let reference = row.approved.as_ref().and_then(|approval| approval.reference.clone());
    let from = State::of(&key.entry, before.state, before.source_version).name();
    let changed = Changed {
        key_id: key.key_id.0,
        revision: row.revision,
        from,
        to: State::Stored(to).name(),
        approval_ref: reference.as_deref(),
    };
    changes.note(&place_of(key, locale), changed);
    let event = Event::about("translation_state", "key", key.key_id.0).with([
        ("project_id", Json::from(key.project_id.0.to_string())),
        ("file_id", Json::from(key.file_id.0.to_string())),
        ("locale", Json::from(locale.canonical())),
        ("revision", Json::from(row.revision)),
        ("from", Json::from(from)),
        ("to", Json::from(State::Stored(to).name())),
        ("cause", Json::from(cause.name())),
        ("approval_ref", reference.map_or(Json::Null, Json::from)),
    ]);
    audit::record(tx, now, actor, event)?;
    Ok(row)
}
