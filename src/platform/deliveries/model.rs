//! The words of deliveries and their pure rules.

use std::time::Duration;

use bincode::{Decode, Encode};
use quintet_storage::Timestamp;
use uuid::Uuid;

use crate::access::Service;

/// The deliveries of a tenant in a service. They are numbered from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Outbox {
    /// Whose.
    pub tenant_id: Uuid,
    /// Whose service tells.
    pub service: Service,
}

impl Outbox {
    /// Whether what waits for each endpoint is counted in the outbox's own row, which is written with each delivery: where a
    /// tenant has few endpoints. Messaging has them by workspace, and counts what waits with each.
    pub(super) fn counts_by_endpoint(self) -> bool {
        self.service != Service::Messaging
    }
}

/// Where a delivery goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// To an endpoint that the room keeps, wherever that is when an attempt is made.
    Endpoint(Uuid),
    /// To an address of its own.
    Inline,
}

/// How a delivery stands, as callers see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryState {
    /// It waits for its first attempt, or for the next one.
    Pending,
    /// An attempt is under way.
    Delivering,
    /// It was taken.
    Delivered,
    /// It was given up.
    Dead,
}

impl DeliveryState {
    /// Every state.
    pub const ALL: [DeliveryState; 4] =
        [DeliveryState::Pending, DeliveryState::Delivering, DeliveryState::Delivered, DeliveryState::Dead];

    /// Its name in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            DeliveryState::Pending => "pending",
            DeliveryState::Delivering => "delivering",
            DeliveryState::Delivered => "delivered",
            DeliveryState::Dead => "dead",
        }
    }
}

/// How a delivery ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum End {
    /// It was taken.
    Delivered,
    /// It was given up.
    Dead,
}

/// What was wrong with the last attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum LastError {
    /// The answer's status was none of success.
    BadStatus,
    /// The answer sent elsewhere, where nobody goes.
    Redirect,
    /// No answer in time.
    TimedOut,
    /// No connection, or one that broke.
    ConnectionFailed,
    /// No TLS, or a certificate that nobody trusts.
    TlsFailed,
    /// The name stands for no address.
    NameNotResolved,
    /// The address must not be called.
    UrlNotAllowed,
    /// Its endpoint was inactive when its turn came.
    EndpointDisabled,
    /// Its endpoint was gone when its turn came.
    EndpointDeleted,
    /// So much waited for its endpoint that it was not enqueued.
    TooMuchWaiting,
}

impl LastError {
    /// Its name in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            LastError::BadStatus => "bad_status",
            LastError::Redirect => "redirect",
            LastError::TimedOut => "timed_out",
            LastError::ConnectionFailed => "connection_failed",
            LastError::TlsFailed => "tls_failed",
            LastError::NameNotResolved => "name_not_resolved",
            LastError::UrlNotAllowed => "url_not_allowed",
            LastError::EndpointDisabled => "endpoint_disabled",
            LastError::EndpointDeleted => "endpoint_deleted",
            LastError::TooMuchWaiting => "too_much_waiting",
        }
    }
}

/// A delivery, but for its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Its number in the outbox.
    pub id: u64,
    /// Where it goes.
    pub target: Target,
    /// The event it tells of; the same in every delivery of it.
    pub event_id: Uuid,
    /// The event's type.
    pub event: String,
    /// The id of what the event happened to.
    pub resource: String,
    /// The address that it was sent to last, or is to be sent to; none while nothing has been sent to an endpoint, which
    /// has its address itself: a thousand endpoints are told of an event in one transaction.
    pub url: Option<String>,
    /// Attempts that have ended.
    pub attempts: u32,
    /// Attempts in all.
    pub attempts_max: u32,
    /// When it is tried next, unless it has ended.
    pub next_attempt_at: Option<Timestamp>,
    /// The status of the last answer.
    pub last_status: Option<u16>,
    /// What was wrong with the last attempt.
    pub last_error: Option<LastError>,
    /// When it was enqueued.
    pub created_at: Timestamp,
    /// When it ended.
    pub settled_at: Option<Timestamp>,
    /// How it ended.
    pub end: Option<End>,
    /// The delivery that it repeats.
    pub redelivery_of: Option<u64>,
    /// Whether its end counts for the health of its endpoint: that of a test does not.
    pub is_counted: bool,
    /// How long it is kept once it has ended, in days.
    pub kept_days: u32,
    /// Whether it is found by its resource in a table of its own; else by a digest among those of endpoints.
    pub(super) is_by_resource: bool,
    /// Whether somebody has sent it once more.
    pub(super) repeat: Repeat,
}

