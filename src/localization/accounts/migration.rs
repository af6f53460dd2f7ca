//! Keys from the command line act as service accounts of their own. Those of directories of format 6 and before have none:
//! each that is not revoked gets one, if it is for localization at all.

use quintet_platform::access::{KeyRecord, Service, list_keys, list_tenants};
use quintet_storage::{Failure, Migrating, Migration, Read as _, Scan, Uuid, WriteTx};

use super::service_accounts::put_account;
use crate::access::{GRANTS_BY_PRINCIPAL, is_ours};
use crate::model::TenantId;
use crate::principals::{ACCOUNTS, AccountId, KEYS_OF_PRINCIPALS, KeyOfPrincipalRow};

/// How many keys, or tenants, one transaction looks at.
const ROWS_PER_STEP: usize = 200;

/// The steps.
pub const MIGRATIONS: &[Migration] =
    &[Migration { from: 6, name: "service accounts of keys from the command line", run: add_accounts }];

fn add_accounts(migrating: &mut Migrating<'_>) -> Result<(), Failure> {
    let mut after: Option<Uuid> = None;
    loop {
        let tenants = list_tenants(&migrating.store().read(), after, ROWS_PER_STEP)?;
        let Some(last) = tenants.last() else { return Ok(()) };
        after = Some(last.tenant_id);
        for tenant in tenants.iter().filter(|tenant| tenant.services.contains(Service::Localization)) {
            add_accounts_of(migrating, tenant.tenant_id)?;
        }
    }
}

fn add_accounts_of(migrating: &mut Migrating<'_>, tenant_id: Uuid) -> Result<(), Failure> {
    let mut after: Option<String> = None;
    loop {
        let behind = after.take();
        let (rows, last) = migrating.write(move |tx| {
            let keys = list_keys(tx, tenant_id, behind.as_deref(), ROWS_PER_STEP)?;
            let mut rows = 0;
            for key in &keys {
                rows += u64::from(add_account(tx, key)?);
            }
            Ok((rows, keys.last().map(|key| key.key_id.clone())))
        })?;
        migrating.done(rows);
        match last {
            None => return Ok(()),
            last => after = last,
        }
    }
}

fn add_account(tx: &mut WriteTx<'_>, key: &KeyRecord) -> Result<bool, Failure> {
    let (tenant_id, account_id) = (TenantId(key.tenant_id), AccountId(key.principal_id));
    let grants = Scan::prefix(&(tenant_id, key.principal_id)).limit(1);
    let is_for_us =
        key.permissions.iter().any(|text| is_ours(text)) || !tx.scan(&GRANTS_BY_PRINCIPAL, grants)?.is_empty();
    if key.revoked_at.is_some() || !is_for_us || tx.contains(&ACCOUNTS, &(tenant_id, account_id))? {
        return Ok(false);
    }
    put_account(tx, tenant_id, account_id, (key.label.clone(), key.created_at), true)?;
    let of_key = (tenant_id, key.principal_id, key.key_id.clone());
    tx.put(&KEYS_OF_PRINCIPALS, &of_key, &KeyOfPrincipalRow::default())?;
    Ok(true)
}
