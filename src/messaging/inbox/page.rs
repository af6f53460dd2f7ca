//! Which deliveries a page of an inbox has.

use quintet_storage::{Failure, Read};

use crate::identity::mailboxes;
use crate::mail::deliver;
use crate::mail::model::Delivery;
use crate::mail::unread::unread_after;
use crate::model::AgentKey;

/// Which deliveries are asked for.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// Behind this place.
    pub(super) after: u64,
    /// The most of them.
    pub(super) limit: usize,
    /// With this label.
    pub(super) label: Option<String>,
    /// That are not read.
    pub(super) is_unread: bool,
}

/// A page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Page {
    /// The deliveries with their places, ascending.
    pub(super) rows: Vec<(u64, Delivery)>,
    /// Up to this place all was looked at.
    pub(super) next: u64,
}

/// The page that is asked for.
pub(super) fn page(read: &impl Read, agent: AgentKey, asked: &Asked) -> Result<Page, Failure> {
    let rows = match asked.is_unread {
        true => unread(read, agent, asked)?,
        false => deliver::after(read, agent, asked.after, asked.limit)?,
    };
    let next = rows.last().map_or(asked.after, |(seq, _)| *seq);
    Ok(Page { rows, next })
}

fn unread(read: &impl Read, agent: AgentKey, asked: &Asked) -> Result<Vec<(u64, Delivery)>, Failure> {
    let mailbox = mailboxes::get(read, agent)?;
    let places = unread_after(read, agent, &mailbox, asked.after, asked.limit)?;
    let found = places.into_iter().map(|seq| {
        let delivery = deliver::find(read, agent, seq)?;
        let missing = || Failure::Damaged(format!("the inbox of {agent:?} lacks place {seq}, which is unread"));
        Ok((seq, delivery.ok_or_else(missing)?))
    });
    found.collect()
}
