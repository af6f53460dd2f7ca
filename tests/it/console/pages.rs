//! What operators see, and how it is sent.

use super::{Browser, OPERATOR, appliance, is_turned_away, operator};
use crate::support::appliance::{Setup, unique};

/// The policy of the design, to the letter.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types console";

#[test]
fn every_page_is_sent_so_that_nobody_keeps_frames_or_tells_of_it() {
    let browser = operator(appliance());
    for path in ["/", "/doctor", "/tenants", "/sessions", "/sign-in", "/nothing-here", "/console/style.css"] {
        let answer = match path {
            // The operations listener's own answer, which is no page.
            "/nothing-here" => browser.get("/tenants/nothing-here"),
            path => browser.get(path),
        };
        assert!([200, 404].contains(&answer.status), "{path}: {answer:?}");
        for (name, value) in [
            ("content-security-policy", POLICY),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cache-control", "no-store"),
            ("referrer-policy", "no-referrer"),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
        ] {
            assert_eq!(answer.header(name), value, "{path}: {name}");
        }
        let asks = ["src=\"http", "href=\"http", "action=\"http", "src=\"//", "href=\"//"];
        assert!(asks.iter().all(|part| !answer.text.contains(part)), "{path} asks somebody else: {}", answer.text);
        assert!(!answer.text.contains(" style=") && !answer.text.contains(" onclick"), "{path}");
    }
}

#[test]
fn what_is_no_page_is_answered_as_carefully() {
    let appliance = appliance();
    let operations = appliance.stranger("operations");
    for path in ["/metrics", "/livez", "/readyz", "/nothing-here", "/manual", "/manual/console", "/manual/nothing"] {
        let answer = operations.get(path);
        assert!([200, 404].contains(&answer.status), "{path}: {answer:?}");
        for (name, value) in [
            ("cross-origin-resource-policy", "same-origin"),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
        ] {
            assert_eq!(answer.header(name), value, "{path}: {name}");
        }
        let kept = if answer.status == 200 && path.starts_with("/manual") { "no-cache" } else { "no-store" };
        assert_eq!(answer.header("cache-control"), kept, "{path}");
    }
    let live = appliance.stranger("console").get("/livez");
    assert_eq!((live.header("cache-control"), live.header("x-content-type-options")), ("no-store", "nosniff"));
}

#[test]
fn status_doctor_and_tenants_show_what_the_command_line_shows() {
    let appliance = appliance();
    let browser = operator(appliance);
    let status = browser.get("/");
    assert_eq!((status.status, status.header("content-type")), (200, "text/html; charset=utf-8"));
    assert!(status.text.contains("<html lang=\"en\">"), "{}", status.text);
    for listener in appliance.services() {
        assert!(status.text.contains(appliance.address(listener)), "{listener}: {}", status.text);
    }
    assert!(status.text.contains("writes are taken"), "{}", status.text);
    let doctor = browser.get("/doctor");
    assert_eq!(doctor.status, 200);
    assert!(doctor.text.contains("syncing") && doctor.text.contains("The appliance has them"), "{}", doctor.text);
    // Its findings and cures are those of the command, but for what is seen from outside alone.
    let said = appliance.cli(&["doctor", "--json"]);
    let said: serde_json::Value = serde_json::from_slice(&said.stdout).unwrap();
    for finding in said["items"].as_array().unwrap() {
        let check = finding["check"].as_str().unwrap();
        assert!(doctor.text.contains(&format!(">{check}<")), "{check} is missing: {}", doctor.text);
    }
    let tenant = appliance.tenant();
    appliance.key(&tenant, &[]);
    appliance.cli_json(&["tenant", "quota", &tenant, "--service", "ledger", "--monthly-calls", "1234567"]);
    let page = browser.get(&format!("/tenants/{tenant}"));
    assert_eq!(page.status, 200);
    assert!(page.text.contains("1234567") && page.text.contains("max_concurrent_runs"), "{}", page.text);
    assert!(page.text.contains(">active<"), "{}", page.text);
    appliance.cli_json(&["tenant", "suspend", &tenant]);
    assert!(browser.get(&format!("/tenants/{tenant}")).text.contains(">suspended<"));
    for absent in ["/tenants/0190a5f0-0000-7000-8000-00000000dead", "/tenants/x", "/tenants/%ff"] {
        assert_eq!(browser.get(absent).status, 404, "{absent}");
    }
    assert_eq!(browser.get("/tenants?after=x").status, 400);
}

