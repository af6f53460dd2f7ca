//! Taking a template away.

use quintet_storage::{Abort, WriteTx};

use super::model::NO_TEMPLATE;
use super::rows::{find, forget};
use super::triggers;
use crate::model::TemplateKey;
use crate::refusal::Refusal;

/// Takes a template away with all its versions and triggers; its name is free again. Its workflows go on.
pub(super) fn remove(tx: &mut WriteTx<'_>, key: TemplateKey) -> Result<(), Abort<Refusal>> {
    let template = find(tx, key)?.ok_or(NO_TEMPLATE)?;
    for (id, trigger) in triggers::rows::all(tx, key)? {
        triggers::rows::forget(tx, (key.0, key.1, id), &trigger);
    }
    forget(tx, key, &template);
    Ok(())
}
