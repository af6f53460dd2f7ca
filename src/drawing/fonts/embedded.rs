//! The embedded fonts: Liberation in three families and four styles, DejaVu Sans for what they lack.

use super::names::{has, is_bold, is_italic, letters};
use crate::text::Font;

/// A family of the embedded fonts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Family {
    Serif,
    Sans,
    Mono,
    Fallback,
}

/// An embedded font file: family, bold, italic.
pub(super) type Embedded = (Family, bool, bool);

macro_rules! file {
    ($name:literal) => {
        include_bytes!(concat!("../../../assets/fonts/", $name, ".ttf"))
    };
}

/// The bytes of an embedded font.
pub(super) fn data((family, bold, italic): Embedded) -> &'static [u8] {
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
pub(super) fn embedded(font: &Font) -> Embedded {
    let family = font.name.split(',').find_map(|family| {
        let letters = letters(family);
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
    (family.unwrap_or(Family::Serif), is_bold(font), is_italic(font))
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
            assert_eq!(embedded(&font(name)), expected, "{name}");
        }
    }
}
