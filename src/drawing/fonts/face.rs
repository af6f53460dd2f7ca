//! A font file: which glyph a letter has, how wide it is, what it looks like, and what the font is called.
//!
//! A file may be damaged, or made to hurt: what cannot be read is missing, never a failure of the drawing.

use std::fmt;

use skrifa::attribute::Style;
use skrifa::charmap::Charmap;
use skrifa::instance::{LocationRef, Size};
use skrifa::metrics::GlyphMetrics;
use skrifa::outline::pen::PathStyle;
use skrifa::outline::{DrawSettings, OutlineGlyphCollection, OutlinePen};
use skrifa::raw::tables::os2::SelectionFlags;
use skrifa::raw::{FontRef, ReadError, TableProvider as _};
use skrifa::string::StringId;
use skrifa::{GlyphId, MetadataProvider as _};

use super::names::letters;

/// What stands in for a letter that no font has.
pub(super) const MISSING: GlyphId = GlyphId::NOTDEF;

/// How many units an em may have; a file that says anything else is no font.
const UNITS_PER_EM: std::ops::RangeInclusive<u16> = 16..=16_384;

/// Why a file is no font.
#[derive(Debug)]
pub(super) enum NoFont {
    /// A table cannot be read.
    Broken(ReadError),
    /// Its em has no sensible size.
    Units(u16),
}

impl fmt::Display for NoFont {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoFont::Broken(error) => error.fmt(f),
            NoFont::Units(units) => write!(f, "its em has {units} units"),
        }
    }
}

impl From<ReadError> for NoFont {
    fn from(error: ReadError) -> NoFont {
        NoFont::Broken(error)
    }
}

/// The tables without which there is nothing to paint.
fn open(bytes: &[u8]) -> Result<(FontRef<'_>, u16), NoFont> {
    // Of a collection, the first.
    let font = FontRef::from_index(bytes, 0)?;
    font.hhea()?;
    font.maxp()?;
    let units = font.head()?.units_per_em();
    if UNITS_PER_EM.contains(&units) { Ok((font, units)) } else { Err(NoFont::Units(units)) }
}

/// A font that is ready to be painted with.
pub(super) struct Face<'a> {
    charmap: Charmap<'a>,
    metrics: GlyphMetrics<'a>,
    outlines: OutlineGlyphCollection<'a>,
    /// How many units its em has.
    pub(super) units_per_em: u16,
}

impl<'a> Face<'a> {
    /// Opens a file.
    ///
    /// # Errors
    /// It is no font.
    pub(super) fn open(bytes: &'a [u8]) -> Result<Face<'a>, NoFont> {
        let (font, units_per_em) = open(bytes)?;
        let metrics = font.glyph_metrics(Size::unscaled(), LocationRef::default());
        Ok(Face { charmap: font.charmap(), metrics, outlines: font.outline_glyphs(), units_per_em })
    }

    /// The glyph of a letter, if it has one.
    pub(super) fn glyph(&self, letter: char) -> Option<GlyphId> {
        self.charmap.map(letter).filter(|glyph| *glyph != MISSING)
    }

    /// How far behind a glyph the next one begins, in the font's own units.
    pub(super) fn advance(&self, glyph: GlyphId) -> f64 {
        self.metrics.advance_width(glyph).map_or(0.0, f64::from)
    }

    /// Draws the outline of a glyph, in the font's own units.
    pub(super) fn outline(&self, glyph: GlyphId, pen: &mut impl OutlinePen) {
        let settings = DrawSettings::unhinted(Size::unscaled(), LocationRef::default());
        if let Some(outline) = self.outlines.get(glyph) {
            // A glyph that is broken is drawn as far as it goes.
            let _ = outline.draw(settings.with_path_style(PathStyle::HarfBuzz), pen);
        }
    }
}

/// What a font says of itself.
pub(super) struct Description {
    /// Family, full name and PostScript name, by their letters and digits alone.
    pub(super) names: Vec<String>,
    pub(super) is_bold: bool,
    pub(super) is_italic: bool,
}

impl Description {
    /// Reads it off a file.
    ///
    /// # Errors
    /// It is no font.
    pub(super) fn read(bytes: &[u8]) -> Result<Description, NoFont> {
        let (font, _) = open(bytes)?;
        let wanted =
            [StringId::FAMILY_NAME, StringId::TYPOGRAPHIC_FAMILY_NAME, StringId::FULL_NAME, StringId::POSTSCRIPT_NAME];
        let strings = wanted.into_iter().flat_map(|id| font.localized_strings(id));
        let mut names: Vec<String> = strings.map(|string| letters(&string.to_string())).collect();
        names.retain(|name| !name.is_empty());
        names.sort();
        names.dedup();
        let is_bold = font.os2().is_ok_and(|os2| os2.fs_selection().contains(SelectionFlags::BOLD));
        let is_inclined = font.post().is_ok_and(|post| post.italic_angle().to_f64() != 0.0);
        let is_italic = is_inclined || !matches!(font.attributes().style, Style::Normal);
        Ok(Description { names, is_bold, is_italic })
    }
}
