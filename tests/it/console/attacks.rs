//! What somebody tries who is not to get in, or not to have anything done.

use std::io::Write as _;

use super::{
    Browser, MEMBER, OPERATOR, appliance, cookie_of, invited, is_turned_away, member_link, operator, operator_link,
    token_of,
};
use crate::support::appliance::Setup;

/// More checks than one examination makes.
const CHECKS_MAX: usize = 36;

#[test]
fn forms_from_elsewhere_change_nothing() {
    let appliance = appliance();
    let browser = operator(appliance);
    let port = browser.host.rsplit(':').next().unwrap();
    let other_port = browser.origin.replace(port, "1");
    let origins: [&[(&str, &str)]; 9] = [
        &[],
        &[("origin", "null")],
        &[("origin", "https://evil.example")],
        &[("origin", &other_port)],
        &[("origin", "http://quintet.localhost")],
        &[("origin", &browser.origin.replace("http:", "https:"))],
        &[("origin", &format!("{}.evil.example", browser.origin))],
        &[("origin", &format!("http://127.0.0.1:{port}"))],
        &[("origin", &browser.origin), ("origin", &browser.origin)],
    ];
    for fields in origins {
        for path in ["/sign-out", "/sessions/end", "/sign-in", "/language"] {
            let answer = browser.post_from(path, "language=de&link=x", fields);
            assert_eq!(answer.status, 403, "{path} {fields:?}");
            assert!(answer.header("set-cookie").is_empty(), "{path} {fields:?}");
        }
    }
    assert_eq!(browser.get("/").status, 200, "still in");
}

#[test]
fn hosts_that_lead_here_by_somebody_elses_name_get_nothing() {
    let appliance = appliance();
    let browser = operator(appliance);
    let port = browser.host.rsplit(':').next().unwrap().to_owned();
    for host in ["127.0.0.1", "localhost", "rebound.evil.example", "quintet.localhost.evil.example", "[::1]"] {
        let strange =
            Browser { host: format!("{host}:{port}"), origin: format!("http://{host}:{port}"), ..browser.clone() };
        for path in ["/", "/sign-in", "/console/style.css"] {
            let answer = strange.get(path);
            assert_eq!(answer.status, 403, "{host} {path}");
            assert!(!answer.text.contains("name=\"link\""), "{host} {path}");
        }
        assert_eq!(strange.post("/sign-out", "").status, 403, "{host}");
    }
    assert_eq!(browser.get("/").status, 200, "still in");
    // Metrics and health are for programs, which know the machine by its address.
    assert_eq!(appliance.stranger("operations").get("/livez").status, 200);
    assert_eq!(appliance.stranger("console").get("/livez").status, 200);
}

#[test]
fn links_that_let_nobody_in_get_one_page() {
    let appliance = appliance();
    let tenant = invited(appliance, "ann@example.org");
    let browser = Browser::at(appliance, "operations");
    let used = operator_link(appliance);
    let signed_in = browser.clone().sign_in(&used);
    let of_member = member_link(appliance, &tenant, "ann@example.org");
    let (_, key) = appliance.key(&tenant, &[]);
    let invented = "A".repeat(64);
    let mut changed = token_of(&operator_link(appliance)).to_owned();
    changed.replace_range(60..61, if &changed[60..61] == "A" { "B" } else { "A" });
    let attempts = [
        token_of(&used),
        token_of(&of_member),
        &invented,
        &changed,
        key.as_str(),
        signed_in.cookie().split_once('=').unwrap().1,
        "",
        "%00",
        "x",
    ];
    let pages: Vec<_> = attempts.iter().map(|token| browser.post("/sign-in", &format!("link={token}"))).collect();
    for (attempt, page) in attempts.iter().zip(&pages) {
        assert_eq!((page.status, &page.text), (403, &pages[0].text), "{attempt}");
        assert!(page.header("set-cookie").is_empty(), "{attempt}");
    }
    assert!(pages[0].text.contains("role=\"alert\""), "{}", pages[0].text);
    // That of a member is still good where it belongs.
    Browser::at(appliance, "console").sign_in(&of_member);
    let large = browser.post("/sign-in", &format!("link={}", "x".repeat(20_000)));
    assert_eq!(large.status, 413);
    assert_eq!(browser.post("/sign-in", "link=%zz").status, 400);
    assert_eq!(browser.post("/sign-in", "link=%ff").status, 400);
    assert_eq!(browser.post("/", "").status, 405);
}

#[test]
fn a_link_lets_one_in_when_two_use_it_at_once() {
    let appliance = appliance();
    let link = operator_link(appliance);
    let statuses = std::thread::scope(|scope| {
        let tried: Vec<_> = (0..8)
            .map(|_| {
                let link = &link;
                scope.spawn(move || {
                    let browser = Browser::at(appliance, "operations");
                    browser.post("/sign-in", &format!("link={}", token_of(link))).status
                })
            })
            .collect();
        tried.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 303).count(), 1, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 403).count(), 7, "{statuses:?}");
}

