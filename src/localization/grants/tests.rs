//! Grants against their index; how many there may be, and how much is told of what they confer.

use quintet_storage::Uuid;

use super::create::{CreateGrant, create_grant};
use super::effective::{Extent, expanded};
use crate::access::{GRANTS_BY_PRINCIPAL, GRANTS_MAX, GrantId, Granted, MarkRow, Scope, intents_of, template, verify};
use crate::refusal::Refusal;
use crate::testing::{Bench, TENANT, actor, furnished};

const PRINCIPAL: Uuid = Uuid::from_u128(0xdef);

fn grant(bench: &Bench, name: &str, scope: Scope, times: usize) -> Result<(), Refusal> {
    let command = CreateGrant { principal_id: PRINCIPAL, template: template(name).unwrap(), scope };
    bench.run(move |tx, now| {
        (0..times).try_for_each(|_| create_grant(tx, now, &actor(TENANT), command.clone()).map(drop))
    })
}

fn granted(bench: &Bench) -> Granted {
    intents_of(&bench.store.read(), TENANT, PRINCIPAL).unwrap().into_iter().collect()
}

#[test]
fn an_index_that_does_not_fit_is_found() {
    let (bench, ..) = furnished();
    let key = (TENANT, Uuid::nil(), GrantId(Uuid::nil()));
    bench.run(move |tx, _| Ok(tx.put(&GRANTS_BY_PRINCIPAL, &key, &MarkRow)?)).unwrap();
    let findings = verify(&bench.store.read()).unwrap();
    assert!(findings.iter().any(|finding| finding.contains("in the index 1 times")), "{findings:?}");
}

#[test]
fn a_principal_has_so_many_grants_and_no_more() {
    let (bench, _, project_id) = furnished();
    let scope = Scope { project_id: Some(project_id), ..Scope::default() };
    grant(&bench, "viewer", scope.clone(), GRANTS_MAX).unwrap();
    assert!(matches!(grant(&bench, "ci", scope, 1), Err(Refusal::Conflict(_))));
    // Alike is granted once.
    assert_eq!(granted(&bench).texts().len(), 1);
}

#[test]
fn permissions_are_told_one_by_one_as_far_as_that_goes() {
    let (bench, ..) = furnished();
    grant(&bench, "org_admin", Scope::default(), 1).unwrap();
    let granted = granted(&bench);
    let tell = |spaces, texts| {
        expanded(&bench.store.read(), TENANT, &granted, Extent { spaces, bytes: 1 << 20, texts }).unwrap()
    };
    let all = tell(10, 100).unwrap();
    assert_eq!(all.len(), 3 + 1 + 9);
    assert!(all.iter().all(|text| !text.contains('*')) && all.is_sorted(), "{all:?}");
    assert_eq!(tell(1, 100), None, "a workspace and a project are two");
    assert_eq!(tell(10, 5), None);
    assert!(granted.texts().contains(&"p_*_read".to_owned()));
}
