//! Indexes against what they point to.

use quintet_storage::Read as _;

use super::tables::{PROJECT_SLUGS, SHORT_IDS, WORKSPACE_SLUGS, WORKSPACES};
use super::verify;
use crate::testing::{TENANT, furnished};

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
