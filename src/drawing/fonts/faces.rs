//! The fonts that a picture is painted with, and the glyphs of its lines.

use std::collections::HashMap;
use std::sync::Arc;

use skrifa::GlyphId;
use skrifa::outline::OutlinePen;

use super::collection::Collection;
use super::embedded::{self, Embedded, Family};
use super::face::{Face, MISSING};
use super::order::visual;
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
    /// Glyphs of the operator's, and whether there is nothing to see of them.
    blank: HashMap<(Key, GlyphId), bool>,
}

/// Notes whether anything is drawn.
struct Seen(bool);

impl OutlinePen for Seen {
    fn move_to(&mut self, _: f32, _: f32) {}

    fn line_to(&mut self, _: f32, _: f32) {
        self.0 = true;
    }

    fn quad_to(&mut self, _: f32, _: f32, _: f32, _: f32) {
        self.0 = true;
    }

    fn curve_to(&mut self, _: f32, _: f32, _: f32, _: f32, _: f32, _: f32) {
        self.0 = true;
    }

    fn close(&mut self) {}
}

/// Whether a letter is there for those around it, and never seen itself.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

impl<'a> Fonts<'a> {
    /// None yet. The operator's `own` come before the embedded ones.
    pub fn new(own: &'a Collection) -> Fonts<'a> {
        Fonts { own, faces: HashMap::new(), chosen: HashMap::new(), blank: HashMap::new() }
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
        for c in visual(text).into_iter().filter(|c| !is_invisible(*c)) {
            // Those of the operator also have letters that the embedded ones lack.
            let mut keys = [first, embedded, FALLBACK].into_iter().chain((0..self.own.len()).map(Key::Own));
            let found = keys.find_map(|key| {
                let face = self.face(key)?;
                let glyph = face.glyph(c)?;
                let found = (key, glyph, face.advance(glyph), face.units_per_em);
                (c.is_whitespace() || !self.is_blank(key, glyph)).then_some(found)
            });
            // Not every font has something to see there, but this one does.
            let missing = || {
                let face = self.face(FALLBACK)?;
                Some((FALLBACK, MISSING, face.advance(MISSING), face.units_per_em))
            };
            let Some((key, glyph, advance, units)) = found.or_else(missing) else { continue };
            let scale = font.size / f64::from(units);
            glyphs.push(Placed { key, glyph, x, scale });
            x += advance * scale;
        }
        (glyphs, x)
    }

    /// Whether a glyph has no outline: fonts of coloured pictures hold letters that are drawn otherwise. The embedded
    /// fonts have none such.
    fn is_blank(&mut self, key: Key, glyph: GlyphId) -> bool {
        if !matches!(key, Key::Own(_)) {
            return false;
        }
        if let Some(known) = self.blank.get(&(key, glyph)) {
            return *known;
        }
        let mut pen = Seen(false);
        if let Some(face) = self.face(key) {
            face.outline(glyph, &mut pen);
        }
        self.blank.insert((key, glyph), !pen.0);
        !pen.0
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
    fn no_letter_vanishes() {
        let own = Collection::default();
        let mut fonts = Fonts::new(&own);
        for name in ["Times", "Arial", "Courier", "Nosuch", "Symbol"] {
            for letter in ["漢", "ก", "\u{10ffff}", "ש", "☃"] {
                let (glyphs, width) = fonts.line(letter, &font(name));
                let mut pen = Seen(false);
                glyphs.iter().for_each(|placed| fonts.outline(placed, &mut pen));
                assert!(pen.0 && width > 5.0, "{letter} in {name}");
            }
            assert!(fonts.line("\u{200d}\u{fe0f}\u{ad}", &font(name)).0.is_empty());
        }
    }

    /// A font with the letters, and without anything to see of them, as those of coloured pictures are.
    #[test]
    fn letters_without_outlines_are_painted_with_another_font() {
        let mut bytes = embedded::data((Family::Mono, false, false)).to_vec();
        let record = bytes.windows(4).position(|tag| tag == b"loca").unwrap();
        let long = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        let (start, length) = (long(record + 8), long(record + 12));
        bytes[start..start + length].fill(0);
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("a.ttf"), bytes).unwrap();
        let own = Collection::read(directory.path()).unwrap();
        let mut fonts = Fonts::new(&own);
        let (glyphs, _) = fonts.line("a b", &font("Liberation Mono"));
        assert_eq!(glyphs.iter().map(|placed| fonts.is_own(placed)).collect::<Vec<_>>(), [false, true, false]);
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
