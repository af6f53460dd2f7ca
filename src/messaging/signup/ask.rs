//! Asking for a sign-up, and what becomes of one that nobody confirms.

use quintet_platform::secrets::digest;
use quintet_storage::{Abort, Failure, Read as _, Scan, Timestamp, WriteTx};

use super::model::{OF_ADDRESS_MAX, OF_SOURCE_MAX, WAITING_MAX, WAITS_SECONDS, Wish};
use super::tables::{SIGN_UPS, SignUpRow};
use crate::due::{self, Due};
use crate::identity::keys::token_place;
use crate::identity::workspaces;
use crate::refusal::Refusal;

/// Has a sign-up wait for whoever has `token`, which was drawn before. `wish` was checked.
///
/// # Errors
/// The workspace's name is given, or as many wait as may: in all, of this address, or from there.
pub(super) fn ask(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    Wish { address, name, slug }: Wish,
    source: String,
    token: &str,
) -> Result<(), Abort<Refusal>> {
    if workspaces::by_slug(tx, &slug)?.is_some() {
        return Err(Refusal::NameTaken(slug).into());
    }
    let waiting = tx.scan(&SIGN_UPS, Scan::all().limit(WAITING_MAX))?;
    let of_address = waiting.iter().filter(|(_, row)| row.address.eq_ignore_ascii_case(&address)).count();
    let of_source = waiting.iter().filter(|(_, row)| row.source == source).count();
    for (limit, count, max) in [
        ("sign-ups", waiting.len(), WAITING_MAX),
        ("sign-ups of an address", of_address, OF_ADDRESS_MAX),
        ("sign-ups from a place", of_source, OF_SOURCE_MAX),
    ] {
        if count >= max {
            return Err(Refusal::LimitReached(limit, max as u64).into());
        }
    }
    let (digest, expires_at) = (digest(token.as_bytes()), now.plus_seconds(WAITS_SECONDS));
    let place = token_place(&digest);
    due::put(tx, expires_at, Due::SignUp(place))?;
    Ok(tx.put(&SIGN_UPS, &place, &SignUpRow { digest, address, name, slug, source, expires_at })?)
}

/// A sign-up is over: its time is, or the mail could not be sent.
pub(crate) fn expire(tx: &mut WriteTx<'_>, place: u128) -> Result<(), Failure> {
    if let Some(row) = tx.get(&SIGN_UPS, &place)? {
        due::clear(tx, row.expires_at, Due::SignUp(place));
        tx.delete(&SIGN_UPS, &place);
    }
    Ok(())
}
