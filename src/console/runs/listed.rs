//! A list that goes on by a cursor and has no filters.

use serde::de::DeserializeOwned;

use super::wire::Page;
use crate::console::address::{query, said, with_query};
use crate::console::notice::Notice;
use crate::console::rooms::Room;
use crate::console::visitor::Member;

/// A page of it.
pub struct Listed<T> {
    /// What is on it.
    pub items: Vec<T>,
    /// The address of the next one, if there is one.
    pub next: Option<String>,
    /// Whether it is the first.
    pub is_first: bool,
}

/// The page that an address means: what the room answers at `route`, for the page at `path`.
///
/// # Errors
/// Those of the room.
pub async fn listed<T: DeserializeOwned>(
    member: &Member,
    raw: Option<&str>,
    route: &str,
    path: &str,
) -> Result<Listed<T>, Notice> {
    let cursor = said(&mut query(raw)?, "cursor");
    let asked = [("limit", "50")].into_iter().chain(cursor.as_deref().map(|cursor| ("cursor", cursor)));
    let found: Page<T> = member.asking.get(Room::Runs, &with_query(route, asked)).await?;
    let next = found.next_cursor.map(|cursor| with_query(path, [("cursor", cursor.as_str())]));
    Ok(Listed { items: found.items, next, is_first: cursor.is_none() })
}
