//! What the files in `assets/console/` are given, and the answer that a page comes in.

use askama::Template;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use quintet_platform::access::Services;
use quintet_platform::clock::rfc3339;
use quintet_storage::Timestamp;

use super::door::{Door, NavigationLink};
use super::foreign::Foreign;
use super::notice::Notice;
use super::words::Language;

/// What every page has around it.
pub struct Frame {
    /// The visitor's language.
    pub language: Language,
    /// Where he came in.
    pub door: Door,
    /// Who he is, if he is in.
    pub who: Option<String>,
    /// The page's path.
    pub path: String,
    /// The services of his tenant.
    pub services: Services,
}

impl Frame {
    /// The text of a key.
    pub fn t<'a>(&self, key: &'a str) -> &'a str {
        self.language.text(key)
    }

    /// Text that others wrote.
    pub fn foreign<'a>(&self, text: &'a str) -> Foreign<'a> {
        Foreign(text)
    }

    /// An instant of RFC 3339 as people are shown it.
    pub fn at(&self, instant: &str) -> String {
        to_seconds(instant)
    }

    /// What the visitor can go to.
    pub fn links(&self) -> impl Iterator<Item = &'static NavigationLink> {
        let has = |link: &&NavigationLink| link.service.is_none_or(|service| self.services.contains(service));
        self.door.links().iter().filter(has)
    }

    /// Whether a link leads to this page, or to the list that it is of.
    pub fn is_at(&self, path: &str) -> bool {
        match path {
            "/" => self.path == "/",
            _ => self.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
        }
    }

    /// The languages that there are.
    pub fn languages(&self) -> [Language; 2] {
        Language::ALL
    }
}

/// An instant of RFC 3339 without fractions of its second.
pub fn to_seconds(instant: &str) -> String {
    instant.split_once('.').map_or_else(|| instant.to_owned(), |(seconds, _)| format!("{seconds}Z"))
}

/// An instant as people are shown it: to the second.
pub fn instant(at: Timestamp) -> String {
    const SECOND_MICROS: i64 = 1_000_000;
    rfc3339(Timestamp::from_micros(at.as_micros().div_euclid(SECOND_MICROS) * SECOND_MICROS))
}

