//! Links that let somebody in once.

use quintet_storage::{Failure, Read, Scan, Timestamp, Uuid, WriteTx};

use super::deeds::record_deed;
use super::model::{Act, LINK_SECONDS, LINKS_MAX, Link, Purpose};
use super::tables::{ENDS, EndRow, LINKS, LinkRow};
use crate::jobs::start_of_hour;
use crate::secrets::{Digest, Secret, constant_time_eq};
use crate::sessions::{SessionToken, split_token};

/// A secret that was drawn for a link that is not there yet: 256 random bits.
pub struct LinkToken(SessionToken);

impl LinkToken {
    /// A new one.
    #[must_use]
    pub fn draw() -> LinkToken {
        LinkToken(SessionToken::draw())
    }

    /// What is stored of it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.0.digest()
    }

    /// The text for whoever asked, once the link is there.
    #[must_use]
    pub fn text(&self, link_id: Uuid) -> Secret {
        self.0.text(link_id)
    }
}

/// A link to be made.
pub struct NewLink {
    /// Whom it lets in.
    pub purpose: Purpose,
    /// Who asks for it: a name on the machine.
    pub asked_by: String,
    /// The digest of its token.
    pub digest: Digest,
}

/// Makes a link; its id, and when it ends. Where too many wait, the oldest goes.
///
/// # Errors
/// Only the store's.
pub fn make_link(tx: &mut WriteTx<'_>, now: Timestamp, new: NewLink) -> Result<(Uuid, Timestamp), Failure> {
    let NewLink { purpose, asked_by, digest } = new;
    let waiting = tx.scan(&LINKS, Scan::all().limit(LINKS_MAX))?;
    if waiting.len() == LINKS_MAX
        && let Some((oldest, row)) = waiting.into_iter().next()
    {
        remove(tx, oldest, &row);
    }
    let (act, about) = match purpose {
        Purpose::Operator => (Act::OperatorLink, String::new()),
        Purpose::Member { principal, .. } => (Act::MemberLink, Uuid::from_bytes(principal).to_string()),
    };
    record_deed(tx, now, act, &asked_by, &about)?;
    let link_id = tx.new_id();
    let row = LinkRow { digest, purpose, asked_by, ends_at: now.plus_seconds(LINK_SECONDS) };
    tx.put(&LINKS, &link_id, &row)?;
    tx.put(&ENDS, &(row.end_hour(), link_id), &EndRow::Link)?;
    tx.falls_due(ENDS.spec().tag, start_of_hour(row.end_hour()));
    Ok((link_id, row.ends_at))
}

/// Uses a link: it is gone. `None`: there is none with this token that still works, for whatever reason. One that was made
/// for the other kind of people stays where it is.
///
/// # Errors
/// Only the store's.
pub fn take_link(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    token: &str,
    is_wanted: impl FnOnce(&Purpose) -> bool,
) -> Result<Option<Link>, Failure> {
    let Some((link_id, row)) = find(tx, now, token, is_wanted)? else { return Ok(None) };
    remove(tx, link_id, &row);
    Ok(Some(row.link(link_id)))
}

/// The link of a token, if it still works and is for this kind of people; it stays. Asked before anything is written, so that
/// whoever tries tokens at random costs a read each, and before it is used, so that one that cannot let in yet is still good
/// later.
///
/// # Errors
/// Only the store's.
pub fn find_link(
    read: &impl Read,
    now: Timestamp,
    token: &str,
    is_wanted: impl FnOnce(&Purpose) -> bool,
) -> Result<Option<Link>, Failure> {
    Ok(find(read, now, token, is_wanted)?.map(|(link_id, row)| row.link(link_id)))
}

fn find(
    read: &impl Read,
    now: Timestamp,
    token: &str,
    is_wanted: impl FnOnce(&Purpose) -> bool,
) -> Result<Option<(Uuid, LinkRow)>, Failure> {
    const NOBODYS: Digest = [0; 32];
    let Some((link_id, digest)) = split_token(token) else { return Ok(None) };
    let row = read.get(&LINKS, &link_id)?;
    let is_own = constant_time_eq(row.as_ref().map_or(&NOBODYS, |row| &row.digest), &digest);
    Ok(row.filter(|row| is_own && now < row.ends_at && is_wanted(&row.purpose)).map(|row| (link_id, row)))
}

/// Takes a link out with what finds it.
pub(super) fn remove(tx: &mut WriteTx<'_>, link_id: Uuid, row: &LinkRow) {
    tx.delete(&ENDS, &(row.end_hour(), link_id));
    tx.delete(&LINKS, &link_id);
}
