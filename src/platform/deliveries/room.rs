//! What a room gives: its rules, where its endpoints are, how it signs, and what follows from an end.

use http::HeaderMap;
use quintet_storage::{Failure, Snapshot, Timestamp, WriteTx};
use uuid::Uuid;

use super::health::Health;
use super::model::{Attempted, Delivery, Outbox, Policy, Verdict};
use crate::access::Service;
use crate::secrets::Secret;

/// A room whose deliveries the pump makes.
pub trait DeliveryRoom: Send + Sync + 'static {
    /// Its service.
    fn service(&self) -> Service;

    /// Its rules.
    fn policy(&self) -> &Policy;

    /// Where an endpoint of it is now.
    ///
    /// # Errors
    /// The store cannot be read.
    fn destination(&self, read: &Snapshot, outbox: Outbox, endpoint_id: Uuid) -> Result<Destination, Failure>;

    /// The head of an attempt, but for its address and its length.
    fn head(&self, attempt: &Attempt<'_>) -> HeaderMap;

    /// What follows from an attempt that counts, in the transaction that settles it.
    ///
    /// # Errors
    /// The store's failures.
    fn settled(&self, tx: &mut WriteTx<'_>, now: Timestamp, settled: &Settled<'_>) -> Result<(), Failure>;
}

/// Where an endpoint is.
#[derive(Clone, Debug)]
pub enum Destination {
    /// There, and this key signs what is sent; none: nothing does.
    At {
        /// The address.
        url: String,
        /// The key.
        key: Option<Secret<Vec<u8>>>,
    },
    /// It takes nothing at present.
    Inactive,
    /// There is none.
    Gone,
}

/// An attempt that is about to be made.
pub struct Attempt<'a> {
    /// Whose delivery.
    pub outbox: Outbox,
    /// The delivery.
    pub delivery: &'a Delivery,
    /// Which attempt, from 1 on.
    pub number: u32,
    /// Seconds since 1970, by the appliance's clock.
    pub timestamp: i64,
    /// What is sent.
    pub body: &'a [u8],
    /// What signs it.
    pub key: Option<&'a [u8]>,
}

/// An attempt that has been settled.
pub struct Settled<'a> {
    /// Whose delivery.
    pub outbox: Outbox,
    /// The delivery as it stands now.
    pub delivery: &'a Delivery,
    /// What came of the attempt.
    pub attempted: Attempted,
    /// What was made of it.
    pub verdict: Verdict,
    /// The endpoint and its health before and after, if it has one and the end counts for it.
    pub health: Option<(Uuid, &'a Health, &'a Health)>,
}
