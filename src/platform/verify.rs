//! What must be true of this package's rows, checked over any state of them: `quintet verify` calls it.
//!
//! Storage has checked by then that every row is what was written; this checks that the rows agree with each other.
//! Tables are read in pages, so memory does not grow with them.

use quintet_storage::{Failure, Key, Read, Row, Scan, Table};
use uuid::Uuid;

use crate::access::tables::{ACTIVATIONS, KEY_USES, KEYS, KEYS_BY_TENANT, TENANTS, TENANTS_BY_PARENT};
use crate::deliveries;
use crate::idempotency::tables::{ANSWERS, ANSWERS_BY_EXPIRY};
use crate::{identity, people, sessions};

/// Rows read at a time.
const PAGE_ROWS: usize = 1_000;

/// Findings told; more of them say nothing new.
const FINDINGS_MAX: usize = 100;

/// Everything about tenants, keys and stored answers that contradicts itself; the first hundred findings.
///
/// # Errors
/// The rows cannot be read.
pub fn verify(read: &impl Read) -> Result<Vec<String>, Failure> {
    let mut findings = Vec::new();
    check_tenants(read, &mut findings)?;
    check_keys(read, &mut findings)?;
    check_answers(read, &mut findings)?;
    deliveries::verify(read, &mut findings)?;
    identity::verify(read, &mut findings)?;
    sessions::verify(read, &mut findings)?;
    people::verify(read, &mut findings)?;
    findings.truncate(FINDINGS_MAX);
    Ok(findings)
}

