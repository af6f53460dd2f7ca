//! The words that all of runs share.

use quintet_storage::{Family, key_newtype};

/// The column family that all rows of the room lie in.
pub(crate) const FAMILY: Family = Family::named("runs");

key_newtype!(
    /// A tenant.
    pub TenantId(Uuid)
);
key_newtype!(
    /// A run; callers know it as `track_id`, in the form of a ULID.
    pub RunId(Uuid)
);

key_newtype!(
    /// A timer; callers know it as `timer_id`, in the form of a ULID.
    pub TimerId(Uuid)
);
key_newtype!(
    /// A schedule; callers know it as `schedule_id`, in the form of a ULID.
    pub ScheduleId(Uuid)
);

key_newtype!(
    /// A workflow; callers know it as `workflow_id`, in the form of a ULID.
    pub WorkflowId(Uuid)
);

key_newtype!(
    /// A template; callers know it as `template_id`, in the form of a ULID.
    pub TemplateId(Uuid)
);

key_newtype!(
    /// A trigger of a template; callers know it as `trigger_id`, in the form of a ULID.
    pub TriggerId(Uuid)
);

/// A run of a tenant: what most rows are found by.
pub(crate) type RunKey = (TenantId, RunId);
/// A timer of a tenant.
pub(crate) type TimerKey = (TenantId, TimerId);
/// A schedule of a tenant.
pub(crate) type ScheduleKey = (TenantId, ScheduleId);
/// A workflow of a tenant.
pub(crate) type WorkflowKey = (TenantId, WorkflowId);
/// A template of a tenant.
pub(crate) type TemplateKey = (TenantId, TemplateId);
/// A trigger of a template of a tenant.
pub(crate) type TriggerKey = (TenantId, TemplateId, TriggerId);
