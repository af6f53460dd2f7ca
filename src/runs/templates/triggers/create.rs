//! Making a trigger.

use quintet_storage::{Abort, Read, Timestamp, WriteTx};

use super::super::launch::prepare;
use super::super::model::NO_TEMPLATE;
use super::super::params::is_secret;
use super::super::rows::{find as find_template, params};
use super::model::{Held, NewTrigger, TRIGGERS_MAX, Trigger};
use super::rows::{all, put, put_held};
use crate::model::{TemplateKey, TriggerId};
use crate::refusal::Refusal;
use crate::schedules::create::check;

/// Whether its template could be run so now; the address that its workflows would tell, if they would tell any.
pub(in super::super) fn check_run(
    read: &impl Read,
    key: TemplateKey,
    trigger: &Trigger,
    held: &Held,
) -> Result<Option<String>, Abort<Refusal>> {
    let (new, _) = prepare(read, key, trigger.wanted(held.clone()))?;
    Ok(new.webhook.map(|(webhook, _)| webhook.url))
}

/// The names of the values that are secrets in the version that a trigger runs now.
pub(super) fn secrets_of(
    read: &impl Read,
    key: TemplateKey,
    trigger: &Trigger,
    held: &Held,
) -> Result<Vec<String>, Abort<Refusal>> {
    let latest = find_template(read, key)?.ok_or(NO_TEMPLATE)?.latest_version;
    let declared = params(read, (key.0, key.1, trigger.version.unwrap_or(latest)))?;
    let names = held.params.iter().map(|(name, _)| name);
    Ok(names.filter(|name| is_secret(&declared, name)).cloned().collect())
}

/// Makes a trigger of a template whose values have been checked.
pub(in super::super) fn create(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    key: TemplateKey,
    new: NewTrigger,
) -> Result<(TriggerId, Trigger), Abort<Refusal>> {
    find_template(tx, key)?.ok_or(NO_TEMPLATE)?;
    let (mut trigger, mut held) = new.into_parts(now);
    held.secrets = secrets_of(tx, key, &trigger, &held)?;
    let next = check(&trigger.timing, now, None)?;
    if all(tx, key)?.len() >= TRIGGERS_MAX {
        let most = u64::try_from(TRIGGERS_MAX).unwrap_or(u64::MAX);
        return Err(Refusal::LimitReached("the most triggers of a template", most).into());
    }
    trigger.next_fire_at = Some(next).filter(|_| trigger.is_enabled);
    let trigger_key = (key.0, key.1, TriggerId(tx.new_id()));
    if !put_held(tx, trigger_key, &held)? {
        // A tenant's key is never destroyed while its requests are let in.
        return Err(NO_TEMPLATE.into());
    }
    put(tx, trigger_key, None, &trigger)?;
    Ok((trigger_key.2, trigger))
}
