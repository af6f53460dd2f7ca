//! Where people come in: on which listener, under which hosts, with which cookie.

use std::sync::Arc;

use http::request::Parts;
use http::uri::Authority;
use quintet_platform::access::Service;
use quintet_platform::http::origin::scheme;
use quintet_platform::http::web_origin::web_origin;

use super::examinations::Examinations;
use super::rooms::Rooms;
use crate::admin::console::LOCAL_HOST;
use crate::app::App;

/// A door of the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// That of operators.
    Operators,
    /// That of members.
    Members,
}

/// A link of the navigation.
pub struct NavigationLink {
    /// Where it leads.
    pub path: &'static str,
    /// The key of its text.
    pub text: &'static str,
    /// Whose pages it leads to: shown to members of tenants that have it.
    pub service: Option<Service>,
}

impl NavigationLink {
    const fn new(path: &'static str, text: &'static str) -> NavigationLink {
        NavigationLink { path, text, service: None }
    }

    const fn of(path: &'static str, text: &'static str, service: Service) -> NavigationLink {
        NavigationLink { path, text, service: Some(service) }
    }
}

impl Door {
    /// The cookie that holds its sessions. Two names: both doors may be ports of one host, which is all that cookies know.
    pub const fn cookie(self) -> &'static str {
        match self {
            Door::Operators => "__Host-quintet_operator",
            Door::Members => "__Host-quintet_session",
        }
    }

    /// The key of what it is called.
    pub const fn title(self) -> &'static str {
        match self {
            Door::Operators => "frame.operators",
            Door::Members => "frame.members",
        }
    }

    /// The key of what is said to who is not in.
    pub const fn invitation(self) -> &'static str {
        match self {
            Door::Operators => "sign_in.operators",
            Door::Members => "sign_in.members",
        }
    }

    /// Whether it is that of operators.
    pub const fn is_operators(self) -> bool {
        matches!(self, Door::Operators)
    }

    /// What who is in can go to.
    pub const fn links(self) -> &'static [NavigationLink] {
        match self {
            Door::Operators => {
                const {
                    &[
                        NavigationLink::new("/", "status.title"),
                        NavigationLink::new("/doctor", "doctor.title"),
                        NavigationLink::new("/tenants", "tenants.title"),
                        NavigationLink::new("/sessions", "sessions.title"),
                        NavigationLink::new("/manual", "frame.manual"),
                    ]
                }
            }
            Door::Members => {
                const {
                    &[
                        NavigationLink::new("/", "home.title"),
                        NavigationLink::of("/projects", "projects.title", Service::Localization),
                        NavigationLink::of("/approvals", "approvals.title", Service::Localization),
                        NavigationLink::of("/runs", "runs.title", Service::Runs),
                        NavigationLink::of("/ledger", "ledger.title", Service::Ledger),
                        NavigationLink::new("/sessions", "sessions.title"),
                    ]
                }
            }
        }
    }
}

/// What the pages of a door are made from. Clones share it.
#[derive(Clone)]
pub struct Console {
    /// Everything that is open.
    pub app: App,
    /// Which door it is.
    pub door: Door,
    /// Examinations of everything, for the page of the doctor.
    pub examinations: Arc<Examinations>,
    /// The rooms that members' pages ask.
    pub rooms: Option<Rooms>,
    /// The origin under which the operator says that it is reached, and its host.
    public: Option<(String, String)>,
}

impl Console {
    /// Made once for each door.
    pub fn new(app: &App, door: Door) -> Console {
        let said = match door {
            // Reached on its own machine alone, or through a tunnel that ends there.
            Door::Operators => None,
            Door::Members => web_origin(&app.config.console_public_url),
        };
        let public = said.and_then(|origin| {
            let host = origin.split_once("://")?.1.to_owned();
            Some((origin, host))
        });
        let rooms = (door == Door::Members).then(|| Rooms::of(app));
        Console { app: app.clone(), door, examinations: Arc::default(), rooms, public }
    }

