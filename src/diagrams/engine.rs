//! The engine as the service uses it: what draws, and the name that tells its pictures from those of another one.

use std::fmt;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use quintet_platform::secrets;

use quintet_drawing::dot::ParseError;
use quintet_drawing::fonts::Collection;
use quintet_drawing::limits::TooMuch;
use quintet_drawing::render::{Format, Options, REVISION, RenderError, render};
use quintet_drawing::work::{Care, Effort, Exhausted};

/// A finished picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawing {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What could not be honoured, in the order it was found.
    pub warnings: Vec<String>,
    /// Whether it was simplified to stay within its bounds.
    pub is_degraded: bool,
}

/// Why a source gives no picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawingError {
    /// What is wrong, as a sentence.
    pub message: String,
    /// The line it is on, from 1, if it has a place.
    pub line: Option<u32>,
    /// The column on that line, in characters from 1.
    pub column: Option<u32>,
    /// Whether the source is too large as such, whatever it says.
    pub is_source_too_large: bool,
}

impl DrawingError {
    /// What is wrong with a source that has no place in it.
    #[must_use]
    pub fn without_place(message: impl Into<String>) -> DrawingError {
        DrawingError { message: message.into(), line: None, column: None, is_source_too_large: false }
    }
}

impl From<ParseError> for DrawingError {
    fn from(error: ParseError) -> DrawingError {
        RenderError::from(error).into()
    }
}

impl From<RenderError> for DrawingError {
    fn from(error: RenderError) -> DrawingError {
        DrawingError {
            // A second line shows how a string that does not end begins; the place says that as well.
            message: error.to_string().lines().next().unwrap_or_default().to_owned(),
            line: error.line(),
            column: error.column(),
            is_source_too_large: matches!(error, RenderError::TooMuch(TooMuch::SourceBytes(_))),
        }
    }
}

/// Draws a source with so much effort; `None` where that was a try, which has been given up. Called on a thread of the
/// pool.
pub type Draw = Arc<dyn Fn(&[u8], Format, Effort) -> Result<Option<Drawing>, DrawingError> + Send + Sync>;

/// What draws.
#[derive(Clone)]
pub struct Engine {
    /// Changes whenever the same source may give another picture; a part of every content hash.
    pub identity: String,
    /// Draws.
    pub draw: Draw,
}

impl Engine {
    /// Draws a source if that takes no more than small ones do; `None`: it takes more.
    #[must_use]
    pub fn try_drawing(&self, source: &[u8], format: Format) -> Option<Result<Drawing, DrawingError>> {
        (self.draw)(source, format, Effort::a_try()).transpose()
    }

    /// Draws a source.
    ///
    /// # Errors
    /// Why there is no picture.
    pub fn draw(&self, source: &[u8], format: Format) -> Result<Drawing, DrawingError> {
        let drawn = (self.draw)(source, format, Effort::default())?;
        // Only a try is given up.
        drawn.ok_or_else(|| DrawingError::without_place(Exhausted::Steps.to_string()))
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("identity", &self.identity).finish_non_exhaustive()
    }
}

/// The engine of this version, which paints with `fonts` before its own.
#[must_use]
pub fn engine(fonts: Collection) -> Engine {
    let mut identity = format!("{}/{REVISION}", env!("CARGO_PKG_VERSION"));
    if !fonts.is_empty() {
        // Other fonts, other pictures.
        let contents: Vec<&[u8]> = fonts.contents().collect();
        identity.push('/');
        identity.push_str(&HEXLOWER.encode(&secrets::digest_parts(&contents)));
    }
    let options = Options { fonts: Arc::new(fonts), ..Options::default() };
    let draw = move |source: &[u8], format, effort| draw(source, format, &Options { effort, ..options.clone() });
    Engine { identity, draw: Arc::new(draw) }
}

fn draw(source: &[u8], format: Format, options: &Options) -> Result<Option<Drawing>, DrawingError> {
    let rendered = match render(source, format, options) {
        Err(RenderError::Exhausted(Exhausted::GivenUp)) => return Ok(None),
        rendered => rendered?,
    };
    let is_degraded = rendered.care != Care::Full;
    Ok(Some(Drawing { bytes: rendered.bytes, warnings: rendered.warnings, is_degraded }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_try_can_draw_is_drawn_alike_and_what_it_cannot_is_given_up() {
        let engine = engine(Collection::default());
        for (source, is_small) in [
            ("graph { a }".to_owned(), true),
            ("digraph { a -> ; }".to_owned(), true),
            (
                format!(
                    "digraph {{ {} }}",
                    (0..2_000).map(|n| format!("n{n} -> n{};", n * 7 % 300)).collect::<String>()
                ),
                false,
            ),
        ] {
            let (tried, whole) =
                (engine.try_drawing(source.as_bytes(), Format::Svg), engine.draw(source.as_bytes(), Format::Svg));
            assert_eq!(tried, is_small.then_some(whole), "{source:.60}");
        }
    }
}
