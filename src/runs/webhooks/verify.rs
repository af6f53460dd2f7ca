//! What must be true of the rows of webhooks.

use quintet_storage::{Failure, Read, Scan};

use super::endpoints::subscriptions;
use super::model::{Endpoint, Subscription};
use super::tables::{ENDPOINTS, SUBSCRIPTIONS};

/// What active endpoints ask for, and what is written down of that, agree.
pub(crate) fn verify(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    for ((tenant_id, endpoint_id), row) in read.scan(&ENDPOINTS, Scan::all())? {
        let endpoint = Endpoint::from(row);
        let mut found = subscriptions(read, tenant_id)?;
        found.retain(|one| one.endpoint_id == endpoint_id);
        let wanted = Subscription { endpoint_id, events: endpoint.events() };
        let wanted = if endpoint.disabled.is_none() { vec![wanted] } else { Vec::new() };
        if found != wanted {
            findings.push(format!("endpoint {endpoint_id} of tenant {tenant_id} and what it asks for do not agree"));
        }
    }
    for (tenant_id, row) in read.scan(&SUBSCRIPTIONS, Scan::all())? {
        for one in Vec::<Subscription>::from(row) {
            if !read.contains(&ENDPOINTS, &(tenant_id, one.endpoint_id))? {
                findings.push(format!("tenant {tenant_id} asks for an endpoint {} that is not there", one.endpoint_id));
            }
        }
    }
    Ok(())
}