#[test]
fn a_cookie_that_was_planted_is_worth_nothing_after_signing_in() {
    let appliance = appliance();
    let victim = operator(appliance);
    // Whoever had the browser before, or set a cookie of his own, is out.
    let planted = victim.cookie().to_owned();
    let answer = victim.post("/sign-in", &format!("link={}", token_of(&operator_link(appliance))));
    let fresh = cookie_of(&answer);
    assert_ne!(fresh, planted);
    let attributes = answer.header("set-cookie").split_once(';').unwrap().1;
    assert_eq!(attributes, " Secure; HttpOnly; SameSite=Strict; Path=/");
    assert!(is_turned_away(&victim.get("/")), "the session before has ended");
    assert_eq!(victim.with_cookie(&fresh).get("/").status, 200);
    let invented = format!("{OPERATOR}={}", "A".repeat(64));
    let stranger = Browser::at(appliance, "operations").with_cookie(&invented);
    assert_ne!(
        cookie_of(&stranger.post("/sign-in", &format!("link={}", token_of(&operator_link(appliance))))),
        invented
    );
    // Two of a name, and nobody can say which is meant.
    let both = format!("{fresh}; {invented}");
    assert!(is_turned_away(&Browser::at(appliance, "operations").with_cookie(&both).get("/")));
}

#[test]
fn a_session_of_one_door_is_nothing_at_the_other() {
    let appliance = appliance();
    let tenant = invited(appliance, "ben@example.org");
    let operator = operator(appliance);
    let member = Browser::at(appliance, "console").sign_in(&member_link(appliance, &tenant, "ben@example.org"));
    let secret = |browser: &Browser| browser.cookie().split_once('=').unwrap().1.to_owned();
    for (listener, cookie) in [
        ("console", operator.cookie().to_owned()),
        ("console", format!("{MEMBER}={}", secret(&operator))),
        ("operations", member.cookie().to_owned()),
        ("operations", format!("{OPERATOR}={}", secret(&member))),
    ] {
        let browser = Browser::at(appliance, listener).with_cookie(&cookie);
        for path in ["/", "/sessions"] {
            assert!(is_turned_away(&browser.get(path)), "{listener} {path}");
        }
    }
    assert_eq!((operator.get("/").status, member.get("/").status), (200, 200));
    // Nor is one of the console anything to localization.
    let cookie = format!("__Host-l10n_session={}", secret(&member));
    let answer = appliance.stranger("localization").send("GET", "/v1/me", &[("cookie", &cookie)], b"");
    assert_eq!(answer.status, 401);
}

#[test]
fn api_keys_let_nobody_in_anywhere() {
    let appliance = appliance();
    let (_, key) = appliance.key(&appliance.tenant(), &[]);
    for listener in ["operations", "console"] {
        let browser = Browser::at(appliance, listener);
        let host = [("host", browser.host.as_str())];
        let bearer = appliance.client(listener, &key).send("GET", "/", &host, b"");
        assert!(is_turned_away(&bearer), "{bearer:?}");
        let address = browser.get(&format!("/?key={key}"));
        assert!(is_turned_away(&address) && !address.header("location").contains("rak_"), "{address:?}");
        for name in [OPERATOR, MEMBER] {
            assert!(is_turned_away(&browser.clone().with_cookie(&format!("{name}={key}")).get("/")));
        }
    }
    assert!(!appliance.log().contains(&key), "and none is logged");
}

#[test]
fn no_token_is_logged_or_told_again() {
    let appliance = appliance();
    let link = operator_link(appliance);
    let browser = Browser::at(appliance, "operations").sign_in(&link);
    let (token, secret) = (token_of(&link), browser.cookie().split_once('=').unwrap().1);
    for path in ["/", "/sessions"] {
        let page = browser.get(path).text;
        assert!(!page.contains(token) && !page.contains(secret), "{path}");
    }
    assert!(!appliance.log().contains(token) && !appliance.log().contains(secret));
}

#[test]
fn examinations_that_nobody_waits_for_are_one_at_a_time() {
    let appliance = Setup::new().start();
    let browser = operator(&appliance);
    let threads = || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", appliance.pid())).unwrap().flatten();
        let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
        names.filter(|name| name.trim_end() == "doctor").count()
    };
    let request = format!("GET /doctor HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n\r\n", browser.host, browser.cookie());
    let mut most = 0;
    for _ in 0..60 {
        let mut stream = appliance.connect("operations").unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        // Long enough for it to begin.
        most = (0..20).map(|_| threads()).fold(most, usize::max);
    }
    assert!(most <= CHECKS_MAX, "{most} checks at once");
    // Those who have gone may still take the places of those who wait.
    let page = std::iter::repeat_with(|| browser.get("/doctor")).find(|page| page.status != 503).unwrap();
    assert_eq!(page.status, 200);
    assert!(!page.text.contains("Nothing can be written"), "{}", page.text);
}
