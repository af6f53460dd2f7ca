//! The fonts that a picture is painted with, and the glyphs of its lines.

use std::collections::HashMap;
use std::sync::Arc;

use skrifa::GlyphId;
use skrifa::outline::OutlinePen;

use super::collection::Collection;
use super::embedded::{self, Embedded, Family};
use super::face::{Face, MISSING};
use crate::text::Font;

/// A font file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Embedded(Embedded),
    /// One of the operator's own, by its index.
    Own(usize),
}

/// What stands in for letters that the others lack.
const FALLBACK: Key = Key::Embedded((Family::Fallback, false, false));

/// A glyph to be painted, with where it stands on the line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    key: Key,
    glyph: GlyphId,
    /// How far right of the line's start it begins, in points.
    pub x: f64,
    /// What its outline is multiplied with to be in points.
    pub scale: f64,
}

/// What is asked of a font: its name, bold or not, italic or not.
type Wanted = (Arc<str>, bool, bool);
/// Which fonts are asked first: one of the operator's, if it has the name, and an embedded one.
type Chosen = (Option<usize>, Embedded);

/// The fonts that one picture needed so far.
pub struct Fonts<'a> {
    own: &'a Collection,
    faces: HashMap<Key, Option<Face<'a>>>,
    chosen: HashMap<Wanted, Chosen>,
}

impl<'a> Fonts<'a> {
    /// None yet. The operator's `own` come before the embedded ones.
    pub fn new(own: &'a Collection) -> Fonts<'a> {
        Fonts { own, faces: HashMap::new(), chosen: HashMap::new() }
    }

    fn face(&mut self, key: Key) -> Option<&Face<'a>> {
        let own = self.own;
        let parse = || {
            let bytes = match key {
                Key::Embedded(embedded) => embedded::data(embedded),
                Key::Own(index) => own.data(index)?,
            };
            Face::open(bytes).ok()
        };
        self.faces.entry(key).or_insert_with(parse).as_ref()
    }

    /// Names are long, and asked of many words; few pictures have many.
    fn choose(&mut self, font: &Font) -> (Option<usize>, Embedded) {
        let key = (Arc::clone(&font.name), font.style.bold, font.style.italic);
        let own = self.own;
        *self.chosen.entry(key).or_insert_with(|| (own.find(font), embedded::embedded(font)))
    }

    /// How many fonts are asked for a letter at most.
    pub fn asked_at_most(&self) -> usize {
        self.own.len() + 3
    }

    /// The glyphs of a line, and its width in points.
    pub fn line(&mut self, text: &str, font: &Font) -> (Vec<Placed>, f64) {
        let (own, embedded) = self.choose(font);
        let embedded = Key::Embedded(embedded);
        let first = own.map_or(embedded, Key::Own);
        let mut x = 0.0;
        let mut glyphs = Vec::new();
        for c in text.chars().filter(|c| !c.is_control()) {
            // Those of the operator also have letters that the embedded ones lack.
            let mut keys = [first, embedded, FALLBACK].into_iter().chain((0..self.own.len()).map(Key::Own));
            let found = keys.find_map(|key| {
                let face = self.face(key)?;
                let glyph = face.glyph(c)?;
                Some((key, glyph, face.advance(glyph), face.units_per_em))
            });
            let missing = || {
                let face = self.face(embedded)?;
                Some((embedded, MISSING, face.advance(MISSING), face.units_per_em))
            };
            let Some((key, glyph, advance, units)) = found.or_else(missing) else { continue };
            let scale = font.size / f64::from(units);
            glyphs.push(Placed { key, glyph, x, scale });
            x += advance * scale;
        }
        (glyphs, x)
    }

    /// Whether a glyph is the operator's: of what such a font may cost, nothing is known.
    pub fn is_own(&self, placed: &Placed) -> bool {
        matches!(placed.key, Key::Own(_))
    }

    /// Draws the outline of a glyph, in the font's own units.
    pub fn outline(&mut self, placed: &Placed, pen: &mut impl OutlinePen) {
        if let Some(face) = self.face(placed.key) {
            face.outline(placed.glyph, pen);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn font(name: &str) -> Font {
        Font { name: name.into(), ..Font::default() }
    }

    #[test]
    fn all_files_open_and_know_letters() {
        for family in [Family::Serif, Family::Sans, Family::Mono, Family::Fallback] {
            for (bold, italic) in [(false, false), (true, false), (false, true), (true, true)] {
                let own = Collection::default();
                let mut fonts = Fonts::new(&own);
                let face = fonts.face(Key::Embedded((family, bold, italic))).unwrap();
                assert!(face.glyph('a').is_some() && face.glyph('é').is_some());
            }
        }
    }

    #[test]
    fn widths_of_liberation_are_those_of_the_layout() {
        let own = Collection::default();
        let mut fonts = Fonts::new(&own);
        for name in ["Times", "Arial", "Courier"] {
            let font = font(name);
            let text = "The quick brown fox, 0123456789 (WAVE)";
            let (_, width) = fonts.line(text, &font);
            assert!((width - crate::text::line_width(text, &font)).abs() < 0.05, "{name}: {width}");
        }
    }

    #[test]
    fn what_one_font_lacks_the_other_has() {
        let own = Collection::default();
        let mut fonts = Fonts::new(&own);
        let (glyphs, width) = fonts.line("a→☃\u{10ffff}", &font("Times"));
        assert_eq!(glyphs.len(), 4);
        assert!(width > 20.0);
    }
}
