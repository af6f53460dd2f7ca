//! Grants against their index.

use quintet_storage::Uuid;

use super::model::GrantId;
use super::tables::{GRANTS_BY_PRINCIPAL, MarkRow};
use super::verify;
use crate::testing::{TENANT, furnished};

#[test]
fn an_index_that_does_not_fit_is_found() {
    let (bench, ..) = furnished();
    let key = (TENANT, Uuid::nil(), GrantId(Uuid::nil()));
    bench.run(move |tx, _| Ok(tx.put(&GRANTS_BY_PRINCIPAL, &key, &MarkRow)?)).unwrap();
    let findings = verify(&bench.store.read()).unwrap();
    assert!(findings.iter().any(|finding| finding.contains("in the index 1 times")), "{findings:?}");
}
