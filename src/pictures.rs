//! The diagram room as it draws for runs: the one place where the two meet.

use quintet_diagrams::painting::{Unpainted, svg};
use quintet_diagrams::pool::PoolRefusal;
use quintet_runs::pictures::{Drawing, NoPicture, Painter};
use quintet_storage::Uuid;

/// The diagram room.
pub struct DiagramRoom(pub quintet_diagrams::Context);

impl Painter for DiagramRoom {
    fn paint(&self, tenant_id: Uuid, dot: String) -> Drawing {
        let context = self.0.clone();
        Box::pin(async move {
            svg(&context, tenant_id, dot).await.map_err(|unpainted| match unpainted {
                Unpainted::Pool(PoolRefusal::Busy) => NoPicture::Busy,
                Unpainted::Pool(PoolRefusal::Overdue) | Unpainted::Undrawable(_) => NoPicture::TooLarge,
                Unpainted::Pool(PoolRefusal::Panicked) => NoPicture::Failed,
            })
        })
    }
}