/// Calls `look` with every row of a table, in pages, until enough has been found.
///
/// # Errors
/// The rows cannot be read, and those of `look`.
pub fn each<K: Key + Clone, V: Row>(
    read: &impl Read,
    table: &Table<K, V>,
    findings: &mut Vec<String>,
    mut look: impl FnMut(K, V, &mut Vec<String>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut after: Option<K> = None;
    loop {
        let scan = after.iter().fold(Scan::all(), Scan::after).limit(PAGE_ROWS);
        let page = read.scan(table, scan)?;
        let is_last = page.len() < PAGE_ROWS;
        after = page.last().map(|(key, _)| key.clone());
        for (key, row) in page {
            look(key, row, findings)?;
        }
        if is_last || findings.len() >= FINDINGS_MAX {
            return Ok(());
        }
    }
}

fn check_tenants(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    each(read, &TENANTS, findings, |id, row, findings| {
        let Some(parent_id) = row.parent() else { return Ok(()) };
        match read.get(&TENANTS, &parent_id)? {
            None => findings.push(format!("tenant {id} belongs to tenant {parent_id}, which does not exist")),
            Some(parent) if parent.parent().is_some() => {
                findings.push(format!("tenant {id} belongs to {parent_id}, which is a sub-tenant itself"));
            }
            Some(parent) if !parent.services().contains_all(row.services()) => {
                findings.push(format!("tenant {id} has services that its parent {parent_id} has not"));
            }
            Some(_) => {}
        }
        if !read.contains(&TENANTS_BY_PARENT, &(parent_id, id))? {
            findings.push(format!("sub-tenant {id} is missing from the list of {parent_id}"));
        }
        Ok(())
    })?;
    each(read, &TENANTS_BY_PARENT, findings, |(parent, id), _, findings| {
        if read.get(&TENANTS, &id)?.and_then(|row| row.parent()) != Some(parent) {
            findings.push(format!("the list of sub-tenants of {parent} names {id}, which is none of them"));
        }
        Ok(())
    })?;
    each(read, &ACTIVATIONS, findings, |id, _, findings| {
        if !read.contains(&TENANTS, &id)? {
            findings.push(format!("tenant {id} was put back into service, which does not exist"));
        }
        Ok(())
    })
}

fn check_keys(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    each(read, &KEYS, findings, |id, row, findings| {
        let tenant = Uuid::from_bytes(row.tenant);
        if !read.contains(&TENANTS, &tenant)? {
            findings.push(format!("key {id} belongs to tenant {tenant}, which does not exist"));
        }
        if !read.contains(&KEYS_BY_TENANT, &(tenant, id))? {
            findings.push(format!("key {id} is missing from the list of tenant {tenant}"));
        }
        Ok(())
    })?;
    each(read, &KEYS_BY_TENANT, findings, |(tenant, id), _, findings| {
        if read.get(&KEYS, &id)?.is_none_or(|row| row.tenant != tenant.into_bytes()) {
            findings.push(format!("the list of keys of tenant {tenant} names {id}, which is none of them"));
        }
        Ok(())
    })?;
    each(read, &KEY_USES, findings, |id, _, findings| {
        if !read.contains(&KEYS, &id)? {
            findings.push(format!("there is a use of key {id}, which does not exist"));
        }
        Ok(())
    })
}

fn check_answers(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    each(read, &ANSWERS, findings, |(tenant, digest), row, findings| {
        if !read.contains(&ANSWERS_BY_EXPIRY, &(row.expiry_hour(), tenant, digest))? {
            findings.push(format!("a stored answer of tenant {tenant} is missing from the list of expiries"));
        }
        Ok(())
    })?;
    each(read, &ANSWERS_BY_EXPIRY, findings, |(hour, tenant, digest), _, findings| {
        if read.get(&ANSWERS, &(tenant, digest))?.is_none_or(|row| row.expiry_hour() != hour) {
            findings.push(format!("the list of expiries names an answer of tenant {tenant} that is not there"));
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::{Duration, Instant};

    use quintet_storage::{Abort, Timestamp, WriteTx};

    use super::*;
    use crate::access::tables::{ActivationRow, Mark};
    use crate::access::{
        CreateTenant, IssueKey, PreparedSecret, Service, Services, activate_tenant, create_tenant, issue_key,
    };
    use crate::idempotency::{Entered, KEPT_SECONDS, RequestDigest, Scope, StoredAnswer, remember};
    use crate::testing::TestStore;

    fn write(test: &TestStore, harm: impl FnOnce(&mut WriteTx<'_>) -> Result<(), Failure> + Send + 'static) {
        let deadline = Instant::now() + Duration::from_secs(30);
        test.store.write_blocking(deadline, |tx, _| Ok::<_, Abort<Infallible>>(harm(tx)?)).unwrap();
    }

    /// A tenant, its sub-tenant, a key and a stored answer of it.
    fn filled() -> (TestStore, Uuid, Uuid, Uuid) {
        let test = TestStore::open(Timestamp::from_micros(1_700_000_000_000_000));
        let deadline = Instant::now() + Duration::from_secs(30);
        let made = test.store.write_blocking(deadline, |tx, now| {
            let wish = |parent| CreateTenant { id: None, name: "t".to_owned(), services: Services::ALL, parent };
            let root = create_tenant(tx, now, wish(None))?.tenant_id;
            let sub = create_tenant(tx, now, wish(Some(root)))?.tenant_id;
            activate_tenant(tx, now, sub)?;
            let key = IssueKey {
                tenant_id: sub,
                principal_id: None,
                label: String::new(),
                permissions: Vec::new(),
                ttl_days: None,
                secret: PreparedSecret::draw(),
            };
            issue_key(tx, now, key)?;
            let scope =
                Scope { service: Service::Ledger, tenant_id: sub, within: "POST /x".to_owned(), key: "k".to_owned() };
            let answer = StoredAnswer { status: 201, content_type: String::new(), body: Vec::new() };
            let entered = Entered { scope, digest: RequestDigest::of("POST", "/x", "", b"") };
            remember(tx, now, &entered, &answer, KEPT_SECONDS)?;
            let key_id = tx.scan(&KEYS, Scan::all())?.first().map(|(id, _)| *id);
            Ok::<_, Abort<crate::access::AccessRefusal>>((root, sub, key_id))
        });
        let (root, sub, key_id) = made.unwrap();
        (test, root, sub, key_id.unwrap())
    }

    #[test]
    fn what_the_verbs_write_agrees_with_itself() {
        let (test, ..) = filled();
        assert_eq!(verify(&test.store.read()).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn every_contradiction_is_found() {
        type Harm = Box<dyn FnOnce(&mut WriteTx<'_>, Uuid, Uuid, Uuid) -> Result<(), Failure> + Send>;
        let harms: Vec<(&str, Harm)> = vec![
            (
                "which does not exist",
                Box::new(|tx, root, _, _| {
                    tx.delete(&TENANTS, &root);
                    Ok(())
                }),
            ),
            (
                "is missing from the list of",
                Box::new(|tx, root, sub, _| {
                    tx.delete(&TENANTS_BY_PARENT, &(root, sub));
                    Ok(())
                }),
            ),
            ("which is none of them", Box::new(|tx, root, _, key| tx.put(&TENANTS_BY_PARENT, &(root, key), &Mark))),
            (
                "was put back into service",
                Box::new(|tx, _, _, key| tx.put(&ACTIVATIONS, &key, &ActivationRow(Timestamp::EPOCH))),
            ),
            (
                "belongs to tenant",
                Box::new(|tx, _, sub, _| {
                    tx.delete(&TENANTS, &sub);
                    Ok(())
                }),
            ),
            (
                "key",
                Box::new(|tx, _, sub, key| {
                    tx.delete(&KEYS_BY_TENANT, &(sub, key));
                    Ok(())
                }),
            ),
            (
                "the list of keys",
                Box::new(|tx, _, _, key| {
                    tx.delete(&KEYS, &key);
                    Ok(())
                }),
            ),
            ("the list of keys", Box::new(|tx, root, _, key| tx.put(&KEYS_BY_TENANT, &(root, key), &Mark))),
            (
                "missing from the list of expiries",
                Box::new(|tx, _, _, _| {
                    let rows = tx.scan(&ANSWERS_BY_EXPIRY, Scan::all())?;
                    rows.iter().for_each(|(key, _)| tx.delete(&ANSWERS_BY_EXPIRY, key));
                    Ok(())
                }),
            ),
            (
                "names an answer",
                Box::new(|tx, _, _, _| {
                    let rows = tx.scan(&ANSWERS, Scan::all())?;
                    rows.iter().for_each(|(key, _)| tx.delete(&ANSWERS, key));
                    Ok(())
                }),
            ),
        ];
        for (number, (expected, harm)) in harms.into_iter().enumerate() {
            let (test, root, sub, key) = filled();
            write(&test, move |tx| harm(tx, root, sub, key));
            let found = verify(&test.store.read()).unwrap().join("\n");
            assert!(found.contains(expected), "harm {number}: expected {expected:?}, found {found:?}");
        }
    }

    #[test]
    fn pages_cover_every_row_and_findings_are_bounded() {
        let (test, root, ..) = filled();
        write(&test, move |tx| {
            for number in 0..2_500_u128 {
                tx.put(&TENANTS_BY_PARENT, &(root, Uuid::from_u128(number)), &Mark)?;
            }
            Ok(())
        });
        assert_eq!(verify(&test.store.read()).unwrap().len(), FINDINGS_MAX);
    }
}
