//! Runs, the newest first.

use askama::Template;
use axum::extract::RawQuery;
use axum::response::Response;
use http::StatusCode;

use super::states::{OF_RUNS, look, word};
use super::wire::{Page, Run};
use crate::console::address::{query, said, with_query};
use crate::console::notice::Notice;
use crate::console::pages::{Frame, answer};
use crate::console::rooms::Room;
use crate::console::visitor::Member;

/// What is in a list: of runs, or of workflows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filters {
    /// Those in this state.
    pub state: String,
    /// Those of this name.
    pub name: String,
    /// Those with this label.
    pub tag: String,
    /// From here on.
    pub cursor: String,
}

impl Filters {
    /// What an address says.
    ///
    /// # Errors
    /// [`Notice::Malformed`]
    pub fn read(raw: Option<&str>) -> Result<Filters, Notice> {
        let mut asked = query(raw)?;
        let mut text = |name: &str| said(&mut asked, name).unwrap_or_default();
        Ok(Filters { state: text("state"), name: text("name"), tag: text("tag"), cursor: text("cursor") })
    }

    /// Each that is said.
    pub fn said(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = [("state", &self.state), ("name", &self.name), ("tag", &self.tag), ("cursor", &self.cursor)];
        all.into_iter().filter(|(_, text)| !text.is_empty()).map(|(name, text)| (name, text.as_str()))
    }

    /// What the room is asked.
    pub fn asked(&self, path: &str) -> String {
        with_query(path, [("limit", "50")].into_iter().chain(self.said()))
    }

    /// The same list from elsewhere on.
    pub fn from(&self, path: &str, cursor: &str) -> String {
        let filters = Filters { cursor: cursor.to_owned(), ..self.clone() };
        with_query(path, filters.said())
    }
}

/// The list.
#[derive(Template)]
#[template(path = "runs.html", config = "assets/console/askama.toml")]
struct RunsPage {
    frame: Frame,
    runs: Vec<Run>,
    states: [&'static str; 9],
    filters: Filters,
    next: Option<String>,
    first: Option<String>,
}

/// The page.
pub async fn show(member: Member, RawQuery(raw): RawQuery) -> Result<Response, Notice> {
    let filters = Filters::read(raw.as_deref())?;
    let found: Page<Run> = member.asking.get(Room::Runs, &filters.asked("/api/v1/runs")).await?;
    let page = RunsPage {
        frame: member.frame,
        runs: found.items,
        states: OF_RUNS,
        next: found.next_cursor.map(|cursor| filters.from("/runs", &cursor)),
        first: (!filters.cursor.is_empty()).then(|| filters.from("/runs", "")),
        filters,
    };
    Ok(answer(StatusCode::OK, &page))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_what_is_in_the_list() {
        let filters = Filters::read(Some("state=failed&name=a%26b&tag=&cursor=c")).unwrap();
        assert_eq!(filters.asked("/api/v1/runs"), "/api/v1/runs?limit=50&state=failed&name=a%26b&cursor=c");
        assert_eq!(filters.from("/runs", ""), "/runs?state=failed&name=a%26b");
        assert_eq!(Filters::default().from("/runs", "d"), "/runs?cursor=d");
    }
}
