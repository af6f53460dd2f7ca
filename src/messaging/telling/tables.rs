//! What is stored of outbound webhooks.
//!
//! | tag | table | key | what |
//! |---|---|---|---|
//! | 0x0568 | webhooks | workspace, webhook | a webhook; its secret is sealed |
//! | 0x0569 | listeners (hot) | workspace | those that are enabled, as far as events go; no row: there are none |
//! | 0x056A | targets | target | whose deliveries are found by it |
//! | 0x056B | standings (hot) | workspace, webhook | see `Standing` |

use bincode::{Decode, Encode};
use quintet_storage::seal::Sealed;
use quintet_storage::{Row, Table, TableSpec, Timestamp, Uuid};

use super::model::{Standing, Webhook, WebhookId, WebhookKey};
use crate::model::{AgentNo, FAMILY, WorkspaceNo};

pub(super) const WEBHOOKS: Table<WebhookKey, WebhookRow> = Table::new(0x0568, FAMILY, "messaging_webhooks");
pub(super) const LISTENERS: Table<WorkspaceNo, ListenersRow> =
    Table::new(0x0569, FAMILY, "messaging_webhook_listeners").hot();
pub(super) const TARGETS: Table<Uuid, TargetRow> = Table::new(0x056A, FAMILY, "messaging_webhook_targets");
pub(super) const STANDINGS: Table<WebhookKey, StandingRow> =
    Table::new(0x056B, FAMILY, "messaging_webhook_standings").hot();

/// The tables of this folder.
pub(crate) const TABLES: &[TableSpec] = &[WEBHOOKS.spec(), LISTENERS.spec(), TARGETS.spec(), STANDINGS.spec()];

/// See [`Webhook`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct WebhookRow {
    url: String,
    events: Option<u32>,
    agent: Option<AgentNo>,
    made_by: Option<AgentNo>,
    is_inside: bool,
    /// The bytes that sign, for the tenant.
    pub(super) secret: Sealed,
    target: [u8; 16],
    created_at: Timestamp,
    disabled_at: Option<Timestamp>,
}
impl Row for WebhookRow {}

impl WebhookRow {
    pub(super) fn of(webhook: &Webhook, secret: Sealed) -> WebhookRow {
        let Webhook { url, events, agent, made_by, is_inside, target, created_at, disabled_at } = webhook.clone();
        let target = target.into_bytes();
        WebhookRow { url, events, agent, made_by, is_inside, secret, target, created_at, disabled_at }
    }

    pub(super) fn into_webhook(self) -> Webhook {
        let WebhookRow { url, events, agent, made_by, is_inside, secret: _, target, created_at, disabled_at } = self;
        let target = Uuid::from_bytes(target);
        Webhook { url, events, agent, made_by, is_inside, target, created_at, disabled_at }
    }
}

/// The webhooks of a workspace that are enabled, with what is told of the workspace itself.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct ListenersRow {
    pub(super) tenant_id: [u8; 16],
    pub(super) slug: String,
    pub(super) all: Vec<ListenerRow>,
}
impl Row for ListenersRow {}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct ListenerRow {
    pub(super) id: [u8; 16],
    pub(super) target: [u8; 16],
    pub(super) events: Option<u32>,
    pub(super) agent: Option<AgentNo>,
    pub(super) is_inside: bool,
}

impl ListenerRow {
    pub(super) fn of(id: WebhookId, webhook: &Webhook) -> ListenerRow {
        ListenerRow {
            id: id.0.into_bytes(),
            target: webhook.target.into_bytes(),
            events: webhook.events,
            agent: webhook.agent,
            is_inside: webhook.is_inside,
        }
    }
}

/// Whose deliveries are found by a target.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct TargetRow {
    pub(super) workspace: WorkspaceNo,
    pub(super) id: [u8; 16],
}
impl Row for TargetRow {}

/// See [`Standing`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) struct StandingRow(pub(super) Standing);
impl Row for StandingRow {}