/// Whether a delivery was sent once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(super) enum Repeat {
    /// Nobody has written it down: it was enqueued before that was done.
    Unsaid,
    /// It was not.
    No,
    /// It was, last by this delivery.
    By(u64),
}

impl Delivery {
    /// The delivery that repeats it, the last one if there are several; none, too, for one that was enqueued before version 4
    /// of its row and has not been sent once more since.
    #[must_use]
    pub fn repeated_by(&self) -> Option<u64> {
        match self.repeat {
            Repeat::By(id) => Some(id),
            Repeat::Unsaid | Repeat::No => None,
        }
    }
}

/// What a tenant's outbox has come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// The last number given.
    pub last_id: u64,
    /// Deliveries that have not ended.
    pub pending: u64,
    /// Deliveries that were given up, ever.
    pub dead_total: u64,
}

/// What came of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempted {
    /// There was an answer.
    Answered {
        /// Its status.
        status: u16,
        /// What its `Retry-After` asks for, in seconds.
        retry_after_seconds: Option<u64>,
    },
    /// There was none.
    Failed(LastError),
    /// None was made, for there is nobody to make it to. It counts nowhere.
    Undeliverable(LastError),
}

/// What is made of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was taken.
    Delivered,
    /// It is tried again, so much later, in microseconds.
    Retry(i64),
    /// It is given up.
    Dead,
}

/// The rules of a room's deliveries.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// What is waited after the first attempt, the second, and so on; the last one for all that follow.
    pub delays: &'static [Duration],
    /// By how much a delay is longer or shorter, in thousandths of it, at most.
    pub jitter_permille: u32,
    /// The longest `Retry-After` that is obeyed.
    pub retry_after_max: Duration,
    /// Which statuses, none of success, are worth another attempt.
    pub is_retried: fn(u16) -> bool,
    /// Attempts in flight of one lane, and of one outbox.
    pub lane_in_flight_max: usize,
    /// See `lane_in_flight_max`.
    pub outbox_in_flight_max: usize,
    /// The one port that may be called on the public internet; none: any.
    pub public_port: Option<u16>,
    /// How long connecting may take, TLS included.
    pub connect_time: Duration,
    /// How long an attempt may take.
    pub whole_time: Duration,
}

impl Policy {
    /// What is made of the attempt of this number out of so many. `jitter_permille` lies between -1000 and 1000, and is
    /// taken of the most that the policy allows.
    #[must_use]
    pub fn judge(&self, number: u32, attempts_max: u32, attempted: Attempted, jitter_permille: i32) -> Verdict {
        let (is_retried, retry_after_seconds) = match attempted {
            Attempted::Answered { status: 200..300, .. } => return Verdict::Delivered,
            Attempted::Answered { status, retry_after_seconds } => ((self.is_retried)(status), retry_after_seconds),
            Attempted::Failed(LastError::UrlNotAllowed) | Attempted::Undeliverable(_) => (false, None),
            Attempted::Failed(_) => (true, None),
        };
        if !is_retried || number >= attempts_max {
            return Verdict::Dead;
        }
        let place = usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1);
        let delay = micros(self.delays.get(place).or(self.delays.last()).copied().unwrap_or_default());
        let most = delay * i64::from(self.jitter_permille) / 1000;
        let jittered = delay + most * i64::from(jitter_permille.clamp(-1000, 1000)) / 1000;
        let asked = Duration::from_secs(retry_after_seconds.unwrap_or(0)).min(self.retry_after_max);
        Verdict::Retry(jittered.max(micros(asked)))
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

/// What is wrong with an attempt that came to this, if anything is.
pub(super) fn fault_of(attempted: Attempted) -> Option<LastError> {
    match attempted {
        Attempted::Answered { status: 200..300, .. } => None,
        Attempted::Answered { status: 300..400, .. } => Some(LastError::Redirect),
        Attempted::Answered { .. } => Some(LastError::BadStatus),
        Attempted::Failed(error) | Attempted::Undeliverable(error) => Some(error),
    }
}
