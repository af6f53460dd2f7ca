//! What must be true of the rows of webhooks.

use quintet_storage::{Failure, Read, Scan};

use super::model::{EndpointKey, Subscription};
use super::room::Webhooks;
use super::tables::EndpointId;

impl Webhooks {
    /// What active endpoints ask for, and what is written down of that, agree.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn verify(&self, read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
        let mut endpoints = Vec::new();
        self.each(read, |key, endpoint| endpoints.push((key, self.wanted(key, &endpoint))))?;
        for (EndpointKey { tenant_id, endpoint_id }, wanted) in endpoints {
            let mut found = self.subscribed(read, tenant_id)?;
            found.retain(|one| one.endpoint_id == endpoint_id);
            if found != wanted.into_iter().collect::<Vec<_>>() {
                findings
                    .push(format!("endpoint {endpoint_id} of tenant {tenant_id} and what it asks for do not agree"));
            }
        }
        for (tenant_id, row) in read.scan(self.subscriptions, Scan::all())? {
            for one in Vec::<Subscription>::from(row) {
                if !read.contains(self.endpoints, &(tenant_id, EndpointId(one.endpoint_id)))? {
                    let id = one.endpoint_id;
                    findings.push(format!("tenant {tenant_id} asks for an endpoint {id} that is not there"));
                }
            }
        }
        Ok(())
    }
}
