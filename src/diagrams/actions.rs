//! What requests set in motion: drawing and keeping, checking, asking the AI engine.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use quintet_drawing::dot;
use quintet_drawing::limits::Limits;
use quintet_drawing::outline::{self, Outline};
use quintet_drawing::render::Format;
use quintet_platform::service::{Fault, failed};
use quintet_storage::Room;

use crate::context::Context;
use crate::engine::{Drawing, DrawingError};
use crate::queue::{Asker, Source};
use crate::refusal::Refusal;
use crate::store::{SMALL_BYTES_MAX, content_hash};
use crate::tables::{ContentHash, ResultRow};

/// The largest source, in bytes.
#[must_use]
pub fn source_bytes_max() -> usize {
    Limits::default().source_bytes
}

/// A picture that is stored now.
pub struct Drawn {
    /// Its name.
    pub hash: ContentHash,
    /// What was not honoured.
    pub warnings: Vec<String>,
    /// Whether it was simplified.
    pub is_degraded: bool,
}

/// A picture for whoever asked for it.
pub struct Shown {
    /// Its name.
    pub hash: ContentHash,
    /// What was not honoured.
    pub warnings: Vec<String>,
    /// Whether it was simplified.
    pub is_degraded: bool,
    /// The picture itself.
    pub picture: Picture,
}

/// Where the bytes of a picture are.
pub enum Picture {
    /// Here: it is small, and was drawn just now.
    Drawn(Bytes),
    /// In the store.
    Kept(ResultRow),
}

/// Draws a source, unless the same was drawn before, and keeps the picture: its address holds, whatever happens next.
///
/// # Errors
/// It cannot be drawn, there is too much to draw, or nothing can be stored.
pub async fn draw_and_keep(
    context: &Context,
    from: Option<IpAddr>,
    format: Format,
    source: String,
) -> Result<Drawn, Refusal> {
    let hash = content_hash(&context.engine.identity, format, source.as_bytes());
    if let Some(row) = find(context, hash)? {
        return Ok(Drawn { hash, warnings: row.warnings, is_degraded: row.is_degraded });
    }
    let drawing = draw(context, from, hash, format, source).await?;
    let (warnings, is_degraded) = (drawing.warnings.clone(), drawing.is_degraded);
    context.results.keep(hash, format, drawing).await.map_err(|failure| failed::<Refusal>(&failure))?;
    Ok(Drawn { hash, warnings, is_degraded })
}

/// Draws a source, unless the same was drawn before, for those who get the picture and no address of it. A small one is
/// there before it is kept: if that is never done, it is drawn again. A large one is kept first, and read from there.
///
/// # Errors
/// As [`draw_and_keep`].
pub async fn draw_and_show(
    context: &Context,
    from: Option<IpAddr>,
    format: Format,
    source: String,
) -> Result<Shown, Refusal> {
    let hash = content_hash(&context.engine.identity, format, source.as_bytes());
    let kept = |row: ResultRow| {
        let (warnings, is_degraded) = (row.warnings.clone(), row.is_degraded);
        Shown { hash, warnings, is_degraded, picture: Picture::Kept(row) }
    };
    if let Some(row) = find(context, hash)? {
        return Ok(kept(row));
    }
    let drawing = draw(context, from, hash, format, source).await?;
    if drawing.bytes.len() <= SMALL_BYTES_MAX {
        let (warnings, is_degraded) = (drawing.warnings.clone(), drawing.is_degraded);
        let picture = Picture::Drawn(Bytes::copy_from_slice(&drawing.bytes));
        context.results.keep_later(hash, format, drawing).await;
        return Ok(Shown { hash, warnings, is_degraded, picture });
    }
    context.results.keep(hash, format, drawing).await.map_err(|failure| failed::<Refusal>(&failure))?;
    // Gone again already: there is more to keep than there is room.
    find(context, hash)?.map(kept).ok_or_else(|| Fault::Busy.into())
}

fn find(context: &Context, hash: ContentHash) -> Result<Option<ResultRow>, Refusal> {
    context.results.find(hash).map_err(|failure| failed::<Refusal>(&failure))
}

async fn draw(
    context: &Context,
    from: Option<IpAddr>,
    hash: ContentHash,
    format: Format,
    source: String,
) -> Result<Drawing, Refusal> {
    // What cannot be stored need not be drawn.
    if context.store.stop_reason().is_some() {
        return Err(Fault::WritingStopped.into());
    }
    if context.store.room() != Room::Ample {
        return Err(Fault::DiskReserve.into());
    }
    let asker = Asker { source: from.map(Source::Address), bytes: source.len() };
    let (engine, source) = (context.engine.clone(), Arc::<[u8]>::from(source.into_bytes()));
    let a_try = {
        let (engine, source) = (engine.clone(), Arc::clone(&source));
        move || engine.try_drawing(&source, format)
    };
    let drawn = context.pool.draw(asker, hash, a_try, move || engine.draw(&source, format)).await;
    drawn.map_err(Refusal::of_pool)?.map_err(Refusal::Undrawable)
}

/// Whether a source is valid DOT, and nothing but DOT.
///
/// # Errors
/// There is too much to check.
pub async fn check(
    context: &Context,
    from: Option<IpAddr>,
    source: String,
) -> Result<Result<(), DrawingError>, Refusal> {
    let asker = Asker { source: from.map(Source::Address), bytes: source.len() };
    let check = move || dot::validate(source.as_bytes(), &Limits::default()).map_err(DrawingError::from);
    context.pool.check(asker, check).await.map_err(Refusal::of_pool)
}

/// A source in words; `None` if it is no valid DOT.
///
/// # Errors
/// There is too much to read.
pub async fn outline(context: &Context, from: Option<IpAddr>, source: String) -> Result<Option<Outline>, Refusal> {
    let asker = Asker { source: from.map(Source::Address), bytes: source.len() };
    context.pool.check(asker, move || outline::of(&source)).await.map_err(Refusal::of_pool)
}

/// Asks the AI engine for DOT, and takes no other than valid DOT from it.
///
/// # Errors
/// There is no engine, it failed, or there is too much to check.
pub async fn generate(context: &Context, from: Option<IpAddr>, prompt: &str) -> Result<String, Refusal> {
    let generator = context.generator.as_ref().ok_or(Refusal::NoEngine)?;
    if prompt.trim().is_empty() {
        return Err(Refusal::invalid("prompt must say what the diagram is to show"));
    }
    generator
        .generate(prompt, |source| async move {
            Ok(check(context, from, source).await?.map_err(|error| match error.line {
                Some(line) => format!("line {line}: {}", error.message),
                None => error.message,
            }))
        })
        .await
}
