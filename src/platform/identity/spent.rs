//! What counts once: a login that was answered, a logout token that was taken.

use quintet_storage::{Failure, Read, Snapshot, Timestamp, WriteTx};

use super::login::Login;
use super::tables::{Mark, SPENT, SPENT_BY_EXPIRY, SpentRow};
use crate::jobs::{Agenda, ByHour, Swept, start_of_hour};
use crate::secrets::digest_parts;

const HOURS: ByHour<(u32, u128), Mark> = ByHour { table: SPENT_BY_EXPIRY, hour: |place| place.0, most: 500 };

/// The name of a login.
#[must_use]
pub fn login_name(login: &Login) -> u128 {
    name(&[b"login", login.state().as_bytes()])
}

/// The name of a logout token.
#[must_use]
pub fn logout_name(issuer: &str, token_name: &str) -> u128 {
    name(&[b"logout", issuer.as_bytes(), token_name.as_bytes()])
}

fn name(parts: &[&[u8]]) -> u128 {
    digest_parts(parts).first_chunk().map_or(0, |half| u128::from_be_bytes(*half))
}

/// Whether a name was spent.
///
/// # Errors
/// Only the store's.
pub fn is_spent(read: &impl Read, name: u128) -> Result<bool, Failure> {
    read.contains(&SPENT, &name)
}

/// Spends a name, which is remembered until it could not come again anyway. False: it was spent before.
///
/// # Errors
/// Only the store's.
pub fn spend(tx: &mut WriteTx<'_>, name: u128, expires_at: Timestamp) -> Result<bool, Failure> {
    if tx.contains(&SPENT, &name)? {
        return Ok(false);
    }
    let row = SpentRow { expires_at };
    tx.put(&SPENT, &name, &row)?;
    tx.put(&SPENT_BY_EXPIRY, &(row.hour(), name), &Mark)?;
    tx.falls_due(SPENT_BY_EXPIRY.spec().tag, start_of_hour(row.hour()));
    Ok(true)
}

/// The names that were spent, by the hour at whose start they may go. One that is spent from now on goes after that.
pub struct SpentNames;

impl Agenda for SpentNames {
    type Place = (u32, u128);

    const NAME: &'static str = "platform.spent_names";
    const TAG: u16 = SPENT_BY_EXPIRY.spec().tag;
    const IS_FREEING: bool = true;
    const FIRST: Self::Place = (0, 0);

    fn next(&self, read: &Snapshot, from: Self::Place) -> Result<Option<Timestamp>, Failure> {
        HOURS.next(read, from)
    }

    fn slice(&self, tx: &mut WriteTx<'_>, now: Timestamp, from: Self::Place) -> Result<Swept<Self::Place>, Failure> {
        HOURS.slice(tx, now, from, |tx, place, Mark| {
            tx.delete(&SPENT, &place.1);
            Ok(())
        })
    }
}
