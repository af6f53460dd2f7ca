//! Addresses of the appliance's own that its deliveries reach without a socket (6-messaging.md, H6): who owns them says which
//! they are, and answers. No rule about addresses holds for them, for nothing is connected to.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::{Request, Response, Uri};

use crate::clock::BoxFuture;

/// Who answers for addresses of the appliance's own.
pub trait Inside: Send + Sync + 'static {
    /// Whether an address is one of these.
    fn takes(&self, uri: &Uri) -> bool;

    /// Answers a request to one of them, as it would if it came through a socket.
    fn answer(&self, request: Request<Bytes>) -> BoxFuture<'static, Response<()>>;
}

/// Who does, once somebody is tied: whoever answers needs what calls.
#[derive(Clone, Default)]
pub(super) struct Tied(Arc<OnceLock<Arc<dyn Inside>>>);

impl Tied {
    /// The first who is tied stays it.
    pub(super) fn tie(&self, inside: Arc<dyn Inside>) {
        let _ = self.0.set(inside);
    }

    /// Who answers for an address, if it is one of the appliance's own.
    pub(super) fn of(&self, uri: &Uri) -> Option<&Arc<dyn Inside>> {
        self.0.get().filter(|inside| inside.takes(uri))
    }
}
