//! What requests set in motion: drawing and keeping, checking, asking the AI engine.

use quintet_storage::Room;

use crate::context::Context;
use crate::engine::DrawingError;
use crate::refusal::Refusal;
use crate::store::content_hash;
use crate::tables::ContentHash;
use quintet_drawing::dot;
use quintet_drawing::limits::Limits;
use quintet_drawing::render::Format;

/// The largest source, in bytes.
pub(super) fn source_bytes_max() -> usize {
    Limits::default().source_bytes
}

/// A picture that is stored now.
pub(super) struct Drawn {
    /// Its name.
    pub(super) hash: ContentHash,
    /// What was not honoured.
    pub(super) warnings: Vec<String>,
    /// Whether it was simplified.
    pub(super) is_degraded: bool,
}

/// Draws a source, unless the same was drawn before, and keeps the picture.
pub(super) async fn draw_and_keep(context: &Context, format: Format, source: String) -> Result<Drawn, Refusal> {
    let hash = content_hash(&context.engine.identity, format, source.as_bytes());
    if let Some(row) = context.results.find(hash)? {
        return Ok(Drawn { hash, warnings: row.warnings, is_degraded: row.is_degraded });
    }
    // What cannot be stored need not be drawn.
    if context.store.stop_reason().is_some() {
        return Err(Refusal::StorageStopped);
    }
    if context.store.room() != Room::Ample {
        return Err(Refusal::StorageFull);
    }
    let draw = context.engine.draw.clone();
    let drawn = context.pool.run(move || draw(source.as_bytes(), format)).await?;
    let drawing = drawn.map_err(Refusal::Undrawable)?;
    let (warnings, is_degraded) = (drawing.warnings.clone(), drawing.is_degraded);
    context.results.keep(hash, format, drawing).await?;
    Ok(Drawn { hash, warnings, is_degraded })
}

/// Whether a source is valid DOT, and nothing but DOT.
pub(super) async fn check(context: &Context, source: String) -> Result<Result<(), DrawingError>, Refusal> {
    Ok(context.pool.run(move || dot::validate(source.as_bytes(), &Limits::default())).await?.map_err(Into::into))
}

/// Asks the AI engine for DOT, and takes no other than valid DOT from it.
pub(super) async fn generate(context: &Context, prompt: &str) -> Result<String, Refusal> {
    let generator = context.generator.as_ref().ok_or(Refusal::NoEngine)?;
    if prompt.trim().is_empty() {
        return Err(Refusal::Invalid("prompt must say what the diagram is to show".to_owned()));
    }
    generator
        .generate(prompt, |source| async move {
            Ok(check(context, source).await?.map_err(|error| match error.line {
                Some(line) => format!("line {line}: {}", error.message),
                None => error.message,
            }))
        })
        .await
}
