//! The words of alarms.

use bincode::{Decode, Encode};
use quintet_platform::json::{Json, Limits, parse, to_compact};
use quintet_storage::Failure;

use crate::webhooks::model::{SecretOrigin, SigningSecret};

/// The longest payload, in bytes, as JSON without white space.
pub(crate) const PAYLOAD_BYTES_MAX: usize = 16 << 10;

/// Where an alarm is told, but for its secret.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Address {
    pub(crate) url: String,
    pub(crate) secret_origin: SecretOrigin,
}

/// A webhook as it is asked for.
#[derive(Clone)]
pub(crate) struct NewWebhook {
    pub(crate) url: String,
    /// None: one is generated, or the one that there is stays.
    pub(crate) secret: Option<SigningSecret>,
}

/// What an alarm holds that nobody else may read.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Contents {
    /// The bytes that sign.
    pub(crate) key: Vec<u8>,
    /// JSON without white space.
    payload: String,
}

impl Contents {
    pub(crate) fn new(key: &[u8], payload: &Json) -> Contents {
        Contents { key: key.to_vec(), payload: to_compact(payload) }
    }

    /// What is handed back.
    pub(crate) fn payload(&self) -> Result<Json, Failure> {
        let limits = Limits { max_depth: Limits::DEPTH_MAX };
        parse(self.payload.as_bytes(), limits)
            .map_err(|error| Failure::Damaged(format!("a payload is no JSON: {error}")))
    }

    /// The same with another payload.
    pub(crate) fn with_payload(self, payload: &Json) -> Contents {
        Contents { payload: to_compact(payload), ..self }
    }

    /// The same with another key.
    pub(crate) fn with_key(self, key: &[u8]) -> Contents {
        Contents { key: key.to_vec(), ..self }
    }
}

/// How many alarms a tenant has that count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Counts {
    /// Timers that have neither fired nor been cancelled.
    pub(crate) pending_timers: u64,
    pub(crate) schedules: u64,
}
