//! Walking along an account's committed entries, from the newest on, with the balance at each: from what the ledger says
//! that was posted at an instant, by the clock of when it learned of it, each entry is taken off in turn. What was committed
//! later is passed over, so that a walk is the same however late it is made.

use quintet_platform::clock::parse_rfc3339;
use quintet_platform::http::query::encode_segment;
use quintet_storage::Timestamp;

use super::money::minor;
use super::wire::{BalanceAsOf, Entries, Entry};
use crate::console::address::with_query;
use crate::console::notice::Notice;
use crate::console::rooms::{Asking, Room};

/// Entries that the room is asked for at once: as many as it gives.
const CHUNK: &str = "1000";

/// An entry of a statement.
pub struct Line {
    /// The entry.
    pub entry: Entry,
    /// What it changes of the balance, in minor units.
    pub change: i128,
    /// The balance with it.
    pub balance: i128,
}

impl Line {
    /// The balance before it.
    pub fn before(&self) -> i128 {
        self.balance.saturating_sub(self.change)
    }
}

/// Somebody who walks.
pub struct Walk {
    asking: Asking,
    path: String,
    until: Timestamp,
    normal_side: String,
    balance: i128,
    place: Place,
}

/// Where he is.
enum Place {
    Start,
    Behind(String),
    End,
}

impl Walk {
    /// Begins at the newest entry of what was known at an instant.
    pub fn begin(asking: &Asking, account: &str, normal_side: &str, known: &BalanceAsOf) -> Result<Walk, Notice> {
        Ok(Walk {
            asking: asking.clone(),
            path: format!("/v1/accounts/{}/entries", encode_segment(account)),
            until: instant(&known.as_of)?,
            normal_side: normal_side.to_owned(),
            balance: minor(&known.balance_minor)?,
            place: Place::Start,
        })
    }

    /// The balance before all that was walked along.
    pub fn balance(&self) -> i128 {
        self.balance
    }

    /// The next entries; none at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<Line>>, Notice> {
        let cursor = match &self.place {
            Place::Start => None,
            Place::Behind(cursor) => Some(("cursor", cursor.as_str())),
            Place::End => return Ok(None),
        };
        let said = [("state", "committed"), ("limit", CHUNK)].into_iter().chain(cursor);
        let found: Entries = self.asking.get(Room::Ledger, &with_query(&self.path, said)).await?;
        self.place = found.next_cursor.map_or(Place::End, Place::Behind);
        let mut lines = Vec::new();
        for entry in found.entries {
            if instant(entry.finalized_at.as_deref().unwrap_or_default())? <= self.until {
                lines.push(self.take(entry)?);
            }
        }
        Ok(Some(lines))
    }

    fn take(&mut self, entry: Entry) -> Result<Line, Notice> {
        let amount = minor(&entry.amount_minor)?;
        let change = if entry.direction == self.normal_side { amount } else { -amount };
        let line = Line { entry, change, balance: self.balance };
        self.balance = line.before();
        Ok(line)
    }
}

/// Reads an instant that the ledger tells.
pub fn instant(text: &str) -> Result<Timestamp, Notice> {
    parse_rfc3339(text).map_err(|_| Notice::Unavailable)
}
