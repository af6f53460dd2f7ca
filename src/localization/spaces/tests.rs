//! Indexes against what they point to; lists of any length.

use quintet_storage::Read as _;

use super::projects::{CreateProject, PatchProject, create_project, list_projects, patch_project};
use super::tables::{PROJECT_SLUGS, SHORT_IDS, WORKSPACE_SLUGS, WORKSPACES};
use super::{Project, WorkspaceId, given_locale, verify};
use crate::testing::{Bench, TENANT, actor, furnished};

#[test]
fn indexes_that_do_not_fit_are_found() {
    type Deed = fn(&mut quintet_storage::WriteTx<'_>);
    let no_workspace_slug: Deed = |tx| tx.delete(&WORKSPACE_SLUGS, &(TENANT, "first".into()));
    let no_project_slug: Deed = |tx| {
        let rows = tx.scan(&PROJECT_SLUGS, quintet_storage::Scan::all()).unwrap();
        rows.into_iter().for_each(|(key, _)| tx.delete(&PROJECT_SLUGS, &key));
    };
    let no_short_ids: Deed = |tx| {
        let rows = tx.scan(&SHORT_IDS, quintet_storage::Scan::all()).unwrap();
        rows.into_iter().for_each(|(key, _)| tx.delete(&SHORT_IDS, &key));
    };
    let no_workspace: Deed = |tx| {
        let rows = tx.scan(&WORKSPACES, quintet_storage::Scan::prefix(&(TENANT,))).unwrap();
        rows.into_iter().for_each(|(key, _)| tx.delete(&WORKSPACES, &key));
    };
    for (deed, expected) in [
        (no_workspace_slug, "its slug is not its own"),
        (no_project_slug, "its slug is not its own"),
        (no_short_ids, "its short id is not its own"),
        (no_workspace, "its workspace is gone"),
    ] {
        let (bench, ..) = furnished();
        bench
            .run(move |tx, _| {
                deed(tx);
                Ok(())
            })
            .unwrap();
        let findings = verify(&bench.store.read()).unwrap();
        assert!(findings.iter().any(|finding| finding.contains(expected)), "{expected}: {findings:?}");
    }
}

/// Creates so many projects, each with these legal prefixes.
fn fill(bench: &Bench, workspace_id: WorkspaceId, numbers: std::ops::Range<usize>, prefixes: &[String]) {
    let prefixes = prefixes.to_vec();
    bench
        .run(move |tx, now| {
            for number in numbers {
                let (slug, name) = (format!("p-{number}"), String::new());
                let command = CreateProject { workspace_id, slug, name, source_locale: given_locale("en")? };
                let project_id = create_project(tx, now, &actor(TENANT), command)?.project_id;
                if !prefixes.is_empty() {
                    let patch = PatchProject { project_id, name: None, legal_prefixes: Some(prefixes.clone()) };
                    patch_project(tx, now, &actor(TENANT), patch)?;
                }
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_page_of_projects_looks_at_a_bounded_number() {
    let (bench, workspace_id, first) = furnished();
    for begin in (0..2_100).step_by(300) {
        fill(&bench, workspace_id, begin..begin + 300, &[]);
    }
    let list = |after, limit, may_see: bool| {
        let may_see = |project: &Project| may_see && project.project_id != first;
        list_projects(&bench.store.read(), TENANT, after, limit, may_see).unwrap()
    };
    let page = list(None, 50, false);
    assert!(page.projects.is_empty() && page.next.is_some(), "there may be more that it has not looked at");
    assert_eq!(list(page.next, 50, false).next, None);
    // What can be seen is seen once, in order, whatever the pages are.
    let (mut after, mut found) = (None, Vec::new());
    loop {
        let page = list(after, 499, true);
        found.extend(page.projects.into_iter().map(|project| project.project_id));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found.len(), 2_100);
    assert!(found.is_sorted());
}

#[test]
fn a_page_of_projects_ends_early_where_they_are_long() {
    let (bench, workspace_id, first) = furnished();
    let prefixes = vec!["\u{1f600}".repeat(200); 50];
    for begin in (0..60).step_by(10) {
        fill(&bench, workspace_id, begin..begin + 10, &prefixes);
    }
    let page = list_projects(&bench.store.read(), TENANT, Some(first), 500, |_| true).unwrap();
    assert_eq!(page.projects.len(), 27, "1 MiB of prefixes and the rest of the last");
    let rest = list_projects(&bench.store.read(), TENANT, page.next, 500, |_| true).unwrap();
    assert_eq!(rest.projects.len(), 27);
}
