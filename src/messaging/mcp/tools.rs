//! The table of tools: a line for each, which names its routes (6-messaging.md, N2).

use quintet_platform::mcp::{Argument, Tool};

use super::{attachment, forward, sender, wait};
use crate::dialect::Messaging;

const DELIVERY: &str = "GET /v1/deliveries/{delivery_id}";
const FILE: &str = "GET /v1/deliveries/{delivery_id}/attachments/{index}";
const SEND: &str = "POST /v1/messages";

/// Text or list, both of whom a message is for.
const TO_AND_CC: &[Argument] = &[Argument::list("to"), Argument::list("cc")];

const KEY: Argument = Argument::field(
    "idempotency_key",
    "idempotency-key",
    "A repeat with the same key within 24 hours is answered as the first call and does nothing.",
);

/// What a tool has no hand for: it seals and signs nothing.
const BY_HAND: &[&str] = &["sealed", "signature", "signing_key_fingerprint"];

/// Every tool. One whose routes are not served is not listed.
pub(super) const TOOLS: &[Tool<Messaging>] = &[
    Tool::new(
        "bus_register",
        "POST /v1/agents/register",
        "Register an agent by name, or by role and checkout: the same one again, or a new one. Needs to be done once.",
    )
    .idempotent(),
    Tool::new(
        "bus_whoami",
        "GET /v1/whoami",
        "The workspace, the key, the agent that you are here, and how much it has not read.",
    ),
    Tool::new("bus_phonebook", "GET /v1/agents", "Find agents by words, capability, repository or labels.")
        .with(&[Argument::called("query", "q", "")]),
    Tool::new(
        "bus_tag",
        "PATCH /v1/agents/{name}/labels",
        "Set labels that you wear (set) and take others off (remove): tag:KEY in a recipient means who wears it.",
    )
    .own("name")
    .idempotent(),
    Tool::new("bus_heartbeat", "POST /v1/agents/{name}/heartbeat", "Show that you are there, as any call does.")
        .own("name")
        .idempotent(),
    Tool::new(
        "bus_send",
        SEND,
        "Send a message to agents by name, room:NAME, tag:KEY, tag:KEY=VALUE or addresses. The answer says who gets it, \
         for whom it is held and until when. It reaches all or, if one recipient is wrong, nobody.",
    )
    .without(&["html", "sealed", "signature", "signing_key_fingerprint", "handoff_from"])
    .with(&[Argument::list("to"), Argument::list("cc"), KEY]),
    Tool::new(
        "bus_reply",
        "POST /v1/messages/{message_id}/reply",
        "Answer a message by its id or that of its delivery: whoever sent it, or with reply_all all who got it.",
    )
    .without(BY_HAND)
    .with(&[Argument::list("cc"), KEY]),
    Tool::composed(
        "bus_forward",
        &[SEND, DELIVERY, FILE],
        forward::INPUT,
        |steps, arguments| Box::pin(forward::forward(steps, arguments)),
        "Hand a message on to others with its attachments: its words are quoted behind text.",
    ),
    Tool::new(
        "bus_inbox",
        "GET /v1/inbox",
        "What has come, in its order, without the texts; marks nothing read. Ask again with cursor set to next_cursor.",
    )
    .without(&["wait"]),
    Tool::new("bus_read", DELIVERY, "One delivery with all that it says, by its id or its message's; marks it read.")
        .noting(),
    Tool::new(
        "bus_ack",
        "POST /v1/deliveries/{delivery_id}/ack",
        "Say that what a delivery asks for is done, of one or of several: whoever waits for that is told.",
    )
    .for_each("delivery_id")
    .idempotent(),
    Tool::composed(
        "bus_attachment",
        &[DELIVERY, FILE],
        attachment::INPUT,
        |steps, arguments| Box::pin(attachment::attachment(steps, arguments)),
        "One attachment in base64, and as text where it is a short one. Marks nothing read. 2 MiB at most: larger ones \
         are read with GET /v1/deliveries/{delivery_id}/attachments/{index}.",
    ),
    Tool::new(
        "bus_thread",
        "GET /v1/threads/{thread_id}",
        "A thread with the messages that you got or sent, the oldest first.",
    ),
    Tool::new(
        "bus_thread_resume",
        "POST /v1/threads/{thread_id}/resume",
        "Have a thread go on that was paused because it ran away, and deliver what it holds.",
    )
    .idempotent(),
    Tool::new(
        "bus_label",
        "POST /v1/deliveries/{delivery_id}/labels",
        "Give a delivery labels of your own (add) and take others off (remove).",
    )
    .idempotent(),
    Tool::choice(
        "bus_draft",
        "action",
        &[
            ("list", "GET /v1/drafts"),
            ("create", "POST /v1/drafts"),
            ("update", "PATCH /v1/drafts/{draft_id}"),
            ("delete", "DELETE /v1/drafts/{draft_id}"),
            ("send", "POST /v1/drafts/{draft_id}/send"),
        ],
        "Keep a message until it is sent: list, create, update what is given, delete, send. Recipients are looked up \
         when it is sent, and then it is gone.",
    )
    .without(BY_HAND)
    .with(TO_AND_CC)
    .destructive(),
    Tool::new("bus_usage", "GET /v1/usage", "What the workspace has used of its day, and what is left."),
    Tool::new(
        "bus_request_approval",
        "POST /v1/approvals",
        "Ask a human for a yes before you act. You cannot give it yourself: the verdict comes as an urgent message, and \
         bus_approval_status tells it.",
    )
    .with(&[KEY]),
    Tool::new(
        "bus_approval_status",
        "GET /v1/approvals/{approval_id}",
        "Whether a human has decided; with wait, answers once that is so, or after so many seconds.",
    ),
    Tool::new(
        "bus_busy",
        "POST /v1/agents/{name}/busy",
        "Be busy for so many seconds, in which your mail is held; 0 ends that.",
    )
    .own("name"),
    Tool::either(
        "bus_status",
        "state",
        ["GET /v1/agents/{name}/availability", "PUT /v1/agents/{name}/availability"],
        "Whether you take mail, until when you do not, and how much is held; with state, declare it.",
    )
    .own("name"),
    Tool::new(
        "bus_health",
        "GET /v1/agents/{name}/health",
        "Whether a message would start a turn of an agent. Calls of tools never make it so.",
    )
    .own("name")
    .with(&[Argument::called("target", "name", "Which agent; left out: you")]),
    Tool::new(
        "bus_room_history",
        "GET /v1/rooms/{room}/history",
        "What was sent to a room that you are in, the oldest first.",
    ),
    Tool::either(
        "bus_room_schema",
        "schema",
        ["GET /v1/rooms/{room}/schema", "PUT /v1/rooms/{room}/schema"],
        "What a room wants of payloads; with schema, set it, for members: {} lets anything fit.",
    )
    .destructive(),
    Tool::composed(
        "bus_verify_sender",
        &[DELIVERY],
        sender::INPUT,
        |steps, arguments| Box::pin(sender::verify(steps, arguments)),
        "What the server finds of the sender of a delivery, and of its signature. Marks nothing read.",
    ),
    Tool::composed(
        "bus_wait",
        &["GET /v1/inbox"],
        wait::INPUT,
        |steps, arguments| Box::pin(wait::wait(steps, arguments)),
        "Wait for mail: answers at once with what is unread, else when something comes or the seconds are over \
         (waited_out). Marks nothing read.",
    ),
];
