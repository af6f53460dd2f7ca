//! Making a timer.

use quintet_platform::json::Json;
use quintet_storage::{Abort, Timestamp, WriteTx};

use super::model::{NO_TIMER, PENDING_MAX, Timer, TimerState};
use super::rows::put;
use super::tables::CONTENTS;
use crate::alarms::model::{Address, Contents};
use crate::alarms::{contents, counts};
use crate::allowances::model::seconds_to_midnight;
use crate::allowances::{Ceilings, quotas, terms};
use crate::model::{TenantId, TimerId};
use crate::refusal::Refusal;
use crate::webhooks::model::SigningSecret;

/// A timer as it is asked for.
#[derive(Clone)]
pub(super) struct NewTimer {
    pub(super) name: Option<String>,
    pub(super) tags: Vec<String>,
    pub(super) fire_at: Timestamp,
    pub(super) url: String,
    pub(super) secret: SigningSecret,
    pub(super) payload: Json,
    /// The key that asks.
    pub(super) key_id: String,
}

/// Makes a timer, which fires at once if its time has come already.
pub(super) fn create(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    tenant_id: TenantId,
    ceilings: &Ceilings,
    new: NewTimer,
) -> Result<(TimerId, Timer), Abort<Refusal>> {
    if counts::of(tx, tenant_id)?.pending_timers >= PENDING_MAX {
        return Err(Refusal::LimitReached("the most pending timers of a tenant", PENDING_MAX).into());
    }
    if !counts::charge(tx, now, tenant_id, 1)? {
        return Err(Refusal::DailyQuota(seconds_to_midnight(now)).into());
    }
    let days = quotas::numbers(tx, tenant_id, ceilings)?.retention_days;
    let timer = Timer {
        name: new.name,
        tags: new.tags,
        address: Address { url: new.url, secret_origin: new.secret.origin },
        fire_at: new.fire_at,
        state: TimerState::Pending,
        created_at: now,
        retention_days: terms::of(tx, &new.key_id)?.retention_days(days),
    };
    let key = (tenant_id, TimerId(tx.new_id()));
    if !contents::put(tx, &CONTENTS, &key, &Contents::new(new.secret.key.expose(), &new.payload))? {
        // A tenant's key is never destroyed while its requests are let in.
        return Err(NO_TIMER.into());
    }
    put(tx, key, None, &timer)?;
    Ok((key.1, timer))
}
