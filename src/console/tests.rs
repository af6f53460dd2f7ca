//! Texts and pages: every key has a text and every text a key; a page escapes what it is given.

use std::collections::BTreeSet;
use std::path::Path;

use askama::Template as _;
use http::StatusCode;
use quintet_platform::access::Services;
use quintet_platform::people::Act;
use quintet_platform::service::Fault;

use super::door::Door;
use super::notice::Notice;
use super::pages::{Frame, NoticePage, SignInPage, TenantLine, TenantsPage};
use super::words::Language;

fn frame(language: Language) -> Frame {
    Frame {
        language,
        door: Door::Operators,
        who: Some("<ann>".to_owned()),
        path: "/tenants/7".to_owned(),
        services: Services::default(),
    }
}

/// The files of a folder, and below it, with this ending.
fn files(folder: &str, ending: &str) -> Vec<(String, String)> {
    // Asked when the test runs: a target directory may be shared by several clones.
    let mut left = vec![Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join(folder)];
    let mut found = Vec::new();
    while let Some(folder) = left.pop() {
        for path in std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                left.push(path);
            } else if name.ends_with(ending) {
                found.push((name, std::fs::read_to_string(path).unwrap()));
            }
        }
    }
    found
}

/// The texts in quotes that have the form of a key: of one of these chapters.
fn keys<'t>(text: &'t str, chapters: &BTreeSet<&str>) -> impl Iterator<Item = &'t str> {
    let is_key = |part: &&str| {
        let Some((chapter, rest)) = part.split_once('.') else { return false };
        let is_word = |c: char| c.is_ascii_lowercase() || c == '_' || c == '.';
        let is_file = ["html", "css", "js", "csv"].contains(&rest);
        chapters.contains(chapter) && rest.chars().all(is_word) && !is_file
    };
    text.split('"').filter(is_key)
}

#[test]
fn every_key_has_a_text_and_every_text_is_used() {
    let (pages, code) = (files("assets/console", ".html"), files("src/console", ".rs"));
    assert!(pages.len() >= 8 && code.len() >= 15);
    let known: std::collections::BTreeMap<String, String> =
        serde_json::from_str(include_str!("../../assets/console/en.json")).unwrap();
    let known: BTreeSet<String> = known.into_keys().collect();
    let chapters: BTreeSet<&str> = known.iter().filter_map(|key| Some(key.split_once('.')?.0)).collect();
    let mut used: BTreeSet<String> = BTreeSet::new();
    for (_, text) in pages.iter().chain(code.iter().filter(|(name, _)| name != "tests.rs")) {
        used.extend(keys(text, &chapters).map(str::to_owned));
    }
    let acts = [
        Act::OperatorLink,
        Act::OperatorSignIn,
        Act::OperatorSessionEnd,
        Act::MemberLink,
        Act::MemberSignIn,
        Act::MemberSessionEnd,
        Act::Permits,
        Act::MemberCreate,
        Act::MemberRemove,
    ];
    used.extend(acts.map(|act| format!("act.{}", act.name())));
    assert_eq!(used.difference(&known).collect::<Vec<_>>(), Vec::<&String>::new(), "without a text");
    assert_eq!(known.difference(&used).collect::<Vec<_>>(), Vec::<&String>::new(), "used by nothing");
}

#[test]
fn every_notice_has_a_page_in_both_languages() {
    for notice in Notice::ALL {
        let [english, german] = Language::ALL.map(|language| NoticePage::of(notice, frame(language)).render().unwrap());
        assert!(english.contains("<h1>") && german.contains("<html lang=\"de\">"), "{notice:?}");
        assert_ne!(english, german, "{notice:?}");
        let (heading, text) = notice.texts();
        assert!(!english.contains(&format!(">{heading}<")) && !english.contains(&format!(">{text}<")), "{notice:?}");
        assert!(notice.status().as_u16() >= 400);
    }
}

#[test]
fn what_listeners_refuse_says_what_pages_say() {
    let refused = [
        (Fault::HostMissing, StatusCode::BAD_REQUEST),
        (Fault::Busy, StatusCode::SERVICE_UNAVAILABLE),
        (Fault::Internal, StatusCode::INTERNAL_SERVER_ERROR),
    ];
    for (fault, status) in refused {
        let answer = super::refuse(fault, &http::Extensions::new());
        assert_eq!(answer.status(), status);
        let said = |name: &str| answer.headers()[name].to_str().unwrap();
        let fields = [said("x-content-type-options"), said("cache-control"), said("x-frame-options")];
        assert_eq!(fields, ["nosniff", "no-store", "DENY"]);
    }
}

#[test]
fn pages_escape_what_they_are_given() {
    let page = SignInPage { frame: frame(Language::English), next: "\"><script>".to_owned(), is_refused: true };
    let text = page.render().unwrap();
    assert!(!text.contains("<script>") && !text.contains("<ann>"), "{text}");
    let tenant = TenantLine {
        id: "7".to_owned(),
        name: "</a><script>\u{202e}".to_owned(),
        is_active: false,
        services: "ledger".to_owned(),
        created_at: "2026-01-01T00:00:00Z".to_owned(),
    };
    let page = TenantsPage { frame: frame(Language::English), tenants: vec![tenant], next: None, is_first: true };
    let text = page.render().unwrap();
    assert!(text.contains("&lt;/a&gt;&lt;script&gt;<span class=\"char\">U+202E</span>"), "{text}");
    assert!(!text.contains("<script>"), "{text}");
    assert!(text.contains("<a href=\"/tenants\" aria-current=\"page\">"), "the list that a page is of: {text}");
}
