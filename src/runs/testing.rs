//! A real store under a clock that tests set.

use std::sync::Arc;

use quintet_platform::clock::Clock;
use quintet_platform::deliveries::Pump;
use quintet_platform::egress::Egress;
use quintet_storage::{Store, Uuid};

use crate::containers::model::Secrets;
use crate::containers::submission::Submit;
use crate::model::TenantId;
use crate::pictures::{Drawing, NoPicture, Painter, SharedPainter};
use crate::refusal::Refusal;

/// Half past noon of some day, UTC.
pub(crate) const NOON: i64 = 1_700_051_400_000_000;

/// A store under a clock that tests set.
pub(crate) type Bench = quintet_support::Bench<Refusal>;

/// A new store, whose clock stands at [`NOON`].
pub(crate) fn bench() -> Bench {
    Bench::new(crate::TABLES, NOON)
}

/// The same, whose log takes transactions as large as the product's does.
pub(crate) fn large_bench() -> Bench {
    Bench::large(crate::TABLES, NOON)
}

pub(crate) fn tenant(number: u128) -> TenantId {
    TenantId(Uuid::from_u128(number))
}

/// What makes deliveries, to nobody.
pub(crate) fn pump(store: &Store, clock: &Clock) -> Pump {
    Pump::new(store.clone(), clock.clone(), Egress::new(|_| false), vec![Arc::new(crate::WEBHOOKS)])
}

/// Who draws nothing, and says why.
struct NoPainter(NoPicture);

impl Painter for NoPainter {
    fn paint(&self, _: Uuid, _: String) -> Drawing {
        Box::pin(std::future::ready(Err(self.0)))
    }
}

/// One who has no picture, for this reason.
pub(crate) fn no_picture(why: NoPicture) -> SharedPainter {
    SharedPainter(Arc::new(NoPainter(why)))
}

/// One who has no place for any picture: others are always first.
pub(crate) fn no_painter() -> SharedPainter {
    no_picture(NoPicture::Busy)
}

/// A plain submission.
pub(crate) fn plain() -> Submit {
    Submit {
        image: "busybox".into(),
        command: vec!["true".into()],
        secrets: Secrets::default(),
        timeout_seconds: None,
        cpu_millicores: None,
        memory_mb: None,
        name: None,
        tags: Vec::new(),
        scheduled_start: None,
        expires_at: None,
        webhook: None,
        key_id: None,
    }
}
