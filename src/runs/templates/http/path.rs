//! The template that a path names, by its id or its name.

use quintet_platform::service::{Segment, Shape, failed};
use quintet_storage::Read;

use super::super::model::{NO_TEMPLATE, Template};
use super::super::rows::{find, named};
use crate::dialect::{Call, tenant_of};
use crate::model::TemplateKey;
use crate::refusal::Refusal;

/// The most characters of a name, which is more than an id has.
const CALLED_CHARS_MAX: usize = 63;

/// The template that a path names.
pub(super) const TEMPLATE: Segment = Segment::new("ref", Shape::Text { min: 1, max: CALLED_CHARS_MAX });

/// The template of a request's path.
pub(super) fn template_of(call: &Call, read: &impl Read) -> Result<(TemplateKey, Template), Refusal> {
    let called: String = call.segment(TEMPLATE.name).ok_or(NO_TEMPLATE)?;
    let failed = |failure| failed::<Refusal>(&failure);
    let key = named(read, tenant_of(call), &called).map_err(failed)?.ok_or(NO_TEMPLATE)?;
    let template = find(read, key).map_err(failed)?.ok_or(NO_TEMPLATE)?;
    Ok((key, template))
}
