//! What draws pictures for runs: another service of the appliance, which runs do not know. It is handed in from outside.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use quintet_storage::Uuid;

/// A picture that is being drawn: SVG, as text.
pub type Drawing = Pin<Box<dyn Future<Output = Result<Vec<u8>, NoPicture>> + Send>>;

/// Why there is no picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPicture {
    /// Others are being drawn; it was not begun.
    Busy,
    /// It goes past the bounds of what is drawn.
    TooLarge,
    /// Whoever draws made a mistake.
    Failed,
}

/// Draws graphs. It keeps time and size within bounds of its own, and works on threads of its own.
pub trait Painter: Send + Sync + 'static {
    /// Draws DOT for a tenant as SVG that stands by itself: it runs nothing and loads nothing. Tenants take turns.
    fn paint(&self, tenant_id: Uuid, dot: String) -> Drawing;
}

/// Who draws for this appliance. Clones share it.
#[derive(Clone)]
pub struct SharedPainter(pub Arc<dyn Painter>);

impl fmt::Debug for SharedPainter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedPainter")
    }
}
