//! Whether all rows of localization agree.

use quintet_storage::{Failure, Read};

use crate::{
    access, accounts, approvals, audit, content, decisions, desk, figures, licences, memory, principals, releases,
    spaces, terms, translate, webhooks,
};

/// What contradicts itself; nothing, if all is well.
///
/// # Errors
/// Only the store's.
pub fn verify(read: &impl Read) -> Result<Vec<String>, Failure> {
    let mut findings = audit::verify(read)?;
    findings.extend(spaces::verify(read)?);
    findings.extend(access::verify(read)?);
    findings.extend(principals::verify(read)?);
    findings.extend(accounts::verify(read)?);
    findings.extend(content::verify(read)?);
    findings.extend(terms::verify(read)?);
    findings.extend(figures::verify(read)?);
    findings.extend(memory::verify(read)?);
    findings.extend(translate::verify(read)?);
    findings.extend(releases::verify(read)?);
    findings.extend(decisions::verify(read)?);
    findings.extend(desk::verify(read)?);
    findings.extend(approvals::verify(read)?);
    findings.extend(licences::verify(read)?);
    webhooks::WEBHOOKS.verify(read, &mut findings)?;
    Ok(findings)
}
