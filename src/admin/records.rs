//! What handlers share that show a tenant's records to the operator, as the tenant itself sees them.

use quintet_platform::access::Tenant;
use quintet_platform::http::query::{Query, QueryError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::task::TaskError;
use super::tenants;
use crate::app::App;

/// Something of a tenant, as its own listener shows it, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordView {
    /// The tenant's id.
    pub tenant_id: String,
    /// The tenant's name.
    pub tenant_name: String,
    /// What the listener shows.
    #[serde(flatten)]
    pub record: Map<String, Value>,
}

/// A record of a tenant. The tenant's id stands in it once, whether the listener shows it or not.
pub(super) fn view(tenant: &Tenant, record: Value) -> RecordView {
    let mut record = if let Value::Object(members) = record { members } else { Map::new() };
    record.remove("tenant_id");
    RecordView { tenant_id: tenant.tenant_id.to_string(), tenant_name: tenant.name.clone(), record }
}

/// The parameters of a request.
pub(super) struct Asked(pub(super) Query);

impl Asked {
    /// Reads them.
    pub(super) fn of(raw: Option<&str>) -> Result<Asked, TaskError> {
        Query::parse(raw).map(Asked).map_err(unusable)
    }

    /// The tenants it is about: the one that is named, or all.
    pub(super) fn tenants(&mut self, app: &App) -> Result<Vec<Tenant>, TaskError> {
        let read = app.store.read();
        match self.0.take("tenant") {
            Some(wanted) => Ok(vec![tenants::resolve(&read, &wanted)?]),
            None => Ok(tenants::all(&read)?),
        }
    }

    /// How many are asked for: 50, 10,000 at most.
    pub(super) fn limit(&mut self) -> Result<usize, TaskError> {
        let limit = self.0.integer("limit", 1..=10_000).map_err(unusable)?.unwrap_or(50);
        Ok(usize::try_from(limit).unwrap_or(usize::MAX))
    }
}

fn unusable(error: QueryError) -> TaskError {
    TaskError::Unusable(error.to_string())
}
