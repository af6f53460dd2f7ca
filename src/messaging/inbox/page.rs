//! Which deliveries a page of an inbox has.

use quintet_storage::{Failure, Read};

use crate::identity::mailboxes;
use crate::mail::deliver;
use crate::mail::labels::labelled;
use crate::mail::model::Delivery;
use crate::mail::unread::unread_after;
use crate::model::AgentKey;

/// Deliveries that are looked at for one page where a filter must be looked up for each.
const LOOKED_AT_MAX: usize = 1_000;

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
    let rows = match (&asked.label, asked.is_unread) {
        (Some(label), false) => at(read, agent, labelled(read, agent, label, asked.after, asked.limit)?)?,
        (Some(label), true) => return labelled_unread(read, agent, asked, label),
        (None, true) => unread(read, agent, asked)?,
        (None, false) => deliver::after(read, agent, asked.after, asked.limit)?,
    };
    let next = rows.last().map_or(asked.after, |(seq, _)| *seq);
    Ok(Page { rows, next })
}

/// Which of those with a label are unread is looked up one by one, so that a page looks at so many and says how far it came.
fn labelled_unread(read: &impl Read, agent: AgentKey, asked: &Asked, label: &str) -> Result<Page, Failure> {
    let mut page = Page { rows: Vec::new(), next: asked.after };
    let places = labelled(read, agent, label, asked.after, LOOKED_AT_MAX)?;
    for (seq, delivery) in at(read, agent, places)? {
        page.next = seq;
        if delivery.read_at.is_none() {
            page.rows.push((seq, delivery));
        }
        if page.rows.len() == asked.limit {
            break;
        }
    }
    Ok(page)
}

fn unread(read: &impl Read, agent: AgentKey, asked: &Asked) -> Result<Vec<(u64, Delivery)>, Failure> {
    let mailbox = mailboxes::get(read, agent)?;
    let places = unread_after(read, agent, &mailbox, asked.after, asked.limit)?;
    at(read, agent, places)
}

/// The deliveries at these places.
fn at(read: &impl Read, agent: AgentKey, places: Vec<u64>) -> Result<Vec<(u64, Delivery)>, Failure> {
    let found = places.into_iter().map(|seq| {
        let delivery = deliver::find(read, agent, seq)?;
        let missing = || Failure::Damaged(format!("the inbox of {agent:?} lacks place {seq}"));
        Ok((seq, delivery.ok_or_else(missing)?))
    });
    found.collect()
}
