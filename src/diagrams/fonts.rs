//! The embedded fonts: Liberation in three families and four styles, DejaVu Sans for what they lack.
//!
//! No font of the machine is ever used, so that a picture is the same everywhere.

use std::collections::HashMap;

use ttf_parser::{Face, GlyphId};

use crate::text::Font;

/// A family of the embedded fonts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Family {
    Serif,
    Sans,
    Mono,
    Fallback,
}

/// A font file: family, bold, italic.
type Key = (Family, bool, bool);

macro_rules! file {
    ($name:literal) => {
        include_bytes!(concat!("../../assets/fonts/", $name, ".ttf"))
    };
}

fn data((family, bold, italic): Key) -> &'static [u8] {
    match (family, bold, italic) {
        (Family::Serif, false, false) => file!("LiberationSerif-Regular"),
        (Family::Serif, true, false) => file!("LiberationSerif-Bold"),
        (Family::Serif, false, true) => file!("LiberationSerif-Italic"),
        (Family::Serif, true, true) => file!("LiberationSerif-BoldItalic"),
        (Family::Sans, false, false) => file!("LiberationSans-Regular"),
        (Family::Sans, true, false) => file!("LiberationSans-Bold"),
        (Family::Sans, false, true) => file!("LiberationSans-Italic"),
        (Family::Sans, true, true) => file!("LiberationSans-BoldItalic"),
        (Family::Mono, false, false) => file!("LiberationMono-Regular"),
        (Family::Mono, true, false) => file!("LiberationMono-Bold"),
        (Family::Mono, false, true) => file!("LiberationMono-Italic"),
        (Family::Mono, true, true) => file!("LiberationMono-BoldItalic"),
        (Family::Fallback, _, _) => file!("DejaVuSans"),
    }
}

/// Words in the names of fonts whose letters are all as wide as each other.
const MONO: [&str; 9] =
    ["mono", "courier", "consol", "code", "typewriter", "terminal", "fixed", "menlo", "inconsolata"];

/// Words in the names of fonts with serifs. Asked before those without.
const SERIF: [&str; 12] = [
    "times",
    "georgia",
    "garamond",
    "palatino",
    "bookman",
    "schoolbook",
    "schlbk",
    "cambria",
    "roman",
    "minion",
    "baskerville",
    "liberationserif",
];

/// Words in the names of fonts without serifs.
const SANS: [&str; 22] = [
    "sans",
    "arial",
    "helvet",
    "verdana",
    "tahoma",
    "calibri",
    "trebuchet",
    "segoe",
    "roboto",
    "inter",
    "ubuntu",
    "lato",
    "gothic",
    "avantgarde",
    "nunito",
    "geneva",
    "lucida",
    "open",
    "futura",
    "cantarell",
    "poppins",
    "system",
];

/// Which embedded font stands for a font: by the first family of its name that says anything.
fn key(font: &Font) -> Key {
    let name = font.name.to_ascii_lowercase();
    let has = |words: &[&str], text: &str| words.iter().any(|word| text.contains(word));
    let family = name.split(',').find_map(|family| {
        let letters: String = family.chars().filter(char::is_ascii_alphanumeric).collect();
        if has(&MONO, &letters) {
            Some(Family::Mono)
        } else if has(&SERIF, &letters) {
            Some(Family::Serif)
        } else if has(&SANS, &letters) {
            Some(Family::Sans)
        } else {
            None
        }
    });
    let bold = font.style.bold || has(&["bold", "demi", "black", "heavy"], &name);
    let italic = font.style.italic || has(&["italic", "oblique"], &name);
    (family.unwrap_or(Family::Serif), bold, italic)
}

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

/// The fonts that one picture needed so far.
#[derive(Default)]
pub struct Fonts {
    faces: HashMap<Key, Option<Face<'static>>>,
}

impl Fonts {
    fn face(&mut self, key: Key) -> Option<&Face<'static>> {
        self.faces.entry(key).or_insert_with(|| Face::parse(data(key), 0).ok()).as_ref()
    }

    /// The glyphs of a line, and its width in points.
    pub fn line(&mut self, text: &str, font: &Font) -> (Vec<Placed>, f64) {
        let own = key(font);
        let mut x = 0.0;
        let mut glyphs = Vec::new();
        for c in text.chars().filter(|c| !c.is_control()) {
            let keys = [own, (Family::Fallback, false, false)];
            let found = keys.into_iter().find_map(|key| {
                let face = self.face(key)?;
                let glyph = face.glyph_index(c)?;
                Some((key, glyph, face.glyph_hor_advance(glyph).unwrap_or_default(), face.units_per_em()))
            });
            let missing = || {
                let face = self.face(own)?;
                let advance = face.glyph_hor_advance(GlyphId(0)).unwrap_or_default();
                Some((own, GlyphId(0), advance, face.units_per_em()))
            };
            let Some((key, glyph, advance, units)) = found.or_else(missing) else { continue };
            let scale = font.size / f64::from(units.max(1));
            glyphs.push(Placed { key, glyph, x, scale });
            x += f64::from(advance) * scale;
        }
        (glyphs, x)
    }

    /// Draws the outline of a glyph, in the font's own units.
    pub fn outline(&mut self, placed: &Placed, builder: &mut dyn ttf_parser::OutlineBuilder) {
        if let Some(face) = self.face(placed.key) {
            face.outline_glyph(placed.glyph, builder);
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
    fn every_font_is_one_of_ours() {
        for (name, expected) in [
            ("Times-Roman", (Family::Serif, false, false)),
            ("Helvetica-BoldOblique", (Family::Sans, true, true)),
            ("Courier New", (Family::Mono, false, false)),
            ("Foo,Arial", (Family::Sans, false, false)),
            ("DejaVu Sans Mono", (Family::Mono, false, false)),
            ("", (Family::Serif, false, false)),
        ] {
            assert_eq!(key(&font(name)), expected, "{name}");
        }
    }

    #[test]
    fn all_files_open_and_know_letters() {
        for family in [Family::Serif, Family::Sans, Family::Mono, Family::Fallback] {
            for (bold, italic) in [(false, false), (true, false), (false, true), (true, true)] {
                let mut fonts = Fonts::default();
                let face = fonts.face((family, bold, italic)).unwrap();
                assert!(face.glyph_index('a').is_some() && face.glyph_index('é').is_some());
            }
        }
    }

    #[test]
    fn widths_of_liberation_are_those_of_the_layout() {
        let mut fonts = Fonts::default();
        for name in ["Times", "Arial", "Courier"] {
            let font = font(name);
            let text = "The quick brown fox, 0123456789 (WAVE)";
            let (_, width) = fonts.line(text, &font);
            assert!((width - crate::text::line_width(text, &font)).abs() < 0.05, "{name}: {width}");
        }
    }

    #[test]
    fn what_one_font_lacks_the_other_has() {
        let mut fonts = Fonts::default();
        let (glyphs, width) = fonts.line("a→☃\u{10ffff}", &font("Times"));
        assert_eq!(glyphs.len(), 4);
        assert!(width > 20.0);
    }
}
