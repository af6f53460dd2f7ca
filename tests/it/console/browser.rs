//! The pages in a real browser.

use std::collections::BTreeMap;

use serde_json::json;

use super::{Browser, member_link, operator_link};
use crate::localization::files::Shelf;
use crate::support::appliance::{Appliance, Setup, in_browser};

/// A name that would do something if it were markup, or turn around what stands behind it.
const HOSTILE: &str = "<img src=x onerror=alert(1)>\u{202e}evil</bdi>";

/// A project of twenty-five strings, one of them hostile, and a member who may do everything: the tenant, the editor's path.
fn project(appliance: &Appliance) -> (String, String) {
    let shelf = Shelf::open(appliance);
    let mut file: BTreeMap<String, String> =
        (1..=24).map(|number| (format!("k{number:02}"), format!("String {number} of {{name}}"))).collect();
    file.insert("hostile".to_owned(), HOSTILE.to_owned());
    let file_id = shelf.json("app/en.json", &json!(file));
    let known = shelf.key_id("k24");
    shelf.translate(&known, "de", &json!({"text": "Text 24 von {name}"})).expect(201);
    shelf.translate(&known, "ar", &json!({"text": "\u{646}\u{635} 24 {name}"})).expect(201);
    shelf.desk.post(&shelf.path("/approval-requests"), &json!({"file": file_id, "locale": "de"})).expect(201);
    let tenant = shelf.desk.tenant_id.clone();
    let mut create =
        vec!["member", "create", "zoe@example.org", "--tenant", &tenant, "--permission", "decision_decide"];
    for template in ["org_admin", "viewer", "translator", "reviewer", "approver", "terminologist", "publisher"] {
        create.extend(["--template", template]);
    }
    appliance.cli_json(&create);
    (tenant, format!("/projects/{}/locales/de", shelf.project_id))
}

#[test]
fn pages_work_in_a_browser() {
    let appliance = Setup::new().start();
    let hostile = appliance.cli_json(&["tenant", "create", HOSTILE]);
    let (tenant, editor) = project(&appliance);
    let links = |count: usize| (0..count).map(|_| operator_link(&appliance)).collect::<Vec<_>>();
    let of_members =
        |count: usize| (0..count).map(|_| member_link(&appliance, &tenant, "zoe@example.org")).collect::<Vec<_>>();
    let given = json!({
        "operations": Browser::at(&appliance, "operations").origin,
        "console": Browser::at(&appliance, "console").origin,
        "other": format!("http://quintet.localhost:{}", appliance.address("ledger").rsplit(':').next().unwrap()),
        "operators": links(8),
        "members": of_members(6),
        "hostile": hostile["tenant_id"],
        "editor": editor,
    });
    let Some(said) = in_browser("console/page.mjs", &given) else { return };
    assert!(said.lines().count() >= 10, "{said}");
}
