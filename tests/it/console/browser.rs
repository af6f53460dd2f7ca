//! The pages in a real browser.

use serde_json::json;

use super::{Browser, invited, member_link, operator_link};
use crate::support::appliance::{Setup, in_browser};

/// A name that would do something if it were markup, or turn around what stands behind it.
const HOSTILE: &str = "<img src=x onerror=alert(1)>\u{202e}evil</bdi>";

#[test]
fn pages_work_in_a_browser() {
    let appliance = Setup::new().start();
    let hostile = appliance.cli_json(&["tenant", "create", HOSTILE]);
    let tenant = invited(&appliance, "zoe@example.org");
    let links = |count: usize| (0..count).map(|_| operator_link(&appliance)).collect::<Vec<_>>();
    let of_members =
        |count: usize| (0..count).map(|_| member_link(&appliance, &tenant, "zoe@example.org")).collect::<Vec<_>>();
    let given = json!({
        "operations": Browser::at(&appliance, "operations").origin,
        "console": Browser::at(&appliance, "console").origin,
        "other": format!("http://quintet.localhost:{}", appliance.address("ledger").rsplit(':').next().unwrap()),
        "operators": links(8),
        "members": of_members(4),
        "hostile": hostile["tenant_id"],
    });
    let Some(said) = in_browser("console/page.mjs", &given) else { return };
    assert!(said.lines().count() >= 10, "{said}");
}