/// Answers with a page.
pub fn answer(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(text) => (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "a page of the console could not be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// A page that says why there is nothing else.
#[derive(Template)]
#[template(path = "notice.html", config = "assets/console/askama.toml")]
pub struct NoticePage {
    /// What is around it.
    pub frame: Frame,
    heading: &'static str,
    text: &'static str,
    leads_home: bool,
}

impl NoticePage {
    /// The page of a notice.
    pub fn of(notice: Notice, frame: Frame) -> NoticePage {
        let (heading, text) = notice.texts();
        NoticePage { frame, heading, text, leads_home: notice.leads_home() }
    }
}

/// Where people sign in.
#[derive(Template)]
#[template(path = "sign-in.html", config = "assets/console/askama.toml")]
pub struct SignInPage {
    /// What is around it.
    pub frame: Frame,
    /// Where it leads then.
    pub next: String,
    /// Whether a link was not taken.
    pub is_refused: bool,
}

/// A figure of the status.
pub struct Figure {
    /// The key of what it is called, which is its place in the page as well.
    pub key: &'static str,
    /// What it is.
    pub value: String,
    /// `good`, `fair` or `bad`, if it is a state.
    pub state: &'static str,
}

/// A chapter of the status.
pub struct Chapter {
    /// The key of its heading.
    pub key: &'static str,
    /// Its figures.
    pub figures: Vec<Figure>,
}

/// A listener.
pub struct ListenerLine {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub address: String,
    /// How it is spoken to.
    pub scheme: &'static str,
}

/// What runs.
#[derive(Template)]
#[template(path = "status.html", config = "assets/console/askama.toml")]
pub struct StatusPage {
    /// What is around it.
    pub frame: Frame,
    /// What needs somebody's attention.
    pub warnings: Vec<String>,
    /// Its chapters.
    pub chapters: Vec<Chapter>,
    /// The listeners.
    pub listeners: Vec<ListenerLine>,
}

/// What was found.
pub struct FindingLine {
    /// What was looked at.
    pub check: &'static str,
    /// What was found.
    pub says: String,
    /// How to mend it.
    pub cure: Option<String>,
    /// `good`, `fair` or `bad`.
    pub state: &'static str,
    /// The key of the word for it.
    pub word: &'static str,
}

/// What is wrong, and the cure.
#[derive(Template)]
#[template(path = "doctor.html", config = "assets/console/askama.toml")]
pub struct DoctorPage {
    /// What is around it.
    pub frame: Frame,
    /// What is not as it should be, the worst first.
    pub wrong: Vec<FindingLine>,
    /// What is.
    pub right: Vec<FindingLine>,
}

/// A tenant of the list.
pub struct TenantLine {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Whether it may act.
    pub is_active: bool,
    /// Its services.
    pub services: String,
    /// When it was made.
    pub created_at: String,
}

/// Tenants.
#[derive(Template)]
#[template(path = "tenants.html", config = "assets/console/askama.toml")]
pub struct TenantsPage {
    /// What is around it.
    pub frame: Frame,
    /// Some of them, the oldest first.
    pub tenants: Vec<TenantLine>,
    /// Behind which one the next page begins, if there is one.
    pub next: Option<String>,
    /// Whether it is the first page.
    pub is_first: bool,
}

/// What a tenant may use of a service, and has used.
pub struct UsageLine {
    /// The service.
    pub service: String,
    /// The present month.
    pub period: String,
    /// Calls in it.
    pub calls: u64,
    /// Calls that there may be; nothing: as many as it likes.
    pub calls_max: Option<u64>,
    /// Calls a second that there may be.
    pub burst_max: Option<u32>,
    /// Whether it has used all.
    pub is_used_up: bool,
}

/// A quota of runs.
pub struct QuotaLine {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// A tenant: counts, limits, health, and nothing of its content.
#[derive(Template)]
#[template(path = "tenant.html", config = "assets/console/askama.toml")]
pub struct TenantPage {
    /// What is around it.
    pub frame: Frame,
    /// The tenant.
    pub tenant: TenantLine,
    /// The tenant it belongs to.
    pub parent: Option<String>,
    /// How many there are of what.
    pub counts: Vec<Figure>,
    /// What it may use of each service, and has used.
    pub usage: Vec<UsageLine>,
    /// Quotas of runs.
    pub quotas: Vec<QuotaLine>,
}

/// A session of the list.
pub struct SessionLine {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub who: String,
    /// Of which tenant that is.
    pub tenant: Option<String>,
    /// When it began.
    pub created_at: String,
    /// When it was last used.
    pub last_used_at: Option<String>,
    /// When it ends at the latest.
    pub ends_at: String,
    /// Whether it is the visitor's own.
    pub is_own: bool,
}

/// A deed of the list.
pub struct DeedLine {
    /// When.
    pub at: String,
    /// The key of what was done.
    pub act: String,
    /// Who did it.
    pub by: String,
    /// What it was done to.
    pub about: String,
}

/// Sessions.
#[derive(Template)]
#[template(path = "sessions.html", config = "assets/console/askama.toml")]
pub struct SessionsPage {
    /// What is around it.
    pub frame: Frame,
    /// Of operators; at the other door, the visitor's own.
    pub sessions: Vec<SessionLine>,
    /// Of members of all tenants, for operators.
    pub of_members: Vec<SessionLine>,
    /// What was done, for operators.
    pub deeds: Vec<DeedLine>,
}

/// A member's first page.
#[derive(Template)]
#[template(path = "home.html", config = "assets/console/askama.toml")]
pub struct HomePage {
    /// What is around it.
    pub frame: Frame,
    /// The member's address.
    pub email: String,
    /// The tenant's name.
    pub tenant: String,
    /// The tenant's services.
    pub services: String,
    /// What was granted in localization.
    pub templates: Vec<String>,
    /// What is permitted in the other services.
    pub permissions: Vec<String>,
    /// How many decisions wait for him, if he may decide.
    pub waiting: Option<usize>,
    /// Whether he invites and grants.
    pub manages_people: bool,
    /// Whether he reads the audit chain.
    pub reads_audit: bool,
}
