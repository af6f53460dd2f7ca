//! What a workspace may have: each limit by its name, with what it is until the operator says otherwise (6-messaging.md, L).

/// A limit of a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    /// Its name in commands and answers.
    pub(crate) name: &'static str,
    /// Its number in stored rows; never changes.
    pub(crate) code: u8,
    /// What it is until the operator says otherwise.
    pub(crate) usual: u64,
}

const fn limit(code: u8, name: &'static str, usual: u64) -> Limit {
    Limit { name, code, usual }
}

/// Recipients of a message, as typed.
pub(crate) const RECIPIENTS_PER_MESSAGE: Limit = limit(0, "recipients_per_message", 25);
/// Agents that are not retired.
pub(crate) const ACTIVE_AGENTS: Limit = limit(1, "active_agents", 100);
/// Keys bound to no agent.
pub(crate) const OPERATOR_KEYS: Limit = limit(2, "operator_keys", 25);
/// Keys bound to agents.
pub(crate) const BOUND_KEYS: Limit = limit(3, "bound_keys", 200);
/// Outbound webhooks.
pub(crate) const WEBHOOKS: Limit = limit(4, "webhooks", 10);
/// Labels of mail in the workspace.
pub(crate) const MAIL_LABELS: Limit = limit(5, "mail_labels", 50);
/// Labels of one agent.
pub(crate) const AGENT_TAGS: Limit = limit(6, "agent_tags", 50);
/// Messages a day.
pub(crate) const MESSAGES_PER_DAY: Limit = limit(7, "messages_per_day", 1_000);
/// Messages to external addresses a day.
pub(crate) const EXTERNAL_OUT_PER_DAY: Limit = limit(8, "external_out_per_day", 50);
/// Mail from outside a day.
pub(crate) const EXTERNAL_IN_PER_DAY: Limit = limit(9, "external_in_per_day", 2_000);
/// Approvals asked for a day.
pub(crate) const APPROVALS_PER_DAY: Limit = limit(10, "approvals_per_day", 100);
/// Bytes of one attachment: as base64 where it is sealed, decoded where it is not.
pub(crate) const ATTACHMENT_BYTES: Limit = limit(11, "attachment_bytes", 10_485_760);
/// Decoded bytes of all attachments of a message.
pub(crate) const MESSAGE_BYTES: Limit = limit(12, "message_bytes", 26_214_400);
/// Open streams of one agent.
pub(crate) const STREAMS_PER_AGENT: Limit = limit(13, "streams_per_agent", 16);
/// Entries of one agent's memory.
pub(crate) const MEMORY_ENTRIES: Limit = limit(14, "memory_entries", 500);
/// Bytes of one agent's memory.
pub(crate) const MEMORY_BYTES: Limit = limit(15, "memory_bytes", 262_144);
/// Rooms, left ones with a history or a schema included.
pub(crate) const WORKSPACE_ROOMS: Limit = limit(16, "workspace_rooms", 10_000);

/// All of them, in the order in which they are told.
pub(crate) const LIMITS: &[Limit] = &[
    RECIPIENTS_PER_MESSAGE,
    ACTIVE_AGENTS,
    OPERATOR_KEYS,
    BOUND_KEYS,
    WEBHOOKS,
    MAIL_LABELS,
    AGENT_TAGS,
    MESSAGES_PER_DAY,
    EXTERNAL_OUT_PER_DAY,
    EXTERNAL_IN_PER_DAY,
    APPROVALS_PER_DAY,
    ATTACHMENT_BYTES,
    MESSAGE_BYTES,
    STREAMS_PER_AGENT,
    MEMORY_ENTRIES,
    MEMORY_BYTES,
    WORKSPACE_ROOMS,
];

/// The limit with a name.
pub(crate) fn named(name: &str) -> Option<Limit> {
    LIMITS.iter().copied().find(|limit| limit.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_has_its_own_number() {
        for (place, limit) in LIMITS.iter().enumerate() {
            assert_eq!(usize::from(limit.code), place);
            assert_eq!(named(limit.name), Some(*limit));
        }
    }
}
