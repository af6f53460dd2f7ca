//! Asset types: define and list.

use quintet_storage::{Abort, Failure, Read, Scan, Timestamp, WriteTx};

use crate::model::{AssetTypeId, Kind, NAME_CHARS_MAX, SCALE_MAX, TenantId};
use crate::refusal::Refusal;
use crate::tables::{ASSET_CODES, ASSET_TYPES, AssetCodeRow, AssetTypeRow};

/// The most asset types of a tenant.
const ASSET_TYPES_MAX: usize = 10_000;

/// Defines an asset type.
#[derive(Clone, Debug)]
pub struct CreateAssetType {
    /// Whose it is.
    pub tenant_id: TenantId,
    /// Its code, unique in the tenant.
    pub code: String,
    /// What it measures.
    pub kind: Kind,
    /// Fraction digits, 0 to 12.
    pub scale: u8,
}

/// An asset type as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssetType {
    /// Its id.
    pub asset_type_id: AssetTypeId,
    /// Everything else.
    pub row: AssetTypeRow,
}

/// Defines an asset type.
///
/// # Errors
/// [`Refusal::InvalidAssetType`] for a code or scale out of range, [`Refusal::ConstraintViolation`] if the tenant
/// has the code already.
pub fn create_asset_type(
    tx: &mut WriteTx<'_>,
    now: Timestamp,
    command: CreateAssetType,
) -> Result<AssetType, Abort<Refusal>> {
    if command.code.is_empty() || command.code.chars().count() > NAME_CHARS_MAX {
        return Err(Refusal::InvalidAssetType("code has 1 to 255 characters").into());
    }
    if command.scale > SCALE_MAX {
        return Err(Refusal::InvalidAssetType("scale is 0 to 12").into());
    }
    let by_code = (command.tenant_id, command.code);
    if tx.contains(&ASSET_CODES, &by_code)? {
        return Err(Refusal::ConstraintViolation("an asset type with this code exists").into());
    }
    let asset_type_id = AssetTypeId(tx.new_id());
    tx.put(&ASSET_CODES, &by_code, &AssetCodeRow { asset_type_id })?;
    let row = AssetTypeRow { code: by_code.1, kind: command.kind, scale: command.scale, created_at: now };
    tx.put(&ASSET_TYPES, &(command.tenant_id, asset_type_id), &row)?;
    Ok(AssetType { asset_type_id, row })
}

/// Whether a tenant has as many asset types as it may have. All of them are listed at once (contract 3, A), so they are
/// bounded; those that are made side by side may pass the bound by a few.
///
/// # Errors
/// Only the store's.
pub fn are_all_made(read: &impl Read, tenant_id: TenantId) -> Result<bool, Failure> {
    Ok(read.scan(&ASSET_TYPES, Scan::prefix(&(tenant_id,)).limit(ASSET_TYPES_MAX))?.len() >= ASSET_TYPES_MAX)
}

/// Every asset type of a tenant, oldest first.
///
/// # Errors
/// Only the store's.
pub fn list_asset_types(read: &impl Read, tenant_id: TenantId) -> Result<Vec<AssetType>, Abort<Refusal>> {
    let rows = read.scan(&ASSET_TYPES, Scan::prefix(&(tenant_id,)))?;
    Ok(rows.into_iter().map(|((_, asset_type_id), row)| AssetType { asset_type_id, row }).collect())
}
