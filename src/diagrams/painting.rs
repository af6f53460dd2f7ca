//! Pictures for other services of the appliance: drawn by the same threads, in turn with all others, and not kept.

use std::sync::Arc;

use quintet_drawing::render::Format;
use quintet_storage::Uuid;

use crate::context::Context;
use crate::pool::PoolRefusal;
use crate::queue::{Asker, Source};
use crate::store::content_hash;

/// Why there is no picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unpainted {
    /// The pool turned it away, or gave it up.
    Pool(PoolRefusal),
    /// It cannot be drawn; says why.
    Undrawable(String),
}

/// Draws DOT of the appliance's own as SVG, in the turn of the tenant whom it is for.
///
/// # Errors
/// See [`Unpainted`].
pub async fn svg(context: &Context, tenant_id: Uuid, source: String) -> Result<Vec<u8>, Unpainted> {
    let hash = content_hash(&context.engine.identity, Format::Svg, source.as_bytes());
    let asker = Asker { source: Some(Source::Tenant(tenant_id)), bytes: source.len() };
    let (engine, source) = (context.engine.clone(), Arc::<[u8]>::from(source.into_bytes()));
    let a_try = {
        let (engine, source) = (engine.clone(), Arc::clone(&source));
        move || engine.try_drawing(&source, Format::Svg)
    };
    let drawn = context.pool.draw(asker, hash, a_try, move || engine.draw(&source, Format::Svg)).await;
    let drawing = drawn.map_err(Unpainted::Pool)?.map_err(|error| Unpainted::Undrawable(error.message))?;
    Ok(drawing.bytes)
}
