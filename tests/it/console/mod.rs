//! The console's pages over HTTP: who gets in, what he sees, and what others get.

mod approvals;
mod attacks;
mod browser;
mod editor;
mod ledger;
mod members;
mod pages;
mod runs;

use std::sync::LazyLock;

use crate::support::appliance::{Answer, Appliance, Client, Setup};

/// The cookies of the two doors.
pub const OPERATOR: &str = "__Host-quintet_operator";
pub const MEMBER: &str = "__Host-quintet_session";

/// An instance for the tests of this folder.
pub fn appliance() -> &'static Appliance {
    static SHARED: LazyLock<Appliance> = LazyLock::new(|| Setup::new().start());
    &SHARED
}

/// A browser at one of the doors, as far as tests need one.
#[derive(Clone)]
pub struct Browser {
    client: Client,
    /// What it sends as Host.
    pub host: String,
    /// The origin of its pages.
    pub origin: String,
    cookie: String,
}

impl Browser {
    /// At a listener; nobody is signed in.
    pub fn at(appliance: &Appliance, listener: &str) -> Browser {
        let port = appliance.address(listener).rsplit(':').next().unwrap().to_owned();
        let host = format!("quintet.localhost:{port}");
        let origin = format!("http://{host}");
        Browser { client: appliance.stranger(listener), host, origin, cookie: String::new() }
    }

    /// The same with this cookie.
    pub fn with_cookie(mut self, cookie: &str) -> Browser {
        self.cookie = cookie.to_owned();
        self
    }

    /// The cookie that it holds.
    pub fn cookie(&self) -> &str {
        &self.cookie
    }

    /// Looks at a page.
    pub fn get(&self, path: &str) -> Answer {
        self.client.send("GET", path, &[("host", &self.host), ("cookie", &self.cookie)], b"")
    }

    /// Sends a form from a page of its own.
    pub fn post(&self, path: &str, form: &str) -> Answer {
        self.post_from(path, form, &[("origin", &self.origin)])
    }

    /// Sends a form with these fields, and none that says where it is from.
    pub fn post_from(&self, path: &str, form: &str, fields: &[(&str, &str)]) -> Answer {
        let own = [
            ("host", self.host.as_str()),
            ("cookie", self.cookie.as_str()),
            ("content-type", "application/x-www-form-urlencoded"),
        ];
        let overridden = |name: &str| fields.iter().any(|(other, _)| *other == name);
        let own = own.into_iter().filter(|(name, _)| !overridden(name));
        let fields: Vec<_> = own.chain(fields.iter().copied()).collect();
        self.client.send("POST", path, &fields, form.as_bytes())
    }

    /// Signs in with a link; the browser that is in.
    #[track_caller]
    pub fn sign_in(self, link: &str) -> Browser {
        let answer = self.post("/sign-in", &format!("link={}", token_of(link)));
        assert_eq!((answer.status, answer.header("location")), (303, "/"), "{answer:?}");
        let cookie = cookie_of(&answer);
        self.with_cookie(&cookie)
    }
}

/// What stands behind the `#` of a link.
pub fn token_of(link: &str) -> &str {
    link.split_once('#').unwrap().1
}

/// The cookie that an answer sets, as it is sent back.
#[track_caller]
pub fn cookie_of(answer: &Answer) -> String {
    answer.header("set-cookie").split(';').next().unwrap().to_owned()
}

/// A link for an operator.
pub fn operator_link(appliance: &Appliance) -> String {
    appliance.cli_json(&["console"])["url"].as_str().unwrap().to_owned()
}

/// An operator who is in.
pub fn operator(appliance: &Appliance) -> Browser {
    Browser::at(appliance, "operations").sign_in(&operator_link(appliance))
}

/// A member of a new tenant, and the tenant.
pub fn invited(appliance: &Appliance, email: &str) -> String {
    let tenant = appliance.tenant();
    appliance.cli_json(&["member", "create", email, "--tenant", &tenant]);
    tenant
}

/// A link for a member.
pub fn member_link(appliance: &Appliance, tenant: &str, email: &str) -> String {
    appliance.cli_json(&["member", "link", email, "--tenant", tenant])["url"].as_str().unwrap().to_owned()
}

/// Whether an answer leads to where people sign in.
pub fn is_turned_away(answer: &Answer) -> bool {
    answer.status == 303 && answer.header("location").starts_with("/sign-in")
}