    /// The origin that a request was made to, as browsers write it. `None`: its host is none of ours, whatever address that
    /// name leads to by now.
    ///
    /// The public host may be that of a proxy, which speaks to browsers by the scheme that the operator says. The local one
    /// counts with any port: whoever tunnels to it chooses the port at his end, and no page of somebody else's can have this
    /// host in the address of a request without its being this machine's.
    pub fn own_origin(&self, parts: &Parts) -> Option<String> {
        own_origin(self.public.as_ref(), parts)
    }
}

fn own_origin(public: Option<&(String, String)>, parts: &Parts) -> Option<String> {
    let mut hosts = parts.headers.get_all(http::header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return None };
    let host = host.to_str().ok()?.to_ascii_lowercase();
    // A target in the absolute form names the same host.
    if parts.uri.authority().is_some_and(|target| !target.as_str().eq_ignore_ascii_case(&host)) {
        return None;
    }
    if let Some((origin, own)) = public {
        let scheme = origin.split_once("://").map_or("https", |(scheme, _)| scheme);
        if host == *own || web_origin(&format!("{scheme}://{host}")).as_ref() == Some(origin) {
            return Some(origin.clone());
        }
    }
    let authority: Authority = host.parse().ok()?;
    (authority.host() == LOCAL_HOST).then(|| web_origin(&format!("{}://{host}", scheme(&parts.extensions))))?
}

#[cfg(test)]
mod tests {
    use http::Request;
    use quintet_platform::http::origin::ReachedByHttps;

    use super::*;

    fn origin(public: Option<&str>, hosts: &[&str], target: &str, is_https: bool) -> Option<String> {
        let mut request = Request::get(target);
        for host in hosts {
            request = request.header("host", *host);
        }
        let (mut parts, ()) = request.body(()).unwrap().into_parts();
        if is_https {
            parts.extensions.insert(ReachedByHttps);
        }
        let public = public.and_then(web_origin).map(|origin| {
            let host = origin.split_once("://").unwrap().1.to_owned();
            (origin, host)
        });
        own_origin(public.as_ref(), &parts)
    }

    #[test]
    fn hosts_are_known_or_strange() {
        let local = |host: &str| origin(None, &[host], "/", false);
        assert_eq!(local("quintet.localhost:7400").as_deref(), Some("http://quintet.localhost:7400"));
        assert_eq!(local("Quintet.LOCALHOST:8400").as_deref(), Some("http://quintet.localhost:8400"), "a tunnel's end");
        assert_eq!(local("quintet.localhost").as_deref(), Some("http://quintet.localhost"));
        assert_eq!(local("quintet.localhost:80").as_deref(), Some("http://quintet.localhost"));
        assert_eq!(
            origin(None, &["quintet.localhost:7460"], "/", true).as_deref(),
            Some("https://quintet.localhost:7460")
        );
        for strange in [
            "127.0.0.1:7400",
            "localhost:7400",
            "[::1]:7400",
            "evil.example:7400",
            "quintet.localhost.evil.example:7400",
            "evilquintet.localhost:7400",
            "x.quintet.localhost",
            "quintet.localhost.",
            "quintet.localhost@evil.example",
            "",
        ] {
            assert_eq!(local(strange), None, "{strange}");
        }
        assert_eq!(origin(None, &[], "/", false), None);
        assert_eq!(origin(None, &["quintet.localhost", "quintet.localhost"], "/", false), None);
        let absolute = |target: &str| origin(None, &["quintet.localhost:1"], target, false);
        assert!(absolute("http://quintet.localhost:1/").is_some());
        assert_eq!(absolute("http://evil.example:1/"), None);
    }

    #[test]
    fn behind_a_proxy_the_operator_says_the_origin() {
        let public = Some("https://Console.example.com/");
        let of = |host: &str| origin(public, &[host], "/", false);
        assert_eq!(of("console.example.com").as_deref(), Some("https://console.example.com"));
        assert_eq!(of("console.example.com:443").as_deref(), Some("https://console.example.com"));
        assert_eq!(of("console.example.com:444"), None);
        assert_eq!(of("quintet.localhost:7460").as_deref(), Some("http://quintet.localhost:7460"));
        assert_eq!(of("evil.example"), None);
    }
}