#[test]
fn tenants_come_a_page_at_a_time() {
    let appliance = Setup::new().start();
    let browser = operator(&appliance);
    assert!(browser.get("/tenants").text.contains("quintet tenant create NAME"));
    for _ in 0..51 {
        appliance.tenant();
    }
    let first = browser.get("/tenants").text;
    assert_eq!(first.matches("<th scope=\"row\">").count(), 50);
    let next = first.split("href=\"/tenants?after=").nth(1).unwrap().split('"').next().unwrap();
    let second = browser.get(&format!("/tenants?after={next}")).text;
    assert_eq!(second.matches("<th scope=\"row\">").count(), 1);
    assert!(!second.contains("rel=\"next\"") && second.contains("href=\"/tenants\">"), "{second}");
}

#[test]
fn hostile_names_are_text() {
    let appliance = appliance();
    let browser = operator(appliance);
    let name = format!("<script>alert(1)</script>\u{202e}\"'&{{{{ x }}}}{}", unique());
    let tenant = appliance.cli_json(&["tenant", "create", &name]);
    let page = browser.get(&format!("/tenants/{}", tenant["tenant_id"].as_str().unwrap())).text;
    for shown in
        ["&lt;script&gt;alert(1)&lt;/script&gt;", "<span class=\"char\">U+202E</span>", "&quot;&#39;&amp;{{ x }}"]
    {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert!(!page.contains("<script>alert") && !page.contains('\u{202e}'), "{page}");
    assert!(page.contains("<bdi dir=\"auto\">"), "{page}");
}

#[test]
fn pages_are_in_the_language_that_is_wished_for() {
    let browser = Browser::at(appliance(), "operations");
    let german = browser.clone().post_from("/language", "language=de&next=/sign-in", &[("origin", &browser.origin)]);
    assert_eq!((german.status, german.header("location")), (303, "/sign-in"));
    let set = german.header("set-cookie");
    assert!(set.starts_with("__Host-quintet_language=de; Secure; HttpOnly; SameSite=Strict; Path=/;"), "{set}");
    let page = browser.clone().with_cookie("__Host-quintet_language=de").get("/sign-in").text;
    assert!(page.contains("<html lang=\"de\">") && page.contains("Anmelden"), "{page}");
    assert_eq!(browser.post("/language", "language=xx").status, 400);
    let led = browser.post("/language", "language=en&next=//evil.example/");
    assert_eq!(led.header("location"), "/");
}

#[test]
fn who_is_not_in_is_led_to_sign_in_and_back() {
    let browser = Browser::at(appliance(), "operations");
    let away = browser.get("/tenants?after=rak_secret");
    assert_eq!((away.status, away.header("location")), (303, "/sign-in?next=%2Ftenants"), "the path alone goes along");
    let page = browser.get("/sign-in?next=%2Ftenants").text;
    assert!(page.contains("name=\"next\" value=\"/tenants\""), "{page}");
    let page = browser.get("/sign-in?next=https%3A%2F%2Fevil.example").text;
    assert!(page.contains("name=\"next\" value=\"/\""), "{page}");
    let link = super::operator_link(appliance());
    let answer = browser.post("/sign-in", &format!("link={}&next=/tenants", super::token_of(&link)));
    assert_eq!((answer.status, answer.header("location")), (303, "/tenants"));
    // A whole address can be pasted, too.
    let pasted = super::operator_link(appliance()).replace(':', "%3A").replace('/', "%2F").replace('#', "%23");
    assert_eq!(browser.post("/sign-in", &format!("link=+{pasted}+")).status, 303);
}

#[test]
fn sessions_are_listed_ended_and_outlive_a_restart() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    let appliance = Setup::new().on(&data).start();
    let (one, other) = (operator(&appliance), operator(&appliance));
    let cookies = [one.cookie().to_owned(), other.cookie().to_owned()];
    assert!(cookies.iter().all(|cookie| cookie.starts_with(&format!("{OPERATOR}="))));
    assert_eq!(appliance.stop(), Some(0));
    let appliance = Setup::new().on(&data).start();
    let [one, other] = cookies.map(|cookie| Browser::at(&appliance, "operations").with_cookie(&cookie));
    let page = one.get("/sessions");
    assert_eq!(page.status, 200, "{page:?}");
    let ids: Vec<&str> =
        page.text.split("name=\"session\" value=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(ids.len(), 2, "{}", page.text);
    assert!(page.text.contains(">this one<") && page.text.contains("link for an operator"), "{}", page.text);
    let ended = one.post("/sessions/end", &format!("kind=own&session={}", ids[1]));
    assert_eq!((ended.status, ended.header("location")), (303, "/sessions"));
    assert!(is_turned_away(&other.get("/")));
    assert_eq!(one.post("/sessions/end", &format!("kind=own&session={}", ids[1])).status, 404, "it has ended");
    for nonsense in ["", "session=x", "session=&kind=own", "kind=other&session=0190a5f0-0000-7000-8000-00000000dead"] {
        assert_eq!(one.post("/sessions/end", nonsense).status, 400, "{nonsense}");
    }
    let left = one.post("/sign-out", "");
    assert_eq!((left.status, left.header("location")), (303, "/sign-in"));
    assert!(left.header("set-cookie").contains("Max-Age=0"), "{left:?}");
    assert!(is_turned_away(&one.get("/")));
    let verified = appliance.cli(&["verify"]);
    assert!(verified.status.success(), "{verified:?}");
}

#[test]
fn an_operator_is_out_after_half_an_hour_and_a_link_after_ten_minutes() {
    let appliance = Setup::new().rehearsal().start();
    let late = super::operator_link(&appliance);
    let browser = operator(&appliance);
    let advance = |seconds: &str| drop(appliance.cli_json(&["clock", "advance", seconds]));
    advance("600");
    let answer = Browser::at(&appliance, "operations").post("/sign-in", &format!("link={}", super::token_of(&late)));
    assert_eq!(answer.status, 403);
    assert_eq!(browser.get("/").status, 200, "which is noted");
    advance("1799");
    assert_eq!(browser.get("/").status, 200);
    advance("1800");
    assert!(is_turned_away(&browser.get("/")));
    let browser = operator(&appliance);
    for _ in 0..16 {
        advance("1799");
        assert_eq!(browser.get("/tenants").status, 200);
    }
    advance("17");
    assert!(is_turned_away(&browser.get("/tenants")), "eight hours");
}

#[test]
fn a_page_that_keeps_itself_fresh_keeps_nobody_in() {
    let appliance = Setup::new().rehearsal().start();
    let tenant = super::invited(&appliance, "zoe@example.org");
    let link = super::member_link(&appliance, &tenant, "zoe@example.org");
    let (operator, member) = (operator(&appliance), Browser::at(&appliance, "console").sign_in(&link));
    let advance = |seconds: &str| drop(appliance.cli_json(&["clock", "advance", seconds]));
    let refresh = |browser: &Browser| {
        let fields = [("host", browser.host.as_str()), ("cookie", browser.cookie()), ("x-quintet-refresh", "1")];
        browser.client.send("GET", "/", &fields, b"")
    };
    advance("1799");
    assert_eq!((refresh(&operator).status, refresh(&member).status), (200, 200));
    advance("1");
    assert!(is_turned_away(&refresh(&operator)) && is_turned_away(&operator.get("/")), "half an hour");
    advance("1799");
    assert_eq!(refresh(&member).status, 200);
    advance("1");
    assert!(is_turned_away(&refresh(&member)) && is_turned_away(&member.get("/")), "an hour");
}
